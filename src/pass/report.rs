//! What a pass did: a value with one line per toggle that is not simply in sync.

use std::sync::Arc;
use std::time::Duration;

use super::Error;
use super::publish::PublishSummary;
use crate::model::ToggleId;
use crate::plan::{Change, Plan};
use crate::service::Outcome;

/// How publishing one change ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ChangeResult {
    /// The service has it.
    Applied,
    /// The service refused it.
    Failed {
        /// Why, in its words.
        reason: String,
    },
    /// The service did not confirm it although it applied others, now or in the pass in which it failed alone first.
    FailedAlone {
        /// What happened last.
        reason: String,
    },
    /// It was not tried: the pass ended before.
    NotSent,
    /// It was tried, and the service has not confirmed it.
    Pending {
        /// What happened last.
        reason: String,
    },
}

impl ChangeResult {
    /// Returns the word for it, as in every output.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Failed { .. } | Self::FailedAlone { .. } => "failed",
            Self::NotSent => "not_sent",
            Self::Pending { .. } => "pending",
        }
    }

    /// Returns why the change was not confirmed, if it was tried and was not.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Applied | Self::NotSent => None,
            Self::Failed { reason } | Self::FailedAlone { reason } | Self::Pending { reason } => Some(reason),
        }
    }
}

/// Why a pass ended before everything was tried.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StopReason {
    /// Nothing succeeded for `--give-up-after`.
    Breaker {
        /// That setting.
        after: Duration,
        /// How the last request ended.
        last: String,
    },
    /// The token may change nothing that was tried.
    Forbidden(String),
    /// The process was asked to stop, or a newer commit was found.
    Interrupted,
    /// What responds is not the service.
    Misrouted(String),
    /// The service asks for a longer wait than a pass waits.
    Patience(String),
    /// The token is not accepted.
    Unauthorised(String),
    /// The certificate of the server does not verify.
    Untrusted(String),
}

impl StopReason {
    pub(crate) fn from_outcome(outcome: &Outcome) -> Self {
        let reason = outcome.to_string();
        match outcome {
            Outcome::Unauthorised { .. } => Self::Unauthorised(reason),
            Outcome::Untrusted { .. } => Self::Untrusted(reason),
            Outcome::Busy {
                retry_after: Some(wait),
                ..
            } => Self::Patience(format!(
                "{reason} and asked for a wait of {} s (Retry-After), longer than a pass waits",
                wait.as_secs()
            )),
            _ => Self::Patience(reason),
        }
    }

    /// Returns what to do about it, where there is something to do.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Breaker { .. } | Self::Patience(_) => {
                Some("nothing is lost: the next pass sends what was not confirmed")
            }
            Self::Interrupted => Some("run it again: what was confirmed is recorded"),
            Self::Forbidden(_) => Some("check that the token is valid and may change these environments"),
            Self::Misrouted(_) => Some("check the path of `--base-url`, and the proxy settings"),
            Self::Untrusted(_) => Some("check `--base-url`, `--ca-file` and the proxy settings"),
            Self::Unauthorised(_) => {
                Some("check the token; its file is read again at every pass and after every refusal")
            }
        }
    }
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Breaker { after, last } => write!(
                f,
                "the service gave no useful response for {} s (`--give-up-after`), after 5 toggles in a row were busy \
                 or lost; the last: {last}",
                after.as_secs_f64()
            ),
            Self::Forbidden(reason) => write!(
                f,
                "{reason}; the token may be revoked, or may lack access to these environments"
            ),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Misrouted(reason)
            | Self::Patience(reason)
            | Self::Unauthorised(reason)
            | Self::Untrusted(reason) => f.write_str(reason),
        }
    }
}

/// What a pass did.
#[derive(Clone, Debug)]
pub struct Report {
    /// The plan it followed.
    pub plan: Arc<Plan>,
    /// Changes that the service confirmed before the pass started over and that are not in the plan any more.
    pub earlier: Vec<Change>,
    /// How each change of the plan ended, in the plan's order. Empty where nothing was approved.
    pub results: Vec<ChangeResult>,
    /// Why the pass ended early, if it did.
    pub stopped: Option<StopReason>,
    /// The error that ended the pass after requests had left (DESIGN, section 3: there is always a report then).
    pub error: Option<Arc<Error>>,
    /// For how long from its end on the service wants to be left alone.
    pub held_back: Option<Duration>,
    /// What the operator should know besides: rewritten history, a shallow clone.
    pub notes: Vec<String>,
    /// How long looking at the source took, a fetch included.
    pub looked: Duration,
}

