//! The decisions that an operator can make at run time, and those that were made.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{CommitId, EnvironmentId, ToggleId};

super::words! {
    /// A decision that an operator can make at run time (src/model/README.md, "Decisions and holds"), in
    /// display order.
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    Override {
        /// Publish every toggle of an environment in which nothing is applied.
        FirstPassAssert = "first-pass-assert",
        /// Record the documents of an environment in which nothing is applied as applied.
        FirstPassAdopt = "first-pass-adopt",
        /// Lift the rails of an environment, even if all of its documents were removed.
        MassChange = "mass-change",
        /// Apply a revision that does not descend from the recorded one.
        History = "history",
        /// Overwrite changes that were made on the service.
        OverwriteDrift = "overwrite-drift",
        /// Disable the toggles of an environment whose documents were only renamed.
        Rename = "rename",
        /// Publish outside the change windows of an environment.
        Window = "window",
    }
}

impl Override {
    /// Returns the decision with this name.
    pub(crate) fn named(name: &str) -> Result<Self, OverrideError> {
        name.parse().map_err(|_: String| OverrideError(name.to_owned()))
    }

    /// Returns what it does, for a reader who decides.
    pub(crate) fn effect(self) -> &'static str {
        self.row().effect
    }

    /// Returns whether it is about an environment, and not about the source.
    pub(crate) fn needs_environment(self) -> bool {
        self.row().needs_environment
    }

    /// Returns whether the author of a commit can give it with the trailer `Gitoggle-Allow`.
    pub(crate) fn is_trailer(self) -> bool {
        self.row().is_trailer
    }

    /// Returns whether a trailer can name the environment, and then counts on a later commit as well.
    pub(crate) fn may_name_environment(self) -> bool {
        self.row().may_name_environment
    }

    /// Returns whether it can be given for one toggle, and is about the versions that the service has now.
    pub(crate) fn is_about_toggles(self) -> bool {
        self.row().is_about_toggles
    }

    /// Returns whether it decides on a first pass.
    pub(crate) fn is_first_pass(self) -> bool {
        self.row().is_first_pass
    }

    const fn row(self) -> Row {
        match self {
            Self::FirstPassAdopt => {
                Row { is_first_pass: true, ..row("Record the documents as applied, without publishing them") }
            }
            Self::FirstPassAssert => {
                Row { is_first_pass: true, ..row("Publish every document of the environment") }
            }
            Self::History => Row {
                needs_environment: false,
                ..row("Apply a revision that does not descend from the recorded one")
            },
            Self::MassChange => Row {
                is_trailer: true,
                may_name_environment: true,
                ..row("Publish all of it, over the limit")
            },
            Self::OverwriteDrift => Row {
                is_trailer: true,
                is_about_toggles: true,
                ..row("Replace what the service has by the document")
            },
            Self::Rename => Row {
                is_trailer: true,
                may_name_environment: true,
                ..row("Disable the toggles whose documents were renamed")
            },
            Self::Window => Row { is_trailer: true, ..row("Publish it now, outside the change windows") },
        }
    }
}

/// The answers of one override.
struct Row {
    /// What it does, for a reader who decides.
    effect: &'static str,
    /// Whether it is about an environment, and not about the source.
    needs_environment: bool,
    /// Whether the author of a commit can give it with a trailer.
    is_trailer: bool,
    /// Whether such a trailer can name the environment.
    may_name_environment: bool,
    is_first_pass: bool,
    /// Whether it can be given for one toggle, and is about the versions that the service has now.
    is_about_toggles: bool,
}

