//! What the SDKs do differently, as data.
//!
//! The facts were measured on 2026-11-25: the SDKs evaluated 250,605 pairs of document and user, on payloads
//! that were translated as the service does. The versions were Rust 2.3.2, Go 2.3.0, Java 2.3.0 and 2.1.1,
//! Node 2.2.0 and Python 2.2.1. Java has two, because Maven still gave 2.1.1 as the newest one.
//!
//! Those on regular expressions are about the engines of the languages, too: `regex` 1.13, Go 1.26, Java 17,
//! Node 20 and Python 3.11, measured on 2026-11-28.

use super::portable::Construct;
use crate::model::{Sdk, Sdks, listed};

/// What an SDK does with a pattern that it cannot read. Other texts say `invalid` as well.
const INVALID: &str = "an invalid pattern";

/// The same of a part that it reads as other text.
const UNKNOWN: &str = "unknown";

const KNOWN: &str = "known";

/// One way in which SDKs differ.
#[derive(Eq, PartialEq)]
pub(super) struct Fact {
    /// What they differ about.
    pub(super) about: &'static str,
    /// Who does what.
    groups: Groups,
    /// What all others do.
    others: &'static str,
    help: &'static str,
}

type Groups = &'static [(&'static [SdkGroup], &'static str)];

/// An SDK, or some versions of the one for Java.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SdkGroup {
    All(Sdk),
    /// Java from 2.3 on.
    NewJava,
    /// Java before 2.3.
    OldJava,
}

pub(super) const GO: SdkGroup = SdkGroup::All(Sdk::Go);
pub(super) const JAVA: SdkGroup = SdkGroup::All(Sdk::Java);
pub(super) const NODE: SdkGroup = SdkGroup::All(Sdk::Node);
pub(super) const PYTHON: SdkGroup = SdkGroup::All(Sdk::Python);
const RUST: SdkGroup = SdkGroup::All(Sdk::Rust);

/// All SDKs, in the order of messages.
const ALL: [SdkGroup; 5] = [RUST, GO, JAVA, NODE, PYTHON];

impl SdkGroup {
    pub(super) fn sdk(self) -> Sdk {
        match self {
            Self::All(sdk) => sdk,
            Self::NewJava | Self::OldJava => Sdk::Java,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::All(sdk) => sdk.name(),
            Self::NewJava => "Java from 2.3 on",
            Self::OldJava => "Java before 2.3",
        }
    }
}

pub(super) const UNMET: Fact = Fact {
    about: "a prerequisite that is not met",
    groups: &[
        (&[RUST, GO, SdkGroup::NewJava], "`disabledServe` is served"),
        (&[NODE, PYTHON, SdkGroup::OldJava], "`defaultServe` is served"),
    ],
    others: "",
    help: "let both serve what these users must get, or accept the difference with the comment `# gitoggle: \
           allow(sdk-disagreement) REASON`",
};

pub(super) const NESTED: Fact = Fact {
    about: "a prerequisite further down that is not met",
    groups: &[(&[NODE], "`defaultServe` of this toggle is served")],
    others: "the toggle in between decides",
    help: "let the toggle in between serve something else in its `disabledServe`",
};

pub(super) const OTHER_TYPE: Fact = Fact {
    about: "a prerequisite of another type",
    groups: &[
        (&[RUST, JAVA, NODE], "never met"),
        (&[GO], "met if the value is the same"),
        (&[PYTHON], "met if `str` of both is the same"),
    ],
    others: "",
    help: "write the type of the other toggle",
};

pub(super) const NUMBER_NOTATION: Fact = Fact {
    about: "a number in another notation",
    groups: &[(&[GO, NODE], "equal")],
    others: "different",
    help: "write it as the other toggle does",
};

pub(super) const JSON_NOTATION: Fact = Fact {
    about: "a number in another notation within JSON",
    groups: &[(&[GO], "equal"), (&[NODE], "never equal")],
    others: "different",
    help: "write it as the other toggle does",
};

pub(super) const LARGE_NUMBER: Fact = Fact {
    about: "a whole number of more than 64 bits",
    groups: &[(&[RUST, GO, NODE], "equal, as a 64-bit float")],
    others: "different",
    help: "write it as the other toggle does",
};