impl Report {
    /// The report of a pass that has planned and not published yet.
    pub(super) fn new(plan: Arc<Plan>, notes: Vec<String>, looked: Duration) -> Self {
        Self {
            plan,
            earlier: Vec::new(),
            results: Vec::new(),
            stopped: None,
            error: None,
            held_back: None,
            notes,
            looked,
        }
    }

    pub(super) fn with(self, summary: PublishSummary) -> Self {
        let PublishSummary {
            results,
            stopped,
            held_back,
            error,
        } = summary;
        Self {
            results,
            stopped,
            held_back,
            error: error.map(Arc::new),
            ..self
        }
    }

    /// Continues the report of a pass that started over: what the service confirmed before stays in the report.
    ///
    /// # Errors
    /// The error of `result`, if nothing was confirmed before.
    pub(crate) fn after(earlier: Option<Self>, result: Result<Self, Error>) -> Result<Self, Error> {
        let Some(earlier) = earlier else { return result };
        match result {
            Ok(mut report) => {
                let changes = report.plan.changes();
                let is_planned = |id| changes.binary_search_by(|change| change.id.cmp(id)).is_ok();
                let confirmed = earlier
                    .lines()
                    .filter(|(_, sending)| **sending == ChangeResult::Applied);
                let confirmed = confirmed.map(|(change, _)| change);
                report.earlier = confirmed
                    .filter(|change| !is_planned(&change.id))
                    .cloned()
                    .collect();
                Ok(report)
            }
            Err(error) => Ok(Self {
                error: Some(Arc::new(error)),
                ..earlier
            }),
        }
    }

    /// Returns whether there was nothing to publish, record or report.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.lines().next().is_none()
            && self.stopped.is_none()
            && self.error.is_none()
            && self.plan.is_empty()
    }

    /// Returns every change with how it ended, first those confirmed before the pass started over, then in the plan's
    /// order.
    pub fn lines(&self) -> impl Iterator<Item = (&Change, &ChangeResult)> {
        let earlier = self.earlier.iter().map(|change| (change, &ChangeResult::Applied));
        earlier.chain(self.plan.changes().iter().zip(&self.results))
    }

    /// Returns how many changes ended in a way that `wanted` says yes to.
    #[must_use]
    pub fn count(&self, wanted: impl Fn(&ChangeResult) -> bool) -> usize {
        self.lines().filter(|(_, sending)| wanted(sending)).count()
    }

    /// Returns how many changes the service has confirmed.
    #[must_use]
    pub fn applied(&self) -> usize {
        self.count(|sending| *sending == ChangeResult::Applied)
    }

    /// Returns whether every change was confirmed and the pass ran to its end.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.stopped.is_none() && self.error.is_none() && self.applied() == self.lines().count()
    }

    /// Returns why the pass is not a success, if it ran to its end or was stopped by what the service shows. A pass that
    /// was interrupted shows nothing.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        match &self.stopped {
            Some(StopReason::Interrupted) => None,
            // Something was applied, so it is no verdict on the service.
            Some(StopReason::Breaker { .. }) if self.applied() > 0 => None,
            Some(reason) => Some(reason.to_string()),
            None => self.fruitless(),
        }
    }

    /// A pass that sent requests of which none was applied or refused is not a success, toggles that failed alone aside
    /// (DESIGN, section 6).
    fn fruitless(&self) -> Option<String> {
        let is_useful =
            |sending: &ChangeResult| matches!(sending, ChangeResult::Applied | ChangeResult::Failed { .. });
        let pending = self.lines().filter_map(|(_, sending)| match sending {
            ChangeResult::Pending { reason } => Some(reason),
            _ => None,
        });
        let last = pending.last().filter(|_| self.count(is_useful) == 0)?;
        Some(format!("the service applied and refused nothing: {last}"))
    }

    /// Returns the toggles that failed, with the service's words.
    pub fn failed(&self) -> impl Iterator<Item = (&ToggleId, &str)> {
        self.lines().filter_map(|(change, sending)| match sending {
            ChangeResult::Failed { reason } | ChangeResult::FailedAlone { reason } => {
                Some((&change.id, reason.as_str()))
            }
            _ => None,
        })
    }
}
