//! Warns about documents that mean different things to the SDKs of a team.

use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use super::check;
use super::facts::{
    BLANKS, BUILDS, EARLY_TIMES, FLOATS, Fact, GO, JAVA, JSON, JSON_NOTATION, JSON_ORDER, LARGE_NUMBER,
    LARGE_NUMBERS, LARGE_VERSIONS, NESTED, NODE, NUMBER_NOTATION, OTHER_TYPE, PYTHON, SUFFIXES, SdkGroup,
    UNMET,
};
use super::finding::{At, Finding, Part, add, shown};
use super::node::{PathStep, quoted};
use super::portable::{Construct, not_portable};
use crate::model::{
    Condition, Content, NumberEquality, ReturnType, Sdk, Sdks, Serve, Targeting, Variation, counted,
    delivered_time, has_same_order, is_big_decimal, is_blank, is_same_decimal, is_same_json_in_floats,
    is_same_value, is_semver, listed,
};

/// Returns whether the variation at `index` is a whole number of more than 32 bits of a toggle of numbers: a caller that asks
/// for a number gets its own default from Java.
pub(crate) fn is_large_number(variations: &[Variation], index: usize) -> bool {
    let number = variations[index].value.parse::<f64>().unwrap_or_default();
    let is_int = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number);
    let values = || variations.iter().map(|one| one.value.as_str()).collect::<Vec<_>>();
    number.fract() == 0.0 && !is_int && ReturnType::of(&values()) == ReturnType::Number
}

/// Returns why no SDK of the team can read a pattern with all of these. Without a team, all SDKs are asked.
pub(super) fn unknown(constructs: &[Construct], sdks: Sdks) -> Option<String> {
    let sdks = if sdks.is_empty() { Sdks::ALL } else { sdks };
    let facts: Vec<Fact> = constructs.iter().filter_map(|construct| construct.fact()).collect();
    let reads_all = |sdk| sdks.has(sdk) && facts.iter().all(|fact| fact.is_read_by(sdk));
    if facts.is_empty() || Sdk::ALL.into_iter().any(reads_all) {
        return None;
    }
    let reasons = facts.iter().map(|fact| format!("{} ({})", fact.about, fact.lists(sdks)));
    Some(reasons.collect::<Vec<_>>().join(", "))
}

