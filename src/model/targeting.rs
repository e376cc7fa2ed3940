//! A toggle's targeting (src/service/README.md, "The contract") and its canonical form.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::conversion::is_same_value;
use super::{ReturnType, Serve, ServiceKind};

/// The targeting of a toggle in one environment: the request body without its comment.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Targeting {
    pub disabled: bool,
    /// Rules, serves and variations.
    pub content: Content,
}

/// The targeting definition.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Content {
    /// The rules, in the order in which they are tried.
    pub rules: Vec<Rule>,
    /// The serve while the toggle is disabled.
    pub disabled_serve: Serve,
    /// The serve if no rule matches.
    pub default_serve: Serve,
    /// The values to choose from.
    pub variations: Vec<Variation>,
    /// The toggles that must serve a value first. `None` exactly where documents cannot refer to others: such
    /// payloads do not have the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prerequisites: Option<Vec<Prerequisite>>,
}

impl Content {
    fn has_value_for(&self, prerequisite: &Prerequisite) -> bool {
        self.variations.iter().any(|variation| is_met(variation, prerequisite))
    }

    /// Returns the values that are served while the toggle is disabled, each with its share of the users.
    fn served_when_disabled(&self) -> Vec<(Option<&str>, u32)> {
        let share = |index: u32| match &self.disabled_serve {
            Serve::Split(weights) => weights.get(index as usize).copied().unwrap_or_default(),
            Serve::Select(_) | Serve::Nothing => 0,
        };
        let value =
            |index: u32| self.variations.get(index as usize).map(|variation| variation.value.as_str());
        self.disabled_serve.variations().map(|index| (value(index), share(index))).collect()
    }
}

/// A rule: serves a variation if all conditions match.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The rule's name, which may be empty.
    pub name: String,
    /// The serve if all conditions match.
    pub serve: Serve,
    /// The conditions; an empty list matches everyone.
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(try_from = "ConditionMembers")]
pub struct Condition {
    /// The kind of condition: `number`, `string`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// The attribute; empty for a segment.
    pub subject: String,
    pub predicate: String,
    /// The values to compare with, numbers as text.
    pub objects: Vec<String>,
    /// The rest of a `between` condition, whose left side compares with `objects`. Boxed, because it is rare.
    #[serde(flatten)]
    pub between: Option<Box<Between>>,
}

/// The two sides of a `between` condition, which must both match.
#[derive(Clone, Debug, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Between {
    /// The comparison with the objects of the condition.
    pub left_predicate: String,
    /// The comparison with `right_objects`.
    pub right_predicate: String,
    /// The values to compare with on the right.
    pub right_objects: Vec<String>,
}

/// The members of a condition in JSON. `serde` cannot refuse unknown members of a flattened type.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ConditionMembers {
    #[serde(rename = "type")]
    kind: String,
    subject: String,
    predicate: String,
    objects: Vec<String>,
    left_predicate: Option<String>,
    right_predicate: Option<String>,
    right_objects: Option<Vec<String>>,
}

impl TryFrom<ConditionMembers> for Condition {
    type Error = &'static str;

    fn try_from(members: ConditionMembers) -> Result<Self, Self::Error> {
        let ConditionMembers {
            kind,
            subject,
            predicate,
            objects,
            left_predicate,
            right_predicate,
            right_objects,
        } = members;
        let between = match (left_predicate, right_predicate, right_objects) {
            (None, None, None) => None,
            (Some(left_predicate), Some(right_predicate), Some(right_objects)) => {
                Some(Box::new(Between { left_predicate, right_predicate, right_objects }))
            }
            _ => return Err("`leftPredicate`, `rightPredicate` and `rightObjects` belong together"),
        };
        Ok(Self { kind, subject, predicate, objects, between })
    }
}

