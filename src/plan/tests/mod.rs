//! The rules of a plan, as tables, properties and inline snapshots.

mod decisions;
mod earlier_requests;
mod hostile;
mod live;
mod orders;
mod orphans;
mod outputs;
mod pages;
mod properties;
mod rules;
mod sentences;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use super::*;
use crate::document::{self, Diagnostic};
use crate::model::{
    Action, Attribution, Blob, Commit, CommitId, Content, EnvironmentId, Format, HeldRequest, HeldRequests,
    HistoryEvidence, Hold, HoldKind, ObjectId, Payload, RequestDigest, Sent, Serve, ServiceKind, Suspension,
    Suspensions, Targeting, ToggleId, Unlisted, Variation, Version,
};
use crate::report as render;

/// Returns the change of `shop/prod/KEY` to `after`.
pub(super) fn change_of(key: &str, before: Before, after: Payload) -> Change {
    let id: ToggleId = format!("shop/prod/{key}").parse().unwrap();
    let path = format!("{id}.yaml").into();
    Change {
        version: Version { id, path, format: Format::Yaml, object: ObjectId([0; 20]), payload: after },
        action: if before == Before::Nothing { Action::Create } else { Action::Update },
        before,
        attribution: Attribution::Uncommitted,
        comment_max_chars: 0,
        is_retry: false,
        overwrite: Overwrite::Held,
        replaces: None,
        passed: false,
    }
}

/// A document: what it means, and its blob. Two blobs may mean the same.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Doc {
    meaning: u8,
    blob: u8,
}

/// A document whose meaning and blob have one number.
const fn doc(number: u8) -> Doc {
    Doc { meaning: number, blob: number }
}

impl Doc {
    const fn object(self) -> ObjectId {
        ObjectId([self.blob; 20])
    }

