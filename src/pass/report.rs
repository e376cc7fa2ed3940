//! Reports the result of a pass: one line per change, and why it ended early.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Commit, Hold, HoldKind, LiveToggle, OutcomeKind, ToggleId, ToggleState, counted};
use crate::pass::Error;
use crate::plan::{Change, Plan};
use crate::service::Outcome;
use crate::state::EqualVersion;
use crate::transport::CertificateFault;

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum ChangeResult {
    /// The service confirmed it.
    Applied,
    /// The service had the desired targeting already. It was recorded, and nothing was sent.
    Converged,
    /// It was held without being sent, or it was sent and the service refused it or has not confirmed it.
    Held(Arc<Hold>),
    /// The pass ended before it was sent.
    #[default]
    NotSent,
}

impl ChangeResult {
    /// Returns the result of a request with this outcome.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        let reason = outcome.reason.as_str();
        match outcome.kind {
            OutcomeKind::Applied => Self::Applied,
            OutcomeKind::Refused => Self::failed(
                HoldKind::Refused,
                format!(
                    "refused by the service: {reason}; correct the document or the service, then the next `apply`, or `gitoggle \
                     reconcile` for a running daemon, tries it again"
                ),
            ),
            _ => Self::pending(reason),
        }
    }

    /// Creates the result of a request that the service has not confirmed.
    pub(crate) fn pending(reason: impl Into<String>) -> Self {
        Self::Held(Arc::new(Hold::undecided(ToggleState::Pending, reason)))
    }

    /// Creates the result of a request that the service refused, or that failed alone.
    pub(crate) fn failed(kind: HoldKind, reason: impl Into<String>) -> Self {
        Self::Held(Arc::new(Hold::new(kind, reason)))
    }

    /// Returns the name of the result in all outputs.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Converged => "converged",
            Self::Held(hold) if self.is_held() && hold.state != ToggleState::Pending => "held",
            Self::Held(hold) => hold.state.as_str(),
            Self::NotSent => "not_sent",
        }
    }

    /// Returns why a change was held, or was sent and not confirmed.
    pub(crate) fn hold(&self) -> Option<&Arc<Hold>> {
        match self {
            Self::Held(hold) => Some(hold),
            Self::Applied | Self::Converged | Self::NotSent => None,
        }
    }

    pub(crate) fn reason(&self) -> Option<String> {
        self.hold().map(|hold| hold.reason())
    }

    fn is_in(&self, state: ToggleState) -> bool {
        self.hold().is_some_and(|hold| hold.state == state)
    }

    /// Returns whether the service refused it, or it failed alone.
    pub(crate) fn has_failed(&self) -> bool {
        self.is_in(ToggleState::Failed)
    }

    /// Returns whether nothing was sent because the live state of the toggle does not permit it, or a change
    /// window has closed during the pass.
    pub(crate) fn is_held(&self) -> bool {
        let is_held = |hold: &Arc<Hold>| {
            hold.is_recordable() || matches!(hold.state, ToggleState::Drifted | ToggleState::Held)
        };
        self.hold().is_some_and(is_held)
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.hold().is_some_and(|hold| hold.is_refused())
    }

    /// Returns whether it was sent, and the service has not confirmed it.
    pub(crate) fn is_pending(&self) -> bool {
        self.is_in(ToggleState::Pending) && !self.is_held()
    }

    /// Returns whether the change may still be sent as it is.
    pub(crate) fn is_untried(&self) -> bool {
        *self == Self::NotSent || self.hold().is_some_and(|hold| hold.is_untried())
    }

    /// Returns whether the service has the desired targeting, and the state records it.
    pub(crate) fn is_recorded(&self) -> bool {
        matches!(self, Self::Applied | Self::Converged)
    }
}

/// The result of publishing; by default that of a pass without changes.
#[derive(Debug, Default)]
pub(crate) struct PublishSummary {
    /// The result of each change of the plan, in the plan's order.
    pub(crate) results: Vec<ChangeResult>,
    /// What holds changes whose toggles this pass could not read. A read that fails ends no hold.
    pub(crate) still_held: BTreeMap<ToggleId, Arc<Hold>>,
    /// The versions on the service that have the targeting of a recorded change, as far as they are known.
    pub(crate) live: BTreeMap<ToggleId, EqualVersion>,
    /// Why publishing ended early, if it did.
    pub(crate) stopped: Option<StopReason>,
    /// The wait from now that the service asked for.
    pub(crate) held_back: Option<Duration>,
    /// The waits that the service asked for, of toggles that are not recorded.
    pub(crate) waits: BTreeMap<ToggleId, Duration>,
    /// What changes were sent over that someone changed on the service, unless the plan lists it.
    pub(crate) overwritten: BTreeMap<ToggleId, LiveToggle>,
    /// The error that ended publishing or recording, if one did.
    pub(crate) error: Option<Error>,
}