/// A toggle that must serve a value to a user; otherwise, the user gets the disabled serve.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Prerequisite {
    /// The key of the other toggle, in the same project.
    pub key: String,
    /// The value that it must serve, as text.
    pub value: String,
    #[serde(rename = "type")]
    pub kind: ReturnType,
}

/// A value that can be served.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Variation {
    /// The value as text, even if it is a boolean or a number.
    pub value: String,
    pub name: String,
    /// The description, which may be empty.
    pub description: String,
}

/// A [`Targeting`] in canonical form: compact JSON with all members in a fixed order.
///
/// Two documents mean the same exactly if their payloads are equal (src/model/README.md, "Targeting").
#[derive(Clone, Eq, Hash, PartialEq)]
pub struct Payload(Arc<str>);

/// The beginnings of the canonical JSON of targeting that is disabled, and of targeting that is not.
const DISABLED: &str = r#"{"disabled":true,"content":"#;
const ENABLED: &str = r#"{"disabled":false,"content":"#;

impl Payload {
    /// Returns the canonical form of `targeting`.
    pub(crate) fn new(targeting: &Targeting) -> Self {
        Self(serde_json::to_string(targeting).expect("targeting always has a JSON form").into())
    }

    /// Returns the canonical JSON.
    pub fn json(&self) -> &str {
        &self.0
    }

    /// Returns the length of the content in bytes, as it is sent.
    pub(crate) fn content_len(&self) -> usize {
        let before = if self.is_disabled() { DISABLED } else { ENABLED };
        self.0.len() - before.len() - "}".len()
    }

    /// Returns the structured form.
    pub(crate) fn targeting(&self) -> Targeting {
        serde_json::from_str(&self.0).expect("a payload is created from a targeting")
    }

    /// Returns the same targeting, disabled.
    pub(crate) fn disabled(&self) -> Self {
        Self::new(&Targeting { disabled: true, ..self.targeting() })
    }

    /// Returns the same targeting as a document of this kind of service has it. Where documents can refer to
    /// others, one without prerequisites means that there are none (src/model/README.md, "Targeting").
    pub(crate) fn for_kind(&self, kind: ServiceKind) -> Self {
        let mut targeting = self.targeting();
        match (kind.can().refer, &targeting.content.prerequisites) {
            (true, None) => targeting.content.prerequisites = Some(Vec::new()),
            (false, _) | (_, Some(_)) => return self.clone(),
        }
        Self::new(&targeting)
    }

    pub(crate) fn is_disabled(&self) -> bool {
        self.0.starts_with(DISABLED)
    }

    /// Returns whether both serve the same while they are disabled. What else they differ in has no effect then.
    pub(crate) fn is_same_when_disabled(&self, other: &Self) -> bool {
        let [one, other] = [self, other].map(Self::targeting);
        one.content.served_when_disabled() == other.content.served_when_disabled()
    }

    /// Returns the toggles that it needs.
    pub(crate) fn prerequisites(&self) -> Vec<Prerequisite> {
        // Most payloads have none, and reading one takes much longer. In a text, the quotes would be escaped.
        match self.0.contains(r#"{"key":""#) {
            true => self.targeting().content.prerequisites.unwrap_or_default(),
            false => Vec::new(),
        }
    }

    /// Returns whether it can serve what `prerequisite` asks for, as far as its values show that.
    pub(crate) fn can_meet(&self, prerequisite: &Prerequisite) -> bool {
        let Targeting { disabled, content } = self.targeting();
        if !disabled {
            return content.has_value_for(prerequisite);
        }
        let served: Vec<u32> = content.disabled_serve.variations().collect();
        let mut variations = served.into_iter().filter_map(|index| content.variations.get(index as usize));
        variations.any(|variation| is_met(variation, prerequisite))
    }

    /// Returns whether one of its variations has the value that `prerequisite` asks for, which it serves unless it is
    /// disabled.
    pub(crate) fn has_value_for(&self, prerequisite: &Prerequisite) -> bool {
        self.targeting().content.has_value_for(prerequisite)
    }
}