pub(super) const FLOATS: Fact = Fact {
    about: "numbers with more than seven digits",
    groups: &[(&[GO], "32-bit floats")],
    others: "64-bit floats",
    help: "compare a text (`type: string`), or a number with up to seven digits",
};

pub(super) const SUFFIXES: Fact = Fact {
    about: "versions with a suffix",
    groups: &[(&[JAVA], "the order of Maven")],
    others: "the order of Semantic Versioning",
    help: "compare a version without a suffix",
};

pub(super) const BUILDS: Fact = Fact {
    about: "versions with build metadata",
    groups: &[(&[RUST, JAVA], "it is compared")],
    others: "it is ignored",
    help: "compare a version without build metadata",
};

pub(super) const LARGE_VERSIONS: Fact = Fact {
    about: "versions with a number of 2^53 or more",
    groups: &[(&[NODE], "skipped")],
    others: "compared",
    help: "compare a version with smaller numbers",
};

pub(super) const BLANKS: Fact = Fact {
    about: "blank texts",
    groups: &[
        (&[RUST, GO, SdkGroup::NewJava], "an attribute may be blank"),
        (&[NODE, PYTHON, SdkGroup::OldJava], "a blank attribute is missing"),
    ],
    others: "",
    help: "compare a text that is not blank",
};

pub(super) const EARLY_TIMES: Fact = Fact {
    about: "times before 1970",
    groups: &[(&[RUST], "skipped")],
    others: "compared",
    help: "compare a time from 1970 on",
};

pub(super) const JSON: Fact = Fact {
    about: "JSON values of prerequisites",
    groups: &[(&[NODE], "never equal"), (&[PYTHON], "equal only in the same order")],
    others: "equal in any order",
    help: "let a boolean toggle stand for the condition",
};

pub(super) const JSON_ORDER: Fact = Fact {
    about: "a JSON value with its members in another order",
    groups: &[(&[NODE], "never equal"), (&[PYTHON], "different")],
    others: "equal",
    help: "write it as the other toggle does",
};

pub(super) const LARGE_NUMBERS: Fact = Fact {
    about: "whole numbers of more than 32 bits",
    groups: &[(&[JAVA], "the default value in the caller's code")],
    others: "the number",
    help: "serve a smaller number, or a text",
};

const DIGITS: Groups = &[(&[RUST, PYTHON], "those beyond ASCII as well")];
const LETTERS: Groups = &[
    (&[RUST], "those beyond ASCII as well, with accents of their own"),
    (&[PYTHON], "those beyond ASCII as well"),
];
const SPACES: Groups = &[
    (&[RUST, PYTHON], "that beyond ASCII as well"),
    (&[NODE], "that beyond ASCII with U+FEFF, without U+0085"),
    (&[GO], "that of ASCII without U+000B"),
];
const OF_CATEGORY: Groups = &[(&[NODE, PYTHON], UNKNOWN)];
const OF_SCRIPT: Groups = &[(&[NODE, PYTHON], UNKNOWN), (&[JAVA], INVALID)];
const OF_POSIX: Groups = &[
    (&[NODE, PYTHON], UNKNOWN),
    (&[JAVA], "those of ASCII"),
    (&[GO], "an invalid pattern, or known from 1.25 on"),
];
const OF_JAVA: Groups = &[(&[NODE, PYTHON], UNKNOWN), (&[GO], INVALID)];
const OF_RUST: Groups = &[(&[NODE, PYTHON], UNKNOWN), (&[GO, JAVA], "invalid, or of another meaning")];
const PROPERTY: &str = "`\\p` in a regular expression";
const LIST: &str = "list the characters that are meant in brackets, such as `[A-Z]` for upper-case letters of ASCII, or `[^A-Z]` \
                    for all others";

