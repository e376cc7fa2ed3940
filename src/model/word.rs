//! Enums whose variants have words: in settings, in JSON and in metrics.

/// Declares enums with a word for each variant, in the order in which messages list them.
macro_rules! words {
    ($($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+ })+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[allow(unreachable_pub, reason = "some modules are private to the crate")]
        pub enum $name { $($(#[$variant_meta])* $variant,)+ }

        #[allow(dead_code, unreachable_pub, reason = "not every enum needs all of it, nor outside of the crate")]
        impl $name {
            pub const ALL: [Self; [$($word,)+].len()] = [$(Self::$variant,)+];
            /// The names of all variants.
            pub const WORDS: &[&str] = &[$($word,)+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::model::not_a_word(word, Self::WORDS)),
                }
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    )+ };
}
pub(crate) use words;

pub(crate) fn not_a_word(word: &str, words: &[&str]) -> String {
    format!("`{word}` is none of `{}`", words.join("`, `"))
}
