//! Documents as they are written: every field is optional, every text is verbatim.
//!
//! A field that is absent or null is `None`. That lets one set of checks run on valid and on broken documents.

use std::collections::HashSet;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDocument {
    pub(super) disabled: Option<bool>,
    pub(super) content: Option<RawContent>,
}

#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawContent {
    pub(super) rules: Option<Vec<RawRule>>,
    pub(super) disabled_serve: Option<RawServe>,
    pub(super) default_serve: Option<RawServe>,
    pub(super) variations: Option<Vec<RawVariation>>,
    pub(super) prerequisites: Option<Vec<RawPrerequisite>>,
}

#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRule {
    #[serde(default, deserialize_with = "text")]
    pub(super) name: Option<String>,
    pub(super) serve: Option<RawServe>,
    pub(super) conditions: Option<Vec<RawCondition>>,
}

#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawCondition {
    #[serde(default, deserialize_with = "text", rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) subject: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) predicate: Option<String>,
    pub(super) objects: Option<Vec<Text>>,
    #[serde(default, deserialize_with = "text")]
    pub(super) left_predicate: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) right_predicate: Option<String>,
    pub(super) right_objects: Option<Vec<Text>>,
}

#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawServe {
    #[serde(default, deserialize_with = "index")]
    pub(super) select: Option<u32>,
    #[serde(default, deserialize_with = "text")]
    pub(super) variation: Option<String>,
    #[serde(default, deserialize_with = "split")]
    pub(super) split: Option<RawSplit>,
}

/// The shares of a split as they are written.
#[derive(Debug, PartialEq)]
pub(super) enum RawSplit {
    /// Percentages by the name of the variation; no name is repeated.
    ByName(Vec<(String, Text)>),
    /// Hundredths of a percent by the index of the variation.
    ByIndex(Vec<Text>),
}

#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawVariation {
    #[serde(default, deserialize_with = "text")]
    pub(super) value: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) name: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) description: Option<String>,
}

#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPrerequisite {
    #[serde(default, deserialize_with = "text")]
    pub(super) key: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) value: Option<String>,
    #[serde(default, deserialize_with = "text", rename = "type")]
    pub(super) kind: Option<String>,
}

/// A scalar as it is written: `1.10` stays `1.10`. An unquoted null is an error.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Only `deserialize_option` distinguishes a plain `null` from a quoted one, and only `deserialize_string` yields
        // a plain scalar as it is written.
        deserializer.deserialize_option(Verbatim)
    }
}

struct Verbatim;

impl<'de> Visitor<'de> for Verbatim {
    type Value = Text;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("text (a null needs quotes)")
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Text, D::Error> {
        String::deserialize(deserializer).map(Text)
    }

    fn visit_none<E: Error>(self) -> Result<Text, E> {
        Err(E::invalid_type(serde::de::Unexpected::Unit, &self))
    }
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Text::deserialize(deserializer).map(|text| Some(text.0))
}

fn index<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    // An `Option` would accept a null, which is not a valid index.
    u32::deserialize(deserializer).map(Some)
}

fn split<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawSplit>, D::Error> {
    deserializer.deserialize_any(SplitVisitor).map(Some)
}

struct SplitVisitor;

impl<'de> Visitor<'de> for SplitVisitor {
    type Value = RawSplit;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("percentages by name or a list of weights")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawSplit, A::Error> {
        let mut shares = Vec::new();
        while let Some((Text(name), share)) = map.next_entry()? {
            shares.push((name, share));
        }
        if has_repeated_name(&shares) {
            return Err(A::Error::custom("duplicate name in a split"));
        }
        Ok(RawSplit::ByName(shares))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RawSplit, A::Error> {
        let mut weights = Vec::new();
        while let Some(weight) = seq.next_element()? {
            weights.push(weight);
        }
        Ok(RawSplit::ByIndex(weights))
    }
}

pub(super) fn has_repeated_name(shares: &[(String, Text)]) -> bool {
    let mut names = HashSet::with_capacity(shares.len());
    !shares.iter().all(|(name, _)| names.insert(name))
}
