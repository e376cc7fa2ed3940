//! From a snapshot and a state to a plan. Reads both, writes nothing, and is the same for `plan`, `apply` and `run`.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::MOST_FILES;
use crate::model::{Action, CommitId, EnvironmentId, ObjectId, Sent, Suspension, ToggleId, Trees};
use crate::plan::{Deciding, Draft, History, Input, MassChange, Parked, Plan, SourceInfo};
use crate::source::{self, Relation, Snapshot, Source};
use crate::state::{PassMemory, View};

use super::Error;
use super::candidates::{self, Reading};
use super::compare::{Comparison, Difference, Places, Roots, compare};
use super::pass::{Config, now};
use super::rules::{Checkout, HistoryRule, Rules};
use super::standing::standing;
use super::status::{SourceStatus, Status};
use super::worktree::Folder;

/// What looking led to.
#[derive(Debug)]
pub struct Look {
    /// What would be done.
    pub plan: Plan,
    /// What the operator should know besides.
    pub notes: Vec<String>,
}

/// Which files a plan is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Files {
    /// What is committed.
    Committed,
    /// What lies in the work tree.
    WorkTree,
}

/// Plans without side effects: no lock, nothing written, the service not contacted (DESIGN, section 3, `plan`).
///
/// # Errors
/// When the source or the state cannot be read, or the state says that there must be no pass.
pub fn plan(config: &Config, files: Files) -> Result<Look, Error> {
    let Config {
        source,
        rules,
        state_dir: _,
        shared: _,
        service: _,
        limits: _,
    } = config;
    // The state first, as in a pass.
    let view = view(config)?;
    let snapshot = Source::new(source.clone()).look()?;
    match files {
        Files::Committed => plan_with(&snapshot, &view, rules),
        Files::WorkTree => {
            let notes = match first(&snapshot, &view, rules)? {
                First::Same => Vec::new(),
                First::Changed(notes) => notes,
            };
            let folder = source.location.local_path().ok_or(Error::NoWorkTree)?;
            let files = Folder::open(folder, &source.root)?;
            let from = From {
                snapshot: &snapshot,
                root_tree: files.root_tree(),
                open: || Ok(files.clone()),
            };
            let plan = look_at(&from, &view, rules, &BTreeMap::new(), suspension(&view, now()))?;
            Ok(Look { plan, notes })
        }
    }
}

/// Where every toggle stands, and the plan it follows from.
#[derive(Debug)]
pub struct Standing {
    /// The plan.
    pub look: Look,
    /// One line per toggle.
    pub status: Status,
}

/// Says where every toggle stands, as free of side effects as [`plan`].
///
/// # Errors
/// As for [`plan`].
pub fn status(config: &Config) -> Result<Standing, Error> {
    let view = view(config)?;
    let snapshot = Source::new(config.source.clone()).look()?;
    let look = plan_with(&snapshot, &view, &config.rules)?;
    let toggles = standing(&look.plan, &view, &config.rules.policy.scope)?;
    let mut status = Status {
        service: look.plan.base_url().map(str::to_owned),
        source: SourceStatus {
            repo: config.rules.repo.clone(),
            reference: Some(snapshot.reference().to_owned()),
            revision: Some(snapshot.revision()),
        },
        suspended: suspension(&view, now()),
        ..Status::default()
    };
    status.set_toggles(toggles);
    Ok(Standing { look, status })
}

fn view(config: &Config) -> Result<View, Error> {
    Ok(match &config.shared {
        Some(shared) => View::fetch(shared, &config.state_dir)?,
        None => View::open(&config.state_dir)?,
    })
}

fn plan_with(snapshot: &Snapshot, view: &View, rules: &Rules) -> Result<Look, Error> {
    let notes = match first(snapshot, view, rules)? {
        First::Same => {
            let plan = Plan::nothing(source_info(snapshot, rules), rules.base_url.clone());
            return Ok(Look {
                plan,
                notes: Vec::new(),
            });
        }
        First::Changed(notes) => notes,
    };
    let plan = look(snapshot, view, rules, &BTreeMap::new(), suspension(view, now()))?;
    Ok(Look { plan, notes })
}

/// What looking led to, before any planning.
pub(crate) enum First {
    /// The tree and the rules are those of a pass that left nothing to do.
    Same,
    /// There may be something to do.
    Changed(Vec<String>),
}

