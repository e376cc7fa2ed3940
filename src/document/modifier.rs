//! Keys of other tools that change what a condition, a rule or a prerequisite matches: negations, upper and lower
//! case, "any of these", a switch.
//!
//! A document without such a key serves other users, so a help says so, or writes what means the same.

use super::dialects;
use super::finding::shown;
use super::foreign::{ForeignKey, names};
use super::keys::SIMPLE_CONDITION;
use super::meant;
use super::node::{Node, NodeKind, field, scalar};

/// Keys of a switch in lower case, without `_` and `-`: of what is in use, and of what is not.
const IN_USE: &[&str] = &["active", "enabled", "isactive", "isenabled", "on", "state", "status"];
const NOT_IN_USE: &[&str] = &["disable", "disabled", "inactive", "isdisabled", "off"];

/// Keys of a rule that is not in use, besides these.
const PAUSED: &[&str] = &["archived", "paused", "skip", "suspended"];

/// Keys of a condition that are attributes rather than switches.
const ATTRIBUTES: &[&str] = &["isactive", "off", "on", "state", "status"];

/// Keys that say how many conditions of a rule must match.
const QUANTIFIERS: &[&str] = &[
    "combinator",
    "combine",
    "conditionoperator",
    "conditionsoperator",
    "conjunction",
    "logic",
    "logicaloperator",
    "match",
    "matches",
    "matchmode",
    "matchtype",
    "mode",
    "op",
    "operator",
    "quantifier",
    "segmentoperator",
];

/// Returns what a key means that changes what `what` matches, beside the other entries of its mapping. `plain` is
/// the key in lower case, without `_` and `-`.
pub(super) fn key(what: &str, plain: &str, value: &Node, beside: &[(Node, Node)]) -> Option<ForeignKey> {
    match what {
        "a condition" => of_condition(plain, value, beside),
        "a prerequisite" => of_prerequisite(plain, value, beside),
        "a rule" => of_rule(plain, value, beside),
        _ => None,
    }
}

fn of_condition(plain: &str, value: &Node, beside: &[(Node, Node)]) -> Option<ForeignKey> {
    let is_alone = beside.len() == 1;
    if is_of_mappings(value) {
        let help = Quantifier::of(plain)?.help().to_owned();
        return Some(ForeignKey { help, stands_for: if is_alone { SIMPLE_CONDITION } else { &[] } });
    }
    if is_negation(plain) {
        return Some(negation(value, beside));
    }
    if let Some(is_on) = is_on(plain, value) {
        let is_attribute = is_alone || ATTRIBUTES.contains(&plain);
        return (!is_attribute).then(|| switch("a condition", is_on));
    }
    ignores_case(plain, value).map(|is_ignored| case(is_ignored, beside))
}

fn of_prerequisite(plain: &str, value: &Node, beside: &[(Node, Node)]) -> Option<ForeignKey> {
    match plain {
        word if is_negation(word) => Some(other_value(truth(value), beside)),
        "predicate" | "operator" | "op" | "comparator" | "comparison" => {
            Some(compared_value(scalar(value)?, beside))
        }
        _ => value_if(is_on(plain, value)?, beside),
    }
}

fn of_rule(plain: &str, value: &Node, beside: &[(Node, Node)]) -> Option<ForeignKey> {
    if is_negation(plain) {
        let is_set = truth(value) != Some(false);
        return Some(ForeignKey::only(if is_set {
            REVERSED
        } else {
            "remove it: nothing reverses a rule here"
        }));
    }
    let is_paused = || if PAUSED.contains(&plain) { truth(value) } else { None };
    if let Some(is_on) = is_on(plain, value).or_else(|| Some(!is_paused()?)) {
        return Some(switch("a rule", is_on));
    }
    if let Some(is_ignored) = ignores_case(plain, value) {
        return Some(case_of_rule(is_ignored));
    }
    if QUANTIFIERS.contains(&plain) {
        return Some(ForeignKey::only(Quantifier::of(scalar(value)?)?.help()));
    }
    let quantifier = Quantifier::of(plain).filter(|_| is_of_mappings(value))?;
    let help = match quantifier {
        Quantifier::All if field(beside, "conditions").is_none() => {
            let name =
                beside.iter().filter_map(|(key, _)| scalar(key)).find(|key| names::plain(key) == plain);
            format!("write `conditions` instead of `{}`", shown(name.unwrap_or(plain)))
        }
        quantifier => quantifier.help().to_owned(),
    };
    Some(ForeignKey { help, stands_for: &["conditions"] })
}