/// What SDKs do with each construct: what they differ about, who does what, what all others do, and the help.
const CONSTRUCTS: &[(Construct, &str, Groups, &str, &str)] = &[
    (
        Construct::Astral,
        "a character beyond U+FFFF in a class or before a repetition",
        &[(&[NODE], "each of its two halves")],
        "the character",
        "write it in a group, such as `(?:😀|ä)` for `[😀ä]` and `(?:😀)+` for `😀+`",
    ),
    (
        Construct::AstralItem,
        "`.` and `[^…]` beside a character beyond U+FFFF",
        &[(&[NODE], "each of its two halves")],
        "the character",
        "list the characters that may stand there in a group, such as `(?:a|😀)`",
    ),
    (
        Construct::AtomicGroup,
        "`(?>` in a regular expression",
        &[(&[RUST, GO, NODE], INVALID), (&[PYTHON], "known from 3.11 on")],
        KNOWN,
        "write several conditions, which must all match",
    ),
    (
        Construct::Backreference,
        "back references in a regular expression",
        &[(&[RUST, GO], INVALID)],
        KNOWN,
        "write each case as an object",
    ),
    (
        Construct::Bell,
        "`\\a` in a regular expression",
        &[(&[NODE], "the letter")],
        "U+0007",
        "write `\\x07` instead",
    ),
    (
        Construct::BlankCount,
        "counts with blanks in a regular expression",
        &[(&[RUST], "a count"), (&[JAVA], INVALID)],
        "literal text",
        "write the count without blanks",
    ),
    (
        Construct::Border,
        "the borders of words (`\\b`, `\\B`)",
        &[
            (&[RUST], "letters and digits beyond ASCII are in words, with accents of their own"),
            (&[PYTHON], "letters and digits beyond ASCII are in words"),
            (&[JAVA], "letters and digits beyond ASCII are in words up to Java 18"),
        ],
        "words have letters and digits of ASCII",
        "write the pattern without them: no class means the same",
    ),
    (
        Construct::BracedCode,
        "`\\x{…}` in a regular expression",
        &[(&[NODE], UNKNOWN), (&[PYTHON], INVALID)],
        KNOWN,
        "write the character itself",
    ),
    (
        Construct::ClassReference,
        "a digit after `\\` in a class",
        &[(&[RUST, GO, JAVA], INVALID)],
        "a character by its octal number",
        "write the character itself",
    ),
    (
        Construct::Comment,
        "`(?#` in a regular expression",
        &[(&[PYTHON], "a comment")],
        INVALID,
        "write the comment after `#` in YAML",
    ),
    (
        Construct::ControlCode,
        "`\\c` in a regular expression",
        &[(&[RUST, GO, PYTHON], INVALID)],
        KNOWN,
        "write the character by its number, such as `\\x01` for `\\cA`",
    ),
    (
        Construct::Digit,
        "digits (`\\d`)",
        DIGITS,
        "those of ASCII",
        "write `[0-9]` instead, or `0-9` in brackets",
    ),
    (
        Construct::Dot,
        "`.` in a regular expression with line breaks",
        &[
            (&[JAVA], "not `\\n`, `\\r`, U+0085, U+2028 and U+2029"),
            (&[NODE], "not `\\n`, `\\r`, U+2028 and U+2029"),
        ],
        "not `\\n`",
        "list what is excluded, such as `[^\\r\\n]`",
    ),
    (
        Construct::EmptyIntersection,
        "`&&` without a class on both sides",
        &[(&[RUST], "no character is in both"), (&[JAVA], "an invalid pattern, or no operation")],
        "the character",
        "write `&` once for the character",
    ),
    (
        Construct::End,
        "`\\z` in a regular expression",
        &[(&[NODE, PYTHON], "the letter, or an invalid pattern")],
        "the end",
        "write `$` instead",
    ),
    (
        Construct::FirstBracket,
        "a first `]` within a class",
        &[(&[NODE], "the end of the class")],
        "a character",
        "write `\\]` for the character",
    ),
    (
        Construct::Flags,
        "flags in a regular expression",
        &[(&[NODE], INVALID)],
        KNOWN,
        "write the letters of both cases as classes, such as `[Aa]`",
    ),
    (
        Construct::FoldedCase,
        "letters beyond ASCII whose case a flag ignores",
        &[(&[JAVA], "the case counts"), (&[NODE], INVALID)],
        "the case is ignored",
        "write the letters of both cases as classes, such as `[Ää]`",
    ),
    (
        Construct::FoldedI,
        "the letter `i` if its case is ignored",
        &[(&[NODE], INVALID), (&[PYTHON], "U+0130 and U+0131 as well")],
        "letters of ASCII",
        "write the letters of both cases as classes, such as `[Ii]`",
    ),
    (
        Construct::FoldedKOrS,
        "the letters `k` and `s` if their case is ignored",
        &[(&[JAVA], "letters of ASCII"), (&[NODE], INVALID)],
        "U+212A and U+017F as well",
        "write the letters of both cases as classes, such as `[Ss]`",
    ),
    (
        Construct::ForwardReference,
        "a reference to a group that has not ended",
        &[(&[RUST, GO, PYTHON], INVALID), (&[JAVA], "no match"), (&[NODE], "the empty text")],
        "",
        "write each case as an object",
    ),
    (Construct::GroupName, "`_` in the name of a group", &[(&[JAVA], INVALID)], KNOWN, "write `(` instead"),
    (
        Construct::GroupNameBeyondAscii,
        "the name of a group with characters beyond ASCII",
        &[(&[GO, JAVA], INVALID)],
        KNOWN,
        "write `(` instead",
    ),
    (
        Construct::Intersection,
        "`&&` in a class",
        &[(&[RUST, JAVA], "what is in both")],
        "the character",
        "list the characters of the class, or write `&` once for the character",
    ),
    (
        Construct::JavaEscape,
        "`\\h`, `\\H` and `\\e` in a regular expression",
        &[(&[JAVA], KNOWN), (&[NODE], UNKNOWN)],
        INVALID,
        "write the characters, such as `[ \\t]` for `\\h` and `\\x1B` for `\\e`",
    ),
    (
        Construct::LateFlags,
        "flags after the beginning of a regular expression",
        &[(&[NODE], INVALID), (&[PYTHON], "an invalid pattern from 3.11 on")],
        KNOWN,
        "write the pattern without flags, and the letters of both cases as classes, such as `[Aa]`",
    ),
    (
        Construct::LineEnd,
        "`$` in a regular expression with line breaks",
        &[(&[JAVA], "also before a last line break of any kind"), (&[PYTHON], "also before a last `\\n`")],
        "only the end",
        "compare texts with line breaks with `is one of` or `ends with`",
    ),
    (
        Construct::LineFlags,
        "flags in a regular expression",
        &[(&[NODE], INVALID)],
        KNOWN,
        "write the pattern without flags: no other notation means the same to all SDKs",
    ),
    (
        Construct::LongCode,
        "`\\U` with eight digits in a regular expression",
        &[(&[NODE], UNKNOWN), (&[GO, JAVA], INVALID)],
        KNOWN,
        "write the character itself",
    ),
    (
        Construct::LongCount,
        "counts over 1000 in a regular expression, also of counts in each other",
        &[(&[GO], INVALID)],
        KNOWN,
        "write a smaller count",
    ),
    (
        Construct::LongOctalCode,
        "a character by its octal number in a regular expression",
        &[(&[RUST], INVALID), (&[JAVA], "three digits after `\\0`")],
        "two digits after `\\0`",
        "write two hexadecimal digits, such as `\\x0A` for `\\012`",
    ),
    (
        Construct::LookAround,
        "look-ahead and look-behind in a regular expression",
        &[(&[RUST, GO], INVALID)],
        KNOWN,
        "write several conditions, which must all match",
    ),
    (
        Construct::LookBehindOfGroup,
        "a look-behind with a repeated group of several texts",
        &[(&[RUST, GO, JAVA], INVALID)],
        KNOWN,
        "write several conditions, which must all match",
    ),
    (
        Construct::MissingReference,
        "a reference to a group that there is not",
        &[
            (&[RUST, GO], INVALID),
            (&[PYTHON], "an invalid pattern, or a character by its octal number"),
            (&[JAVA], "no match, or a shorter number and other digits"),
            (&[NODE], "a character by its octal number, or the digits"),
        ],
        "",
        "write the text itself, or each case as an object",
    ),
    (
        Construct::MultiLine,
        "the flag `m` of a regular expression",
        &[(&[NODE], INVALID), (&[JAVA], "a line ends with `\\r`, U+0085, U+2028 and U+2029 as well")],
        "a line ends with `\\n`",
        "write the pattern without flags: no other notation means the same to all SDKs",
    ),
    (
        Construct::NamedClass,
        "classes such as `[:alpha:]`",
        &[(&[RUST, GO], KNOWN)],
        "a list of the characters of the name",
        "write a class such as `[A-Za-z]` instead",
    ),
    (
        Construct::NamedGroup,
        "`(?<name>` in a regular expression",
        &[(&[PYTHON], INVALID)],
        KNOWN,
        "write `(` instead",
    ),
    (
        Construct::NamedGroupP,
        "`(?P<name>` in a regular expression",
        &[(&[JAVA, NODE], INVALID)],
        KNOWN,
        "write `(` instead",
    ),
    (
        Construct::NamedReference,
        "`\\k<name>` in a regular expression",
        &[(&[RUST, GO, PYTHON], INVALID)],
        KNOWN,
        "write each case as an object",
    ),
    (
        Construct::NamedReferenceP,
        "`(?P=name)` in a regular expression",
        &[(&[PYTHON], KNOWN)],
        INVALID,
        "write each case as an object",
    ),
    (
        Construct::NegativeFlags,
        "negated flags in a regular expression",
        &[(&[NODE, PYTHON], INVALID)],
        KNOWN,
        "write the pattern without flags",
    ),
    (
        Construct::Nested,
        "a `[` within a class",
        &[(&[RUST, JAVA], "a nested class")],
        "a character",
        "write `\\[` for the character",
    ),
    (
        Construct::NotDigit,
        "digits (`\\D`)",
        DIGITS,
        "those of ASCII",
        "write `[^0-9]` instead, outside of brackets",
    ),
    (
        Construct::NotSpace,
        "white space (`\\S`)",
        SPACES,
        "that of ASCII",
        "write `[^ \\t\\r\\n]` instead, outside of brackets",
    ),
    (
        Construct::NotWord,
        "letters and digits (`\\W`)",
        LETTERS,
        "those of ASCII",
        "write `[^A-Za-z0-9_]` instead, outside of brackets",
    ),
    (
        Construct::NullCode,
        "`\\0` in a regular expression",
        &[(&[RUST, JAVA], INVALID)],
        "U+0000",
        "write `\\x00` instead",
    ),
    (
        Construct::OctalCode,
        "a character by its octal number in a regular expression",
        &[(&[RUST], INVALID)],
        KNOWN,
        "write two hexadecimal digits, such as `\\x0A` for `\\012`",
    ),
    (
        Construct::PaddedCount,
        "a count with a zero before it",
        &[(&[GO], "literal text")],
        "a count",
        "write the count without the zero",
    ),
    (
        Construct::Possessive,
        "repetitions of repetitions",
        &[(&[RUST], "a repetition of the repetition")],
        "an invalid pattern, or one without a way back",
        "write one repetition",
    ),
    (Construct::PropertyOfCategory, PROPERTY, OF_CATEGORY, KNOWN, LIST),
    (Construct::PropertyOfJava, PROPERTY, OF_JAVA, KNOWN, LIST),
    (Construct::PropertyOfPosix, PROPERTY, OF_POSIX, KNOWN, LIST),
    (Construct::PropertyOfRust, PROPERTY, OF_RUST, KNOWN, LIST),
    (Construct::PropertyOfScript, PROPERTY, OF_SCRIPT, KNOWN, LIST),
    (
        Construct::QuotedText,
        "`\\Q` in a regular expression",
        &[(&[RUST, PYTHON], INVALID), (&[NODE], UNKNOWN)],
        "literal text up to `\\E`",
        "write a backslash before each character that has another meaning",
    ),
    (
        Construct::RareFlags,
        "these flags of a regular expression",
        &[(&[RUST], KNOWN)],
        "invalid, or of another meaning",
        "write the pattern without flags",
    ),
    (
        Construct::RepeatedPosition,
        "repetitions of a position such as `^`",
        &[(&[NODE, PYTHON], INVALID)],
        KNOWN,
        "write the position once",
    ),
    (
        Construct::RustCode,
        "`\\u{…}` and `\\U{…}` in a regular expression",
        &[(&[RUST], KNOWN), (&[NODE], UNKNOWN)],
        INVALID,
        "write the character itself",
    ),
    (
        Construct::SetDifference,
        "`--` in a class",
        &[(&[RUST], "the first class without the second one")],
        "a range, or an invalid pattern",
        "list the characters of the class",
    ),
    (
        Construct::SetOperation,
        "`~~` in a class",
        &[(&[RUST], "what is in one of both only")],
        "the character",
        "list the characters of the class, or write `~` once for the character",
    ),
    (
        Construct::ShortCode,
        "`\\u` with four digits in a regular expression",
        &[(&[GO], INVALID)],
        KNOWN,
        "write the character itself",
    ),
    (
        Construct::Space,
        "white space (`\\s`)",
        SPACES,
        "that of ASCII",
        "write `[ \\t\\r\\n]` instead, or ` \\t\\r\\n` in brackets",
    ),
    (
        Construct::Start,
        "`\\A` in a regular expression",
        &[(&[NODE], "the letter")],
        "the beginning",
        "write `^` instead",
    ),
    (
        Construct::TextEnd,
        "`\\Z` in a regular expression",
        &[(&[RUST, GO], INVALID), (&[NODE], UNKNOWN), (&[PYTHON], "the end")],
        "the end, or before a last line break",
        "write `$` instead",
    ),
    (
        Construct::Unknown,
        "this part of a regular expression",
        &[(&[RUST], KNOWN)],
        "invalid, or of another meaning",
        "write literal text, classes, groups and repetitions",
    ),
    (
        Construct::UnknownNamedClass,
        "`[:` and `:]` in a class",
        &[(&[RUST, JAVA], "a nested class"), (&[GO], INVALID)],
        "characters",
        "list the characters of the class",
    ),
    (
        Construct::UnsureReference,
        "a reference to a group that may take no part",
        &[(&[RUST, GO], INVALID), (&[NODE], "then, the empty text")],
        "then, no match",
        "write each case as an object",
    ),
    (
        Construct::VariableLookBehind,
        "a look-behind for texts of different lengths",
        &[(&[RUST, GO, PYTHON], INVALID)],
        KNOWN,
        "write several conditions, which must all match",
    ),
    (
        Construct::Verbose,
        "`(?x)` in a regular expression",
        &[(&[GO, NODE], INVALID)],
        KNOWN,
        "write the pattern without blanks and without `(?x)`",
    ),
    (
        Construct::VerboseClass,
        "white space or `#` in a class after `(?x)`",
        &[(&[RUST, JAVA], "no part of the class"), (&[GO, NODE], INVALID)],
        "a character",
        "write the pattern without blanks and without `(?x)`",
    ),
    (
        Construct::VerticalTab,
        "`\\v` in a regular expression",
        &[(&[JAVA], "any vertical white space")],
        "U+000B",
        "write `\\x0b` instead",
    ),
    (
        Construct::Word,
        "letters and digits (`\\w`)",
        LETTERS,
        "those of ASCII",
        "write `[A-Za-z0-9_]` instead, or `A-Za-z0-9_` in brackets",
    ),
];

