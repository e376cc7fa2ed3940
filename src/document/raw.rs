//! A document as it is written: every field may be missing, every text is verbatim.
//!
//! Missing means absent or null; whoever needs the field says so. That lets one set of checks run over valid
//! and half-broken documents alike.

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::select::Names;
use crate::model::{Condition, Content, Rule, Targeting, Variation};

/// The whole document.
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
#[serde(deny_unknown_fields)]
pub(super) struct RawCondition {
    #[serde(default, deserialize_with = "text", rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) subject: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) predicate: Option<String>,
    pub(super) objects: Option<Vec<Text>>,
}

#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawServe {
    #[serde(default, deserialize_with = "index")]
    pub(super) select: Option<u32>,
    #[serde(default, deserialize_with = "text")]
    pub(super) variation: Option<String>,
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

/// A scalar as it is written: `1.10` stays `1.10`. A null is refused unless it is quoted.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `deserialize_option` is where the parser tells a plain `null` from a quoted one, and
        // `deserialize_string` is where it gives a plain scalar as it is written.
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
    u32::deserialize(deserializer).map(Some)
}

impl RawDocument {
    /// Returns the targeting, or `None` where a field is missing or a serve leads nowhere.
    pub(super) fn complete(self) -> Option<Targeting> {
        let Self { disabled, content } = self;
        let RawContent {
            rules,
            disabled_serve,
            default_serve,
            variations,
        } = content?;
        let raw_variations = variations?;
        let names = Names::new(&raw_variations);
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
            },
        })
    }
}

impl RawRule {
    fn complete(self, names: &Names<'_>) -> Option<Rule> {
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
            description: description.unwrap_or_default(),
        })
    }
}
