//! The reasons for which a change is withheld, and the state of a toggle that follows from them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::hint::{hinted, is_daemon};
use super::{FoldedId, Override, RequestDigest, escaped};

super::words! {
    /// The state of a toggle, in display order.
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    ToggleState {
        /// Refused by the service, or parked.
        Failed = "failed",
        /// The service has other targeting than was last applied.
        Drifted = "drifted",
        /// A reason of the repository, the operator or the service holds it ([`HoldKind`]).
        Held = "held",
        /// Not published yet: also unknown, busy or suspended.
        Pending = "pending",
        /// Applied, but its file was removed.
        Orphan = "orphan",
        /// The applied targeting is the desired one.
        InSync = "in_sync",
    }
}

super::words! {
    /// The kind of reason for which a toggle is withheld.
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    HoldKind {
        /// The environment needs approvals, and a publish would bypass them.
        ApprovalRequired = "approval_required",
        /// The toggle is archived on the service.
        Archived = "archived",
        /// A draft on the service awaits approval.
        AwaitsApproval = "awaits_approval",
        /// Another change of the environment has to be applied first, and is held or has failed.
        AwaitsChange = "awaits_change",
        /// Nothing is applied for the toggle, and the service has other targeting than the document.
        DiffersFromLive = "differs_from_live",
        /// The toggle was changed on the service since it was last applied.
        Drifted = "drifted",
        /// The whole environment is held: all of its documents were removed.
        Environment = "environment",
        /// The publish failed although others succeeded.
        FailedAlone = "failed_alone",
        /// Nothing is applied in the environment, and nothing decides on the first pass.
        FirstPass = "first_pass",
        /// The document is invalid.
        Invalid = "invalid",
        /// The service has no such toggle.
        Missing = "missing",
        /// No review lists the change.
        NotReviewed = "not_reviewed",
        /// The environment is over a limit.
        Rail = "rail",
        /// The service refused the request.
        Refused = "refused",
        /// The document was removed, and another toggle has it now.
        Renamed = "renamed",
        /// A variation is not of the toggle's return type.
        ReturnType = "return_type",
        /// Nothing is applied in the environment, because the state folder was lost.
        StateLost = "state_lost",
        /// Another document is invalid, and `on_invalid: stop` holds everything.
        Stopped = "stopped",
        /// An operator suspended publishing.
        Suspended = "suspended",
        /// The last outcome is unknown, and the request cannot be retried.
        Unknown = "unknown",
        /// No change window is open.
        Window = "window",
    }
}

/// Why a change is not sent, or is not confirmed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Hold {
    /// The kind of reason; none if nothing was decided against the change: the service has not confirmed it
    /// yet.
    pub kind: Option<HoldKind>,
    pub state: ToggleState,
    /// What is the case, in one line, and what to do about it. Its commands lack the flags of a run, because
    /// another one may show it: [`reason`](Self::reason) is what people read.
    #[serde(rename = "reason")]
    pub(crate) fact: String,
    /// How to have the change published nevertheless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<Box<Advice>>,
    /// The decisions of operators that release the change.
    pub releases: Vec<Override>,
    /// The live version that a permission to overwrite drift covers, 0 if the service does not have the
    /// toggle; none if such a permission has no effect.
    #[serde(rename = "live_version")]
    pub version: Option<u64>,
    /// Whether the trailer of the commit permits the change no longer, because the service has had its document.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) trailer_was_used: bool,
    /// What else was published on the service, oldest first: a line for each version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) events: Vec<String>,
    /// The time at which a change window opens, in seconds since 1970-01-01 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<i64>,
}

impl Hold {
    /// Creates a hold with what the kind of reason entails.
    pub(crate) fn new(kind: HoldKind, fact: impl Into<String>) -> Self {
        let HoldRule { state, releases, .. } = kind.rule();
        Self { kind: Some(kind), releases: releases.to_vec(), ..Self::undecided(state, fact) }
    }

