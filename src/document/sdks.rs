//! Warns about documents that mean different things to the SDKs of a team, with the facts about each SDK as
//! data.
//!
//! The facts were measured on 2026-11-25: the SDKs evaluated 250,605 pairs of document and user, on payloads
//! that were translated as the service does. The versions were Rust 2.3.2, Go 2.3.0, Java 2.3.0 and 2.1.1,
//! Node 2.2.0 and Python 2.2.1. Java has two, because Maven still gave 2.1.1 as the newest one.

use serde::Serialize;

use super::check;
use super::finding::{At, Finding, Part, add, shown};
use super::node::PathStep;
use super::portable::{Construct, not_portable};
use crate::model::{
    Condition, Content, ReturnType, Sdk, Sdks, Serve, Targeting, Variation, delivered_time, is_big_decimal,
    is_blank, is_semver, listed,
};

/// What an SDK does with a pattern that it cannot read. Other texts say `invalid` as well.
const INVALID: &str = "an invalid pattern";

/// The same of a part that it reads as other text.
const UNKNOWN: &str = "unknown";

/// One way in which SDKs differ.
pub(super) struct Fact {
    /// What they differ about.
    about: &'static str,
    /// Who does what.
    groups: &'static [(&'static [Group], &'static str)],
    help: &'static str,
}

/// An SDK, or some versions of the one for Java.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Group {
    All(Sdk),
    /// Java from 2.3 on.
    NewJava,
    /// Java before 2.3.
    OldJava,
}

const GO: Group = Group::All(Sdk::Go);
const JAVA: Group = Group::All(Sdk::Java);
const NODE: Group = Group::All(Sdk::Node);
const PYTHON: Group = Group::All(Sdk::Python);
const RUST: Group = Group::All(Sdk::Rust);

impl Group {
    fn sdk(self) -> Sdk {
        match self {
            Self::All(sdk) => sdk,
            Self::NewJava | Self::OldJava => Sdk::Java,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::All(sdk) => sdk.name(),
            Self::NewJava => "Java from 2.3 on",
            Self::OldJava => "Java before 2.3",
        }
    }
}

const UNMET: Fact = Fact {
    about: "a prerequisite that is not met",
    groups: &[
        (&[RUST, GO, Group::NewJava], "`disabledServe` is served"),
        (&[NODE, PYTHON, Group::OldJava], "`defaultServe` is served"),
    ],
    help: "let both serve what these users must get, or accept the difference with the comment `# gitoggle: \
           allow(sdk-disagreement) REASON`",
};

const NESTED: Fact = Fact {
    about: "a prerequisite further down that is not met",
    groups: &[
        (&[NODE], "`defaultServe` of this toggle is served"),
        (&[RUST, GO, JAVA, PYTHON], "the toggle in between decides"),
    ],
    help: "let the toggle in between serve something else in its `disabledServe`",
};

const OTHER_TYPE: Fact = Fact {
    about: "a prerequisite of another type",
    groups: &[(&[RUST, JAVA, NODE, PYTHON], "never met"), (&[GO], "met if the value is the same")],
    help: "write the type of the other toggle",
};

const NUMBER_NOTATION: Fact = Fact {
    about: "a number in another notation",
    groups: &[(&[GO, NODE], "equal"), (&[RUST, JAVA, PYTHON], "different")],
    help: "write it as the other toggle does",
};

const FLOATS: Fact = Fact {
    about: "numbers with more than seven digits",
    groups: &[(&[GO], "32-bit floats"), (&[RUST, JAVA, NODE, PYTHON], "64-bit floats")],
    help: "compare a text (`type: string`), or a number with up to seven digits",
};

const SUFFIXES: Fact = Fact {
    about: "versions with a suffix",
    groups: &[
        (&[JAVA], "the order of Maven"),
        (&[RUST, GO, NODE, PYTHON], "the order of Semantic Versioning"),
    ],
    help: "compare a version without a suffix",
};

const BUILDS: Fact = Fact {
    about: "versions with build metadata",
    groups: &[(&[RUST, JAVA], "it is compared"), (&[GO, NODE, PYTHON], "it is ignored")],
    help: "compare a version without build metadata",
};

const LARGE_VERSIONS: Fact = Fact {
    about: "versions with a number of 2^53 or more",
    groups: &[(&[NODE], "skipped"), (&[RUST, GO, JAVA, PYTHON], "compared")],
    help: "compare a version with smaller numbers",
};

