//! What may not be portable about a part of a pattern.

/// A part of a pattern that is not portable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::document) enum Construct {
    Astral,
    /// `.` or a negated class in a pattern with characters beyond U+FFFF.
    AstralItem,
    /// `(?>`
    AtomicGroup,
    Backreference,
    /// `\a`
    Bell,
    BlankCount,
    Border,
    /// `\x{41}`
    BracedCode,
    /// `[\1]`
    ClassReference,
    /// `(?#…)`
    Comment,
    /// `\cA`
    ControlCode,
    Digit,
    /// `.` in a pattern with line breaks other than `\n`.
    Dot,
    /// `&&` without a class on both sides.
    EmptyIntersection,
    End,
    FirstBracket,
    Flags,
    /// A letter beyond ASCII after a flag that ignores the case.
    FoldedCase,
    /// `i` after such a flag.
    FoldedI,
    /// `k` or `s` after such a flag, which stand for U+212A and U+017F as well.
    FoldedKOrS,
    /// A reference to a group that is open or begins later.
    ForwardReference,
    /// A name with `_`.
    GroupName,
    /// A name with characters beyond ASCII.
    GroupNameBeyondAscii,
    Intersection,
    /// `\h`, `\H` and `\e`
    JavaEscape,
    LateFlags,
    /// `$` in a pattern with line breaks.
    LineEnd,
    LineFlags,
    /// `\U00000041`
    LongCode,
    LongCount,
    /// `\0101`
    LongOctalCode,
    LookAround,
    /// A look-behind with a repeated group of several texts.
    LookBehindOfGroup,
    /// A reference to a group that there is not.
    MissingReference,
    /// `(?m)`
    MultiLine,
    NamedClass,
    NamedGroup,
    NamedGroupP,
    /// `\k<name>`
    NamedReference,
    /// `(?P=name)`
    NamedReferenceP,
    NegativeFlags,
    Nested,
    NotDigit,
    NotSpace,
    NotWord,
    /// `\0` without more digits.
    NullCode,
    /// `\07` and `\012`
    OctalCode,
    /// A count with a zero before it.
    PaddedCount,
    Possessive,
    /// `\p{Lu}`
    PropertyOfCategory,
    /// `\p{IsGreek}`
    PropertyOfJava,
    /// `\p{Alpha}`
    PropertyOfPosix,
    /// `\p{Alphabetic}`
    PropertyOfRust,
    /// `\p{Greek}`
    PropertyOfScript,
    /// `\Q…\E`
    QuotedText,
    RareFlags,
    RepeatedPosition,
    /// `\u{41}`
    RustCode,
    /// `--`
    SetDifference,
    /// `~~`
    SetOperation,
    /// `\u0041`
    ShortCode,
    Space,
    Start,
    /// `\Z`
    TextEnd,
    Unknown,
    UnknownNamedClass,
    /// A reference to a group that may take no part in a match.
    UnsureReference,
    /// A look-behind whose text has no fixed length.
    VariableLookBehind,
    Verbose,
    /// A class with white space after `(?x)`.
    VerboseClass,
    /// `\v`
    VerticalTab,
    Word,
}

impl Construct {
    /// Returns whether it is a character by its octal number, which Rust takes for a reference.
    pub(in crate::document) fn is_octal(self) -> bool {
        matches!(self, Self::LongOctalCode | Self::NullCode | Self::OctalCode)
    }

    pub(super) fn is_flags(self) -> bool {
        matches!(
            self,
            Self::Flags
                | Self::LateFlags
                | Self::LineFlags
                | Self::MultiLine
                | Self::NegativeFlags
                | Self::RareFlags
                | Self::Verbose
        )
    }

    /// Returns whether Rust does not know it, and another SDK does.
    pub(super) fn is_beyond_rust(self) -> bool {
        matches!(
            self,
            Self::AtomicGroup
                | Self::Backreference
                | Self::ClassReference
                | Self::Comment
                | Self::ControlCode
                | Self::ForwardReference
                | Self::JavaEscape
                | Self::LongOctalCode
                | Self::LookAround
                | Self::LookBehindOfGroup
                | Self::MissingReference
                | Self::NamedReference
                | Self::NamedReferenceP
                | Self::NullCode
                | Self::OctalCode
                | Self::QuotedText
                | Self::TextEnd
                | Self::UnsureReference
                | Self::VariableLookBehind
        )
    }
}