impl PublishSummary {
    /// Adds an error that ended the pass. Keeps the first one.
    ///
    /// # Errors
    /// The first error, if no change was sent.
    pub(crate) fn ended_by(mut self, error: impl Into<Error>) -> Result<Self, Error> {
        // Later errors follow from the first.
        let error = self.error.take().unwrap_or_else(|| error.into());
        // Once a request has left, there is always a report (src/pass/README.md, "What a pass promises").
        if self.results.iter().all(|result| *result == ChangeResult::NotSent) {
            return Err(error);
        }
        self.error = Some(error);
        Ok(self)
    }
}

/// The result of a pass.
#[derive(Clone, Debug)]
pub struct Report {
    pub plan: Arc<Plan>,
    /// Changes that were recorded before the pass started over and that are no longer in the plan.
    pub earlier: Vec<(Change, ChangeResult)>,
    /// The result of each change of the plan, in the plan's order; empty if the plan was not approved.
    pub results: Vec<ChangeResult>,
    /// What holds changes whose toggles this pass could not read.
    pub(crate) still_held: BTreeMap<ToggleId, Arc<Hold>>,
    /// The versions on the service that have the targeting of a recorded change, for the next scan for drift.
    pub(crate) live: BTreeMap<ToggleId, EqualVersion>,
    /// Why the pass ended early, if it did.
    pub stopped: Option<StopReason>,
    /// The error that ended the pass after requests had left (src/pass/README.md, "What a pass promises").
    pub error: Option<Arc<Error>>,
    /// The wait after the end of the pass that the service asked for.
    pub held_back: Option<Duration>,
    /// Facts for the operator that are not about one toggle, such as rewritten history.
    pub notes: Vec<String>,
    /// The time that reading the source took, including a fetch.
    pub read_time: Duration,
    /// The commit of the source's revision.
    pub head: Commit,
}

impl Report {
    /// Of a pass with more changes than this, only those that were not applied are logged one by one.
    pub(crate) const MANY: usize = 20;

    /// Creates the report of a pass that has not published yet.
    pub(super) fn new(plan: Plan, head: Commit, notes: Vec<String>, read_time: Duration) -> Self {
        Self {
            plan: Arc::new(plan),
            earlier: Vec::new(),
            results: Vec::new(),
            still_held: BTreeMap::new(),
            live: BTreeMap::new(),
            stopped: None,
            error: None,
            held_back: None,
            notes,
            read_time,
            head,
        }
    }

    pub(super) fn with(mut self, summary: PublishSummary) -> Self {
        let PublishSummary { results, still_held, live, stopped, held_back, waits: _, overwritten, error } =
            summary;
        if !overwritten.is_empty() {
            Arc::make_mut(&mut self.plan).note_overwritten(overwritten);
        }
        Self { results, still_held, live, stopped, held_back, error: error.map(Arc::new), ..self }
    }

    /// Completes the report of a pass that started over: adds the changes that the service had confirmed
    /// before.
    ///
    /// # Errors
    /// The error of `result`, if no report exists from before.
    pub(crate) fn after(earlier: Option<Self>, result: Result<Self, Error>) -> Result<Self, Error> {
        let Some(earlier) = earlier else { return result };
        match result {
            Ok(mut report) => {
                let changes = report.plan.changes();
                // A change that is planned again has a newer line in this report.
                let is_planned = |id| changes.binary_search_by(|change| change.id.cmp(id)).is_ok();
                let recorded = earlier.lines().filter(|(_, result)| result.is_recorded());
                let recorded = recorded.filter(|(change, _)| !is_planned(&change.id));
                report.earlier = recorded.map(|(change, result)| (change.clone(), result.clone())).collect();
                report.live = [earlier.live, report.live].into_iter().flatten().collect();
                Ok(report)
            }
            Err(error) => Ok(Self { error: Some(Arc::new(error)), ..earlier }),
        }
    }

    /// Returns whether the pass had nothing to publish, record or report.
    pub(crate) fn is_nothing(&self) -> bool {
        self.lines().next().is_none()
            && self.stopped.is_none()
            && self.error.is_none()
            && self.plan.is_empty()
    }

