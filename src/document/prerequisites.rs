//! Checks prerequisites.

use std::collections::HashMap;

use super::check;
use super::finding::{At, Finding, Part, add, shown, suggest};
use super::help::{example, quoted};
use super::raw::RawPrerequisite;
use crate::model::{ReturnType, ServiceKind, listed, variation_fits};

/// Reports prerequisites that the service cannot handle, or that it has no promise to handle.
pub(super) fn prerequisites(
    all: &[RawPrerequisite],
    kind: ServiceKind,
    list: &At<'_>,
    findings: &mut Vec<Finding>,
) {
    if kind == ServiceKind::Documented {
        let message = "`content` has no `prerequisites`";
        let finding = list.finding(&check::UNKNOWN_KEY, Part::Key, message);
        return add(findings, finding.help("prerequisites need `service_kind: featureprobe`"));
    }
    let mut first = HashMap::new();
    for (index, prerequisite) in all.iter().enumerate() {
        let at = list.item(index);
        one(prerequisite, &at, findings);
        let Some(key) = prerequisite.key.as_deref() else {
            continue;
        };
        // FeatureProbe compares keys without case (`featureprobe-behaviour.md`, section 0).
        let other = *first.entry(key.to_lowercase()).or_insert(index);
        if other != index {
            let message = format!("another prerequisite is the toggle `{}`, too", shown(key));
            let help =
                "keep one of the two: a toggle serves one value to a user, and every prerequisite must match";
            let finding = at.key("key").finding(&check::DUPLICATE_PREREQUISITE, Part::Value, message);
            let first = list.item(other).key("key").spot(Part::Value);
            add(findings, finding.help(help).related(first, "the first one"));
        }
    }
}

fn one(prerequisite: &RawPrerequisite, at: &At<'_>, findings: &mut Vec<Finding>) {
    let RawPrerequisite { key, value, kind } = prerequisite;
    if key.as_deref() == Some("") {
        let finding = at.key("key").finding(&check::EMPTY_TEXT, Part::Value, "`key` is empty");
        add(findings, finding.help(example("key")));
    }
    let Some(kind) = kind else { return };
    let type_finding = |check, message| at.key("type").finding(check, Part::Value, message);
    let Ok(return_type) = kind.parse::<ReturnType>() else {
        let words = ReturnType::WORDS;
        let help = suggest(findings, kind, words.iter().copied())
            .unwrap_or_else(|| format!("the types are {}", listed(&quoted(words))));
        let message = format!("`{}` is not a type of toggle", shown(kind));
        return add(findings, type_finding(&check::PREREQUISITE_TYPE, message).help(help));
    };
    if return_type == ReturnType::Json {
        let message = "the service's own pages do not offer toggles with JSON values as prerequisites";
        let help = "let a boolean toggle stand for the condition: SDKs may not agree on when two JSON values are equal";
        add(findings, type_finding(&check::JSON_PREREQUISITE, message.to_owned()).help(help));
    }
    if let Some(Err(reason)) = value.as_deref().map(|value| variation_fits(return_type, value)) {
        let message = format!("this value {reason}");
        let help = "write the value of a variation of the other toggle; with any other, callers always get the disabled serve";
        let finding = at.key("value").finding(&check::PREREQUISITE_VALUE, Part::Value, message);
        add(findings, finding.help(help));
    }
}