    /// Creates a hold because of what the service has: `version`.
    pub(crate) fn over(kind: HoldKind, version: u64, fact: impl Into<String>) -> Self {
        Self { version: Some(version), ..Self::new(kind, fact) }
    }

    /// Creates the reason for a state that nothing was decided about.
    pub(crate) fn undecided(state: ToggleState, fact: impl Into<String>) -> Self {
        let fact = fact.into();
        let (releases, events) = (Vec::new(), Vec::new());
        Self {
            kind: None,
            state,
            fact,
            advice: None,
            releases,
            version: None,
            trailer_was_used: false,
            events,
            opens: None,
        }
    }

    /// Says that the trailer of the commit was used before, or may have been: `why` goes on from `the trailer of
    /// its commit`.
    pub(crate) fn used(self, why: &str) -> Self {
        let fact = format!("{}; the trailer of its commit {why}", self.fact);
        Self { trailer_was_used: true, fact, ..self }
    }

    /// Adds how to have the change published nevertheless.
    pub(crate) fn advised(self, advice: Advice) -> Self {
        Self { advice: Some(Box::new(advice)), ..self }
    }

    /// Returns the reason in one line, with the ways out that its readers have, each command with the flags of
    /// this run.
    pub fn reason(&self) -> String {
        self.reason_for(is_daemon())
    }

    fn reason_for(&self, is_daemon: bool) -> String {
        let advice = self.advice.as_ref().and_then(|advice| advice.sentence(is_daemon));
        let reasons: Vec<&str> =
            [Some(self.fact.as_str()), advice.as_deref()].into_iter().flatten().collect();
        hinted(&reasons.join("; ")).into_owned()
    }

    /// Returns the hold of the same request in a later pass, which does not send it.
    pub(crate) fn later(&self) -> Self {
        let before = self.rule().map_or("", |rule| rule.later);
        Self { fact: format!("{before}{}", escaped(&self.fact)), ..self.clone() }
    }

    /// Returns whether it is about the live state of the toggle.
    pub(crate) fn is_live(&self) -> bool {
        self.rule().is_some_and(|rule| rule.is_live)
    }

    /// Returns whether it only protects against sending, so that the change is recorded if the service has it
    /// already.
    pub(crate) fn is_recordable(&self) -> bool {
        self.rule().is_some_and(|rule| rule.is_recordable)
    }

    /// Returns whether the change was not tried at this revision, neither on the service nor by reading its
    /// live state.
    pub(crate) fn is_untried(&self) -> bool {
        !self.rule().is_some_and(|rule| rule.is_tried)
    }

    /// Returns what the next pass knows of a change that was held for it. What the service has not confirmed
    /// was sent.
    pub(crate) fn memory(&self) -> HoldMemory {
        self.rule().map_or(HoldMemory::Sent, |rule| rule.memory)
    }

    /// Returns whether the document is invalid, which findings tell.
    pub(crate) fn is_invalid(&self) -> bool {
        self.kind == Some(HoldKind::Invalid)
    }

    /// Returns whether the service refused the request, and may refuse it again.
    pub(crate) fn is_refused(&self) -> bool {
        self.kind == Some(HoldKind::Refused)
    }

    /// Returns whether it ends once another change is applied.
    pub(crate) fn awaits_others(&self) -> bool {
        self.rule().is_some_and(|rule| rule.awaits_others)
    }

    /// Returns the changes for which a trailer with this decision counts; none if it does not lift the hold.
    pub(crate) fn trailer(&self, what: Override) -> Option<TrailerReach> {
        let trailers = self.rule().map_or(&[][..], |rule| rule.trailers);
        trailers.iter().find(|(lifting, _)| *lifting == what).map(|(_, reach)| *reach)
    }

    /// Returns whether a trailer can lift it.
    pub(crate) fn has_trailer(&self) -> bool {
        self.rule().is_some_and(|rule| !rule.trailers.is_empty())
    }