impl Construct {
    /// Returns whether SDKs differ only for texts that have other characters than those of ASCII, or white space.
    pub(super) fn is_about_other_alphabets(self) -> bool {
        matches!(
            self,
            Self::Border
                | Self::Digit
                | Self::FoldedI
                | Self::FoldedKOrS
                | Self::NotDigit
                | Self::NotSpace
                | Self::NotWord
                | Self::Space
                | Self::Word
        )
    }

    /// Returns what the SDKs do with it.
    pub(super) fn fact(self) -> Option<Fact> {
        let row = CONSTRUCTS.iter().find(|(construct, ..)| *construct == self);
        row.map(|(_, about, groups, others, help)| Fact { about, groups, others, help })
    }
}

/// Returns whether nobody means what an SDK does, even if no other SDK is used: what it cannot read, takes for
/// another text, or never meets.
fn is_mistake(does: &str) -> bool {
    const MISTAKES: &[&str] = &[
        UNKNOWN,
        "32-bit floats",
        "a blank attribute is missing",
        "a list of the characters of the name",
        "different",
        "each of its two halves",
        "literal text",
        "never equal",
        "none, but characters",
        "skipped",
        "the case counts",
        "the default value in the caller's code",
        "the letter",
        "a character by its octal number, or the digits",
        "no match",
        "no match, or a shorter number and other digits",
    ];
    MISTAKES.contains(&does) || does.contains("invalid")
}

