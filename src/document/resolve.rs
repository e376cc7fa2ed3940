//! Resolves serves to variations, and complete raw documents to targeting.

use std::collections::HashMap;

use super::raw::{RawCondition, RawContent, RawDocument, RawRule, RawServe, RawVariation};
use crate::model::{Condition, Content, Rule, Serve, ServiceKind, Targeting, Variation};

/// The variations of one document by name.
pub(super) struct VariationNames<'a> {
    /// The first index of each name, and whether the name is unique.
    by_name: HashMap<&'a str, (u32, Uniqueness)>,
    count: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Uniqueness {
    Ambiguous,
    Unique,
}

/// Why a serve does not resolve to a variation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ServeError {
    Ambiguous,
    /// Neither `select` nor `variation`, or both.
    Choice,
    OutOfRange,
    Unknown,
}

impl<'a> VariationNames<'a> {
    pub(super) fn new(variations: &'a [RawVariation]) -> Self {
        let mut by_name = HashMap::with_capacity(variations.len());
        let indices = 0_u32..;
        for (index, variation) in indices.zip(variations) {
            if let Some(name) = &variation.name {
                by_name
                    .entry(name.as_str())
                    // The name stays as ambiguous: without it, a serve by this name would be reported as unknown.
                    .and_modify(|(_, uniqueness)| *uniqueness = Uniqueness::Ambiguous)
                    .or_insert((index, Uniqueness::Unique));
            }
        }
        Self {
            by_name,
            count: u32::try_from(variations.len()).unwrap_or(u32::MAX),
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    fn resolve(&self, serve: &RawServe) -> Option<Serve> {
        self.find(serve).ok().map(Serve::Select)
    }

    pub(super) fn find(&self, serve: &RawServe) -> Result<u32, ServeError> {
        match (serve.select, &serve.variation) {
            (Some(select), None) if select < self.count => Ok(select),
            (Some(_), None) => Err(ServeError::OutOfRange),
            (None, Some(name)) => match self.by_name.get(name.as_str()) {
                Some((index, Uniqueness::Unique)) => Ok(*index),
                Some((_, Uniqueness::Ambiguous)) => Err(ServeError::Ambiguous),
                None => Err(ServeError::Unknown),
            },
            (Some(_), Some(_)) | (None, None) => Err(ServeError::Choice),
        }
    }
}

impl RawDocument {
    /// Returns the targeting, or `None` if a field is missing or a serve does not resolve.
    pub(super) fn complete(self, kind: ServiceKind) -> Option<Targeting> {
        let Self { disabled, content } = self;
        let RawContent {
            rules,
            disabled_serve,
            default_serve,
            variations,
        } = content?;
        let raw_variations = variations?;
        // Names become indices before anything is compared or sent (DESIGN, section 2).
        let names = VariationNames::new(&raw_variations);
        let disabled_serve = names.resolve(&disabled_serve?)?;
        let default_serve = names.resolve(&default_serve?)?;
        let rules = rules?
            .into_iter()
            .map(|rule| rule.complete(&names))
            .collect::<Option<Vec<_>>>()?;
        let variations = raw_variations
            .into_iter()
            .map(RawVariation::complete)
            .collect::<Option<Vec<_>>>()?;
        Some(Targeting {
            disabled: disabled?,
            content: Content {
                rules,
                disabled_serve,
                default_serve,
                variations,
                prerequisites: (kind == ServiceKind::FeatureProbe).then(Vec::new),
            },
        })
    }
}

impl RawRule {
    fn complete(self, names: &VariationNames<'_>) -> Option<Rule> {
        let Self {
            name,
            serve,
            conditions,
        } = self;
        Some(Rule {
            name: name?,
            serve: names.resolve(&serve?)?,
            conditions: conditions?
                .into_iter()
                .map(RawCondition::complete)
                .collect::<Option<Vec<_>>>()?,
        })
    }
}

impl RawCondition {
    fn complete(self) -> Option<Condition> {
        let Self {
            kind,
            subject,
            predicate,
            objects,
        } = self;
        Some(Condition {
            kind: kind?,
            subject: subject?,
            predicate: predicate?,
            objects: objects?.into_iter().map(|object| object.0).collect(),
            between: None,
        })
    }
}

impl RawVariation {
    fn complete(self) -> Option<Variation> {
        let Self {
            value,
            name,
            description,
        } = self;
        Some(Variation {
            value: value?,
            name: name?,
            // The only optional field: a missing description means the empty text (DESIGN, section 2).
            description: description.unwrap_or_default(),
        })
    }
}
