//! Resolves serves to variations, and complete raw documents to targeting.

use super::raw::{
    RawCondition, RawContent, RawDocument, RawPrerequisite, RawRule, RawServe, RawVariation, Text,
};
use super::split::{self, SplitError};
use super::variation_names::{NameError, VariationNames};
use crate::model::{
    Between, Condition, Content, Prerequisite, Rule, Serve, ServiceKind, Targeting, Variation,
};

/// Why a serve does not resolve to a variation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ServeError {
    /// More than one of `select`, `variation` and `split`.
    Choice,
    OutOfRange,
    Split(Vec<SplitError>),
    Variation(NameError),
}

impl VariationNames<'_> {
    /// Returns what `serve` means. Whether it may serve nothing depends on its place.
    pub(super) fn resolve(&self, serve: &RawServe) -> Result<Serve, ServeError> {
        let RawServe { select, variation, split } = serve;
        match (select, variation, split) {
            (Some(select), None, None) if *select < self.count() => Ok(Serve::Select(*select)),
            (Some(_), None, None) => Err(ServeError::OutOfRange),
            (None, Some(name), None) => {
                let index = self.index(name).map_err(ServeError::Variation)?;
                Ok(Serve::Select(index))
            }
            (None, None, Some(split)) => {
                let weights = split::weights(split, self).map_err(ServeError::Split)?;
                Ok(Serve::Split(weights))
            }
            (None, None, None) => Ok(Serve::Nothing),
            _ => Err(ServeError::Choice),
        }
    }
}

impl RawDocument {
    /// Returns the targeting, or `None` if a field is missing or a serve does not resolve.
    pub(super) fn complete(self, kind: ServiceKind) -> Option<Targeting> {
        let Self { disabled, content } = self;
        let RawContent { rules, disabled_serve, default_serve, variations, prerequisites } = content?;
        let raw_variations = variations?;
        // Names become indices before anything is compared or sent (DESIGN, section 2).
        let names = VariationNames::new(&raw_variations);
        let disabled_serve = names.resolve(&disabled_serve?).ok()?;
        let default_serve = names.resolve(&default_serve?).ok()?;
        let rules = all(rules?, |rule| rule.complete(&names, kind))?;
        let variations = all(raw_variations, RawVariation::complete)?;
        let prerequisites = match kind {
            ServiceKind::Documented => None,
            // They are always sent, so that the document is complete (DESIGN, section 8.1).
            ServiceKind::FeatureProbe => {
                Some(all(prerequisites.unwrap_or_default(), RawPrerequisite::complete)?)
            }
        };
        Some(Targeting {
            disabled: disabled?,
            content: Content { rules, disabled_serve, default_serve, variations, prerequisites },
        })
    }
}

impl RawRule {
    fn complete(self, names: &VariationNames<'_>, kind: ServiceKind) -> Option<Rule> {
        let Self { name, serve, conditions } = self;
        Some(Rule {
            name: name?,
            serve: names.resolve(&serve?).ok()?,
            conditions: all(conditions?, |condition| condition.complete(kind))?,
        })
    }
}

/// Returns whether a condition of this type needs no subject: FeatureProbe's own UI leaves it out for a segment
/// (`featureprobe-behaviour.md`, section 5.2).
pub(super) fn has_optional_subject(condition_type: &str, service: ServiceKind) -> bool {
    service == ServiceKind::FeatureProbe && condition_type == "segment"
}

impl RawCondition {
    fn complete(self, service: ServiceKind) -> Option<Condition> {
        let kind = self.kind.as_deref().unwrap_or_default();
        let subject_if_absent = has_optional_subject(kind, service).then(String::new);
        let Self { kind, subject, predicate, objects, left_predicate, right_predicate, right_objects } = self;
        let between = match (left_predicate, right_predicate, right_objects) {
            (None, None, None) => None,
            (left_predicate, right_predicate, right_objects) => Some(Box::new(Between {
                left_predicate: left_predicate?,
                right_predicate: right_predicate?,
                right_objects: texts(right_objects?),
            })),
        };
        Some(Condition {
            kind: kind?,
            subject: subject.or(subject_if_absent)?,
            predicate: predicate?,
            objects: texts(objects?),
            between,
        })
    }
}

/// Completes all items, or none.
fn all<R, T>(items: Vec<R>, complete: impl Fn(R) -> Option<T>) -> Option<Vec<T>> {
    items.into_iter().map(complete).collect()
}

fn texts(texts: Vec<Text>) -> Vec<String> {
    texts.into_iter().map(|text| text.0).collect()
}

impl RawPrerequisite {
    fn complete(self) -> Option<Prerequisite> {
        let Self { key, value, kind } = self;
        Some(Prerequisite { key: key?, value: value?, kind: kind?.parse().ok()? })
    }
}

impl RawVariation {
    fn complete(self) -> Option<Variation> {
        let Self { value, name, description } = self;
        Some(Variation {
            value: value?,
            name: name?,
            // The only optional field: a missing description means the empty text (DESIGN, section 2).
            description: description.unwrap_or_default(),
        })
    }
}