const BLANKS: Fact = Fact {
    about: "blank texts",
    groups: &[
        (&[RUST, GO, Group::NewJava], "an attribute may be blank"),
        (&[NODE, PYTHON, Group::OldJava], "a blank attribute is missing"),
    ],
    help: "compare a text that is not blank",
};

const EARLY_TIMES: Fact = Fact {
    about: "times before 1970",
    groups: &[(&[RUST], "skipped"), (&[GO, JAVA, NODE, PYTHON], "compared")],
    help: "compare a time from 1970 on",
};

const JSON: Fact = Fact {
    about: "JSON values of prerequisites",
    groups: &[
        (&[NODE], "never equal"),
        (&[PYTHON], "equal only in the same order"),
        (&[RUST, GO, JAVA], "equal in any order"),
    ],
    help: "let a boolean toggle stand for the condition",
};

const LARGE_NUMBERS: Fact = Fact {
    about: "whole numbers of more than 32 bits",
    groups: &[(&[JAVA], "the default value in the caller's code"), (&[RUST, GO, NODE, PYTHON], "the number")],
    help: "serve a smaller number, or a text",
};

impl Construct {
    /// Returns whether SDKs differ only for texts that have other characters than those of ASCII, or white space.
    fn is_about_other_alphabets(self) -> bool {
        matches!(
            self,
            Self::Border
                | Self::Digit
                | Self::NotDigit
                | Self::NotSpace
                | Self::NotWord
                | Self::Space
                | Self::Word
        )
    }

