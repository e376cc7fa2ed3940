//! Every reason to hold a change, with its text and the ways out, and the order in which the reasons are
//! tried.
//!
//! [`Holds`] is the table of precedence. Invalid documents and toggles outside `--only` come before it,
//! because they have no change; what the service has comes after it, because a toggle is read just before its
//! publish ([`decide_live`]).
//!
//! [`decide_live`]: super::decide_live

use std::collections::BTreeMap;
use std::sync::Arc;

use super::decide::PassOrder;
use super::first_pass::{DecidedBy, FirstPassChoice};
use super::{Before, Change, FirstPass, Lack, MissingToggle, Overrides, Overwrite, Plan, Policy};
use crate::model::{
    Action, Advice, EnvironmentId, FIRST_PASS_TRAILER, HeldRequest, HeldRequests, Hold, HoldKind, LiveToggle,
    Override, Suspension, SuspensionScope, Suspensions, ToggleId, ToggleState, UnlistedChange, escaped,
};

/// A toggle that the pass does not publish.
#[derive(Clone, Debug, PartialEq)]
pub struct WithheldToggle {
    pub id: ToggleId,
    pub hold: Arc<Hold>,
    /// The change that would be published otherwise; `None` for an invalid document.
    pub change: Option<Box<Change>>,
}

impl WithheldToggle {
    pub(super) fn of(hold: Arc<Hold>, change: Change) -> Self {
        Self { id: change.id.clone(), hold, change: Some(Box::new(change)) }
    }
}

/// What decides whether a change is held.
pub(super) struct Holds<'a> {
    pub(super) policy: &'a Policy,
    pub(super) overrides: &'a Overrides,
    pub(super) environments: &'a BTreeMap<EnvironmentId, Arc<Hold>>,
    pub(super) first_passes: &'a BTreeMap<EnvironmentId, FirstPassChoice>,
    pub(super) parked: &'a HeldRequests,
    pub(super) suspensions: &'a Suspensions,
    /// The time for change windows; none if they do not apply.
    pub(super) now: Option<i64>,
    /// The rails that are exceeded. Only known once the reasons of single changes are.
    pub(super) rails: BTreeMap<EnvironmentId, Arc<Hold>>,
}

/// Why a change is held, if it is.
type MaybeHeld = Option<Arc<Hold>>;