/// Returns whether the team may use the SDK for Rust.
pub(super) fn may_use_rust(sdks: Sdks) -> bool {
    sdks.is_empty() || sdks.has(Sdk::Rust)
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

/// Returns whether two JSON values differ only in the order of their members, and no SDK of the team takes them for
/// the same.
pub(super) fn differ_in_order(sdks: Sdks, value: &str, wanted: &str) -> bool {
    let ignores_order = |sdk| sdks.has(sdk) && !matches!(sdk, Sdk::Node | Sdk::Python);
    // That Node takes no JSON for the same is said of the type.
    sdks.has(Sdk::Python)
        && !Sdk::ALL.into_iter().any(ignores_order)
        && has_same_order(value, wanted) == Some(false)
        && is_same_value(ReturnType::Json, value, wanted) == Some(true)
}

/// Returns whether an SDK of the team takes a number or a JSON value `wanted` for `value`, which is another one, or
/// whether none takes it for `value`, although they are the same JSON.
pub(super) fn can_be_same(sdks: Sdks, kind: ReturnType, value: &str, wanted: &str) -> bool {
    let is_used = |sdk| sdks.is_empty() || sdks.has(sdk);
    if kind == ReturnType::Json {
        let is_same_to_go = is_used(Sdk::Go) && is_same_json_in_floats(value, wanted);
        return is_same_to_go || differ_in_order(sdks, value, wanted);
    }
    NumberEquality::of(value, wanted) == NumberEquality::BeyondIntegers
        && (is_same_decimal(value, wanted) || [Sdk::Rust, Sdk::Go, Sdk::Node].into_iter().any(is_used))
}

/// Returns the message and the help on a value `wanted` of this type that the toggle `key` has as `value`, if SDKs
/// do not agree that they are the same, or if none of them takes them for the same.
pub(super) fn other_notation(
    sdks: Sdks,
    kind: ReturnType,
    key: &str,
    value: &str,
    wanted: &str,
) -> Option<(String, String)> {
    let fact = match NumberEquality::of(value, wanted) {
        _ if kind == ReturnType::Json && differ_in_order(sdks, value, wanted) => JSON_ORDER,
        _ if kind == ReturnType::Json => JSON_NOTATION,
        NumberEquality::Agreed => return None,
        NumberEquality::AsFloats => NUMBER_NOTATION,
        NumberEquality::BeyondIntegers => LARGE_NUMBER,
    };
    let example = format!("`{key}` has `{}`, and this is `{}`", shown(value), shown(wanted));
    let (message, help) = fact.words(sdks, &example)?;
    // A part of a long value is another one.
    let help = match shown(value) {
        whole if whole == value => format!("write `value: {}`: {help}", quoted(&whole)),
        _ => help,
    };
    Some((message, help))
}

struct SdkChecker {
    sdks: Sdks,
    findings: Vec<Finding>,
}

impl SdkChecker {
    fn add(&mut self, fact: &Fact, example: &str, at: &At<'_>, part: Part) {
        if let Some((message, help)) = fact.words(self.sdks, example) {
            add(&mut self.findings, at.finding(&check::SDK_DISAGREEMENT, part, message).help(help));
        }
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
                let example = match Sdk::ALL.into_iter().all(|sdk| sdk == Sdk::Node || !self.sdks.has(sdk)) {
                    true => "no JSON value meets a prerequisite there",
                    false => "`{\"a\":1,\"b\":2}` and `{\"b\":2,\"a\":1}` are equal in some of them",
                };
                self.add(&JSON, example, &list.item(index).key("type"), Part::Value);
            }
        }
    }

    fn variations(&mut self, content: &Content, list: &At<'_>) {
        let large = (0..content.variations.len()).find(|index| is_large_number(&content.variations, *index));
        if let Some(index) = large {
            let example = format!(
                "a caller that asks for a number gets its own default instead of `{}`",
                shown(&content.variations[index].value)
            );
            self.add(&LARGE_NUMBERS, &example, &list.item(index).key("value"), Part::Value);
        }
    }

    /// Adds one finding per fact, at the first object that it is about, because the objects of one condition usually
    /// have the same form. It names the other ones, so that one correction is enough.
    fn condition(&mut self, condition: &Condition, at: &At<'_>) {
        let Condition { kind, predicate, objects, between, .. } = condition;
        let right = between.iter().flat_map(|between| between.right_objects.iter().enumerate());
        let all = objects.iter().enumerate().map(|one| ("objects", one));
        let all = all.chain(right.map(|one| ("rightObjects", one)));
        let mut found: Vec<Shared<'_>> = Vec::new();
        for (list, (index, object)) in all {
            for (fact, example) in disagreements(kind, predicate, object) {
                match found.iter_mut().find(|one| one.fact == fact) {
                    Some(one) => one.others.push(object),
                    None => found.push(Shared { fact, example, list, index, others: Vec::new() }),
                }
            }
        }
        for Shared { fact, mut example, list, index, others } in found {
            // The help on the flag, which Node does not know, makes it superfluous.
            let folded = [Construct::FoldedI, Construct::FoldedKOrS];
            if self.sdks.has(Sdk::Node) && folded.into_iter().any(|one| one.fact().as_ref() == Some(&fact)) {
                continue;
            }
            if !others.is_empty() {
                example.push_str(&format!("; the same of {}", some_of(&others)));
            }
            self.add(&fact, &example, &at.key(list).item(index), Part::Value);
        }
    }
}

/// What SDKs differ about in some objects of a condition.
struct Shared<'a> {
    fact: Fact,
    example: String,
    /// The list and the place of the first object.
    list: &'static str,
    index: usize,
    others: Vec<&'a str>,
}