/// Returns whether a key in lower case, without `_` and `-`, is that of a switch.
pub(super) fn is_switch(plain: &str) -> bool {
    IN_USE.contains(&plain) || NOT_IN_USE.contains(&plain)
}

/// Returns whether a switch is on, given its key in lower case, without `_` and `-`; none if it is not one.
pub(super) fn is_on(plain: &str, value: &Node) -> Option<bool> {
    let is_on = !NOT_IN_USE.contains(&plain);
    truth(value).filter(|_| is_switch(plain)).map(|value| value == is_on)
}

/// Returns whether upper and lower case are the same, if a key says so or the opposite.
fn ignores_case(plain: &str, value: &Node) -> Option<bool> {
    match plain {
        "caseinsensitive" | "iscaseinsensitive" | "ignorecase" | "ignorescase" => truth(value),
        "casesensitive" | "iscasesensitive" | "matchcase" => Some(!truth(value)?),
        _ => None,
    }
}

/// Returns whether a key in lower case, without `_` and `-`, reverses what has it.
pub(super) fn is_negation(plain: &str) -> bool {
    matches!(plain, "inverse" | "inverted" | "invert" | "negate" | "negated" | "not" | "reverse" | "reversed")
}

const REVERSED: &str = "do not just remove it: it reverses what the rule matches. The predicates of conditions say the opposite, \
                        such as `is not any of`";

/// Returns the help on a mapping in place of conditions with the key of a quantifier: `{ any: [...] }`.
pub(super) fn quantified(entries: &[(Node, Node)]) -> Option<&'static str> {
    let [(key, value)] = entries else { return None };
    let quantifier = Quantifier::of(scalar(key)?).filter(|_| is_of_mappings(value))?;
    Some(quantifier.help())
}

/// How many of several conditions must match.
#[derive(Clone, Copy)]
enum Quantifier {
    All,
    Any,
    NoneOf,
}

impl Quantifier {
    /// Reads `any`, `ANY_MATCH_TYPE`, `or`.
    fn of(word: &str) -> Option<Self> {
        let first = word.split(|c: char| !c.is_alphanumeric()).next()?;
        match first.to_lowercase().as_str() {
            "all" | "allof" | "and" | "every" => Some(Self::All),
            "any" | "anyof" | "or" | "some" | "one" | "oneof" => Some(Self::Any),
            "none" | "noneof" | "nor" | "not" => Some(Self::NoneOf),
            _ => None,
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::All => {
                "remove it: all conditions of a rule must match, and they are a list below `conditions`"
            }
            Self::Any => {
                "do not just remove it: all conditions of a rule must match here. Write a rule with the same serve for each \
                 of them"
            }
            Self::NoneOf => REVERSED,
        }
    }
}

fn is_of_mappings(value: &Node) -> bool {
    let is_mapping = |node: &Node| matches!(node.kind, NodeKind::Mapping(_));
    match &value.kind {
        NodeKind::Sequence(items) => items.iter().any(is_mapping),
        NodeKind::Mapping(_) => true,
        NodeKind::Refused | NodeKind::Scalar(..) => false,
    }
}

/// Returns the boolean that a word or a digit means.
pub(super) fn truth(value: &Node) -> Option<bool> {
    match scalar(value)? {
        "1" => Some(true),
        "0" => Some(false),
        word => truth_of(word),
    }
}

/// Returns the boolean that a word means.
pub(super) fn truth_of(word: &str) -> Option<bool> {
    match word.to_lowercase().as_str() {
        "true" | "yes" | "on" | "enabled" | "active" => Some(true),
        "false" | "no" | "off" | "disabled" | "inactive" => Some(false),
        _ => None,
    }
}