impl Holds<'_> {
    /// The reasons that are tried before the rails count. The first that applies holds the change: the most
    /// general one wins, because an operator has to resolve it first. Reviews come next.
    const BEFORE_RAILS: [fn(&Self, &Change, PassOrder) -> MaybeHeld; 3] =
        [Self::environment, Self::first_pass, Self::parked];
    /// The reasons that are tried after the rails have counted. What they hold still counts, so that
    /// releasing it cannot publish more than a rail allows. `on_invalid: stop` comes last and holds
    /// everything.
    const AFTER_RAILS: [fn(&Self, &Change) -> MaybeHeld; 3] = [Self::rail, Self::suspended, Self::window];

    pub(super) fn before_rails(&self, change: &Change, pass: PassOrder) -> MaybeHeld {
        Self::BEFORE_RAILS.iter().find_map(|reason| reason(self, change, pass))
    }

    pub(super) fn after_rails(&self, change: &Change) -> MaybeHeld {
        Self::AFTER_RAILS.iter().find_map(|reason| reason(self, change))
    }

    /// Returns whether only a permission of this run lets the change through.
    pub(super) fn is_over_rail(&self, change: &Change) -> bool {
        !change.is_let_through() && of(&self.rails, change).is_some()
    }

    /// Returns whether a change belongs to a first pass that records documents instead of publishing them.
    pub(super) fn is_adopted(&self, change: &Change, pass: PassOrder) -> bool {
        self.choice(&change.id, pass).is_some_and(|choice| choice.is(FirstPass::Adopt))
    }

    /// Returns who decides about the first pass of a toggle.
    pub(super) fn first_pass_by(&self, id: &ToggleId, pass: PassOrder) -> DecidedBy {
        match self.choice(id, pass) {
            Some(FirstPassChoice::Decided { by, .. }) => *by,
            // An undecided one is held, and one that continues was decided before.
            Some(FirstPassChoice::Undecided(_)) | None => DecidedBy::Operator,
        }
    }

    fn choice(&self, id: &ToggleId, pass: PassOrder) -> Option<&FirstPassChoice> {
        (pass == PassOrder::First).then(|| self.first_passes.get(&id.environment()))?
    }

    fn environment(&self, change: &Change, _: PassOrder) -> MaybeHeld {
        of(self.environments, change)
    }

    fn first_pass(&self, change: &Change, pass: PassOrder) -> MaybeHeld {
        match self.choice(&change.id, pass)? {
            FirstPassChoice::Undecided(hold) => Some(Arc::clone(hold)),
            // The service may have what was announced, and only a comparison could show that.
            choice
                if choice.is(FirstPass::Adopt)
                    && !change.is_retry
                    && matches!(change.before, Before::Unknown { .. })
                    && !self.policy.reads_live() =>
            {
                Some(Arc::new(unknown_adopted()))
            }
            FirstPassChoice::Decided { .. } => None,
        }
    }

    fn parked(&self, change: &Change, pass: PassOrder) -> MaybeHeld {
        let parked = self.parked.get(&change.id.folded())?;
        // It only shows that the service was read; what holds the change is asked again.
        if parked.hold.is_recordable() {
            return None;
        }
        let is_same = parked.request == change.request() && !self.is_adopted(change, pass);
        (is_same && !is_released(&parked.hold, change, self.overrides)).then(|| Arc::new(parked.hold.later()))
    }

    fn rail(&self, change: &Change) -> MaybeHeld {
        let rail = of(&self.rails, change).filter(|_| !change.is_let_through())?;
        let is_permitted =
            self.policy.allows_mass_change || self.overrides.lifts_rails(&change.id.environment());
        (!is_permitted).then_some(rail)
    }

    fn window(&self, change: &Change) -> MaybeHeld {
        window(change, self.policy, self.overrides, self.now?).map(Arc::new)
    }

    fn suspended(&self, change: &Change) -> MaybeHeld {
        let (scope, suspension) = self.suspensions.of(&change.id)?;
        Some(Arc::new(suspended(scope, suspension)))
    }
}

/// Returns why a change may not be sent at `now`: no change window is open. A switch-off always passes.
pub(crate) fn window(change: &Change, policy: &Policy, overrides: &Overrides, now: i64) -> Option<Hold> {
    let closed = policy.windows.closed(&change.id, now)?;
    let environment = change.id.environment();
    let by_trailer = policy.allows_trailers && change.attribution.allows(Override::Window);
    let is_lifted = policy.ignores_windows || by_trailer || overrides.windows.contains(&environment);
    if is_lifted || change.switches_off() {
        return None;
    }
    let opens = match &closed.opens_there {
        Some(there) => format!("opens {there}"),
        None => "no window opens again".to_owned(),
    };
    let fact = format!("outside the change windows ({}): {opens}", closed.by);
    let advice = Advice {
        aim: "to publish it before".to_owned(),
        by_command: Some("pass `--ignore-windows`".to_owned()),
        by_trailer: (policy.allows_trailers)
            .then(|| "put the trailer `Gitoggle-Allow: window` on the commit".to_owned()),
        by_order: Some(format!("run `gitoggle allow window {environment}`")),
        ..Advice::default()
    };
    let hold = Hold { opens: closed.opens, ..Hold::new(HoldKind::Window, fact).advised(advice) };
    let commit = std::iter::once(&change.attribution);
    Some(overrides.explained(hold, commit, &environment, policy.allows_trailers))
}

fn of(holds: &BTreeMap<EnvironmentId, Arc<Hold>>, change: &Change) -> Option<Arc<Hold>> {
    // Checked first, because a first pass has a hundred thousand changes.
    if holds.is_empty() {
        return None;
    }
    holds.get(&change.id.environment()).cloned()
}

/// Returns whether the change may replace now what the service had when it was held.
fn is_released(hold: &Hold, change: &Change, overrides: &Overrides) -> bool {
    let may_replace = match change.overwrite {
        Overwrite::Allowed | Overwrite::Asserted => true,
        Overwrite::AllowedByCommit | Overwrite::AssertedByCommit => !hold.trailer_was_used,
        Overwrite::Held => false,
    };
    hold.version.is_some() && (may_replace || overrides.may_overwrite(&change.id))
}