    /// An odd meaning is a disabled toggle.
    fn payload(self) -> Payload {
        let serve = Serve::Select(0);
        let variation = |name: &str, value: u8| Variation {
            value: value.to_string(),
            name: name.into(),
            description: String::new(),
        };
        let content = Content {
            rules: vec![],
            disabled_serve: serve.clone(),
            default_serve: serve,
            variations: vec![variation("a", self.meaning / 2)],
            prerequisites: None,
        };
        let disabled = self.meaning % 2 == 1;
        Payload::new(&Targeting { disabled, content })
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Want {
    Document(Doc),
    Invalid,
    Renamed,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Known {
    Document(Doc),
    Unknown(Action, Doc),
    /// An unknown update with a later request whose outcome is recorded.
    Overtaken(Doc),
    Unreadable,
}

/// What a plan is made of, before anything is decided.
#[derive(Clone, Debug)]
struct World {
    desired: BTreeMap<ToggleId, Want>,
    applied: BTreeMap<ToggleId, Known>,
    environment_holds: BTreeMap<EnvironmentId, Arc<Hold>>,
    overwritten: LiveDifferences,
    /// The toggles whose documents removed ones have become.
    renamed: BTreeMap<ToggleId, ToggleId>,
    asserted: BTreeSet<ToggleId>,
    parked: HeldRequests,
    now: Option<i64>,
    suspensions: Suspensions,
    overrides: Overrides,
    base: Option<Base>,
    findings: Vec<Diagnostic>,
    /// Of every commit.
    message: String,
    /// How certain each commit is.
    attribution: fn(Commit) -> Attribution,
}

impl Default for World {
    fn default() -> Self {
        Self {
            desired: BTreeMap::new(),
            applied: BTreeMap::new(),
            environment_holds: BTreeMap::new(),
            overwritten: LiveDifferences::new(),
            renamed: BTreeMap::new(),
            asserted: BTreeSet::new(),
            parked: HeldRequests::new(),
            now: None,
            suspensions: Suspensions::default(),
            overrides: Overrides::default(),
            base: None,
            findings: Vec::new(),
            message: String::new(),
            attribution: |commit| Attribution::Known(Arc::new(commit)),
        }
    }
}

/// The form for machines, as they read it.
fn json(plan: &Plan) -> serde_json::Value {
    serde_json::to_value(super::json(plan)).unwrap()
}

fn id(text: &str) -> ToggleId {
    text.parse().unwrap()
}

/// A plan with an entry of every kind.
pub(crate) fn rich() -> Plan {
    let mut world = World::of(10, 3, 0)
        .message("Raise it\n::error::x ##[group] ``` \u{202e}@you")
        .want("p/e/bad", Want::Invalid)
        .want("q/e/new", Want::Document(doc(2)))
        .knows("q/e/changed", Known::Document(doc(2)))
        .want("q/e/changed", Want::Document(doc(5)))
        .knows("q/e/gone", Known::Document(doc(2)))
        .want("q/e/refused", Want::Document(doc(4)))
        .knows("q/e/refused", Known::Document(doc(2)))
        .want("r/e/first", Want::Document(doc(2)));
    let refused = HeldRequest::new(
        RequestDigest::new(Action::Update, &doc(4).payload()),
        Hold::new(HoldKind::Refused, "refused by the service: ::error::no\n"),
    );
    world.parked.insert(id("q/e/refused").folded(), refused);
    world.renamed.insert(id("q/e/gone"), id("q/e/new"));
    world.findings = broken("p/e/bad.yaml");
    let policy = Policy { max_change_count: Some(2), ..Policy::default() };
    world.plan(&policy)
}

/// The findings of a document with two mistakes.
fn broken(path: &str) -> Vec<Diagnostic> {
    let text = "disabled: false\ncolour: \"::error::\u{202e}[31m ``` ##[group]\"\n";
    let blob = Blob::Content(text.into());
    let mut found = document::read(path, &blob, ServiceKind::Documented).diagnostics;
    found.truncate(2);
    found
}

/// A policy that limits no mass change.
fn all_at_once() -> Policy {
    Policy { max_change_ratio: 1.0, ..Policy::default() }
}

impl World {
    /// `applied` toggles `p/e/t000…`, of which the first `update` have another document now, and `create` new
    /// ones.
    fn of(applied: usize, update: usize, create: usize) -> Self {
        let mut world = Self { message: "m".into(), ..Self::default() };
        for at in 0..applied + create {
            let wanted = if at < update { doc(4) } else { doc(2) };
            world.desired.insert(id(&format!("p/e/t{at:03}")), Want::Document(wanted));
        }
        for at in 0..applied {
            world.applied.insert(id(&format!("p/e/t{at:03}")), Known::Document(doc(2)));
        }
        world
    }

    fn want(mut self, toggle: &str, want: Want) -> Self {
        self.desired.insert(id(toggle), want);
        self
    }

    fn knows(mut self, toggle: &str, known: Known) -> Self {
        self.applied.insert(id(toggle), known);
        self
    }

    fn message(mut self, message: &str) -> Self {
        message.clone_into(&mut self.message);
        self
    }

    fn candidates(&self) -> Vec<Candidate> {
        let toggles: BTreeSet<&ToggleId> = self.desired.keys().chain(self.applied.keys()).collect();
        let candidates = toggles.into_iter().map(|id| Candidate {
            id: id.clone(),
            desired: self.wanted(id),
            applied: self.known(id),
        });
        let is_same = |one: &Candidate| match (&one.desired, &one.applied) {
            (Desired::Document(version), AppliedVersion::Document { object, .. }) => {
                version.object == *object
            }
            _ => false,
        };
        let is_candidate = |one: &Candidate| !is_same(one) || self.overwritten.contains_key(&one.id);
        candidates.filter(is_candidate).collect()
    }

    fn wanted(&self, id: &ToggleId) -> Desired {
        let path = format!("{id}.yaml");
        match self.desired.get(id) {
            None => Desired::Absent { path, renamed_to: self.renamed.get(id).cloned() },
            Some(Want::Invalid) => Desired::Invalid,
            Some(Want::Renamed) => Desired::Renamed,
            Some(Want::Document(doc)) => Desired::Document(Version {
                id: id.clone(),
                path: path.into(),
                format: Format::Yaml,
                object: doc.object(),
                payload: doc.payload(),
            }),
        }
    }

    fn known(&self, id: &ToggleId) -> AppliedVersion {
        let format = Format::Yaml;
        match self.applied.get(id) {
            None => AppliedVersion::Nothing,
            Some(Known::Unreadable) => AppliedVersion::Unreadable,
            Some(Known::Document(doc)) => {
                AppliedVersion::Document { object: doc.object(), format, payload: doc.payload() }
            }
            Some(known @ (Known::Unknown(_, doc) | Known::Overtaken(doc))) => AppliedVersion::Unknown {
                applied: None,
                sent: Box::new(Sent {
                    action: match known {
                        Known::Unknown(action, _) => *action,
                        _ => Action::Update,
                    },
                    payload: doc.payload(),
                    comment: "as journalled".into(),
                    object: doc.object(),
                    format,
                    path: format!("{id}.yaml"),
                    revision: CommitId(ObjectId([5; 20])),
                    base_version: None,
                    note: None,
                    earlier: Vec::new(),
                    overtaken: matches!(known, Known::Overtaken(_)),
                    passed: false,
                    announced: None,
                    asserted: None,
                }),
            },
        }
    }

    fn applied_counts(&self) -> BTreeMap<EnvironmentId, usize> {
        let mut counts = BTreeMap::new();
        for (id, known) in &self.applied {
            let is_applied = !matches!(known, Known::Unknown(..) | Known::Overtaken(_));
            *counts.entry(id.environment()).or_default() += usize::from(is_applied);
        }
        counts
    }

    /// Plans with changes that no review lists.
    fn reviewed(&self, policy: &Policy, unlisted: Unlisted) -> Plan {
        self.reviewed_plan(self.candidates(), policy, unlisted)
    }

    fn plan(&self, policy: &Policy) -> Plan {
        self.plan_of(self.candidates(), policy)
    }

    /// Plans with the candidates in the order given; every orphan's document is found in the history.
    fn plan_of(&self, candidates: Vec<Candidate>, policy: &Policy) -> Plan {
        self.reviewed_plan(candidates, policy, Unlisted::new())
    }

    fn reviewed_plan(&self, candidates: Vec<Candidate>, policy: &Policy, unlisted: Unlisted) -> Plan {
        let applied_counts = self.applied_counts();
        let deciding = DecisionContext {
            policy,
            applied_counts: &applied_counts,
            asserted: &self.asserted,
            overrides: &self.overrides,
            environment_holds: &self.environment_holds,
            overwritten: &self.overwritten,
        };
        let decided = candidates.into_iter().map(|one| deciding.decide(one)).collect();
        let input = Input {
            source: SourceInfo {
                repo: "https://git.example.com/toggles".into(),
                reference: "refs/heads/main".into(),
                revision: CommitId(ObjectId([3; 20])),
                base: self.base.clone(),
                is_history_cut: false,
            },
            base_url: Some("https://toggles.example.com".into()),
            decided,
            applied_counts,
            asserted: BTreeMap::new(),
            environment_holds: self.environment_holds.clone(),
            parked: self.parked.clone(),
            let_through: BTreeMap::new(),
            overwritten: self.overwritten.clone(),
            now: self.now,
            suspensions: self.suspensions.clone(),
            overrides: self.overrides.clone(),
            findings: self.findings.clone(),
            needs: Needs::new(),
            mixed: BTreeMap::new(),
            broken: BTreeMap::new(),
            dependents: Needs::new(),
            longest_chain: usize::MAX,
        };
        let draft = Draft::new(input, policy);
        let commit =
            Commit { id: CommitId(ObjectId([4; 20])), message: self.message.clone(), committed_at: 0 };
        let attributions = draft
            .documents(usize::MAX)
            .0
            .into_keys()
            .map(|path| (path.to_owned(), (self.attribution)(commit.clone())))
            .collect();
        let evidence =
            draft.orphans_to_disable().into_iter().map(|(id, ..)| (id, HistoryEvidence::Found)).collect();
        draft
            .attribute(
                &attributions,
                &evidence,
                |_| Ok::<_, Infallible>(unlisted),
                |_, _, _| Ok(BTreeSet::new()),
            )
            .unwrap()
    }

    /// Returns the world after all of `plan` was carried out.
    fn after(mut self, plan: &Plan) -> Self {
        let wanted = self.desired.clone();
        let document = |id: &ToggleId| match wanted.get(id) {
            Some(Want::Document(doc)) => Known::Document(*doc),
            other => panic!("{id} is published or recorded, and the repository has {other:?}"),
        };
        for change in plan.changes() {
            let id = change.id.clone();
            match change.action {
                Action::Disable => drop(self.applied.remove(&id)),
                Action::Adopt | Action::Create | Action::Update => {
                    self.applied.insert(id, document(&change.id));
                }
            }
        }
        for record in plan.state_edits() {
            match record {
                StateEdit::Forget { id } => drop(self.applied.remove(id)),
                StateEdit::Adopt(recorded)
                | StateEdit::Converged(recorded)
                | StateEdit::SameMeaning(recorded) => {
                    self.applied.insert(recorded.id.clone(), document(&recorded.id));
                }
            }
        }
        self
    }
}