fn switch(what: &str, is_on: bool) -> ForeignKey {
    ForeignKey::only(match (is_on, what) {
        (true, "a rule") => "remove it: every rule is in use here",
        (true, _) => "remove it: every condition is in use here",
        (false, "a rule") => {
            "do not just remove it: the rule is not in use elsewhere, and every rule is here. Remove the rule, or write it as \
             comments"
        }
        (false, _) => {
            "do not just remove it: the condition is not in use elsewhere, and every condition is here. Remove the condition, \
             or write it as a comment"
        }
    })
}

/// Returns the help on a prerequisite that must be on or off.
pub(super) fn value_if(is_on: bool, beside: &[(Node, Node)]) -> Option<ForeignKey> {
    let is_on = if is_on { "true" } else { "false" };
    if let Some(value) = field(beside, "value") {
        let help = match scalar(value) == Some(is_on) {
            true => format!("remove it: `value: \"{is_on}\"` says the same"),
            false => format!(
                "keep one of the two: it stands for `value: \"{is_on}\"`, and `value` is here as well"
            ),
        };
        return Some(ForeignKey { help, stands_for: &[] });
    }
    let kind = if field(beside, "type").is_some() { "" } else { ", type: boolean" };
    let help = format!("write `value: \"{is_on}\"{kind}` instead");
    Some(ForeignKey { help, stands_for: &["value", "type"] })
}

/// Returns the help on the predicate of a prerequisite.
fn compared_value(predicate: &str, beside: &[(Node, Node)]) -> ForeignKey {
    match dialects::named("string", predicate) {
        Some("is one of") => ForeignKey::only("remove it: the other toggle must serve exactly this value"),
        Some("is not any of") => other_value(Some(true), beside),
        _ => other_value(None, beside),
    }
}

/// Returns the help on a field that reverses a prerequisite, or changes it in another way.
fn other_value(is_reversed: Option<bool>, beside: &[(Node, Node)]) -> ForeignKey {
    if is_reversed == Some(false) {
        return ForeignKey::only(
            "remove it: a prerequisite names the value that the other toggle must serve",
        );
    }
    let is_boolean = field(beside, "type").is_none_or(|kind| scalar(kind) == Some("boolean"));
    let wanted = field(beside, "value").map_or(Some(true), truth);
    match wanted.filter(|_| is_boolean && is_reversed.is_some()) {
        Some(wanted) => {
            let kind = if field(beside, "type").is_some() { "" } else { ", type: boolean" };
            let both = if field(beside, "value").is_some() { " instead of both" } else { " instead" };
            let help = format!("write `value: \"{}\"{kind}`{both}: a prerequisite names the value", !wanted);
            ForeignKey { help, stands_for: &["value", "type"] }
        }
        None => ForeignKey {
            help: "do not just remove it: it changes which values of the other toggle are enough, and a prerequisite names \
                   one. Name that value"
                .to_owned(),
            stands_for: &["value", "type"],
        },
    }
}

/// What the predicate of a condition and its objects are called.
const PREDICATES: &[&str] = &["predicate", "operator", "op"];
const OBJECTS: &[&str] = &["objects", "values", "value"];

