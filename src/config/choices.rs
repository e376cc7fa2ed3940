//! Settings that are one word out of a few.

macro_rules! choices {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// Returns the word by which it is set.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            pub(super) fn of(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

choices! {
    /// What an environment in which nothing is applied begins with.
    FirstPass {
        /// The documents are recorded as applied without publishing.
        Adopt = "adopt",
        /// Every toggle is published.
        Assert = "assert",
    }
}
choices! {
    /// What to do when the source's history was rewritten.
    History {
        /// Follow the ref and say so.
        Follow = "follow",
        /// Stop.
        Refuse = "refuse",
    }
}
choices! {
    /// What an invalid document stops.
    OnInvalid {
        /// Itself.
        Hold = "hold",
        /// Everything.
        Stop = "stop",
    }
}
choices! {
    /// What becomes of a toggle whose file is gone.
    OnRemove {
        /// It is published disabled, once.
        Disable = "disable",
        /// It is dropped without publishing.
        Forget = "forget",
        /// It is listed.
        Keep = "keep",
    }
}
choices! {
    /// The form of a result.
    OutputFormat {
        /// For GitHub's job summary and annotations.
        Github = "github",
        /// For a person at a terminal.
        Human = "human",
        /// For programs.
        Json = "json",
        /// For a pull request's comment.
        Markdown = "markdown",
    }
}
choices! {
    /// When to use colour.
    ColorChoice {
        /// Always.
        Always = "always",
        /// On a terminal, unless NO_COLOR says otherwise.
        Auto = "auto",
        /// Never.
        Never = "never",
    }
}
choices! {
    /// The form of log lines.
    LogFormat {
        /// One JSON object a line.
        Json = "json",
        /// For people.
        Pretty = "pretty",
    }
}
choices! {
    /// What is logged; the later ones include the earlier.
    LogLevel {
        /// What went wrong.
        Error = "error",
        /// What may go wrong.
        Warn = "warn",
        /// What an operator would tell a colleague.
        Info = "info",
        /// What helps to find a mistake.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}
/// A choice between two ways.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Switch {
    /// No.
    Off,
    /// Yes.
    On,
}
