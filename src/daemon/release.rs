//! Decides which held toggles an order of an operator releases.
//!
//! A decision applies to one environment at the revision that was planned last, so it never releases a change
//! that the operator has not seen. A decision to overwrite drift applies to the live versions that the status
//! shows.

use std::collections::BTreeMap;

use crate::daemon::status::{Status, ToggleStatus};
use crate::model::{Allowance, CommitId, EnvironmentId, Override, ServiceKind, ToggleId, closest};

/// A request of `POST /allow`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AllowRequest {
    pub what: Override,
    /// The environment; none for `history`.
    pub environment: Option<EnvironmentId>,
    /// The only toggle to release; none for all that wait in the environment.
    pub toggle: Option<ToggleId>,
    /// The revision, or at least its first seven digits.
    pub revision: String,
    /// The caller's address.
    pub by: String,
    /// The time, in seconds since 1970-01-01 UTC.
    pub at: i64,
}

/// The effect of a decision.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Released {
    /// The decision to record.
    pub allowance: Allowance,
    /// The toggles that it releases; none for `history`, which releases a revision that is not planned yet.
    pub toggles: Vec<ToggleId>,
    /// What it publishes over, of the toggles that were changed on the service: a line for each version.
    pub overwrites: BTreeMap<ToggleId, Vec<String>>,
}

/// The reason why a decision releases nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Rejection {
    #[error("`{0}` needs an environment, written `project/environment`")]
    NoEnvironment(Override),
    #[error("no plan yet")]
    NothingPlanned,
    #[error("nothing in {} waits for `{what}`", place(.environment.as_ref()))]
    NothingToRelease { what: Override, environment: Option<EnvironmentId>, waiting: Vec<Override> },
    #[error(
        "`{what}` is not supported with `service_kind: {}`, which offers no way to read the service",
        .kind.as_str()
    )]
    NotSupported { what: Override, kind: ServiceKind },
    #[error("revision `{}` is not the one that is planned, {current}", crate::model::escaped(.given))]
    OtherRevision { given: String, current: CommitId },
    #[error("no toggle of the environment `{environment}` is known")]
    UnknownEnvironment { environment: EnvironmentId, similar: Option<EnvironmentId> },
}

fn place(environment: Option<&EnvironmentId>) -> String {
    environment.map_or("the source".to_owned(), |environment| format!("`{environment}`"))
}

impl Rejection {
    /// Returns the way out, if one exists.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::NoEnvironment(_) | Self::NotSupported { .. } => None,
            Self::NothingPlanned => {
                Some("see `/readyz` for the reason; try again after the first pass".to_owned())
            }
            Self::NothingToRelease { waiting, .. } => match waiting.as_slice() {
                [] => Some("`/api/status` lists what is held, and why".to_owned()),
                waiting => {
                    let waiting: Vec<_> = waiting.iter().map(|what| format!("`{what}`")).collect();
                    Some(format!("it waits for {}", waiting.join(" or ")))
                }
            },
            Self::OtherRevision { current, .. } => {
                Some(format!("check what {} would change, then allow that revision", current.short()))
            }
            Self::UnknownEnvironment { similar, .. } => similar
                .as_ref()
                .map(|similar| format!("did you mean `{similar}`?"))
                .or_else(|| Some("`/api/status` lists the toggles".to_owned())),
        }
    }
}

/// Returns the toggles of `status` that `request` releases.
pub(super) fn release(
    request: &AllowRequest,
    status: &Status,
    kind: ServiceKind,
) -> Result<Released, Rejection> {
    let what = request.what;
    if what.is_about_toggles() && !kind.can().read_live {
        return Err(Rejection::NotSupported { what, kind });
    }
    let refused = status.source.refused;
    let current = refused.or(status.source.revision);
    let planned = || {
        let current = current.ok_or(Rejection::NothingPlanned)?;
        if is_named(&request.revision, current) {
            Ok(current)
        } else {
            Err(Rejection::OtherRevision { given: request.revision.clone(), current })
        }
    };
    let (environment, waiting, revision) = match (what, &request.environment) {
        (Override::History, _) => {
            let revision = planned()?;
            if refused.is_none() {
                return Err(Rejection::NothingToRelease { what, environment: None, waiting: Vec::new() });
            }
            (None, Vec::new(), revision)
        }
        (_, None) => return Err(Rejection::NoEnvironment(what)),
        (_, Some(environment)) => {
            let toggles = known(environment, status)?;
            let revision = planned()?;
            (Some(environment.clone()), waiting(request, environment, toggles)?, revision)
        }
    };
    Ok(Released {
        toggles: waiting.iter().map(|one| one.toggle.clone()).collect(),
        overwrites: overwrites(&waiting),
        allowance: Allowance {
            what,
            environment,
            revision,
            by: request.by.clone(),
            at: request.at,
            versions: what.is_about_toggles().then(|| versions(&waiting)),
        },
    })
}

