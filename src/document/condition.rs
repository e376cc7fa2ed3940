//! What a condition says, checked: the words that the service knows, and what they are compared with.

use super::check;
use super::finding::{At, Part, did_you_mean, shown};
use super::meaning::Meaning;
use super::raw::RawCondition;
use super::vocabulary;
use crate::model::ServiceKind;

impl Meaning {
    pub(super) fn condition(&mut self, condition: &RawCondition, at: &At<'_>) {
        let RawCondition {
            kind,
            subject,
            predicate,
            objects,
        } = condition;
        for (name, text) in [("type", kind), ("predicate", predicate)] {
            if text.as_deref() == Some("") {
                self.empty_text(name, at);
            }
        }
        if self.kind == ServiceKind::FeatureProbe {
            if subject.as_deref() == Some("") && kind.as_deref() != Some("segment") {
                self.empty_text("subject", at);
            }
            self.vocabulary(kind.as_deref(), predicate.as_deref(), at);
        }
        let Some(objects) = objects else {
            return;
        };
        if objects.is_empty() {
            let help = "say what to compare with, such as `objects: [\"18\"]`";
            let spot = at.key("objects").spot(Part::Key);
            self.report(
                &check::NO_OBJECTS,
                spot,
                "this condition compares with nothing",
                Some(help.to_owned()),
            );
        }
        let list = at.key("objects");
        for (index, object) in objects.iter().enumerate() {
            let problem = vocabulary::operand(self.kind, kind.as_deref().unwrap_or_default(), &object.0);
            if let Some((check, help)) = problem {
                let message = match check.id {
                    "not-a-number" => format!("`{}` is no decimal number", shown(&object.0)),
                    "bad-semver" => format!("`{}` is no semantic version", shown(&object.0)),
                    _ => format!("`{}` is no time that the service reads", shown(&object.0)),
                };
                self.report(
                    check,
                    list.item(index).spot(Part::Value),
                    message,
                    Some(help.to_owned()),
                );
            }
        }
    }

    fn empty_text(&mut self, name: &'static str, at: &At<'_>) {
        let spot = at.key(name).spot(Part::Value);
        self.report(&check::EMPTY_TEXT, spot, format!("`{name}` is empty"), None);
    }

    fn vocabulary(&mut self, kind: Option<&str>, predicate: Option<&str>, at: &At<'_>) {
        let Some(kind) = kind.filter(|kind| !kind.is_empty()) else {
            return;
        };
        let Some(predicates) = vocabulary::predicates(kind) else {
            let help = did_you_mean(kind, vocabulary::types()).unwrap_or_else(|| {
                format!(
                    "the service knows `{}`",
                    vocabulary::types().collect::<Vec<_>>().join("`, `")
                )
            });
            let spot = at.key("type").spot(Part::Value);
            let message = format!("the service knows no condition of type `{}`", shown(kind));
            self.report(&check::UNKNOWN_CONDITION_TYPE, spot, message, Some(help));
            return;
        };
        let Some(predicate) = predicate.filter(|predicate| !predicate.is_empty()) else {
            return;
        };
        let spot = at.key("predicate").spot(Part::Value);
        if kind == "number" && predicate == "between" {
            let message = "`between` needs fields that a document does not have";
            let help = "write two conditions, such as one with `>=` and one with `<=`: all conditions of a rule must match";
            self.report(&check::UNSUPPORTED_BETWEEN, spot, message, Some(help.to_owned()));
        } else if !predicates.contains(&predicate) {
            let help = did_you_mean(predicate, predicates.iter().copied()).unwrap_or_else(|| {
                format!("a `{}` condition has `{}`", shown(kind), predicates.join("`, `"))
            });
            let message = format!(
                "a `{}` condition has no predicate `{}`",
                shown(kind),
                shown(predicate)
            );
            self.report(&check::UNKNOWN_PREDICATE, spot, message, Some(help));
        }
    }
}