    /// Returns what the SDKs do with it.
    fn fact(self) -> &'static Fact {
        match self {
            Self::Astral => &Fact {
                about: "a character beyond U+FFFF in a class or before a repetition",
                groups: &[(&[NODE], "each of its two halves"), (&[RUST, GO, JAVA, PYTHON], "the character")],
                help: "write it in a group, such as `(?:😀|ä)` for `[😀ä]` and `(?:😀)+` for `😀+`",
            },
            Self::LookAround => &Fact {
                about: "look-ahead and look-behind in a regular expression",
                groups: &[(&[RUST, GO], INVALID), (&[JAVA, NODE, PYTHON], "known")],
                help: "write several conditions, which must all match",
            },
            Self::Backreference => &Fact {
                about: "back references in a regular expression",
                groups: &[(&[RUST, GO], INVALID), (&[JAVA, NODE, PYTHON], "known")],
                help: "write each case as an object",
            },
            Self::Flags => &Fact {
                about: "flags in a regular expression",
                groups: &[(&[NODE], INVALID), (&[RUST, GO, JAVA, PYTHON], "known")],
                help: "write the letters of both cases as classes, such as `[Aa]`",
            },
            Self::RareFlags => &Fact {
                about: "these flags of a regular expression",
                groups: &[(&[RUST], "known"), (&[GO, JAVA, NODE, PYTHON], "invalid, or of another meaning")],
                help: "write the pattern without flags",
            },
            Self::Verbose => &Fact {
                about: "`(?x)` in a regular expression",
                groups: &[(&[GO, NODE], INVALID), (&[RUST, JAVA, PYTHON], "known")],
                help: "write the pattern without blanks and without `(?x)`",
            },
            Self::LineFlags => &Fact {
                about: "flags in a regular expression",
                groups: &[(&[NODE], INVALID), (&[RUST, GO, JAVA, PYTHON], "known")],
                help: "write the pattern without flags: no other notation means the same to all SDKs",
            },
            Self::Digit => &Fact {
                about: "digits (`\\d`)",
                groups: &[
                    (&[RUST, PYTHON], "those beyond ASCII as well"),
                    (&[GO, JAVA, NODE], "those of ASCII"),
                ],
                help: "write `[0-9]` instead, or `0-9` in brackets",
            },
            Self::NotDigit => &Fact {
                about: "digits (`\\D`)",
                groups: &[
                    (&[RUST, PYTHON], "those beyond ASCII as well"),
                    (&[GO, JAVA, NODE], "those of ASCII"),
                ],
                help: "write `[^0-9]` instead, outside of brackets",
            },
            Self::Word => &Fact {
                about: "letters and digits (`\\w`)",
                groups: &[
                    (&[RUST, PYTHON], "those beyond ASCII as well"),
                    (&[GO, JAVA, NODE], "those of ASCII"),
                ],
                help: "write `[A-Za-z0-9_]` instead, or `A-Za-z0-9_` in brackets",
            },
            Self::NotWord => &Fact {
                about: "letters and digits (`\\W`)",
                groups: &[
                    (&[RUST, PYTHON], "those beyond ASCII as well"),
                    (&[GO, JAVA, NODE], "those of ASCII"),
                ],
                help: "write `[^A-Za-z0-9_]` instead, outside of brackets",
            },
            Self::Border => &Fact {
                about: "the borders of words (`\\b`, `\\B`)",
                groups: &[
                    (&[RUST, PYTHON], "letters and digits beyond ASCII are in words"),
                    (&[GO, JAVA, NODE], "words have letters and digits of ASCII"),
                ],
                help: "write the pattern without them: no class means the same",
            },
            Self::Space => &Fact {
                about: "white space (`\\s`)",
                groups: &[
                    (&[RUST, PYTHON, NODE], "that beyond ASCII as well"),
                    (&[GO, JAVA], "that of ASCII"),
                ],
                help: "write `[ \\t\\r\\n]` instead, or ` \\t\\r\\n` in brackets",
            },
            Self::NotSpace => &Fact {
                about: "white space (`\\S`)",
                groups: &[
                    (&[RUST, PYTHON, NODE], "that beyond ASCII as well"),
                    (&[GO, JAVA], "that of ASCII"),
                ],
                help: "write `[^ \\t\\r\\n]` instead, outside of brackets",
            },
            Self::Property => &Fact {
                about: "`\\p` in a regular expression",
                groups: &[
                    (&[NODE, PYTHON], UNKNOWN),
                    (&[JAVA], "known without names of scripts"),
                    (&[RUST, GO], "known"),
                ],
                help: "list the characters that are meant in brackets, such as `[A-Z]` for upper-case letters of ASCII",
            },
            Self::NotProperty => &Fact {
                about: "`\\P` in a regular expression",
                groups: &[
                    (&[NODE, PYTHON], UNKNOWN),
                    (&[JAVA], "known without names of scripts"),
                    (&[RUST, GO], "known"),
                ],
                help: "list the characters that are not meant in brackets, after `[^`",
            },
            Self::NamedClass => &Fact {
                about: "classes such as `[:alpha:]`",
                groups: &[
                    (&[RUST, GO], "known"),
                    (&[JAVA, NODE, PYTHON], "a list of the characters of the name"),
                ],
                help: "write a class such as `[A-Za-z]` instead",
            },
            Self::NamedGroupP => &Fact {
                about: "`(?P<name>` in a regular expression",
                groups: &[(&[JAVA, NODE], INVALID), (&[RUST, GO, PYTHON], "known")],
                help: "write `(` instead",
            },
            Self::NamedGroup => &Fact {
                about: "`(?<name>` in a regular expression",
                groups: &[(&[PYTHON], INVALID), (&[RUST, GO, JAVA, NODE], "known")],
                help: "write `(` instead",
            },
            Self::Start => &Fact {
                about: "`\\A` in a regular expression",
                groups: &[(&[NODE], "the letter"), (&[RUST, GO, JAVA, PYTHON], "the beginning")],
                help: "write `^` instead",
            },
            Self::End => &Fact {
                about: "`\\z` in a regular expression",
                groups: &[
                    (&[NODE, PYTHON], "the letter, or an invalid pattern"),
                    (&[RUST, GO, JAVA], "the end"),
                ],
                help: "write `$` instead",
            },
            Self::Codes => &Fact {
                about: "characters as codes in a regular expression",
                groups: &[
                    (&[RUST], "all forms are known"),
                    (&[GO, JAVA, NODE, PYTHON], "some forms are known, others in each"),
                ],
                help: "write the character itself",
            },
            Self::SetOperation => &Fact {
                about: "operations on classes",
                groups: &[
                    (&[RUST], "`&&`, `--` and `~~`"),
                    (&[JAVA], "only `&&`"),
                    (&[GO, NODE, PYTHON], "none, but characters"),
                ],
                help: "list the characters of the class",
            },
            Self::Nested => &Fact {
                about: "a `[` or a first `]` within a class",
                groups: &[
                    (&[RUST, JAVA], "a nested class, or a character"),
                    (&[GO, NODE, PYTHON], "a character, or the end of the class"),
                ],
                help: "write `\\[` or `\\]` for the character",
            },
            Self::Possessive => &Fact {
                about: "repetitions of repetitions",
                groups: &[
                    (&[RUST], "a repetition of the repetition"),
                    (&[GO, JAVA, NODE, PYTHON], "an invalid pattern, or one without a way back"),
                ],
                help: "write one repetition",
            },
            Self::NegativeFlags => &Fact {
                about: "negated flags in a regular expression",
                groups: &[(&[NODE, PYTHON], INVALID), (&[RUST, GO, JAVA], "known")],
                help: "write the pattern without flags",
            },
            Self::RepeatedPosition => &Fact {
                about: "repetitions of a position such as `^`",
                groups: &[(&[NODE, PYTHON], INVALID), (&[RUST, GO, JAVA], "known")],
                help: "write the position once",
            },
            Self::BlankCount => &Fact {
                about: "counts with blanks in a regular expression",
                groups: &[(&[RUST], "a count"), (&[GO, NODE, PYTHON], "literal text"), (&[JAVA], INVALID)],
                help: "write the count without blanks",
            },
            Self::LongCount => &Fact {
                about: "counts over 1000 in a regular expression, also of counts in each other",
                groups: &[(&[GO], INVALID), (&[RUST, JAVA, NODE, PYTHON], "known")],
                help: "write a smaller count",
            },
            Self::Unknown => &Fact {
                about: "this part of a regular expression",
                groups: &[(&[RUST], "known"), (&[GO, JAVA, NODE, PYTHON], "invalid, or of another meaning")],
                help: "write literal text, classes, groups and repetitions",
            },
        }
    }
}