impl Fact {
    /// Returns the message and the help of a finding, if this is not the same for all of `sdks`, or if nobody
    /// means what all of them do.
    pub(super) fn words(&self, sdks: Sdks, example: &str) -> Option<(String, String)> {
        let Self { about, help, .. } = self;
        match self.lists_of(sdks).as_slice() {
            [] => None,
            [(names, does)] => is_mistake(does).then(|| {
                let message = format!("{about}: {does} in {}; {example}", listed(names));
                (message, (*help).to_owned())
            }),
            _ => {
                let message = format!("SDKs differ about {about}: {}; {example}", self.lists(sdks));
                Some((message, format!("{help}, or name only the SDKs that your services use with `sdks`")))
            }
        }
    }

    /// Returns whether an SDK can read it, in each of its versions, and not as other text.
    pub(super) fn is_read_by(&self, sdk: Sdk) -> bool {
        let groups = self.groups().into_iter().filter(|(group, _)| group.iter().any(|one| one.sdk() == sdk));
        groups.into_iter().all(|(_, does)| does != UNKNOWN && !does.contains("invalid"))
    }

    /// Returns who of `sdks` does what.
    pub(super) fn lists(&self, sdks: Sdks) -> String {
        let sdks = if sdks.is_empty() { Sdks::ALL } else { sdks };
        let all = self.lists_of(sdks).into_iter().map(|(names, does)| format!("{}: {does}", listed(&names)));
        all.collect::<Vec<_>>().join("; ")
    }