/// Compares revisions, and says whether a closer look is needed at all.
pub(crate) fn first(snapshot: &Snapshot, view: &View, rules: &Rules) -> Result<First, Error> {
    let found = snapshot.revision();
    let mut notes = Vec::new();
    if let Some(tip) = view.tip() {
        let wanted = rules.base_url.as_deref();
        if let Some(wanted) = wanted.filter(|wanted| *wanted != tip.base_url) {
            let recorded = tip.base_url.clone();
            return Err(crate::state::Error::OtherBaseUrl {
                recorded,
                wanted: wanted.to_owned(),
            }
            .into());
        }
        // A revision that a clean pass has seen was told about then.
        let is_seen = |memory: &PassMemory| memory.revision == found && memory.tip == tip.commit;
        let is_news = !view.memory().is_some_and(is_seen);
        if tip.revision != found && is_news {
            notes.extend(history(snapshot, tip.revision, rules)?);
        }
    }
    let same = view.memory().is_some_and(|memory| {
        memory.root_tree == snapshot.root_tree()
            && memory.policy_digest == rules.digest()
            && Some(memory.tip) == view.tip().map(|tip| tip.commit)
    });
    let quiet = view.unknown().is_empty() && view.suspension().is_none();
    Ok(
        if same && quiet && notes.is_empty() && !is_to_be_noted(snapshot, view, rules)? {
            First::Same
        } else {
            First::Changed(notes)
        },
    )
}

/// Returns whether this revision has to be recorded even where nothing else is: documents were others at the recorded one,
/// which need not have been applied, or on the way, and whoever comes late with one of those commits must find that it is
/// old (DESIGN, section 4, "Stale checkout").
pub(crate) fn is_to_be_noted(snapshot: &Snapshot, view: &View, rules: &Rules) -> Result<bool, Error> {
    let Some(tip) = view.tip().filter(|_| rules.checkout == Checkout::Shared) else {
        return Ok(false);
    };
    Ok(match snapshot.relation(tip.revision)? {
        Relation::Same => false,
        Relation::Descends => snapshot.differed_since(tip.revision)?,
        Relation::Behind | Relation::Diverged | Relation::Missing => true,
    })
}

/// Says what the step from the recorded revision to the found one means (DESIGN, sections 4 and 5).
fn history(snapshot: &Snapshot, recorded: CommitId, rules: &Rules) -> Result<Option<String>, Error> {
    let found = snapshot.revision();
    let relation = snapshot.relation(recorded)?;
    let forward = matches!(relation, Relation::Same | Relation::Descends);
    match rules.history {
        _ if forward => Ok(None),
        HistoryRule::Default if rules.checkout == Checkout::Shared => Err(Error::Stale { recorded, found }),
        HistoryRule::Refuse => Err(Error::Rewritten { recorded, found }),
        HistoryRule::Default | HistoryRule::Follow => Ok(Some(match relation {
            Relation::Behind => format!(
                "the source went back: {} was applied, now at {}",
                recorded.short(),
                found.short()
            ),
            _ if snapshot.is_shallow() => return Ok(None),
            _ => format!(
                "history was rewritten: {} was applied and is not in it; following {}",
                recorded.short(),
                found.short()
            ),
        })),
    }
}

/// Compares, reads, checks and plans what is committed.
pub(crate) fn look(
    snapshot: &Snapshot,
    view: &View,
    rules: &Rules,
    parked: &BTreeMap<ToggleId, Parked>,
    suspended: Option<Suspension>,
) -> Result<Plan, Error> {
    let from = From {
        snapshot,
        root_tree: snapshot.root_tree(),
        open: || Ok(snapshot.reader()?),
    };
    look_at(&from, view, rules, parked, suspended)
}

/// The files of a plan, which need not be those of the commit that it is attributed to.
struct From<'a, F> {
    snapshot: &'a Snapshot,
    root_tree: ObjectId,
    /// Opens the files, once for each thread.
    open: F,
}

