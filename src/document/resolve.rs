//! A document as it is written, and what it means: every field is optional and every text verbatim; names of
//! variations become indices, and a complete document becomes targeting.
//!
//! A field that is absent or cannot be read is `None`. That lets one set of checks run on valid and on broken
//! documents.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::model::{
    Between, Condition, Content, Prerequisite, Rule, Serve, ServiceKind, Targeting, Variation, WHOLE,
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
                let weights = weights(split, self).map_err(ServeError::Split)?;
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
        // Names become indices before anything is compared or sent (src/document/README.md, "Text").
        let names = VariationNames::new(&raw_variations);
        let disabled_serve = names.resolve(&disabled_serve?).ok()?;
        let default_serve = names.resolve(&default_serve?).ok()?;
        let rules = all(rules?, |rule| rule.complete(&names, kind))?;
        let variations = all(raw_variations, RawVariation::complete)?;
        let prerequisites = match kind.can().refer {
            // They are always sent, so that the document is complete (src/document/README.md, "Text").
            true => Some(all(prerequisites.unwrap_or_default(), RawPrerequisite::complete)?),
            false => None,
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

/// Returns whether a condition of this type needs no subject: FeatureProbe's own UI leaves it out for a
/// segment (src/service/featureprobe.md, "Conditions").
pub(super) fn has_optional_subject(condition_type: &str, service: ServiceKind) -> bool {
    service.can().refer && condition_type == "segment"
}

impl RawCondition {
    fn complete(self, service: ServiceKind) -> Option<Condition> {
        let kind = self.kind.as_deref().unwrap_or_default();
        let subject_if_absent = has_optional_subject(kind, service).then(String::new);
        let Self {
            kind,
            subject,
            predicate,
            objects,
            left_predicate,
            right_predicate,
            right_objects,
            has_unread: _,
        } = self;
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
            // The only optional field: a missing description means the empty text (src/document/README.md,
            // "Text").
            description: description.unwrap_or_default(),
        })
    }
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawDocument {
    pub(super) disabled: Option<bool>,
    pub(super) content: Option<RawContent>,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawContent {
    pub(super) rules: Option<Vec<RawRule>>,
    pub(super) disabled_serve: Option<RawServe>,
    pub(super) default_serve: Option<RawServe>,
    pub(super) variations: Option<Vec<RawVariation>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) prerequisites: Option<Vec<RawPrerequisite>>,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawRule {
    pub(super) name: Option<String>,
    pub(super) serve: Option<RawServe>,
    pub(super) conditions: Option<Vec<RawCondition>>,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawCondition {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) subject: Option<String>,
    pub(super) predicate: Option<String>,
    pub(super) objects: Option<Vec<Text>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) left_predicate: Option<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) right_predicate: Option<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) right_objects: Option<Vec<Text>>,
    /// Whether a part of it could not be read, which was reported. Such an object is an empty text.
    #[serde(skip)]
    pub(super) has_unread: bool,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawServe {
    #[serde(default, deserialize_with = "present")]
    pub(super) select: Option<u32>,
    #[serde(default, deserialize_with = "present")]
    pub(super) variation: Option<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) split: Option<RawSplit>,
}

/// The shares of a split as they are written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RawSplit {
    /// Percentages by the name of the variation; no name is repeated.
    ByName(Vec<(String, Text)>),
    /// Hundredths of a percent by the index of the variation.
    ByIndex(Vec<Text>),
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawVariation {
    pub(super) value: Option<String>,
    pub(super) name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) description: Option<String>,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawPrerequisite {
    pub(super) key: Option<String>,
    pub(super) value: Option<String>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
}

/// A scalar as it is written: `1.10` stays `1.10`. An unquoted null is an error.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(try_from = "Option<String>")]
pub(super) struct Text(pub(super) String);

impl TryFrom<Option<String>> for Text {
    type Error = &'static str;

    fn try_from(text: Option<String>) -> Result<Self, Self::Error> {
        text.map(Self).ok_or("a null is not text")
    }
}

/// Reads a field that may be absent, but not null.
fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let value = Option::deserialize(deserializer)?;
    value.map(Some).ok_or_else(|| D::Error::custom("a null is not a value"))
}

impl<'de> Deserialize<'de> for RawSplit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SplitVisitor)
    }
}

/// Reads a split in either form. An untagged enum would lose how its numbers are written.
struct SplitVisitor;