    /// Returns the plan as the pass carried it out: the changes that it held are withheld. What the service has not
    /// confirmed is still to be published.
    pub(crate) fn concluded_plan(&self) -> Arc<Plan> {
        let results = self.plan.changes().iter().zip(&self.results);
        let held = results.filter_map(|(change, result)| {
            let hold = result.hold().filter(|_| !result.is_pending());
            Some((change.id.clone(), Arc::clone(self.still_held.get(&change.id).or(hold)?)))
        });
        let held: BTreeMap<ToggleId, Arc<Hold>> = held.collect();
        match held.is_empty() {
            true => Arc::clone(&self.plan),
            false => Arc::new(Plan::clone(&self.plan).withhold(&held)),
        }
    }

    /// Returns the report as people see it: what earlier holds still hold is held, although a read failed.
    #[must_use]
    pub(crate) fn shown(&self) -> Self {
        let mut shown = self.clone();
        for (change, result) in self.plan.changes().iter().zip(&mut shown.results) {
            if let Some(hold) = self.still_held.get(&change.id) {
                *result = ChangeResult::Held(Arc::clone(hold));
            }
        }
        shown
    }

    /// Returns the plan as the results show it: what was held is withheld, and what was only recorded is not to
    /// publish.
    pub(crate) fn shown_plan(&self) -> Arc<Plan> {
        let results = self.plan.changes().iter().zip(&self.results);
        let held = results.clone().filter(|(_, result)| result.is_held());
        let held = held.filter_map(|(change, result)| Some((change.id.clone(), Arc::clone(result.hold()?))));
        let held: BTreeMap<ToggleId, Arc<Hold>> = held.collect();
        let recorded = results.filter(|(_, result)| **result == ChangeResult::Converged);
        let recorded: BTreeSet<&ToggleId> = recorded.map(|(change, _)| &change.id).collect();
        match held.is_empty() && recorded.is_empty() {
            true => Arc::clone(&self.plan),
            false => Arc::new(Plan::clone(&self.plan).withhold(&held).record(&recorded)),
        }
    }

    /// Returns every change with its result: first those recorded before the pass started over, then the
    /// others in the plan's order.
    pub fn lines(&self) -> impl Iterator<Item = (&Change, &ChangeResult)> {
        let earlier = self.earlier.iter().map(|(change, result)| (change, result));
        earlier.chain(self.plan.changes().iter().zip(&self.results))
    }

    /// Returns the time at which the next change window opens for a held change, in seconds since 1970-01-01
    /// UTC.
    pub(crate) fn opens_at(&self) -> Option<i64> {
        let results = self.results.iter().filter_map(|result| result.hold()?.opens);
        results.chain(self.plan.opens_at()).min()
    }

    /// Returns the number of changes with a result that `wanted` accepts.
    pub(crate) fn count(&self, wanted: impl Fn(&ChangeResult) -> bool) -> usize {
        self.lines().filter(|(_, result)| wanted(result)).count()
    }

    /// Returns the number of changes that the service confirmed.
    pub(crate) fn applied(&self) -> usize {
        self.count(|result| *result == ChangeResult::Applied)
    }

    /// Returns whether a change was held because of the live state of its toggle.
    pub fn has_held(&self) -> bool {
        self.count(ChangeResult::is_held) > 0
    }

    /// Returns whether every change was recorded or held, and the pass ran to its end.
    pub fn is_complete(&self) -> bool {
        let is_settled = |result: &ChangeResult| result.is_recorded() || result.is_held();
        self.stopped.is_none() && self.error.is_none() && self.lines().all(|(_, result)| is_settled(result))
    }

    /// Returns why the service made the pass fail, if it did.
    pub(crate) fn failure(&self) -> Option<String> {
        let failure = match &self.stopped {
            // An interrupted pass does not show whether it would have failed.
            Some(StopReason::Interrupted) => None,
            Some(reason) => Some(reason.in_full()),
            None => self.fruitless(),
        };
        failure.map(|text| self.advised(&text).to_owned())
    }

