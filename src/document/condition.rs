//! Checks conditions: types and predicates that the service knows, and the objects compared with.

use super::check;
use super::finding::{At, Finding, Part, add, shown, suggest};
use super::help::{example, quoted};
use super::pattern::PatternChecker;
use super::raw::{RawCondition, Text};
use super::resolve::has_optional_subject;
use super::vocabulary;
use crate::model::{ServiceKind, listed};

/// Checks conditions for one kind of service.
pub(super) struct ConditionChecker<'a> {
    pub(super) findings: &'a mut Vec<Finding>,
    pub(super) kind: ServiceKind,
    pub(super) patterns: &'a mut PatternChecker,
}

impl ConditionChecker<'_> {
    pub(super) fn check(&mut self, condition: &RawCondition, at: &At<'_>) {
        let RawCondition {
            kind,
            subject,
            predicate,
            objects,
            left_predicate: _,
            right_predicate: _,
            right_objects,
        } = condition;
        for (name, text) in [("type", kind), ("predicate", predicate)] {
            if text.as_deref() == Some("") {
                self.empty_text(name, at);
            }
        }
        let kind = kind.as_deref().unwrap_or_default();
        // A segment condition has no subject: the service's own UI leaves it out (`featureprobe-behaviour.md`, 5.2).
        if subject.as_deref() == Some("") && kind != "segment" && self.kind == ServiceKind::FeatureProbe {
            self.empty_text("subject", at);
        }
        // The positioned reader requires the subject of all other conditions.
        if subject.is_none() && kind == "segment" && !has_optional_subject(kind, self.kind) {
            let finding = at.finding(&check::MISSING_FIELD, Part::Key, "a condition needs `subject`");
            add(self.findings, finding.help(example("subject")));
        }
        self.vocabulary(kind, predicate.as_deref(), at);
        self.between(condition, at);
        for (objects, name) in [(objects, "objects"), (right_objects, "rightObjects")] {
            if let Some(objects) = objects {
                self.objects(kind, predicate.as_deref(), objects, &at.key(name));
            }
        }
    }

    fn objects(&mut self, kind: &str, predicate: Option<&str>, objects: &[Text], list: &At<'_>) {
        if objects.is_empty() {
            let help = "list the values to compare with, such as `objects: [\"18\"]`";
            let message = "this condition has no objects to compare with";
            let finding = list.finding(&check::NO_OBJECTS, Part::Key, message);
            add(self.findings, finding.help(help));
        }
        let is_regex = self.kind == ServiceKind::FeatureProbe && vocabulary::is_regex(kind, predicate);
        for (index, Text(object)) in objects.iter().enumerate() {
            let at = list.item(index);
            if let Some((check, what, help)) = vocabulary::operand(self.kind, kind, object) {
                let message = format!("`{}` is not {what}", shown(object));
                add(self.findings, at.finding(check, Part::Value, message).help(help));
            }
            if let Some(Err(reason)) = is_regex.then(|| self.patterns.check(object)) {
                let message = format!("`{}` is not a regular expression: {}", shown(object), shown(&reason));
                let help = "the service accepts this, but to its SDKs the condition never matches, or, negated, always";
                let finding = at.finding(&check::BAD_REGEX, Part::Value, message);
                add(self.findings, finding.help(help));
            }
        }
    }

    fn empty_text(&mut self, name: &'static str, at: &At<'_>) {
        let message = format!("`{name}` is empty");
        let finding = at.key(name).finding(&check::EMPTY_TEXT, Part::Value, message);
        add(self.findings, finding.help(example(name)));
    }

    fn vocabulary(&mut self, kind: &str, predicate: Option<&str>, at: &At<'_>) {
        if kind.is_empty() {
            return;
        }
        let Some(predicates) = vocabulary::predicates(kind) else {
            return self.unknown_type(kind, at);
        };
        match predicate {
            // Both were reported already.
            None | Some("") => {}
            Some(predicate) if predicates.contains(&predicate) => {}
            Some(predicate) => self.unknown_predicate(kind, predicate, predicates, &at.key("predicate")),
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
        let finding = at.key("type").finding(check, Part::Value, message);
        add(self.findings, finding.help(help));
    }

    fn unknown_predicate(&mut self, kind: &str, predicate: &str, known: &[&str], at: &At<'_>) {
        let check = match self.kind {
            ServiceKind::Documented => &check::UNDOCUMENTED_PREDICATE,
            ServiceKind::FeatureProbe => &check::UNKNOWN_PREDICATE,
        };
        let help = suggest(self.findings, predicate, known.iter().copied());
        let help = help.unwrap_or_else(|| format!("a `{kind}` condition has {}", listed(&quoted(known))));
        let message = format!("`{}` is not a known predicate of a `{kind}` condition", shown(predicate));
        add(self.findings, at.finding(check, Part::Value, message).help(help));
    }

    /// Reports fields of `between` that are missing or have no meaning.
    fn between(&mut self, condition: &RawCondition, at: &At<'_>) {
        let RawCondition { left_predicate, right_predicate, right_objects, predicate, .. } = condition;
        let fields = [
            ("leftPredicate", left_predicate.is_some()),
            ("rightPredicate", right_predicate.is_some()),
            ("rightObjects", right_objects.is_some()),
        ];
        let is_between = predicate.as_deref() == Some("between");
        let unwanted = match self.kind {
            ServiceKind::Documented => Some((
                &check::UNKNOWN_KEY,
                "a condition",
                "the fields of `between` need `service_kind: featureprobe`",
            )),
            ServiceKind::FeatureProbe if is_between => None,
            ServiceKind::FeatureProbe => Some((
                &check::SUPERFLUOUS_FIELD,
                "a condition without `between`",
                "remove it, or write `predicate: between`",
            )),
        };
        if let Some((check, what, help)) = unwanted {
            for (name, _) in fields.into_iter().filter(|(_, is_present)| *is_present) {
                let message = format!("{what} has no `{name}`");
                let finding = at.key(name).finding(check, Part::Key, message);
                add(self.findings, finding.help(help));
            }
            return;
        }
        let missing: Vec<&str> =
            fields.into_iter().filter(|(_, is_present)| !is_present).map(|(name, _)| name).collect();
        if !missing.is_empty() {
            let help = "write `leftPredicate: \">=\"`, `objects: [\"18\"]`, `rightPredicate: \"<\"` and \
                        `rightObjects: [\"65\"]`";
            let message = format!("`between` needs {}", listed(&quoted(&missing)));
            let predicate = at.key("predicate");
            let finding = predicate.finding(&check::BETWEEN_FIELDS, Part::Value, message);
            add(self.findings, finding.help(help));
        }
        for (name, side) in [("leftPredicate", left_predicate), ("rightPredicate", right_predicate)] {
            self.side(name, side.as_deref(), at);
        }
    }

    fn side(&mut self, name: &'static str, predicate: Option<&str>, at: &At<'_>) {
        if let Some(predicate) = predicate.filter(|one| !vocabulary::COMPARISONS.contains(one)) {
            self.unknown_predicate("number", predicate, vocabulary::COMPARISONS, &at.key(name));
        }
    }
}
