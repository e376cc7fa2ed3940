//! What a toggle serves: a variation, or shares of the users.

use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The sum of the weights of a split: they are hundredths of a percent.
pub(crate) const WHOLE: u32 = 10_000;

/// What is served, in JSON `{"select":1}`, `{"split":[2500,7500]}` or `{}`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Serve {
    /// The variation with this index, from 0.
    Select(u32),
    /// Each variation to a share of the users, in hundredths of a percent, by index.
    Split(Vec<u32>),
    /// Nothing: the default serve of a toggle that was never configured, which FeatureProbe delivers only
    /// disabled.
    Nothing,
}

impl Serve {
    pub(crate) fn variations(&self) -> impl Iterator<Item = u32> {
        let (select, weights) = match self {
            Self::Select(index) => (Some(*index), &[][..]),
            Self::Split(weights) => (None, weights.as_slice()),
            Self::Nothing => (None, &[][..]),
        };
        let shares = (0..).zip(weights).filter(|(_, weight)| **weight > 0);
        select.into_iter().chain(shares.map(|(index, _)| index))
    }
}

/// Returns the weight of a split, in hundredths of a percent, as a percentage: `25`, `12.5` or `0.01`.
pub(crate) fn percent(weight: u32) -> String {
    let text = format!("{}.{:02}", weight / 100, weight % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Serialize for Serve {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(Some(usize::from(*self != Self::Nothing)))?;
        match self {
            Self::Select(index) => members.serialize_entry("select", index)?,
            Self::Split(weights) => members.serialize_entry("split", weights)?,
            Self::Nothing => {}
        }
        members.end()
    }
}

impl<'de> Deserialize<'de> for Serve {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct ServeMembers {
            select: Option<u32>,
            split: Option<Vec<u32>>,
        }

        match ServeMembers::deserialize(deserializer)? {
            ServeMembers { select: Some(index), split: None } => Ok(Self::Select(index)),
            ServeMembers { select: None, split: Some(weights) } => Ok(Self::Split(weights)),
            ServeMembers { select: None, split: None } => Ok(Self::Nothing),
            ServeMembers { .. } => Err(Error::custom("a serve has `select` or `split`, not both")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_a_percentage_without_trailing_zeros() {
        let shown = [0, 1, 10, 100, 1250, 2500, 10_000].map(percent);
        assert_eq!(shown, ["0", "0.01", "0.1", "1", "12.5", "25", "100"]);
    }

    #[test]
    fn every_serve_has_one_form_in_json() {
        for (serve, json) in [
            (Serve::Select(1), r#"{"select":1}"#),
            (Serve::Split(vec![2500, 7500]), r#"{"split":[2500,7500]}"#),
            (Serve::Nothing, "{}"),
        ] {
            assert_eq!(serde_json::to_string(&serve).unwrap(), json);
            assert_eq!(serde_json::from_str::<Serve>(json).unwrap(), serve);
        }
        for bad in [
            r#"{"select":-1}"#,
            r#"{"split":[-1]}"#,
            r#"{"split":[0.5]}"#,
            r#"{"select":0,"split":[10000]}"#,
            r#"{"variation":"on"}"#,
        ] {
            assert!(serde_json::from_str::<Serve>(bad).is_err(), "{bad}");
        }
    }
}