impl Plan {
    /// Returns why a pass has not sent a change that is due, if it was held or failed before and nothing
    /// released it since.
    pub(crate) fn held_before(&self, change: &Change, before: &HeldRequest) -> Option<Hold> {
        let is_same = before.request == change.request();
        let is_held = before.hold.kind.is_some() && !is_released(&before.hold, change, &self.overrides);
        (is_same && is_held).then(|| before.hold.later())
    }
}

/// The whole environment is held, with this reason.
pub(crate) fn environment(reason: &str) -> Hold {
    Hold::new(HoldKind::Environment, escaped(reason).to_string())
}

/// The document is invalid. `is_applied`: an earlier version of it was applied.
pub(super) fn invalid(is_applied: bool) -> Hold {
    let text = match is_applied {
        true => "the document is invalid; the last applied version stays",
        false => "the document is invalid; nothing is published for this toggle before it is valid",
    };
    Hold::new(HoldKind::Invalid, text)
}

/// The file of the toggle is not read, because of its name or place. `is_applied`: a document was applied.
pub(super) fn unread(path: &str, is_applied: bool) -> Hold {
    let what = match is_applied {
        true => "the last applied version stays",
        false => "nothing is published for this toggle",
    };
    Hold::new(
        HoldKind::Invalid,
        format!(
            "its file is `{}`, which is not read; {what}: give it the name of a document again, or delete it as well to remove \
             the toggle",
            escaped(path)
        ),
    )
}

/// The toggle does not exist, and its documents do not agree about its type.
pub(super) fn mixed_types() -> Hold {
    Hold::new(
        HoldKind::ReturnType,
        "not created: its documents have values of different types, and the type of a toggle cannot be changed later; write values of \
         one type in all environments, or accept a toggle of text with a waiver of `type-disagreement` in each of them",
    )
}

/// The toggle does not exist, and the document at `path` spells its key in another way.
pub(super) fn mixed_spellings(path: &str) -> Hold {
    Hold::new(
        HoldKind::ReturnType,
        format!(
            "not created: `{}` spells the key of this toggle in another way, and SDKs know only the spelling with which it is created, \
             which cannot be changed later; rename one of the files",
            escaped(path)
        ),
    )
}

/// The toggle does not exist, and one of its documents cannot be read.
pub(super) fn unread_types(path: &str) -> Hold {
    Hold::new(
        HoldKind::ReturnType,
        format!(
            "not created: the type of a toggle depends on all of its documents and cannot be changed later, and `{}` is invalid; \
             correct or remove that document",
            escaped(path)
        ),
    )
}

pub(super) fn stopped() -> Hold {
    Hold::new(HoldKind::Stopped, "nothing is published while a document is invalid (`on_invalid: stop`)")
}

fn unknown_adopted() -> Hold {
    Hold {
        releases: vec![Override::FirstPassAssert],
        ..unknown(
            "so the service may have other targeting than the document; to publish the document, use `--first-pass assert`",
        )
    }
}

pub(super) fn unknown_invalid() -> Hold {
    unknown("and the document is now invalid")
}

pub(super) fn unknown_outside_scope() -> Hold {
    unknown("and the toggle is outside `--only`")
}

/// The outcome of the last publish is unknown, and the request is not retried.
fn unknown(why: &str) -> Hold {
    Hold::new(HoldKind::Unknown, format!("the outcome of the last publish is unknown, {why}"))
}

/// Returns how to end the suspension of `scope`, and no other.
pub(crate) fn resume(scope: &SuspensionScope) -> String {
    format!("`gitoggle resume{}` publishes again", escaped(&scope.arguments()))
}

fn suspended(scope: &SuspensionScope, suspension: &Suspension) -> Hold {
    let resume = resume(scope);
    let scope = scope.globs().map(|globs| format!(" to `{}`", escaped(&globs)));
    let reason = suspension.reason.as_ref().map(|reason| format!(": {}", escaped(reason)));
    let (scope, reason) = (scope.unwrap_or_default(), reason.unwrap_or_default());
    Hold::new(HoldKind::Suspended, format!("publishing{scope} is suspended{reason}; {resume}"))
}