/// Returns whether anything is applied in the environment of these toggles.
pub(crate) fn is_first_pass_over<'a>(toggles: impl IntoIterator<Item = &'a ToggleStatus>) -> bool {
    toggles.into_iter().any(|one| one.revision.is_some())
}

/// Returns the decisions that release a toggle of an environment.
pub(crate) fn released_by(toggle: &ToggleStatus, is_first_pass_over: bool) -> Vec<Override> {
    let releases = toggle.hold.as_ref().map_or(&[][..], |hold| &hold.releases);
    // A first pass that adopts publishes nothing, whatever else is allowed. So of both kinds of decisions, one
    // is effective.
    let first_pass = releases.iter().filter(|what| what.is_first_pass()).count();
    let is_mixed = (1..releases.len()).contains(&first_pass);
    let is_effective = |what: &Override| !is_mixed || what.is_first_pass() != is_first_pass_over;
    releases.iter().copied().filter(is_effective).collect()
}

/// Returns the live versions that the operator can see.
fn versions(waiting: &[&ToggleStatus]) -> BTreeMap<ToggleId, u64> {
    let waiting = waiting.iter();
    let versions = waiting.filter_map(|one| Some((one.toggle.clone(), one.hold.as_ref()?.version?)));
    versions.collect()
}

/// Returns what else was published on the service.
fn overwrites(waiting: &[&ToggleStatus]) -> BTreeMap<ToggleId, Vec<String>> {
    let holds = waiting.iter().filter_map(|one| Some((&one.toggle, one.hold.as_ref()?)));
    let changed = holds.filter(|(_, hold)| !hold.events.is_empty());
    changed.map(|(toggle, hold)| (toggle.clone(), hold.events.clone())).collect()
}

/// Returns whether `given` is `revision` or an abbreviation of it.
fn is_named(given: &str, revision: CommitId) -> bool {
    const SHORTEST: usize = 7;
    given.len() >= SHORTEST && revision.to_string().starts_with(&given.to_ascii_lowercase())
}

fn known<'a>(environment: &EnvironmentId, status: &'a Status) -> Result<&'a [ToggleStatus], Rejection> {
    match status.toggles_in(environment) {
        [] => Err(Rejection::UnknownEnvironment {
            environment: environment.clone(),
            similar: similar(environment, status),
        }),
        known => Ok(known),
    }
}

/// Returns the environment that is probably meant: its parts are swapped, or it has a similar name.
fn similar(environment: &EnvironmentId, status: &Status) -> Option<EnvironmentId> {
    let swapped =
        EnvironmentId { project: environment.environment.clone(), environment: environment.project.clone() };
    let known = status.overview.environments().iter();
    if known.clone().any(|one| one.environment == swapped) {
        return Some(swapped);
    }
    let known: Vec<String> = known.map(|one| one.environment.to_string()).collect();
    closest(&environment.to_string(), known.iter().map(String::as_str))?.parse().ok()
}

