//! Warns about documents that mean different things to the SDKs of a team, with the facts about each SDK as
//! data.
//!
//! The facts were measured on 2026-11-25: the SDKs evaluated 250,605 pairs of document and user, on payloads
//! that were translated as the service does. The versions were Rust 2.3.2, Go 2.3.0, Java 2.3.0 and 2.1.1,
//! Node 2.2.0 and Python 2.2.1. Java has two, because Maven still gave 2.1.1 as the newest one.

use super::check;
use super::finding::{At, Finding, Part, add, shown};
use super::node::PathStep;
use super::portable::{Construct, first_not_portable};
use crate::model::{
    Condition, Content, ReturnType, Sdk, Sdks, Serve, Targeting, Variation, delivered_time, listed,
};

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
    help: "serve the same in both, and what `defaultServe` serves now in a rule",
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
    about: "whole numbers over 2147483647",
    groups: &[(&[JAVA], "the default value in the caller's code"), (&[RUST, GO, NODE, PYTHON], "the number")],
    help: "serve a smaller number, or a text",
};

impl Construct {
    /// Returns what the SDKs do with it.
    fn fact(self) -> &'static Fact {
        match self {
            Self::Flags => &Fact {
                about: "flags in a regular expression",
                groups: &[(&[NODE], "an invalid pattern"), (&[RUST, GO, JAVA, PYTHON], "known")],
                help: "write the letters of both cases as classes, such as `[Aa]`",
            },
            Self::RareFlags => &Fact {
                about: "these flags of a regular expression",
                groups: &[(&[RUST], "known"), (&[GO, JAVA, NODE, PYTHON], "invalid, or of another meaning")],
                help: "write the pattern without flags",
            },
            Self::Verbose => &Fact {
                about: "`(?x)` in a regular expression",
                groups: &[(&[GO, NODE], "an invalid pattern"), (&[RUST, JAVA, PYTHON], "known")],
                help: "write the pattern without blanks and without `(?x)`",
            },
            Self::Words => &Fact {
                about: "letters and digits beyond ASCII",
                groups: &[
                    (&[RUST, PYTHON], "matched by `\\w`, `\\d` and `\\b`"),
                    (&[GO, JAVA, NODE], "not matched"),
                ],
                help: "write a class such as `[A-Za-z0-9_]` instead",
            },
            Self::Spaces => &Fact {
                about: "white space beyond ASCII",
                groups: &[(&[RUST, PYTHON, NODE], "matched by `\\s`"), (&[GO, JAVA], "not matched")],
                help: "write a blank, or a class such as `[ \\t]`, instead",
            },
            Self::Properties => &Fact {
                about: "`\\p` in a regular expression",
                groups: &[
                    (&[NODE, PYTHON], "unknown"),
                    (&[JAVA], "known without names of scripts"),
                    (&[RUST, GO], "known"),
                ],
                help: "write a class such as `[A-Za-z]` instead",
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
                groups: &[(&[JAVA, NODE], "an invalid pattern"), (&[RUST, GO, PYTHON], "known")],
                help: "write `(` instead",
            },
            Self::NamedGroup => &Fact {
                about: "`(?<name>` in a regular expression",
                groups: &[(&[PYTHON], "an invalid pattern"), (&[RUST, GO, JAVA, NODE], "known")],
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
            Self::LongCount => &Fact {
                about: "counts over 1000 in a regular expression",
                groups: &[(&[GO], "an invalid pattern"), (&[RUST, JAVA, NODE, PYTHON], "known")],
                help: "write a smaller count",
            },
            Self::Unknown => &Fact {
                about: "this escape in a regular expression",
                groups: &[(&[RUST], "known"), (&[GO, JAVA, NODE, PYTHON], "invalid, or of another meaning")],
                help: "write literal text, classes, groups and repetitions",
            },
        }
    }
}

impl Fact {
    /// Returns who does what if that is not the same for all of `sdks`.
    fn applies(&self, sdks: Sdks) -> Option<String> {
        let groups = self.groups.iter().filter_map(|(group, does)| {
            let names: Vec<String> =
                group.iter().filter(|one| sdks.has(one.sdk())).map(|one| one.name().to_owned()).collect();
            (!names.is_empty()).then_some((names, *does))
        });
        let groups: Vec<_> = groups.collect();
        if groups.len() < 2 {
            return None;
        }
        let all = groups.iter().map(|(names, does)| format!("{}: {does}", listed(names)));
        Some(all.collect::<Vec<_>>().join("; "))
    }
}

/// Returns the findings on what the SDKs of a team do not agree about.
pub(super) fn check(targeting: &Targeting, sdks: Sdks) -> Vec<Finding> {
    let mut checker = SdkChecker { sdks, findings: Vec::new() };
    if !sdks.is_empty() {
        checker.content(&targeting.content, targeting.disabled);
    }
    checker.findings
}

struct SdkChecker {
    sdks: Sdks,
    findings: Vec<Finding>,
}

impl SdkChecker {
    fn add(&mut self, fact: &Fact, example: &str, at: &At<'_>, part: Part) {
        let Some(does) = fact.applies(self.sdks) else { return };
        let message = format!("SDKs differ about {}: {does}; {example}", fact.about);
        let help = format!("{}, or name only the SDKs that your services use with `sdks`", fact.help);
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
        if !is_disabled && disabled_serve != default_serve {
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
            if number.fract() == 0.0 && number.abs() > f64::from(i32::MAX) {
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
            if let Some((fact, example)) = disagreement(kind, predicate, object)
                && fact.applies(self.sdks).is_some()
            {
                return self.add(fact, &example, &at.key(list).item(index), Part::Value);
            }
        }
    }
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

/// Returns what SDKs do not agree about in an object of a condition, with an example.
fn disagreement(kind: &str, predicate: &str, object: &str) -> Option<(&'static Fact, String)> {
    let text = shown(object);
    match kind {
        "number" => {
            let number: f64 = object.parse().ok()?;
            Some((&FLOATS, float_example(number, object)?))
        }
        "semver" if object.contains('+') => {
            let core = object.split('+').next().unwrap_or_default();
            Some((&BUILDS, format!("`{}` and `{text}` are equal in some of them", shown(core))))
        }
        "semver" if object.contains('-') => {
            let core = object.split('-').next().unwrap_or_default();
            let core = shown(core);
            Some((&SUFFIXES, format!("`{core}-dev` comes after `{core}` in Java, and before it elsewhere")))
        }
        "datetime" if delivered_time(object).is_some_and(|seconds| seconds < 0) => {
            Some((&EARLY_TIMES, format!("for example `{text}`: in Rust, nobody is after or before it")))
        }
        "string" if matches!(predicate, "matches regex" | "does not match regex") => {
            let (construct, part) = first_not_portable(object)?;
            Some((construct.fact(), format!("here `{}`", shown(part))))
        }
        _ => None,
    }
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