/// Returns whether nobody writes a pattern for what an SDK does with it, even if no other SDK is used.
fn is_mistake(does: &str) -> bool {
    const MISTAKES: &[&str] = &[
        UNKNOWN,
        "32-bit floats",
        "a list of the characters of the name",
        "different",
        "each of its two halves",
        "literal text",
        "none, but characters",
        "the letter",
    ];
    MISTAKES.contains(&does) || does.contains("invalid")
}

impl Fact {
    /// Returns the message and the help of a finding, if this is not the same for all of `sdks`, or if none of
    /// them can read it.
    fn words(&self, sdks: Sdks, example: &str) -> Option<(String, String)> {
        let Self { about, help, .. } = self;
        match self.groups(sdks).as_slice() {
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

    /// Returns who of `sdks` does what.
    fn lists(&self, sdks: Sdks) -> String {
        let sdks = if sdks.is_empty() { Sdks::ALL } else { sdks };
        let all = self.groups(sdks).into_iter().map(|(names, does)| format!("{}: {does}", listed(&names)));
        all.collect::<Vec<_>>().join("; ")
    }

    fn groups(&self, sdks: Sdks) -> Vec<(Vec<String>, &'static str)> {
        let groups = self.groups.iter().filter_map(|(group, does)| {
            let names: Vec<String> =
                group.iter().filter(|one| sdks.has(one.sdk())).map(|one| one.name().to_owned()).collect();
            (!names.is_empty()).then_some((names, *does))
        });
        groups.collect()
    }
}

/// Returns whether an SDK of the team knows look-around and back references. Without a team, one does.
pub(super) fn know_references(sdks: Sdks) -> bool {
    sdks.is_empty() || [Sdk::Java, Sdk::Node, Sdk::Python].into_iter().any(|sdk| sdks.has(sdk))
}

/// Returns the findings on what the SDKs of a team do not agree about.
pub(super) fn check(targeting: &Targeting, sdks: Sdks) -> Vec<Finding> {
    let mut checker = SdkChecker { sdks, findings: Vec::new() };
    if !sdks.is_empty() {
        checker.content(&targeting.content, targeting.disabled);
    }
    checker.findings
}

/// Returns what SDKs do if the toggle of a prerequisite does not exist.
pub(super) fn without_toggle(sdks: Sdks) -> String {
    UNMET.lists(sdks)
}

/// Returns what SDKs do with a prerequisite whose type is not that of its toggle.
pub(super) fn with_other_type(sdks: Sdks) -> String {
    OTHER_TYPE.lists(sdks)
}

/// Returns the message and the help on a toggle that needs `value` of the toggle `key`, which can serve that
/// although one of its own prerequisites is not met.
pub(super) fn nested(sdks: Sdks, key: &str, value: &str) -> Option<(String, String)> {
    let example =
        format!("`{key}` can serve `{}` even if it needs a toggle that does not meet it", shown(value));
    NESTED.words(sdks, &example)
}

/// Returns the message and the help on a number `wanted` that the toggle `key` has as `value`.
pub(super) fn other_notation(sdks: Sdks, key: &str, value: &str, wanted: &str) -> Option<(String, String)> {
    let is_same = value.parse::<f64>().ok() == wanted.parse::<f64>().ok();
    let (value, wanted) = (shown(value), shown(wanted));
    let (message, help) =
        NUMBER_NOTATION.words(sdks, &format!("`{key}` has `{value}`, and this is `{wanted}`"))?;
    is_same.then(|| (message, format!("write `value: \"{value}\"`: {help}")))
}

struct SdkChecker {
    sdks: Sdks,
    findings: Vec<Finding>,
}

impl SdkChecker {
    fn add(&mut self, fact: &Fact, example: &str, at: &At<'_>, part: Part) {
        let Some((message, help)) = fact.words(self.sdks, example) else { return };
        add(&mut self.findings, at.finding(&check::SDK_DISAGREEMENT, part, message).help(help));
    }

    fn content(&mut self, content: &Content, is_disabled: bool) {
        let at = At { parent: None, step: PathStep::Key("content") };
        self.prerequisites(content, is_disabled, &at);
        self.variations(content, &at.key("variations"));
        let rules = at.key("rules");
        for (index, rule) in content.rules.iter().enumerate() {
            let at = rules.item(index);
            let conditions = at.key("conditions");
            for (index, condition) in rule.conditions.iter().enumerate() {
                self.condition(condition, &conditions.item(index));
            }
        }
    }

    fn prerequisites(&mut self, content: &Content, is_disabled: bool, at: &At<'_>) {
        let prerequisites = content.prerequisites.as_deref().unwrap_or_default();
        let Some(first) = prerequisites.first() else { return };
        let list = at.key("prerequisites");
        let Content { disabled_serve, default_serve, .. } = content;
        if !is_disabled && serve_values(disabled_serve, content) != serve_values(default_serve, content) {
            let serve = |serve| served(serve, &content.variations);
            let example = format!(
                "a user for whom `{}` does not serve `{}` gets {} or {}",
                shown(&first.key),
                shown(&first.value),
                serve(disabled_serve),
                serve(default_serve)
            );
            self.add(&UNMET, &example, &list, Part::Key);
        }
        for (index, prerequisite) in prerequisites.iter().enumerate() {
            if prerequisite.kind == ReturnType::Json {
                let example = "`{\"a\":1,\"b\":2}` and `{\"b\":2,\"a\":1}` are equal in some of them";
                self.add(&JSON, example, &list.item(index).key("type"), Part::Value);
            }
        }
    }

    fn variations(&mut self, content: &Content, list: &At<'_>) {
        let values: Vec<&str> = content.variations.iter().map(|variation| variation.value.as_str()).collect();
        if ReturnType::of(&values) != ReturnType::Number {
            return;
        }
        for (index, value) in values.iter().enumerate() {
            let number = value.parse::<f64>().unwrap_or_default();
            let is_int = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number);
            if number.fract() == 0.0 && !is_int {
                let example = format!(
                    "a caller that asks for a number gets its own default instead of `{}`",
                    shown(value)
                );
                return self.add(&LARGE_NUMBERS, &example, &list.item(index).key("value"), Part::Value);
            }
        }
    }

    /// Adds at most one finding, because the objects of one condition usually have the same form.
    fn condition(&mut self, condition: &Condition, at: &At<'_>) {
        let Condition { kind, predicate, objects, between, .. } = condition;
        let right = between.iter().flat_map(|between| between.right_objects.iter().enumerate());
        let all = objects.iter().enumerate().map(|one| ("objects", one));
        let all = all.chain(right.map(|one| ("rightObjects", one)));
        for (list, (index, object)) in all {
            let found = disagreements(kind, predicate, object);
            let is_finding = |(fact, example): &&(&Fact, String)| fact.words(self.sdks, example).is_some();
            if let Some((fact, example)) = found.iter().find(is_finding) {
                return self.add(fact, example, &at.key(list).item(index), Part::Value);
            }
        }
    }
}

/// Returns a serve as what users get of it: one value, or itself if it splits them.
fn serve_values<'a>(serve: &'a Serve, content: &'a Content) -> Result<&'a str, &'a Serve> {
    let mut values = serve.variations().map(|index| content.variations.get(index as usize));
    let first = values.next().flatten().ok_or(serve)?;
    let is_only = values.all(|other| other.is_some_and(|other| other.value == first.value));
    if is_only { Ok(&first.value) } else { Err(serve) }
}