/// Why nothing is applied in an environment, as far as the state shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unapplied {
    /// The state had records of it, which were lost.
    Lost,
    /// Nothing was ever applied.
    New,
}

/// Returns what to decide about a first pass: the better choice first, if the reason leaves one.
pub(crate) fn first_pass_advice(why: Unapplied, policy: &Policy) -> &'static str {
    match (why, policy.reads_live()) {
        (Unapplied::New, true) => {
            "`--first-pass assert` publishes everything, `--first-pass adopt` records what the service has already and holds \
             the rest"
        }
        (Unapplied::New, false) => {
            "`--first-pass assert` publishes everything, `--first-pass adopt` records it as already applied"
        }
        (Unapplied::Lost, true) => {
            "use `--first-pass adopt`, which records what the service has already and holds what differs; `--first-pass assert` \
             would publish over what was changed on the service"
        }
        (Unapplied::Lost, false) => {
            "use `--first-pass assert`, which publishes everything once more; `--first-pass adopt` would record documents that \
             the service may not have"
        }
    }
}

/// What a lost state folder means, for the hold of each environment and for the log.
pub(crate) const STATE_LOST: &str =
    "the state folder was deleted or replaced, so what was applied is unknown";

/// Returns what to do about a lost state folder.
pub(crate) fn state_lost_advice(policy: &Policy) -> String {
    format!("restore it; without it, {}", first_pass_advice(Unapplied::Lost, policy))
}

/// Nothing is applied in the environment, and nothing decides on the first pass. `is_disputed`: trailers
/// contradict each other.
pub(super) fn first_pass(
    environment: &EnvironmentId,
    why: Unapplied,
    policy: &Policy,
    is_disputed: bool,
) -> Hold {
    let dispute = if is_disputed {
        format!(", and commits ask for both `{FIRST_PASS_TRAILER}: assert` and `adopt`")
    } else {
        String::new()
    };
    let (kind, fact) = match why {
        Unapplied::Lost => (HoldKind::StateLost, STATE_LOST),
        Unapplied::New => (HoldKind::FirstPass, "nothing is applied here yet"),
    };
    let advice = match why {
        Unapplied::Lost => state_lost_advice(policy),
        Unapplied::New => first_pass_advice(why, policy).to_owned(),
    };
    let fact = format!("{fact}{dispute}: {advice}");
    // The words of the advice and the order that can be copied name the same choice first.
    let (first, second) = match (why, policy.reads_live()) {
        (Unapplied::Lost, true) => ("adopt", "assert"),
        _ => ("assert", "adopt"),
    };
    let hold = Hold::new(kind, fact).advised(Advice {
        aim: "to decide for this environment only".to_owned(),
        // Another one would not end a dispute.
        by_trailer: (policy.allows_trailers && !is_disputed && why == Unapplied::New).then(|| {
            format!(
                "put the trailer `{FIRST_PASS_TRAILER}: {first}` or `{second}` on a commit that adds or changes a document of it"
            )
        }),
        by_order: Some(format!(
            "run `gitoggle allow first-pass-{first} {environment}` or `first-pass-{second}`"
        )),
        ..Advice::default()
    });
    match (why, policy.reads_live()) {
        // What comes first is what the page offers first.
        (Unapplied::Lost, false) => {
            Hold { releases: vec![Override::FirstPassAssert, Override::FirstPassAdopt], ..hold }
        }
        _ => hold,
    }
}

/// No review lists the change.
pub(super) fn not_reviewed(unlisted: &UnlistedChange, action: Action) -> Hold {
    // The plan of a job without this setting only lists the removed file.
    let with = if action == Action::Disable { " with `--on-remove disable`" } else { "" };
    let again = unlisted
        .request
        .map(|request| format!("run the plan job of pull request {request} again{with}, or "));
    let (why, again) = (&unlisted.why, again.unwrap_or_default());
    Hold::new(
        HoldKind::NotReviewed,
        format!(
            "not reviewed: it {why}; to publish it, {again}review what `gitoggle plan -o json >plan.json` writes, then run \
             `gitoggle apply --reviewed plan.json`"
        ),
    )
}