    /// Returns `text`, which may end with [`CHECK_SERVICE`], without what the next pass sends if everything that is
    /// not applied is held.
    pub(crate) fn advised<'a>(&self, text: &'a str) -> &'a str {
        let is_sent = |change: &Change, result: &ChangeResult| {
            (result.is_pending() || *result == ChangeResult::NotSent)
                && !self.still_held.contains_key(&change.id)
        };
        match self.lines().any(|(change, result)| is_sent(change, result)) {
            true => text,
            false => text.strip_suffix(NEXT_PASS).unwrap_or(text),
        }
    }

    /// Returns the failure of a pass whose requests had no useful response, apart from toggles that failed
    /// alone (src/pass/README.md, "One toggle is not evidence").
    fn fruitless(&self) -> Option<String> {
        // A held toggle was only read, which does not show that the service stores anything.
        let is_useful = |result: &ChangeResult| result.is_recorded() || result.is_refused();
        let pending = self.lines().filter(|(_, result)| result.is_pending());
        let pending = pending.filter_map(|(_, result)| result.reason());
        let last = pending.last().filter(|_| self.count(is_useful) == 0)?;
        Some(format!("{FRUITLESS}: {last}; {CHECK_SERVICE}"))
    }

    /// Returns the last failure to read a toggle that is held.
    pub(crate) fn last_unread(&self) -> Option<String> {
        let held = self.lines().filter(|(change, _)| self.still_held.contains_key(&change.id));
        held.filter_map(|(_, result)| result.reason()).last()
    }

    /// Returns whether no request of a pass that ran to its end had a useful response.
    pub(crate) fn is_fruitless(&self) -> bool {
        self.stopped.is_none() && self.fruitless().is_some()
    }
}

/// What a pass without a useful response says, and what to do.
pub(crate) const FRUITLESS: &str = "the service applied and refused nothing";
pub(crate) const CHECK_SERVICE: &str = "check the service; the next pass sends the unconfirmed changes";

/// The end of [`CHECK_SERVICE`].
const NEXT_PASS: &str = "; the next pass sends the unconfirmed changes";

/// Where the service has accepted the token in a pass in which it fails now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Acceptance {
    /// In other environments than those that fail.
    Elsewhere,
    /// In an environment that fails now.
    Here,
    Nowhere,
}

/// Why a pass ended before it had tried every change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StopReason {
    /// Nothing succeeded for `--give-up-after`.
    InDoubt {
        /// The value of `--give-up-after`.
        after: Duration,
        /// The number of different toggles in a row that failed.
        toggles: usize,
        /// The outcome of the last request.
        last: String,
    },
    /// The token may not change the last toggles that were tried, or none of the pass.
    Forbidden(String, Acceptance),
    /// The process is stopping, or a newer commit was found.
    Interrupted,
    /// The server that responds is not the service. The text names `--base-url`.
    Misrouted(String, Acceptance),
    /// The service asked for a longer wait than a pass allows.
    Patience {
        /// The outcome of the last request.
        last: String,
        /// The wait, if the service named it.
        wait: Option<Duration>,
    },
    /// The service rejected the token.
    Unauthorized(String, Acceptance),
    /// The certificate of the server could not be verified.
    Untrusted {
        /// What is wrong with it.
        fault: CertificateFault,
        reason: String,
    },
}

impl StopReason {
    /// Returns why this outcome ends a pass. `accepted` is where an earlier request of the pass succeeded, which
    /// the reason must not contradict.
    pub(crate) fn from_outcome(outcome: &Outcome, accepted: Acceptance) -> Self {
        let reason = outcome.to_string();
        match outcome.kind {
            OutcomeKind::Forbidden => Self::Forbidden(reason, accepted),
            OutcomeKind::Misrouted => Self::Misrouted(reason, accepted),
            OutcomeKind::Unauthorized => Self::Unauthorized(reason, accepted),
            OutcomeKind::Untrusted => {
                Self::Untrusted { fault: outcome.fault.unwrap_or(CertificateFault::Other), reason }
            }
            OutcomeKind::Applied | OutcomeKind::Busy | OutcomeKind::Lost | OutcomeKind::Refused => {
                Self::Patience { last: reason, wait: outcome.retry_after }
            }
        }
    }

    /// Returns the outcome of the last request, which the line of its toggle has as well.
    pub(crate) fn last(&self) -> Option<&str> {
        match self {
            Self::Interrupted => None,
            Self::InDoubt { last, .. }
            | Self::Forbidden(last, _)
            | Self::Misrouted(last, _)
            | Self::Patience { last, .. }
            | Self::Unauthorized(last, _)
            | Self::Untrusted { reason: last, .. } => Some(last),
        }
    }

    /// Returns whether only a person can end it, as opposed to an outage.
    pub(crate) fn needs_someone(&self) -> bool {
        matches!(self, Self::Forbidden(..) | Self::Unauthorized(..) | Self::Untrusted { .. })
    }