/// Returns what a serve serves, in words.
fn served(serve: &Serve, variations: &[Variation]) -> String {
    let name = |index: u32| variations.get(index as usize).map_or_else(String::new, |one| shown(&one.name));
    match serve {
        Serve::Select(index) => format!("`{}`", name(*index)),
        Serve::Split(_) => "a split".to_owned(),
        Serve::Nothing => "nothing".to_owned(),
    }
}

/// Returns all that SDKs do not agree about in an object of a condition, each with an example.
fn disagreements(kind: &str, predicate: &str, object: &str) -> Vec<(&'static Fact, String)> {
    let text = shown(object);
    let mut found: Vec<(&'static Fact, String)> = Vec::new();
    match kind {
        "number" => {
            let example = object.parse().ok().and_then(|number| float_example(number, object));
            found.extend(example.map(|example| (&FLOATS, example)));
        }
        "semver" => {
            let core = object.split(['-', '+']).next().unwrap_or_default();
            let (release, build) =
                object.split_once('+').map_or((object, ""), |(release, build)| (release, build));
            if !build.is_empty() {
                let release = shown(release);
                found.push((&BUILDS, format!("`{release}` and `{text}` are equal in some of them")));
            }
            if release.contains('-') {
                let core = shown(core);
                found.push((
                    &SUFFIXES,
                    format!("`{core}-dev` comes after `{core}` in Java, and before it elsewhere"),
                ));
            }
            if core.split('.').any(|number| number.parse::<u64>().is_ok_and(|number| number >= 1 << 53)) {
                found.push((&LARGE_VERSIONS, format!("in Node, no version compares with `{text}`")));
            }
        }
        "datetime" if delivered_time(object).is_some_and(|seconds| seconds < 0) => {
            found
                .push((&EARLY_TIMES, format!("for example `{text}`: in Rust, nobody is after or before it")));
        }
        "string" if matches!(predicate, "matches regex" | "does not match regex") => {
            // Of each construct, the first part stands for the others.
            let mut named: Vec<Construct> = Vec::new();
            for (construct, part) in not_portable(object) {
                if !named.contains(&construct) {
                    named.push(construct);
                    found.push((construct.fact(), format!("here `{}`", shown(part))));
                }
            }
        }
        "string" if object.trim().is_empty() => {
            found.push((&BLANKS, format!("in some of them, no attribute is compared with `{text}`")));
        }
        _ => {}
    }
    found
}

/// What SDKs may do with a condition for one user, although it is not known for each of them.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(crate) struct MayDiffer {
    /// The names of the SDKs.
    pub(crate) sdks: Vec<&'static str>,
    /// What they read in another way.
    pub(crate) about: Vec<&'static str>,
}