/// The environment exceeds a limit, as `excess` says.
pub(super) fn rail(environment: &EnvironmentId, allows_trailers: bool, excess: &str) -> Hold {
    Hold::new(HoldKind::Rail, excess).advised(mass_change(environment, allows_trailers))
}

/// Returns how to publish what is too much for one pass.
pub(crate) fn mass_change(environment: &EnvironmentId, allows_trailers: bool) -> Advice {
    Advice {
        aim: "if this is intended".to_owned(),
        by_command: Some("pass `--allow-mass-change`".to_owned()),
        by_trailer: allows_trailers.then(|| {
            format!(
                "put the trailer `Gitoggle-Allow: mass-change` on the commit, or `Gitoggle-Allow: mass-change {environment}` on a \
                 later one"
            )
        }),
        by_order: Some(format!("run `gitoggle allow mass-change {environment}`")),
        ..Advice::default()
    }
}

/// The environment needs approvals, and a publish would bypass them.
pub(super) fn approval_required() -> Hold {
    Hold::new(
        HoldKind::ApprovalRequired,
        "changes in this environment need an approval on the service, which a publish would bypass: make the change there, \
         or allow it with `--on-approval bypass`",
    )
}

pub(crate) fn archived(action: Action) -> Hold {
    let text = match action {
        Action::Disable => {
            "the toggle is archived on the service, so SDKs do not get it anymore: forget it with `--on-remove forget`, or \
             restore it there to have it disabled"
        }
        Action::Adopt | Action::Create | Action::Update => {
            "the toggle is archived on the service: restore it there, or remove its file"
        }
    };
    Hold::new(HoldKind::Archived, text)
}

/// Returns a hold of a change whose toggle is archived on the service: whatever is decided about it, it is not
/// sent.
pub(super) fn although_archived(hold: &Hold, action: Action) -> Hold {
    let mut advice = hold.advice.clone().unwrap_or_default();
    advice.remarks.push(archived(action).fact);
    hold.clone().advised(*advice)
}

/// A draft awaits approval; submitted by this account.
pub(super) fn awaits_approval(by: Option<&str>) -> Hold {
    let by = by.map(|by| format!(" by {}", escaped(by))).unwrap_or_default();
    Hold::new(
        HoldKind::AwaitsApproval,
        format!(
            "a draft{by} awaits approval on the service: publish or cancel it there, or allow this publish with \
             `--on-approval bypass`"
        ),
    )
}

/// The service has another version than the one that an operator allowed to overwrite; 0 if it did not have
/// the toggle.
pub(super) fn changed_again(made: &LiveToggle, allowed: u64) -> Hold {
    let what = match allowed {
        0 => "created on the service after it was allowed to be created again".to_owned(),
        allowed => {
            format!("changed on the service again, after version {allowed} was allowed to be overwritten")
        }
    };
    let fact = format!("{what} ({made}): {}; to publish over it, allow that again", made.keep());
    made_on_service(HoldKind::Drifted, made, fact)
}

/// Nothing is applied, and the service has other targeting than the document.
pub(super) fn differs_from_live(made: &LiveToggle, policy: &Policy) -> Hold {
    over(HoldKind::DiffersFromLive, made, "the service has other targeting", policy)
}

/// The service has other targeting than was last applied.
pub(super) fn drifted(made: &LiveToggle, policy: &Policy) -> Hold {
    over(HoldKind::Drifted, made, "changed on the service since it was last applied", policy)
}

/// The service has other targeting than the document that a first pass is to adopt.
pub(super) fn not_adopted(made: &LiveToggle) -> Hold {
    let fact = format!("not adopted, because the service has other targeting ({made}): {}", made.keep());
    made_on_service(HoldKind::DiffersFromLive, made, fact).advised(Advice {
        aim: "to publish the document instead".to_owned(),
        by_command: Some(format!(
            "use `gitoggle apply --overwrite-drift --only {}` once something is adopted here, or `--first-pass assert` before",
            made.id
        )),
        by_order: Some(format!("`gitoggle allow overwrite-drift {}`", made.id)),
        ..Advice::default()
    })
}