    /// Returns whether an operator has to decide (exit code 4).
    pub(crate) fn needs_decision(&self) -> bool {
        match self.rule().map(|rule| rule.decision) {
            Some(Decision::Needed) => true,
            Some(Decision::IfReleasable) => !self.releases.is_empty(),
            Some(Decision::NotNeeded) | None => false,
        }
    }

    fn rule(&self) -> Option<HoldRule> {
        self.kind.map(HoldKind::rule)
    }
}

/// How to have a held change published, by what each way needs. It is kept as data, because the run that shows
/// it may not be the one that held the change: the folder of a daemon's state is locked, and on another machine
/// it does not exist, so readers of a daemon are sent to the daemon.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Advice {
    /// What for, such as `to publish over it`.
    pub(crate) aim: String,
    /// A run of `apply`, or a flag of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by_command: Option<String>,
    /// A commit, if trailers count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by_trailer: Option<String>,
    /// An order to a running daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by_order: Option<String>,
    /// What else to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) remarks: Vec<String>,
}

impl Advice {
    /// Returns the ways out of those who read it; none if they have none.
    fn sentence(&self, is_daemon: bool) -> Option<String> {
        let by_order = match is_daemon {
            true => self.by_order.clone(),
            false => self.by_order.as_ref().map(|order| format!("{order} for a running daemon")),
        };
        let by_command = self.by_command.clone().filter(|_| !is_daemon);
        let ways: Vec<String> =
            [by_command, self.by_trailer.clone(), by_order].into_iter().flatten().collect();
        let ways = ways.split_last().map(|(last, others)| match others {
            [] => format!("{}, {last}", self.aim),
            others => format!("{}, {}, or {last}", self.aim, others.join(", ")),
        });
        let parts: Vec<String> = ways.into_iter().chain(self.remarks.iter().cloned()).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Whether an operator has to decide about what is held (exit code 4).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Decision {
    Needed,
    /// Only if a decision could release it.
    IfReleasable,
    /// It has its own exit code, or is tried again.
    NotNeeded,
}

/// What follows from a kind of reason.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct HoldRule {
    /// The state of the toggle.
    pub(crate) state: ToggleState,
    /// The decisions of operators that release it.
    pub(crate) releases: &'static [Override],
    /// Whether it is about the live state of the toggle.
    pub(crate) is_live: bool,
    /// Whether it only protects against sending, so that the change is recorded if the service has it already.
    pub(crate) is_recordable: bool,
    /// Whether the change was tried at this revision: on the service, or by reading its live state.
    pub(crate) is_tried: bool,
    pub(crate) decision: Decision,
    /// What the next pass knows of a change that this pass held or failed to send for it.
    pub(crate) memory: HoldMemory,
    /// What precedes the reason in a later pass, which does not send the same request.
    pub(crate) later: &'static str,
    /// Whether it ends once another change of the same pass is applied, so that it is tried at the end.
    pub(crate) awaits_others: bool,
    /// The decisions that a trailer can make about it, and for which changes one counts.
    pub(crate) trailers: &'static [(Override, TrailerReach)],
    /// What an operator can do beside a decision.
    pub(crate) way_out: Option<WayOut>,
    /// What a decision that releases it does, if that is not what the decision says.
    pub(crate) effect: Option<&'static str>,
}

/// What the next pass knows of a change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum HoldMemory {
    /// Nothing: it is as if the change had not been looked at.
    Nothing,
    /// The reason, and that nothing was sent.
    Unsent,
    /// The reason, and that something was sent, which decides the order of the next pass.
    Sent,
}

/// The changes for which a trailer counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TrailerReach {
    /// Those of its commit.
    OwnCommit,
    /// Those of its commit, although the reason is about the environment.
    OwnCommitOfMany,
    /// None, unless it names the environment.
    Named,
    /// All of the environment, if its commit is the newest of a document there.
    NewestCommit,
}