    fn lists_of(&self, sdks: Sdks) -> Vec<(Vec<String>, &'static str)> {
        let lists = self.groups().into_iter().filter_map(|(group, does)| {
            let used = group.into_iter().filter(|one| sdks.has(one.sdk()));
            let names: Vec<String> = used.map(|one| one.name().to_owned()).collect();
            (!names.is_empty()).then_some((names, does))
        });
        lists.collect()
    }

    /// Returns which SDKs do not do what the one for Rust does.
    pub(super) fn other_than_rust(&self) -> Vec<SdkGroup> {
        let groups = self.groups().into_iter().filter(|(group, _)| !group.contains(&RUST));
        groups.flat_map(|(group, _)| group).collect()
    }

    fn groups(&self) -> Vec<(Vec<SdkGroup>, &'static str)> {
        let mut all: Vec<_> = self.groups.iter().map(|(group, does)| (group.to_vec(), *does)).collect();
        let is_named =
            |one: &SdkGroup| all.iter().any(|(group, _)| group.iter().any(|named| named.sdk() == one.sdk()));
        let others: Vec<SdkGroup> = ALL.into_iter().filter(|one| !is_named(one)).collect();
        if !others.is_empty() {
            all.push((others, self.others));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fact_names_each_sdk_once_and_says_what_it_does() {
        let named = [
            UNMET,
            NESTED,
            OTHER_TYPE,
            NUMBER_NOTATION,
            LARGE_NUMBER,
            FLOATS,
            SUFFIXES,
            BUILDS,
            LARGE_VERSIONS,
            BLANKS,
            EARLY_TIMES,
            JSON,
            JSON_NOTATION,
            JSON_ORDER,
            LARGE_NUMBERS,
        ];
        let of_patterns = CONSTRUCTS.iter().map(|(construct, ..)| construct.fact().unwrap());
        for fact in named.into_iter().chain(of_patterns) {
            let groups = fact.groups();
            let mut names: Vec<&str> =
                groups.iter().flat_map(|(group, _)| group).map(|one| one.name()).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert!(groups.len() > 1 && names.len() == count && (5..=6).contains(&count), "{}", fact.about);
            assert!(groups.iter().all(|(_, does)| !does.is_empty()), "{}", fact.about);
        }
        let constructs: Vec<_> = CONSTRUCTS.iter().map(|(construct, ..)| format!("{construct:?}")).collect();
        assert!(constructs.windows(2).all(|two| two[0] < two[1]), "{constructs:?}");
    }
}