/// A change on the service holds a change.
fn over(kind: HoldKind, made: &LiveToggle, why: &str, policy: &Policy) -> Hold {
    let by_trailer = "the trailer `Gitoggle-Allow: overwrite-drift` on the commit";
    made_on_service(kind, made, format!("{why} ({made}): {}", made.keep())).advised(Advice {
        by_trailer: policy.allows_trailers.then(|| by_trailer.to_owned()),
        ..overwrite(&made.id, "to publish over it")
    })
}

/// Something else was published on the service.
fn made_on_service(kind: HoldKind, made: &LiveToggle, fact: String) -> Hold {
    Hold { events: made.event_lines(), ..Hold::over(kind, made.version, fact) }
}

/// Returns how to publish a document over what the service has.
fn overwrite(id: &ToggleId, aim: &str) -> Advice {
    Advice {
        aim: aim.to_owned(),
        by_command: Some(format!("`gitoggle apply --overwrite-drift --only {id}`")),
        by_order: Some(format!("`gitoggle allow overwrite-drift {id}`")),
        ..Advice::default()
    }
}

/// The service has no such toggle, and this was asked for.
pub(super) fn missing(action: Action) -> Hold {
    let text = match action {
        Action::Adopt => {
            "the service has no such toggle, and a first pass that adopts creates none: create it there first, or have it \
             created and published with `--on-missing create` in a later pass (or with `--first-pass assert`, while nothing \
             is applied here)"
        }
        Action::Create | Action::Disable | Action::Update => {
            "the service has no such toggle: create it there first, or have it created with `--on-missing create`"
        }
    };
    Hold::new(HoldKind::Missing, text)
}

/// The document of the toggle was renamed to that of the toggle `to`.
pub(super) fn renamed(change: &Change, to: &ToggleId, allows_trailers: bool) -> Hold {
    let environment = change.id.environment();
    let unknown = match change.before {
        Before::Unknown { .. } => "; the outcome of its last publish is unknown",
        _ => "",
    };
    let fact = format!(
        "its document was renamed to that of `{to}`, so nobody removed it: it stays as it was applied{unknown}"
    );
    Hold::new(HoldKind::Renamed, fact).advised(Advice {
        aim: "to have it disabled".to_owned(),
        by_trailer: allows_trailers.then(|| {
            format!(
                "put the trailer `Gitoggle-Allow: rename` on the commit, or `Gitoggle-Allow: rename {environment}` on a later one"
            )
        }),
        by_order: Some(format!("run `gitoggle allow rename {environment}`")),
        remarks: vec![
            "without a decision, restore the document, and remove it after a pass with both".to_owned(),
        ],
        ..Advice::default()
    })
}

/// The change would need a toggle that is not applied, and that the service does not have.
pub(crate) fn needs_missing(needed: &ToggleId) -> Hold {
    Hold::new(
        HoldKind::Missing,
        format!(
            "its prerequisite `{}` is not applied, and the service does not have it, so it would not be met; this is sent \
             once `{0}` is applied",
            needed.toggle()
        ),
    )
}

/// The change needs a toggle that the service has under another spelling.
pub(super) fn needs_other_spelling(needed: &ToggleId, spelling: &str) -> Hold {
    let spelling = escaped(spelling);
    Hold::new(
        HoldKind::Missing,
        format!(
            "its prerequisite `{}` is `{spelling}` on the service, and SDKs find none in another spelling: did you mean \
             `{spelling}`?",
            needed.toggle()
        ),
    )
}

/// The service has the toggle `other` with a prerequisite that leads to that of the change, which its document, if it
/// has one, does not have. `has_document` is none if that is not known.
pub(super) fn circle_on_service(other: &str, has_document: Option<bool>) -> Hold {
    let why = match has_document {
        Some(true) => " which was changed there,",
        Some(false) => " which has no document,",
        None => "",
    };
    Hold::new(
        HoldKind::AwaitsChange,
        format!(
            "{ON_SERVICE}{other}`,{why} prerequisites would form a circle, which the service refuses: remove the prerequisite \
             here, or change `{other}` on the service"
        ),
    )
}