/// Returns the first objects, in words.
fn some_of(objects: &[&str]) -> String {
    const MOST: usize = 20;
    let mut names: Vec<String> = objects.iter().take(MOST).map(|one| format!("`{}`", shown(one))).collect();
    if objects.len() > MOST {
        names.push(counted(objects.len() - MOST, "other object"));
    }
    listed(&names)
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
fn disagreements(kind: &str, predicate: &str, object: &str) -> Vec<(Fact, String)> {
    let text = shown(object);
    let mut found: Vec<(Fact, String)> = Vec::new();
    match kind {
        "number" => {
            let example = object.parse().ok().and_then(|number| float_example(number, object));
            found.extend(example.map(|example| (FLOATS, example)));
        }
        "semver" => {
            let core = object.split(['-', '+']).next().unwrap_or_default();
            let (release, build) =
                object.split_once('+').map_or((object, ""), |(release, build)| (release, build));
            if !build.is_empty() {
                let release = shown(release);
                found.push((BUILDS, format!("`{release}` and `{text}` are equal in some of them")));
            }
            if release.contains('-') {
                let core = shown(core);
                found.push((
                    SUFFIXES,
                    format!("`{core}-dev` comes after `{core}` in Java, and before it elsewhere"),
                ));
            }
            if core.split('.').any(|number| number.parse::<u64>().is_ok_and(|number| number >= 1 << 53)) {
                found.push((LARGE_VERSIONS, format!("in Node, no version compares with `{text}`")));
            }
        }
        "datetime" if delivered_time(object).is_some_and(|seconds| seconds < 0) => {
            found.push((EARLY_TIMES, format!("for example `{text}`: in Rust, nobody is after or before it")));
        }
        "string" if matches!(predicate, "matches regex" | "does not match regex") => {
            // Of each construct, the first part stands for the others.
            let mut named: Vec<Construct> = Vec::new();
            for (construct, part) in not_portable(object) {
                if !named.contains(&construct) {
                    named.push(construct);
                    found.extend(construct.fact().map(|fact| (fact, format!("here `{}`", shown(part)))));
                }
            }
        }
        "string" if object.trim().is_empty() => {
            found.push((BLANKS, format!("where it is missing, no attribute is compared with `{text}`")));
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
        let used = groups.into_iter().filter(|group| sdks.has(group.sdk())).map(SdkGroup::name);
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
fn uncertain(condition: &Condition, value: &str) -> Vec<(&'static str, Vec<SdkGroup>)> {
    let right = condition.between.iter().flat_map(|between| &between.right_objects);
    let objects: Vec<&str> = condition.objects.iter().chain(right).map(String::as_str).collect();
    let is_regex = condition.predicate.contains("regex");
    match condition.kind.as_str() {
        "string" if is_regex => {
            objects.iter().flat_map(|pattern| uncertain_pattern(pattern, value)).collect()
        }
        "string" if !is_blank(value) && value.trim_matches(is_space).is_empty() => {
            vec![("white space beyond ASCII", vec![SdkGroup::OldJava, NODE, PYTHON])]
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

fn uncertain_version(objects: &[&str], value: &str) -> Vec<(&'static str, Vec<SdkGroup>)> {
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

fn uncertain_pattern(pattern: &str, value: &str) -> Vec<(&'static str, Vec<SdkGroup>)> {
    let all = [GO, JAVA, NODE, PYTHON];
    // All that classes of characters disagree about is beyond ASCII.
    let is_usual = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let constructs = not_portable(pattern).into_iter().filter_map(|(construct, _)| {
        let fact = construct.fact().filter(|_| !(is_usual && construct.is_about_other_alphabets()))?;
        let is_word = matches!(construct, Construct::Border | Construct::NotWord | Construct::Word);
        let mut differ = fact.other_than_rust();
        differ.retain(|group| *group != PYTHON || !(is_word && LETTERS.is_match(value)));
        Some((fact.about, differ))
    });
    let is_rare = value.contains(|one: char| one.is_control() || one > '\u{ffff}' || is_line_break(one));
    let rare = is_rare && pattern.contains(['.', '^', '$', '[']);
    let rare = rare.then(|| ("line breaks and characters beyond U+FFFF", all.to_vec()));
    constructs.chain(rare).collect()
}

/// Texts whose characters beyond ASCII are in words to both Rust and Python.
static LETTERS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[\x00-\x7f\p{L}\p{Nd}]*$").expect("it is valid"));

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
    let near = [short(number), number - 1.0, number + 1.0, number.next_down(), number.next_up()];
    // Other SDKs must tell them apart.
    let other = near.into_iter().find(|other| *other != number && short(*other) == short(number))?;
    Some(format!("`{other}` equals `{text}` in Go"))
}