/// What an operator can do about what is held, beside the decisions that release it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum WayOut {
    /// Write what the service has into the document.
    Import,
    /// Try it again, with this advice.
    Retry(&'static str),
    /// Resume publishing.
    Resume,
}

impl HoldRule {
    /// Held before anything was tried, until an operator decides.
    const HELD: Self = Self {
        state: ToggleState::Held,
        releases: &[],
        is_live: false,
        is_recordable: false,
        is_tried: false,
        decision: Decision::Needed,
        memory: HoldMemory::Unsent,
        later: "",
        awaits_others: false,
        trailers: &[],
        way_out: None,
        effect: None,
    };
    /// Held because of what the service has.
    const LIVE: Self = Self { is_live: true, is_tried: true, ..Self::HELD };
    /// Failed on the service, which has its own exit code.
    const FAILED: Self = Self {
        state: ToggleState::Failed,
        decision: Decision::NotNeeded,
        memory: HoldMemory::Sent,
        ..Self::HELD
    };
}

impl HoldKind {
    /// Returns what follows from this kind of reason: a row for each.
    pub(crate) const fn rule(self) -> HoldRule {
        use HoldRule as Rule;
        match self {
            Self::ApprovalRequired | Self::Archived | Self::AwaitsApproval | Self::ReturnType => Rule::LIVE,
            Self::Missing => Rule { effect: Some("Create the toggle again from its document"), ..Rule::LIVE },
            // The other change has its own exit code, if there is one (`Plan::counts`).
            Self::AwaitsChange => Rule { decision: Decision::NotNeeded, awaits_others: true, ..Rule::HELD },
            Self::DiffersFromLive => Rule {
                releases: &[Override::FirstPassAssert, Override::OverwriteDrift],
                trailers: &[(Override::OverwriteDrift, TrailerReach::OwnCommit)],
                way_out: Some(WayOut::Import),
                ..Rule::LIVE
            },
            Self::Drifted => Rule {
                state: ToggleState::Drifted,
                releases: &[Override::OverwriteDrift],
                trailers: &[(Override::OverwriteDrift, TrailerReach::OwnCommit)],
                way_out: Some(WayOut::Import),
                ..Rule::LIVE
            },
            Self::Environment => Rule {
                releases: &[Override::MassChange],
                trailers: &[(Override::MassChange, TrailerReach::Named)],
                ..Rule::HELD
            },
            Self::Rail => Rule {
                releases: &[Override::MassChange],
                is_recordable: true,
                trailers: &[(Override::MassChange, TrailerReach::OwnCommitOfMany)],
                ..Rule::HELD
            },
            Self::FailedAlone => Rule {
                later: "failed alone, tried again after a while: ",
                way_out: Some(WayOut::Retry("`gitoggle reconcile` tries it now")),
                ..Rule::FAILED
            },
            Self::Refused => Rule {
                is_tried: true,
                way_out: Some(WayOut::Retry(
                    "correct the document or the service, then `gitoggle reconcile` tries it again",
                )),
                ..Rule::FAILED
            },
            Self::Renamed => Rule {
                releases: &[Override::Rename],
                is_recordable: true,
                trailers: &[(Override::Rename, TrailerReach::OwnCommit)],
                ..Rule::HELD
            },
            Self::StateLost => {
                Rule { releases: &[Override::FirstPassAdopt, Override::FirstPassAssert], ..Rule::HELD }
            }
            Self::FirstPass => Rule {
                releases: &[Override::FirstPassAdopt, Override::FirstPassAssert],
                trailers: &[
                    (Override::FirstPassAdopt, TrailerReach::NewestCommit),
                    (Override::FirstPassAssert, TrailerReach::NewestCommit),
                ],
                ..Rule::HELD
            },
            Self::Invalid => Rule { is_tried: true, decision: Decision::NotNeeded, ..Rule::HELD },
            Self::NotReviewed => Rule { is_recordable: true, ..Rule::HELD },
            // The invalid document that stopped everything has its own exit code (3).
            Self::Stopped => Rule { decision: Decision::NotNeeded, ..Rule::HELD },
            Self::Suspended => Rule {
                state: ToggleState::Pending,
                is_recordable: true,
                way_out: Some(WayOut::Resume),
                ..Rule::HELD
            },
            Self::Unknown => Rule {
                state: ToggleState::Pending,
                is_tried: true,
                decision: Decision::IfReleasable,
                memory: HoldMemory::Sent,
                ..Rule::HELD
            },
            // A window that closes during a pass leaves its changes as they were before.
            Self::Window => Rule {
                releases: &[Override::Window],
                is_recordable: true,
                memory: HoldMemory::Nothing,
                trailers: &[(Override::Window, TrailerReach::OwnCommit)],
                ..Rule::HELD
            },
        }
    }