/// The beginning of this reason and of no other.
const ON_SERVICE: &str = "with what the service has of `";

/// Returns whether a change is held by [`circle_on_service`].
pub(crate) fn is_circle_on_service(hold: &Hold) -> bool {
    hold.kind == Some(HoldKind::AwaitsChange) && hold.fact.starts_with(ON_SERVICE)
}

/// What a change waits for that another one has to change first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Awaited {
    /// The prerequisites of both would form a circle.
    Circle,
    /// The other toggle still needs what this change takes away.
    Dependent,
    /// The other toggle does not serve yet what a prerequisite asks for.
    Prerequisite,
}

/// The change must not be sent before that of the toggle `other` is applied.
pub(super) fn awaits_other(other: &str, what: Awaited) -> Hold {
    let why = match what {
        Awaited::Circle => {
            "with what the service has of that toggle, prerequisites would form a circle, which the service refuses"
        }
        Awaited::Dependent => {
            "what the service has of that toggle needs a value of this one that this change takes away"
        }
        Awaited::Prerequisite => "the prerequisite on that toggle asks for a value that it serves only then",
    };
    Hold::new(
        HoldKind::AwaitsChange,
        format!(
            "waits for the change of `{other}`, which is not applied: {why}; release or correct that change, and this one is \
             sent as well"
        ),
    )
}

/// The change would take away a value that the document of `other` needs, which does not change.
pub(super) fn breaks_other(other: &str) -> Hold {
    Hold::new(
        HoldKind::AwaitsChange,
        format!(
            "the document of `{other}` needs a value that this change takes away, so it is invalid, and its users would get the \
             disabled serve: change its prerequisite as well, and both are sent"
        ),
    )
}

/// The document of the toggle `other` leads to that of the change, whose new prerequisites make the chain too
/// long.
pub(super) fn lengthens_chain(other: &str, steps: usize, limit: usize) -> Hold {
    Hold::new(
        HoldKind::AwaitsChange,
        format!(
            "with this change, the chain of prerequisites of `{other}` has {steps} steps, over the limit of {limit}, so that the \
             service would refuse every later change of `{other}`: shorten the chain, and this is sent"
        ),
    )
}

/// A variation is not of the toggle's return type, for this reason.
pub(super) fn return_type(reason: &str) -> Hold {
    Hold::new(
        HoldKind::ReturnType,
        format!("{}: correct the document, or use a toggle of another type", escaped(reason)),
    )
}

pub(super) fn untargeted() -> Hold {
    Hold::new(
        HoldKind::Missing,
        "the toggle exists on the service, but has no targeting in this environment: the environment was archived when the \
         toggle was created; restore the toggle's targeting there",
    )
}

/// The fact that an applied toggle differs on the service, although no change to it is due.
pub(super) fn drift(made: &LiveToggle, fact: &str) -> Hold {
    made_on_service(HoldKind::Drifted, made, format!("{fact}: {}", made.keep()))
        .advised(overwrite(&made.id, "to undo it"))
}

/// The fact that the service does not have an applied toggle, or not its targeting. `may_create`: a publish
/// over drift creates it again.
pub(super) fn gone(missing: &MissingToggle, may_create: bool) -> Hold {
    let id = &missing.id;
    let hold = match missing.lack {
        Lack::Targeting => Hold::new(
            HoldKind::Missing,
            "the toggle exists on the service, but has no targeting in this environment: restore that there",
        ),
        Lack::Toggle => Hold::new(
            HoldKind::Missing,
            "the service does not have the toggle anymore: create it there, or remove its document",
        )
        .advised(Advice {
            aim: "to have it created from its document".to_owned(),
            by_command: Some(format!("`gitoggle apply --overwrite-drift --on-missing create --only {id}`")),
            by_order: Some(match may_create {
                true => format!("`gitoggle allow overwrite-drift {id}`"),
                false => "set `--on-missing create`".to_owned(),
            }),
            ..Advice::default()
        }),
    };
    Hold {
        state: ToggleState::Drifted,
        releases: may_create.then_some(Override::OverwriteDrift).into_iter().collect(),
        // The version of a toggle that the service does not have.
        version: may_create.then_some(0),
        ..hold
    }
}