    /// Returns what the outcome means for the pass, for readers who have the outcome already.
    pub(crate) fn verdict(&self) -> String {
        let verdict = match self {
            Self::InDoubt { after, toggles, .. } => {
                return format!(
                    "the service gave no useful response for {} s (`--give-up-after`), to {} in a row",
                    after.as_secs_f64(),
                    counted(*toggles, "toggle")
                );
            }
            Self::Patience { wait: Some(wait), .. } => {
                return format!(
                    "the service asked for a wait of {} s (Retry-After), longer than a pass waits",
                    wait.as_secs()
                );
            }
            Self::Forbidden(_, Acceptance::Nowhere) => {
                "the token may be revoked, or may lack access to these environments"
            }
            Self::Forbidden(_, Acceptance::Elsewhere) => {
                "the service accepted the token earlier in this pass, so the token may lack access to these environments"
            }
            Self::Forbidden(_, Acceptance::Here) => {
                "the service accepted the token earlier in this pass, in the same environment, so requests may be limited \
                 or blocked, or the token was revoked meanwhile"
            }
            Self::Interrupted => "interrupted",
            Self::Misrouted(_, Acceptance::Nowhere) => "the server that responds may not be the service",
            Self::Misrouted(..) => {
                "the service responded earlier in this pass, so another server may have responded in its place"
            }
            Self::Patience { wait: None, .. } => "the service is not available",
            Self::Unauthorized(_, Acceptance::Nowhere) => "the service rejected the token",
            Self::Unauthorized(..) => {
                "the service rejected the token, which it accepted earlier in this pass"
            }
            // Its text says whether the server has a certificate at all.
            Self::Untrusted { fault: CertificateFault::Other, .. } => "the service could not be verified",
            Self::Untrusted { .. } => "the certificate of the service could not be verified",
        };
        verdict.to_owned()
    }

    /// Returns the reason and the way out on one line.
    pub(crate) fn in_full(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{self}; {hint}"),
            None => self.to_string(),
        }
    }

    /// Returns the way out, if one exists.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::InDoubt { .. } | Self::Patience { .. } => Some(CHECK_SERVICE),
            Self::Interrupted => Some("run it again; the confirmed changes are recorded"),
            Self::Forbidden(_, Acceptance::Here) => Some(
                "check the limits of the service, and the proxy or firewall before it; if the token was revoked, replace the \
                 token; its file is read again at every pass",
            ),
            Self::Forbidden(..) => Some(
                "let the account of the token publish to these environments, or replace the token; its file is read again at \
                 every pass",
            ),
            // Its text names what to check.
            Self::Misrouted(..) => None,
            Self::Untrusted { fault, .. } => match fault {
                CertificateFault::CaCertificate
                | CertificateFault::Expired
                | CertificateFault::NotYetValid
                | CertificateFault::Untrusted
                | CertificateFault::WrongName => None,
                CertificateFault::Other => Some("check `--base-url`, `--ca-file` and the proxy settings"),
            },
            Self::Unauthorized(..) => {
                Some("check the token; its file is read again at every pass and after every refusal")
            }
        }
    }
}

impl std::fmt::Display for StopReason {
    /// Formats the verdict with the last outcome, unless one has the other already.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verdict = self.verdict();
        match self {
            Self::Interrupted => f.write_str(&verdict),
            Self::InDoubt { last, .. } => write!(f, "{verdict}; the last: {last}"),
            _ => match self.last().filter(|last| !last.starts_with(&verdict)) {
                Some(last) => write!(f, "{verdict}: {last}"),
                None => f.write_str(self.last().unwrap_or(&verdict)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::untrusted;

    #[test]
    fn an_error_that_names_the_flag_to_check_has_no_hint_about_it() {
        let text = || "the body contains `--base-url`".to_owned();
        assert_eq!(StopReason::Misrouted(text(), Acceptance::Nowhere).hint(), None);
        for (fault, has_hint) in [
            (CertificateFault::CaCertificate, false),
            (CertificateFault::Expired, false),
            (CertificateFault::NotYetValid, false),
            (CertificateFault::Other, true),
            (CertificateFault::Untrusted, false),
            (CertificateFault::WrongName, false),
        ] {
            let outcome = untrusted(fault, "t.example", &crate::transport::Network::default());
            let stop = StopReason::from_outcome(&outcome, Acceptance::Nowhere);
            assert_eq!(stop.hint().is_some(), has_hint, "{stop}");
        }
    }
}
