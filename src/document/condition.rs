//! Checks conditions: types and predicates that the service knows, and the objects compared with.

use super::check::{self, Check};
use super::finding::{At, Finding, Part, Spot, report, shown, suggest};
use super::help::quoted;
use super::raw::RawCondition;
use super::vocabulary;
use crate::model::{ServiceKind, listed};

/// Checks conditions for one kind of service.
pub(super) struct ConditionChecker<'a> {
    pub(super) findings: &'a mut Vec<Finding>,
    pub(super) kind: ServiceKind,
}

impl ConditionChecker<'_> {
    fn report(
        &mut self,
        check: &'static Check,
        spot: Spot,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        report(self.findings, check, spot, message, help);
    }

    pub(super) fn check(&mut self, condition: &RawCondition, at: &At<'_>) {
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
        // A segment condition has no subject: the service's own UI leaves it out (`featureprobe-behaviour.md`, 5.2).
        let is_nameless = subject.as_deref() == Some("") && kind.as_deref() != Some("segment");
        if is_nameless && self.kind == ServiceKind::FeatureProbe {
            self.empty_text("subject", at);
        }
        self.vocabulary(kind.as_deref(), predicate.as_deref(), at);
        let Some(objects) = objects else {
            return;
        };
        if objects.is_empty() {
            let help = "list the values to compare with, such as `objects: [\"18\"]`";
            let spot = at.key("objects").spot(Part::Key);
            self.report(
                &check::NO_OBJECTS,
                spot,
                "this condition has no objects to compare with",
                Some(help.to_owned()),
            );
        }
        let list = at.key("objects");
        for (index, object) in objects.iter().enumerate() {
            let problem = vocabulary::operand(self.kind, kind.as_deref().unwrap_or_default(), &object.0);
            if let Some((check, help)) = problem {
                let message = match check.id {
                    "not-a-number" => format!("`{}` is not a decimal number", shown(&object.0)),
                    "bad-semver" => format!("`{}` is not a semantic version", shown(&object.0)),
                    _ => format!("`{}` is not a time that the service can parse", shown(&object.0)),
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
            return self.unknown_type(kind, at);
        };
        match predicate {
            // Both were reported already.
            None | Some("") => {}
            // Documents do not have the fields of `between` yet (DESIGN, section 8.1), so it gets an error of its own.
            Some("between") if kind == "number" => self.between(at),
            Some(predicate) if predicates.contains(&predicate) => {}
            Some(predicate) => self.unknown_predicate(kind, predicate, predicates, at),
        }
    }

    fn unknown_type(&mut self, kind: &str, at: &At<'_>) {
        let check = match self.kind {
            // The documented API does not list its types, so an unknown one is only a warning (DESIGN, section 8.1).
            ServiceKind::Documented => &check::UNDOCUMENTED_CONDITION_TYPE,
            ServiceKind::FeatureProbe => &check::UNKNOWN_CONDITION_TYPE,
        };
        let types: Vec<&str> = vocabulary::types().collect();
        let help = suggest(self.findings, kind, types.iter().copied());
        let help = help.unwrap_or_else(|| format!("the known types are {}", listed(&quoted(&types))));
        let message = format!("`{}` is not a known type of condition", shown(kind));
        self.report(check, at.key("type").spot(Part::Value), message, Some(help));
    }

    fn unknown_predicate(&mut self, kind: &str, predicate: &str, known: &[&str], at: &At<'_>) {
        let check = match self.kind {
            ServiceKind::Documented => &check::UNDOCUMENTED_PREDICATE,
            ServiceKind::FeatureProbe => &check::UNKNOWN_PREDICATE,
        };
        let help = suggest(self.findings, predicate, known.iter().copied());
        let help = help.unwrap_or_else(|| format!("a `{kind}` condition has {}", listed(&quoted(known))));
        let message = format!(
            "`{}` is not a known predicate of a `{kind}` condition",
            shown(predicate)
        );
        self.report(check, at.key("predicate").spot(Part::Value), message, Some(help));
    }

    fn between(&mut self, at: &At<'_>) {
        // `between` is part of the known vocabulary, so the documented kind has nothing to warn about.
        if self.kind == ServiceKind::Documented {
            return;
        }
        let spot = at.key("predicate").spot(Part::Value);
        let message = "`between` needs fields that a document does not have";
        let help = "write two conditions, such as one with `>=` and one with `<=`: all conditions of a rule must match";
        self.report(&check::UNSUPPORTED_BETWEEN, spot, message, Some(help.to_owned()));
    }
}