/// Returns the answers of an override about an environment that only an operator can give.
const fn row(effect: &'static str) -> Row {
    Row {
        effect,
        needs_environment: true,
        is_trailer: false,
        may_name_environment: false,
        is_first_pass: false,
        is_about_toggles: false,
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that is not the name of an override.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` cannot be allowed; use one of {}", super::escaped(.0), Override::WORDS.join(", "))]
pub struct OverrideError(String);

/// An override that an operator gave to a daemon, or a run to itself. Valid as long as its revision is the
/// one to apply.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Allowance {
    pub what: Override,
    /// The environment; `None` for `history`, which concerns the source.
    pub environment: Option<EnvironmentId>,
    pub revision: CommitId,
    /// The caller's address.
    pub by: String,
    /// The time, in seconds since 1970-01-01 UTC.
    pub at: i64,
    /// The live versions that `overwrite-drift` covers: those that the operator could see. None for the
    /// others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<BTreeMap<ToggleId, u64>>,
}

impl Allowance {
    /// Returns whether both answer the same question, so that the later one replaces the earlier one.
    pub(crate) fn replaces(&self, other: &Self) -> bool {
        // The two decisions on a first pass contradict each other, so only the later one can be valid.
        let is_same = self.what == other.what || (self.what.is_first_pass() && other.what.is_first_pass());
        is_same && self.environment == other.environment && self.covers(other)
    }

    /// Returns whether this one covers every toggle of an earlier one that may still be valid.
    fn covers(&self, other: &Self) -> bool {
        match (&self.versions, &other.versions) {
            (Some(versions), Some(others)) if self.revision == other.revision => {
                others.keys().all(|id| versions.contains_key(id))
            }
            _ => true,
        }
    }
}

/// `mass-change shop/prod by 127.0.0.1:4711 at 2026-01-31T12:00:00Z`, the form of the trailers of applied
/// commits.
impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, environment, revision: _, by, at, versions: _ } = self;
        write!(f, "{what}")?;
        if let Some(environment) = environment {
            write!(f, " {environment}")?;
        }
        write!(f, " by {} at {}", super::escaped(by), super::rfc3339(*at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectId;

    #[test]
    fn an_override_has_one_spelling() {
        for what in Override::ALL {
            assert_eq!(what.as_str().parse(), Ok(what));
            assert_eq!(serde_json::to_value(what).unwrap(), what.as_str());
        }
        let error = Override::named("everything\n").unwrap_err().to_string();
        assert!(
            error.starts_with("`everything\\n` cannot be allowed; use one of first-pass-assert, "),
            "{error}"
        );
    }

    #[test]
    fn a_later_decision_about_the_same_question_replaces_the_earlier_one() {
        let allowance = |what, environment: &str| Allowance {
            what,
            environment: Some(environment.parse().unwrap()),
            revision: CommitId(ObjectId([1; 20])),
            by: "127.0.0.1:4711".to_owned(),
            at: 0,
            versions: None,
        };
        let assert = allowance(Override::FirstPassAssert, "shop/prod");
        assert!(allowance(Override::FirstPassAdopt, "shop/prod").replaces(&assert));
        assert!(!allowance(Override::FirstPassAdopt, "shop/test").replaces(&assert));
        assert!(!allowance(Override::MassChange, "shop/prod").replaces(&assert));
    }

    #[test]
    fn a_later_order_to_overwrite_replaces_an_earlier_one_only_if_it_covers_its_toggles() {
        let order = |revision, toggles: &[&str]| Allowance {
            what: Override::OverwriteDrift,
            environment: Some("shop/prod".parse().unwrap()),
            revision: CommitId(ObjectId([revision; 20])),
            by: "127.0.0.1:4711".to_owned(),
            at: 0,
            versions: Some(toggles.iter().map(|id| (id.parse().unwrap(), 3)).collect()),
        };
        let (pay, ship) = (["shop/prod/pay"], ["shop/prod/ship"]);
        let both = order(1, &[pay, ship].concat());
        assert!(both.replaces(&order(1, &pay)));
        assert!(!order(1, &ship).replaces(&both));
        assert!(order(2, &ship).replaces(&both));
        let older = Allowance { versions: None, ..both.clone() };
        assert!(order(1, &pay).replaces(&older));
        let text = serde_json::to_string(&older).unwrap();
        assert!(!text.contains("versions"), "{text}");
        assert_eq!(serde_json::from_str::<Allowance>(&text).unwrap(), older);
    }
}