/// Returns which of `sdks` may treat a condition otherwise than `evaluate` says of a user who has `value`.
pub(crate) fn may_differ(condition: &Condition, value: &str, sdks: Sdks) -> Option<MayDiffer> {
    let mut found = MayDiffer { sdks: Vec::new(), about: Vec::new() };
    for (about, groups) in uncertain(condition, value) {
        let used = groups.into_iter().filter(|group| sdks.has(group.sdk())).map(Group::name);
        let used: Vec<&'static str> = used.collect();
        if !used.is_empty() && !found.about.contains(&about) {
            found.about.push(about);
            found.sdks.extend(used);
        }
    }
    found.sdks.sort_unstable();
    found.sdks.dedup();
    (!found.sdks.is_empty()).then_some(found)
}

/// Returns what is not certain of a condition for a user who has `value`, and of which SDKs.
fn uncertain(condition: &Condition, value: &str) -> Vec<(&'static str, Vec<Group>)> {
    let right = condition.between.iter().flat_map(|between| &between.right_objects);
    let objects: Vec<&str> = condition.objects.iter().chain(right).map(String::as_str).collect();
    let is_regex = condition.predicate.contains("regex");
    match condition.kind.as_str() {
        "string" if is_regex => {
            objects.iter().flat_map(|pattern| uncertain_pattern(pattern, value)).collect()
        }
        "string" if !is_blank(value) && value.trim_matches(is_space).is_empty() => {
            vec![("white space beyond ASCII", vec![Group::OldJava, NODE, PYTHON])]
        }
        "number" if !is_plain_number(value) => {
            vec![("a text that is not a plain number", vec![GO, JAVA, NODE, PYTHON])]
        }
        "semver" => uncertain_version(&objects, value),
        "datetime" if !is_plain_time(value) => {
            vec![("a text that is not a number of seconds", vec![GO, JAVA, NODE, PYTHON])]
        }
        _ => Vec::new(),
    }
}