/// Returns the toggles that wait for the decision.
fn waiting<'a>(
    request: &AllowRequest,
    environment: &EnvironmentId,
    toggles: &'a [ToggleStatus],
) -> Result<Vec<&'a ToggleStatus>, Rejection> {
    let what = request.what;
    let is_meant = |one: &&ToggleStatus| request.toggle.as_ref().is_none_or(|toggle| *toggle == one.toggle);
    let is_over = is_first_pass_over(toggles);
    let released = toggles.iter();
    let released: Vec<_> =
        released.filter(|one| is_meant(one) && released_by(one, is_over).contains(&what)).collect();
    if released.is_empty() {
        let waiting = toggles.iter().flat_map(|one| released_by(one, is_over));
        let mut waiting: Vec<_> = waiting.collect();
        waiting.sort_unstable();
        waiting.dedup();
        return Err(Rejection::NothingToRelease { what, environment: Some(environment.clone()), waiting });
    }
    Ok(released)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HoldKind;
    use std::sync::Arc;

    use crate::daemon::SourceStatus;
    use crate::model::{Hold, ObjectId};

    const REVISION: CommitId = CommitId(ObjectId([0xab; 20]));

    fn status() -> Status {
        let toggle = |id: &str, kind: Option<HoldKind>| {
            let hold = kind.map(|kind| Arc::new(Hold::new(kind, "")));
            ToggleStatus::new(id.parse().unwrap(), hold)
        };
        let mut status = Status {
            source: SourceStatus { revision: Some(REVISION), ..SourceStatus::default() },
            ..Status::default()
        };
        status.set_toggles(vec![
            toggle("shop/prod/a", Some(HoldKind::FirstPass)),
            toggle("shop/prod/b", Some(HoldKind::FirstPass)),
            toggle("shop/prod/c", Some(HoldKind::Invalid)),
            toggle("shop/test/a", Some(HoldKind::Rail)),
            toggle("web/prod/a", None),
        ]);
        status
    }

    fn request(what: Override, environment: &str) -> AllowRequest {
        AllowRequest {
            what,
            environment: (!environment.is_empty()).then(|| environment.parse().unwrap()),
            toggle: None,
            revision: "ABABABAB".to_owned(),
            by: "127.0.0.1:4711".to_owned(),
            at: 7,
        }
    }

    #[test]
    fn a_decision_releases_only_the_toggles_that_wait_for_it() {
        for (what, environment, toggles) in [
            (Override::FirstPassAssert, "shop/prod", &["shop/prod/a", "shop/prod/b"][..]),
            (Override::FirstPassAdopt, "shop/prod", &["shop/prod/a", "shop/prod/b"]),
            (Override::MassChange, "shop/test", &["shop/test/a"]),
        ] {
            let released = release(&request(what, environment), &status(), ServiceKind::Documented).unwrap();
            let found: Vec<_> = released.toggles.iter().map(ToggleId::as_str).collect();
            assert_eq!(found, toggles, "{what} {environment}");
            assert_eq!(released.allowance.revision, REVISION);
        }
    }

    #[test]
    fn what_was_not_adopted_is_asserted_until_something_is_applied_there() {
        let differing = |revision| {
            let toggle = |id: &str| ToggleStatus {
                revision,
                ..ToggleStatus::new(
                    id.parse().unwrap(),
                    Some(Arc::new(Hold::over(HoldKind::DiffersFromLive, 3, ""))),
                )
            };
            let mut status = status();
            status.set_toggles(vec![toggle("shop/prod/a"), toggle("shop/prod/b")]);
            status
        };
        for (revision, what, other) in [
            (None, Override::FirstPassAssert, Override::OverwriteDrift),
            (Some(REVISION), Override::OverwriteDrift, Override::FirstPassAssert),
        ] {
            let status = differing(revision);
            let ask = |what| release(&request(what, "shop/prod"), &status, ServiceKind::FeatureProbe);
            let released = ask(what).unwrap();
            assert_eq!(released.toggles.len(), 2);
            let versions = released.allowance.versions.map(|versions| versions.into_values().collect());
            assert_eq!(versions, (what == Override::OverwriteDrift).then(|| vec![3, 3]));
            let rejection = ask(other).unwrap_err();
            assert_eq!(rejection.hint(), Some(format!("it waits for `{what}`")));
        }
    }

    #[test]
    fn a_decision_that_releases_nothing_is_rejected_with_the_reason() {
        let cases = [
            (
                request(Override::MassChange, "shop/prod"),
                "nothing in `shop/prod` waits for `mass-change`",
                "it waits for `first-pass-assert` or `first-pass-adopt`",
            ),
            (
                request(Override::MassChange, "web/prod"),
                "nothing in `web/prod` waits for `mass-change`",
                "`/api/status` lists what is held, and why",
            ),
            (
                request(Override::MassChange, "shop/tets"),
                "no toggle of the environment `shop/tets` is known",
                "did you mean `shop/test`?",
            ),
            (
                AllowRequest {
                    revision: "deadbeef\n".to_owned(),
                    ..request(Override::MassChange, "shop/test")
                },
                "revision `deadbeef\\n` is not the one that is planned, abababababababababababababababababababab",
                "check what ababababab would change, then allow that revision",
            ),
            (
                request(Override::History, ""),
                "nothing in the source waits for `history`",
                "`/api/status` lists what is held, and why",
            ),
        ];
        for (request, reason, hint) in cases {
            let rejection = release(&request, &status(), ServiceKind::Documented).unwrap_err();
            assert_eq!(rejection.to_string(), reason);
            assert_eq!(rejection.hint().as_deref(), Some(hint), "{reason}");
        }
        let no_environment = release(&request(Override::MassChange, ""), &status(), ServiceKind::Documented);
        assert_eq!(no_environment, Err(Rejection::NoEnvironment(Override::MassChange)));
        let drift =
            release(&request(Override::OverwriteDrift, "shop/prod"), &status(), ServiceKind::Documented);
        assert_eq!(
            drift,
            Err(Rejection::NotSupported { what: Override::OverwriteDrift, kind: ServiceKind::Documented })
        );
        let nothing = release(&request(Override::History, ""), &Status::default(), ServiceKind::Documented);
        assert_eq!(nothing, Err(Rejection::NothingPlanned));
    }

    #[test]
    fn a_stale_revision_is_released_as_a_whole() {
        let mut status = status();
        status.source.revision = Some(CommitId(ObjectId([1; 20])));
        status.source.refused = Some(REVISION);
        let released = release(&request(Override::History, ""), &status, ServiceKind::Documented).unwrap();
        assert_eq!((released.allowance.revision, released.toggles.len()), (REVISION, 0));
    }
}