    /// Returns whether a decision about a first pass is missing.
    pub(crate) fn is_first_pass(self) -> bool {
        matches!(self, Self::FirstPass | Self::StateLost)
    }

    pub(crate) fn is_state_lost(self) -> bool {
        self == Self::StateLost
    }

    /// Returns whether it is about the live state of the toggle.
    pub(crate) fn is_live(self) -> bool {
        self.rule().is_live
    }
}

impl fmt::Display for HoldKind {
    /// Formats the word with spaces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_str().replace('_', " "))
    }
}

/// A request that was held, or that the service has not confirmed. Any other request for the toggle is new
/// (src/model/README.md, "Decisions and holds").
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct HeldRequest {
    pub request: RequestDigest,
    #[serde(flatten)]
    pub hold: Hold,
    /// The number of the pass that sent it last, 0 if none did. Grows with every pass that leaves an
    /// unconfirmed request.
    pub pass: u64,
    /// Present if the request failed alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<Alone>,
}

impl HeldRequest {
    /// Creates the entry of a request that was not sent.
    pub(crate) fn new(request: RequestDigest, hold: Hold) -> Self {
        Self { request, hold, pass: 0, alone: None }
    }
}

/// The request of each toggle that was held or not confirmed.
pub type HeldRequests = BTreeMap<FoldedId, HeldRequest>;

/// The backoff of a request that failed while others were applied.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Alone {
    pub failures: u32,
    /// The time of the next try, in seconds since 1970-01-01 UTC.
    pub retry_at: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ways_out_are_those_of_the_readers() {
        let whole = Advice {
            aim: "to publish it".into(),
            by_command: Some("pass `--force`".into()),
            by_trailer: Some("put a trailer on it".into()),
            by_order: Some("run `gitoggle allow window a/b`".into()),
            remarks: vec!["a trailer does not count".into()],
        };
        let trailer_only = Advice { by_command: None, by_order: None, remarks: Vec::new(), ..whole.clone() };
        let command_only = Advice { by_trailer: None, by_order: None, remarks: Vec::new(), ..whole.clone() };
        let remark_only = Advice { by_trailer: None, by_order: None, by_command: None, ..whole.clone() };
        for (advice, of_a_command, of_a_daemon) in [
            (
                whole,
                "held; to publish it, pass `--force`, put a trailer on it, or run `gitoggle allow window a/b` for a running \
                 daemon; a trailer does not count",
                "held; to publish it, put a trailer on it, or run `gitoggle allow window a/b`; a trailer does not count",
            ),
            (
                trailer_only,
                "held; to publish it, put a trailer on it",
                "held; to publish it, put a trailer on it",
            ),
            (command_only, "held; to publish it, pass `--force`", "held"),
            (remark_only, "held; a trailer does not count", "held; a trailer does not count"),
        ] {
            let hold = Hold::new(HoldKind::Window, "held").advised(advice);
            let kept = serde_json::to_string(&hold).unwrap();
            assert_eq!(serde_json::from_str::<Hold>(&kept).unwrap(), hold);
            assert_eq!(hold.reason_for(false), of_a_command);
            assert_eq!(hold.reason_for(true), of_a_daemon);
        }
    }
}