impl<'de> Visitor<'de> for SplitVisitor {
    type Value = RawSplit;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("percentages by name, or a list of weights")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawSplit, A::Error> {
        let mut shares = Vec::new();
        while let Some((Text(name), share)) = map.next_entry()? {
            shares.push((name, share));
        }
        match has_repeated_name(&shares) {
            true => Err(A::Error::custom("a name is repeated")),
            false => Ok(RawSplit::ByName(shares)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<RawSplit, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(RawSplit::ByIndex)
    }
}

fn has_repeated_name(shares: &[(String, Text)]) -> bool {
    let mut names = HashSet::with_capacity(shares.len());
    !shares.iter().all(|(name, _)| names.insert(name))
}

/// Why a split does not resolve. The index is that of an entry as it is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SplitError {
    /// Not a percentage or not a weight.
    Share(usize),
    /// The sum, in hundredths of a percent.
    Sum(u64),
    /// There are fewer variations.
    TooMany(usize),
    /// The name is not that of a variation.
    Variation(usize, NameError),
}

/// Returns one weight per variation, in hundredths of a percent. The weights add up to [`WHOLE`].
pub(super) fn weights(split: &RawSplit, names: &VariationNames<'_>) -> Result<Vec<u32>, Vec<SplitError>> {
    let mut weights = vec![0; names.count() as usize];
    let mut errors = Vec::new();
    match split {
        RawSplit::ByName(shares) => {
            for (at, (name, share)) in shares.iter().enumerate() {
                let (index, weight) = (names.index(name), percentage(&share.0));
                if let Err(error) = index {
                    errors.push(SplitError::Variation(at, error));
                }
                match (index, weight) {
                    (Ok(index), Some(weight)) => weights[index as usize] = weight,
                    (Err(_), Some(_)) => {}
                    (_, None) => errors.push(SplitError::Share(at)),
                }
            }
        }
        RawSplit::ByIndex(shares) if shares.len() > weights.len() => {
            errors.push(SplitError::TooMany(weights.len()));
        }
        RawSplit::ByIndex(shares) => {
            for (at, (weight, share)) in weights.iter_mut().zip(shares).enumerate() {
                match whole_number(&share.0) {
                    Some(share) => *weight = share,
                    None => errors.push(SplitError::Share(at)),
                }
            }
        }
    }
    let sum: u64 = weights.iter().copied().map(u64::from).sum();
    match errors.is_empty() {
        true if sum == u64::from(WHOLE) => Ok(weights),
        true => Err(vec![SplitError::Sum(sum)]),
        // Without the shares that cannot be read, the sum means nothing.
        false => Err(errors),
    }
}

/// Returns hundredths of a percent, at most 99,999.
fn whole_number(text: &str) -> Option<u32> {
    let is_plain = (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    // YAML parsers disagree on leading zeros.
    let is_octal = text.len() > 1 && text.starts_with('0');
    (is_plain && !is_octal).then(|| text.parse().ok()).flatten()
}

/// Returns a percentage with at most two decimals as hundredths of a percent.
fn percentage(text: &str) -> Option<u32> {
    // Digits, not floats: as a float, 0.29 × 100 is not 29.
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_decimals = matches!(decimals.len(), 1 | 2) && decimals.bytes().all(|byte| byte.is_ascii_digit());
    let hundredths: u32 = is_decimals.then(|| format!("{decimals:0<2}").parse().ok()).flatten()?;
    Some(whole_number(whole)? * 100 + hundredths)
}

pub(super) struct VariationNames<'a> {
    /// The index of each name; none if the name is ambiguous.
    by_name: HashMap<&'a str, Option<u32>>,
    count: u32,
}

/// Why a name is not that of a variation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NameError {
    Ambiguous,
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
                    // The name stays as ambiguous: without it, a serve by this name would be reported as
                    // unknown.
                    .and_modify(|index| *index = None)
                    .or_insert(Some(index));
            }
        }
        Self { by_name, count: u32::try_from(variations.len()).unwrap_or(u32::MAX) }
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn index(&self, name: &str) -> Result<u32, NameError> {
        match self.by_name.get(name) {
            Some(Some(index)) => Ok(*index),
            Some(None) => Err(NameError::Ambiguous),
            None => Err(NameError::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_has_at_most_two_decimals_and_no_rounding() {
        for (text, expected) in
            [("0", 0), ("25", 2500), ("12.5", 1250), ("0.29", 29), ("100.00", 10_000), ("33.33", 3333)]
        {
            assert_eq!(percentage(text), Some(expected), "{text}");
        }
        for bad in
            ["", ".5", "5.", "25%", "-1", "+1", "1e1", "0.125", "025", "1.2.3", "1,5", "NaN", "100000", " 1"]
        {
            assert_eq!(percentage(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_weight_is_a_whole_number() {
        assert_eq!(["0", "1", "2500", "10000"].map(whole_number), [0, 1, 2500, 10_000].map(Some));
        for bad in ["", "-1", "+1", "1.0", "007", "0x10", "1_000", "100000"] {
            assert_eq!(whole_number(bad), None, "{bad}");
        }
    }
}