/// Returns the predicate of a condition and its objects, whatever they are called.
fn compared(beside: &[(Node, Node)]) -> (Option<&str>, &[Node]) {
    let find = |names: &[&str]| names.iter().find_map(|name| field(beside, name));
    let objects = match find(OBJECTS) {
        Some(Node { kind: NodeKind::Sequence(items), .. }) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    (find(PREDICATES).and_then(scalar), objects)
}

/// Returns the help on a field that says whether a condition ignores case.
fn case(is_ignored: bool, beside: &[(Node, Node)]) -> ForeignKey {
    if !is_ignored {
        return ForeignKey::only("remove it: every predicate distinguishes upper and lower case");
    }
    let kind = field(beside, "type").and_then(scalar).unwrap_or("string");
    if kind != "string" {
        return ForeignKey::only("remove it: only conditions of type `string` compare letters");
    }
    let negations = ["inverted", "invert", "negate", "negated", "not"];
    let is_negated =
        negations.iter().filter_map(|name| field(beside, name)).any(|value| truth(value) == Some(true));
    let (written, objects) = compared(beside);
    if is_negated || written.is_some_and(|word| is_pattern(word, objects)) {
        return ForeignKey::only(
            "correct the negation or the pattern first: then, a regular expression can say the same without case",
        );
    }
    let any_case =
        |object: &Node| Some(scalar(object)?.chars().map(dialects::in_both_cases).collect::<String>());
    let any_case: Option<Vec<String>> = objects.iter().map(any_case).collect();
    let meant = written.and_then(|word| dialects::named(kind, word));
    let (start, end) = match meant {
        Some("is one of" | "is not any of") => ("^", "$"),
        Some("starts with" | "does not start with") => ("^", ""),
        Some("ends with" | "does not end with") => ("", "$"),
        _ => ("", ""),
    };
    let regex = match meant {
        Some("is one of" | "starts with" | "ends with" | "contains") => Some("matches regex"),
        Some("is not any of" | "does not start with" | "does not end with" | "does not contain") => {
            Some("does not match regex")
        }
        _ => None,
    };
    let patterns = any_case.filter(|all| !all.is_empty()).and_then(|all| {
        meant::list(&all.iter().map(|pattern| format!("{start}{pattern}{end}")).collect::<Vec<_>>())
    });
    match (regex, patterns) {
        (Some(regex), Some(patterns)) => {
            let help = format!(
                "write `predicate: {regex}, objects: [{patterns}]` instead of the three: every predicate distinguishes upper \
                 and lower case"
            );
            ForeignKey { help, stands_for: &["predicate", "objects"] }
        }
        _ => ForeignKey::only(
            "do not just remove it: every predicate distinguishes upper and lower case. `matches regex` can have both cases \
             of each letter, such as `[Aa]`",
        ),
    }
}

/// Returns the help on a field that says whether the conditions of a rule ignore case.
fn case_of_rule(is_ignored: bool) -> ForeignKey {
    ForeignKey::only(match is_ignored {
        false => "remove it: every predicate distinguishes upper and lower case",
        true => {
            "do not just remove it: every predicate distinguishes upper and lower case. `matches regex` can have both cases \
             of each letter, such as `[Aa]`"
        }
    })
}

/// Returns the help on a field that reverses its condition. It is about the predicate as well, whatever that
/// is called, so that nobody reverses the condition twice.
fn negation(value: &Node, beside: &[(Node, Node)]) -> ForeignKey {
    match truth(value) {
        Some(true) => {}
        Some(false) => {
            return ForeignKey::only("remove it: a condition is negated by its predicate only");
        }
        None => {
            return ForeignKey::only("a condition is negated by its predicate, such as `is not any of`");
        }
    }
    let kind = field(beside, "type").and_then(scalar).unwrap_or_default();
    let (written, objects) = compared(beside);
    if written.is_none() && ["segment", "segments"].iter().any(|name| field(beside, name).is_some()) {
        return ForeignKey::only(
            "correct the segment first: then, the predicate `is not in` says the opposite",
        );
    }
    let is_one = objects.len() == 1 && scalar(&objects[0]).is_some();
    if written.is_some_and(|word| is_pattern(word, objects)) {
        return ForeignKey::only(
            "correct the predicate first: the objects of `LIKE` are patterns, and what they mean decides on the predicate \
             that says the opposite",
        );
    }
    let opposite = written.and_then(|word| dialects::opposite(dialects::named(kind, word)?, is_one));
    // Otherwise, the predicate has its own findings.
    let stands_for: &[_] = if opposite.is_some() { &["predicate"] } else { &[] };
    let help = match opposite {
        Some(opposite) => format!(
            "write `predicate: {}` instead of both: this field reverses the condition elsewhere, and the predicate does \
             here",
            meant::in_braces(opposite)
        ),
        None => "do not just remove it: it reverses the condition, and no predicate says the opposite of this one. A rule \
                 before this one, with the condition, can serve the users that it matches"
            .to_owned(),
    };
    ForeignKey { help, stands_for }
}

/// Returns whether a predicate is `LIKE` of SQL, and its objects have signs that stand for other text.
fn is_pattern(word: &str, objects: &[Node]) -> bool {
    let has_sign = |object: &Node| scalar(object).is_some_and(|text| text.contains(['%', '\\']));
    word.to_lowercase().contains("like")
        && (dialects::is_ilike(word).is_some() || objects.iter().any(has_sign))
}