/// Returns whether the value of a variation is, or may be, the one that `prerequisite` asks for.
fn is_met(variation: &Variation, prerequisite: &Prerequisite) -> bool {
    // Whether different notations of a value are the same depends on the SDK.
    is_same_value(prerequisite.kind, &variation.value, &prerequisite.value) != Some(false)
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.targeting().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Targeting::deserialize(deserializer).map(|targeting| Self::new(&targeting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targeting() -> Targeting {
        Targeting {
            disabled: false,
            content: Content {
                rules: vec![Rule {
                    name: "adults".into(),
                    serve: Serve::Select(1),
                    conditions: vec![Condition {
                        kind: "number".into(),
                        subject: "age".into(),
                        predicate: ">".into(),
                        objects: vec!["18".into()],
                        between: None,
                    }],
                }],
                disabled_serve: Serve::Select(0),
                default_serve: Serve::Select(0),
                variations: vec![Variation {
                    value: "false".into(),
                    name: "off".into(),
                    description: String::new(),
                }],
                prerequisites: None,
            },
        }
    }

    #[test]
    fn a_payload_gives_back_its_targeting_and_can_be_disabled() {
        let payload = Payload::new(&targeting());
        assert_eq!(payload.targeting(), targeting());
        assert!(!payload.is_disabled());
        assert!(payload.disabled().is_disabled());
        let content = serde_json::to_string(&targeting().content).unwrap();
        assert_eq!(payload.content_len(), content.len());
        assert_eq!(payload.disabled().content_len(), content.len());
        assert_eq!(serde_json::from_str::<Payload>(payload.json()).unwrap(), payload);
    }

    #[test]
    fn a_payload_of_a_documented_service_has_no_prerequisites_for_featureprobe() {
        let payload = Payload::new(&targeting());
        assert_eq!(payload.for_kind(ServiceKind::Documented), payload);
        let complete = payload.for_kind(ServiceKind::FeatureProbe);
        assert_eq!(complete.targeting().content.prerequisites, Some(vec![]));
        assert_eq!(complete.for_kind(ServiceKind::FeatureProbe), complete);
        assert_eq!(complete.for_kind(ServiceKind::Documented), complete);
    }

    #[test]
    fn the_full_vocabulary_follows_the_documented_members() {
        let mut full = targeting();
        let rule = &mut full.content.rules[0];
        rule.serve = Serve::Split(vec![10_000]);
        rule.conditions[0].predicate = "between".into();
        rule.conditions[0].between = Some(Box::new(Between {
            left_predicate: ">=".into(),
            right_predicate: "<".into(),
            right_objects: vec!["65".into()],
        }));
        full.content.default_serve = Serve::Nothing;
        full.content.prerequisites =
            Some(vec![Prerequisite { key: "other".into(), value: "a".into(), kind: ReturnType::String }]);
        let payload = Payload::new(&full);
        insta::assert_snapshot!(payload.json(), @r#"{"disabled":false,"content":{"rules":[{"name":"adults","serve":{"split":[10000]},"conditions":[{"type":"number","subject":"age","predicate":"between","objects":["18"],"leftPredicate":">=","rightPredicate":"<","rightObjects":["65"]}]}],"disabledServe":{"select":0},"defaultServe":{},"variations":[{"value":"false","name":"off","description":""}],"prerequisites":[{"key":"other","value":"a","type":"string"}]}}"#);
        assert_eq!(payload.targeting(), full);
        for (from, to) in [
            (r#""rightObjects":["65"]"#, r#""extra":1"#),
            (r#","rightObjects":["65"]"#, ""),
            (r#""type":"string"}"#, r#""type":"text"}"#),
        ] {
            assert!(serde_json::from_str::<Payload>(&payload.json().replacen(from, to, 1)).is_err(), "{to}");
        }
    }
}