/// Returns whether any SDK could take a character for white space.
fn is_space(one: char) -> bool {
    one.is_whitespace() || one.is_control() || one == '\u{feff}'
}

/// Returns whether every SDK reads a text as the same number, or none does.
fn is_plain_number(value: &str) -> bool {
    let is_word = value.bytes().all(|byte| byte.is_ascii_alphabetic()) && !value.is_empty();
    let is_special = ["inf", "infinity", "nan"].iter().any(|word| value.eq_ignore_ascii_case(word));
    if is_word { !is_special } else { is_big_decimal(value) }
}

fn is_plain_time(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn uncertain_version(objects: &[&str], value: &str) -> Vec<(&'static str, Vec<Group>)> {
    if !is_semver(value) {
        return vec![("a text that is not a semantic version", vec![GO, JAVA, NODE, PYTHON])];
    }
    let all = || objects.iter().chain([&value]);
    let suffix = all().any(|text| text.contains(['-', '+'])).then_some((SUFFIXES.about, vec![JAVA]));
    let numbers = || all().flat_map(|text| text.split(['.', '-', '+']));
    let numbers = || numbers().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let is_large = |number: &str| number.parse::<u64>().is_ok_and(|number| number >= 1 << 53);
    let large = numbers().any(is_large).then_some((LARGE_VERSIONS.about, vec![NODE]));
    let too_large = numbers().any(|number| !number.is_empty() && number.parse::<u64>().is_err());
    let too_large = too_large.then_some(("versions with a number of 2^64 or more", vec![GO, NODE]));
    [suffix, large, too_large].into_iter().flatten().collect()
}

fn uncertain_pattern(pattern: &str, value: &str) -> Vec<(&'static str, Vec<Group>)> {
    let all = [GO, JAVA, NODE, PYTHON];
    // All that classes of characters disagree about is beyond ASCII.
    let is_usual = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let constructs = not_portable(pattern).into_iter().filter_map(|(construct, _)| {
        let fact = construct.fact();
        let of_rust = fact.groups.iter().find(|(groups, _)| groups.contains(&RUST));
        let agree = of_rust.map_or(&[][..], |(groups, _)| *groups);
        let differ = all.into_iter().filter(|group| !agree.contains(group)).collect();
        (!(is_usual && construct.is_about_other_alphabets())).then_some((fact.about, differ))
    });
    let is_rare = value.contains(|one: char| one.is_control() || one > '\u{ffff}' || is_line_break(one));
    let rare = is_rare && pattern.contains(['.', '^', '$', '[']);
    let rare = rare.then(|| ("line breaks and characters beyond U+FFFF", all.to_vec()));
    constructs.chain(rare).collect()
}

fn is_line_break(one: char) -> bool {
    matches!(one, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns an example of what 32-bit floats cannot tell apart; none if they can hold the number.
fn float_example(number: f64, object: &str) -> Option<String> {
    const WHOLE: f64 = 16_777_216.0;
    #[expect(clippy::cast_possible_truncation, reason = "this is what the SDK does")]
    let short = |number: f64| f64::from(number as f32);
    let mantissa = object.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_start_matches('0').trim_end_matches('0').len();
    let text = shown(object);
    if !short(number).is_finite() {
        return Some(format!("in Go, no number compares with `{text}`"));
    }
    if number != 0.0 && short(number).abs() < f64::from(f32::MIN_POSITIVE) && short(number) != number {
        let other = if short(number) == 0.0 { "0".to_owned() } else { format!("{:e}", short(number)) };
        return Some(format!("`{other}` equals `{text}` in Go"));
    }
    if digits <= 7 && number.abs() <= WHOLE {
        return None;
    }
    let other = match short(number) {
        same if same == number => {
            [number - 1.0, number + 1.0].into_iter().find(|other| short(*other) == number)?
        }
        other => other,
    };
    Some(format!("`{other}` equals `{text}` in Go"))
}