fn look_at<S, F>(
    from: &From<'_, F>,
    view: &View,
    rules: &Rules,
    parked: &BTreeMap<ToggleId, Parked>,
    suspended: Option<Suspension>,
) -> Result<Plan, Error>
where
    S: Trees<Error = source::Error>,
    F: Fn() -> Result<S, Error> + Sync,
{
    let From {
        snapshot,
        root_tree,
        open,
    } = from;
    let unknown: BTreeMap<ToggleId, Sent> = view
        .unknown()
        .iter()
        .map(|(id, unknown)| (id.clone(), unknown.sent.clone()))
        .collect();
    let roots = Roots {
        source: *root_tree,
        applied: view.tip().map(|tip| tip.tree),
    };
    let settled = view.settled();
    let always: BTreeSet<ToggleId> = unknown.keys().chain(settled.keys()).cloned().collect();
    let comparison = {
        let source = open()?;
        let applied = view.reader()?;
        compare(
            &source,
            applied.as_ref(),
            roots,
            &Places {
                layout: &rules.layout,
                root: &rules.root,
                scope: &rules.policy.scope,
            },
            &always,
        )?
    };
    sound(&comparison, snapshot, rules)?;
    let Comparison {
        differences,
        mut applied_counts,
        lost,
        findings: tree_findings,
        ..
    } = comparison;
    let reading = Reading {
        kind: rules.kind,
        root: &rules.root,
        scope: &rules.policy.scope,
        layout: &rules.layout,
        unknown: &unknown,
        settled,
    };
    for (id, sent) in settled {
        let found = differences.binary_search_by(|one| one.id.cmp(id));
        let is_applied = found.is_ok_and(|at| differences[at].applied.is_some());
        let count = applied_counts.entry(id.environment()).or_default();
        match (sent.action, is_applied) {
            (Action::Create | Action::Update, false) => *count += 1,
            (Action::Disable, true) => *count -= 1,
            _ => {}
        }
    }
    let scope = &rules.policy.scope;
    let is_ours = |environment: &EnvironmentId| {
        let in_scope = |one: &Difference| scope.contains(&one.id) && one.id.environment() == *environment;
        scope.is_everything() || differences.iter().any(in_scope)
    };
    let environment_holds = match rules.policy.mass_change {
        MassChange::Allowed => BTreeMap::new(),
        MassChange::Held => lost
            .into_iter()
            .filter(is_ours)
            .map(|environment| (environment, LOST.to_owned()))
            .collect(),
    };
    let deciding = Deciding {
        policy: &rules.policy,
        applied_counts: &applied_counts,
        environment_holds: &environment_holds,
    };
    let (decided, mut findings) = candidates::decided(differences, reading, deciding, || {
        Ok::<_, Error>((open()?, view.reader()?))
    })?;
    findings.extend(tree_findings);
    findings.sort();
    let input = Input {
        source: source_info(snapshot, rules),
        base_url: rules
            .base_url
            .clone()
            .or_else(|| view.tip().map(|tip| tip.base_url.clone())),
        decided,
        applied_counts,
        environment_holds,
        parked: parked.clone(),
        suspended,
        findings,
    };
    attribute(Draft::new(input, &rules.policy), snapshot)
}

const LOST: &str = "all of its documents are gone, which is more often a mistake than meant; \
                    `--allow-mass-change` says that it is meant, and `--on-remove` (`disable` or `forget`) what \
                    becomes of its toggles";

/// Refuses a source that would read as "everything was removed".
fn sound(comparison: &Comparison, snapshot: &Snapshot, rules: &Rules) -> Result<(), Error> {
    if comparison.files > MOST_FILES {
        return Err(Error::TooManyFiles(comparison.files));
    }
    if !comparison.any_document {
        let root = if rules.root.is_empty() {
            ".".to_owned()
        } else {
            rules.root.clone()
        };
        return Err(Error::NoDocuments {
            revision: snapshot.revision(),
            root,
            files: comparison.files,
            findings: comparison.findings.clone(),
        });
    }
    Ok(())
}

pub(crate) fn source_info(snapshot: &Snapshot, rules: &Rules) -> SourceInfo {
    SourceInfo {
        repo: rules.repo.clone(),
        reference: snapshot.reference().to_owned(),
        revision: snapshot.revision(),
        history: if snapshot.is_shallow() {
            History::Shallow
        } else {
            History::Complete
        },
    }
}

/// Finds the commits of all changes in one walk and completes the draft with them.
fn attribute(draft: Draft, snapshot: &Snapshot) -> Result<Plan, Error> {
    let paths = draft.paths();
    let mut commits = if paths.is_empty() {
        BTreeMap::new()
    } else {
        snapshot.last_commits(&paths)?
    };
    let mut confirmed = BTreeSet::new();
    for (id, path, object) in draft.orphans_to_disable() {
        if !snapshot.holds_object_at(&path, object)? {
            continue;
        }
        confirmed.insert(id);
        if !commits.contains_key(&path) {
            commits.extend(snapshot.removal(&path)?.map(|commit| (path, commit)));
        }
    }
    Ok(draft.attribute(&commits, &confirmed))
}

/// Returns the order to write nothing, unless its time is over.
pub(crate) fn suspension(view: &View, now: i64) -> Option<Suspension> {
    view.suspension()
        .filter(|suspension| suspension.until.is_none_or(|until| now < until))
        .cloned()
}

/// What to remember of a pass that left nothing to do.
pub(crate) fn memory(snapshot: &Snapshot, tip: CommitId, rules: &Rules, at: i64) -> PassMemory {
    PassMemory {
        root_tree: snapshot.root_tree(),
        policy_digest: rules.digest(),
        tip,
        revision: snapshot.revision(),
        at,
    }
}
