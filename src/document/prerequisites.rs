//! Checks prerequisites.

use std::collections::HashMap;

use super::check;
use super::finding::{At, Finding, Part, add, report, shown, suggest};
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
        let help = "prerequisites need `service_kind: featureprobe`";
        let spot = list.spot(Part::Key);
        let message = "`content` has no `prerequisites`";
        return report(
            findings,
            &check::UNKNOWN_KEY,
            spot,
            message,
            Some(help.to_owned()),
        );
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
            let finding = Finding::new(
                &check::DUPLICATE_PREREQUISITE,
                at.key("key").spot(Part::Value),
                message,
            )
            .help(
                "keep one of the two: a toggle serves one value to a user, and every prerequisite must match",
            )
            .related(list.item(other).key("key").spot(Part::Value), "the first one");
            add(findings, finding);
        }
    }
}

fn one(prerequisite: &RawPrerequisite, at: &At<'_>, findings: &mut Vec<Finding>) {
    let RawPrerequisite { key, value, kind } = prerequisite;
    if key.as_deref() == Some("") {
        let spot = at.key("key").spot(Part::Value);
        let help = Some(example("key").to_owned());
        report(findings, &check::EMPTY_TEXT, spot, "`key` is empty", help);
    }
    let Some(kind) = kind else { return };
    let spot = at.key("type").spot(Part::Value);
    let Ok(return_type) = kind.parse::<ReturnType>() else {
        let words = ReturnType::WORDS;
        let help = suggest(findings, kind, words.iter().copied())
            .unwrap_or_else(|| format!("the types are {}", listed(&quoted(words))));
        let message = format!("`{}` is not a type of toggle", shown(kind));
        return report(findings, &check::PREREQUISITE_TYPE, spot, message, Some(help));
    };
    if return_type == ReturnType::Json {
        let message = "the service's own pages do not offer toggles with JSON values as prerequisites";
        let help = "let a boolean toggle stand for the condition: SDKs may not agree on when two JSON values are equal";
        report(
            findings,
            &check::JSON_PREREQUISITE,
            spot,
            message,
            Some(help.to_owned()),
        );
    }
    if let Some(Err(reason)) = value.as_deref().map(|value| variation_fits(return_type, value)) {
        let message = format!("this value {reason}");
        let help = "write the value of a variation of the other toggle; with any other, callers always get the disabled serve";
        let spot = at.key("value").spot(Part::Value);
        report(
            findings,
            &check::PREREQUISITE_VALUE,
            spot,
            message,
            Some(help.to_owned()),
        );
    }
}
