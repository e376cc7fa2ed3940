//! The steps from files to a plan: compare, decide, hold, attribute. The other side is the recorded state or
//! another revision; everything else is the same.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::document::{self, LARGEST_DOCUMENT, PathKind, layout};
use crate::git::ObjectReader;
use crate::git::pack::{ObjectKind, id_of};
use crate::model::{
    Action, Advice, Blob, CommitId, EntryKind, EnvironmentId, FoldedId, HeldRequests, Hold, Live, ObjectId,
    Scope, Sent, Suspensions, ToggleId, Tree, Trees, Unlisted, escaped,
};
use crate::pass::attribution::Attributions;
use crate::pass::config::{Config, Rules};
use crate::pass::dependents::{self, with_dependents};
use crate::pass::planning::source_info;
use crate::pass::read::{ReadContext, read};
use crate::pass::references::{self, Library};
use crate::pass::{Error, matches_something};
use crate::plan::compare::{AppliedTree, Claims, Comparison, Difference, File, Places, Roots, has_document};
use crate::plan::{
    self, Base, DecidedToggle, DecisionContext, Draft, Input, LiveDifferences, Needs, OnDrift, OnMissing,
    OnRemove, Overrides, Plan, Policy, SourceInfo, compare as trees,
};
use crate::source::folder::{Folder, FolderLimits};
use crate::source::{self, Reader, Snapshot, SourceConfig};
use crate::state::{AppliedHistory, StateSnapshot};

/// The files of a plan: the committed ones of `snapshot`, or those of a work tree, whose plan is attributed
/// to the same commits.
pub(super) struct PlanFiles<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) work_tree: Option<Folder>,
}

impl<'a> PlanFiles<'a> {
    pub(super) fn committed(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, work_tree: None }
    }

    /// Opens the work tree in `folder`, whose commit is that of `snapshot`.
    pub(super) fn of_work_tree(
        folder: &Path,
        source: &SourceConfig,
        snapshot: &'a Snapshot,
        limits: FolderLimits,
    ) -> Result<Self, Error> {
        let folder = Folder::with_left_out(folder, &source.root, &snapshot.reader()?, limits)?;
        Ok(Self { snapshot, work_tree: Some(folder) })
    }

    pub(super) fn are_committed(&self) -> bool {
        self.work_tree.is_none()
    }

    pub(super) fn root_tree(&self) -> ObjectId {
        self.work_tree.as_ref().map_or_else(|| self.snapshot.root_tree(), Folder::root_tree)
    }

    /// Opens the files, once per thread.
    pub(super) fn open(&self) -> Result<Box<dyn Trees<Error = source::Error>>, Error> {
        Ok(match &self.work_tree {
            None => Box::new(self.snapshot.reader()?),
            Some(folder) => Box::new(folder.clone()),
        })
    }
}

/// Compares, decides, and attributes.
pub(super) fn plan_files(
    files: &PlanFiles<'_>,
    applied: AppliedSide<'_>,
    config: &Config,
    drifted: &LiveDifferences,
) -> Result<Plan, Error> {
    let compared = compare(files, applied, &config.rules, drifted, config.clock.unix())?;
    let decided = decide_all(files, applied, &config.rules, compared)?;
    let plan = attribute(hold(decided, &BTreeMap::new(), applied, config), files, applied, config)?;
    with_dependents(plan, files, &config.rules)
}

/// The toggles that may have to be published, and what decides about them.
pub(super) struct Compared {
    comparison: Comparison,
    overrides: Overrides,
    overwritten: LiveDifferences,
}

impl Compared {
    /// Returns the toggles whose documents were removed, and not renamed.
    pub(super) fn removed(&self) -> HashSet<FoldedId> {
        removed_documents(&self.comparison.differences)
    }
}

fn removed_documents(differences: &[Difference]) -> HashSet<FoldedId> {
    let removed = differences.iter().filter(|one| one.desired == Claims::None);
    removed.map(|one| one.id.folded()).collect()
}

/// Compares the files with the applied side by object id.
pub(super) fn compare(
    files: &PlanFiles<'_>,
    applied: AppliedSide<'_>,
    rules: &Rules,
    drifted: &LiveDifferences,
    now: i64,
) -> Result<Compared, Error> {
    let mut overrides = Overrides::at(files.snapshot.revision(), applied.view.allowances());
    overrides.lost.clone_from(applied.view.lost());
    let overwritten = overwritten(drifted, &rules.policy, &overrides);
    let suspensions = applied.view.suspensions().at(now);
    let scopes: Vec<(String, &Scope)> = rules.policy.scopes(&suspensions).collect();
    let mut comparison = compared(files, applied, rules, &overwritten, &scopes)?;
    match rules.policy.on_remove {
        OnRemove::Disable => hold_moved(&mut comparison, files, applied, rules)?,
        OnRemove::Forget => {}
        OnRemove::Keep => name_renamed(&mut comparison),
    }
    check_source(&comparison, files.snapshot, rules)?;
    overrides.idle_globs = idle_globs(&comparison, &scopes);
    if !comparison.differences.is_empty() {
        let recorded = match applied.base {
            Some(base) => base.base.revisions.first().copied(),
            None => applied.view.tip().map(|tip| tip.revision),
        };
        let commits = files.snapshot.commits_since(recorded)?;
        commits.iter().for_each(|commit| overrides.add_trailers(commit, rules.policy.allows_trailers));
    }
    Ok(Compared { comparison, overrides, overwritten })
}

/// Names the new toggles of the same environment that have the removed documents. Nothing is held for it.
fn name_renamed(comparison: &mut Comparison) {
    let place = |id: &ToggleId, file: File| (id.environment(), file.id);
    let created = comparison.differences.iter().filter(|one| one.applied.is_empty());
    let created: HashMap<_, ToggleId> =
        created.filter_map(|one| Some((place(&one.id, one.desired.first()?), one.id.clone()))).collect();
    for one in comparison.differences.iter_mut().filter(|one| one.desired.is_empty()) {
        let to = one.applied.first().and_then(|file| created.get(&place(&one.id, file)));
        if let Some(to) = to {
            one.desired = Claims::Moved(Box::new(to.clone()));
        }
    }
}

/// A document that was removed.
struct Removed {
    /// The place of its toggle among the differences.
    at: usize,
    /// The path under the root.
    path: String,
    id: ToggleId,
    /// The content that was published last.
    object: ObjectId,
    /// The revisions that were recorded since, once they are needed.
    recorded: OnceCell<Vec<CommitId>>,
}

impl Removed {
    /// Returns whether the file `path` with this content, or with any content if none is given, came with the
    /// removal: it was not beside the document in any recorded revision. So a copy in one commit and the removal
    /// in the next are a move.
    fn came_as(
        &self,
        path: &str,
        object: Option<ObjectId>,
        snapshot: &Snapshot,
        applied: AppliedSide<'_>,
    ) -> Result<bool, Error> {
        let known = match self.recorded.get() {
            Some(known) => known,
            None => {
                let found = recorded(&self.id, applied)?;
                self.recorded.get_or_init(|| found)
            }
        };
        Ok(!snapshot.was_beside(&self.path, path, object, known)?)
    }
}

/// Finds the toggles whose document was only moved: nobody removed it.
///
/// The file may be one that is not read. Then it has the same content, or the same meaning and the toggle's key
/// in its path. A name that begins with `_` or `.` says that a file is not a toggle.
///
/// Or it is the document of another toggle with the same content, at this revision or at the commit of the
/// removal. Whoever edits that one later does not switch off the other one by it.
fn hold_moved(
    comparison: &mut Comparison,
    files: &PlanFiles<'_>,
    applied: AppliedSide<'_>,
    rules: &Rules,
) -> Result<(), Error> {
    let removed = removed(comparison, applied, rules);
    // What was removed was applied.
    let (false, Some(before)) = (removed.is_empty(), applied.trees()?) else { return Ok(()) };
    let moves = Moves::of(&removed, files, applied, before, rules)?;
    let (mut unread, mut renamed) = (Vec::new(), Vec::new());
    each_file(&*moves.trees, files.root_tree(), |path, id| {
        match rules.layout.classify(path.as_bytes()) {
            PathKind::Document { id: toggle, .. } => renamed.extend(moves.to_document(path, id, &toggle)?),
            _ => unread.push((path.to_owned(), id)),
        }
        Ok(())
    })?;
    for (path, id) in unread {
        let moved = moves.to_unread(&path, id, comparison)?;
        hold_unread(comparison, &moved, &trees::join(&rules.root, &path));
    }
    comparison.findings.sort_unstable();
    name_moved(comparison, renamed);
    Ok(())
}

/// Holds the toggles whose documents became the file `full`, which is not read.
fn hold_unread(comparison: &mut Comparison, moved: &[&Removed], full: &str) {
    if !moved.is_empty() {
        comparison.findings.retain(|found| found.path != full || !layout::is_about_path(found));
    }
    for one in moved {
        let difference = &mut comparison.differences[one.at];
        difference.desired = Claims::Unread(full.into());
        comparison.findings.push(layout::moved(full, &difference.id));
    }
}

/// Names the toggles that have the removed documents, each with its place among the differences.
fn name_moved(comparison: &mut Comparison, mut renamed: Vec<(usize, ToggleId)>) {
    // One with the same key says best where the document is.
    renamed.sort_by_key(|(at, to)| (*at, comparison.differences[*at].id.toggle() != to.toggle(), to.clone()));
    for (at, to) in renamed {
        let desired = &mut comparison.differences[at].desired;
        if desired.is_empty() {
            *desired = Claims::Moved(Box::new(to));
        }
    }
}

/// What removed documents may have become.
struct Moves<'a> {
    by_object: HashMap<ObjectId, Vec<&'a Removed>>,
    by_key: HashMap<&'a str, Vec<&'a Removed>>,
    /// By the toggle whose document had the content of the removed ones at the commits that removed these.
    then: HashMap<ToggleId, Vec<&'a Removed>>,
    trees: Box<dyn Trees<Error = source::Error>>,
    before: AppliedTrees,
    snapshot: &'a Snapshot,
    applied: AppliedSide<'a>,
    rules: &'a Rules,
}

impl<'a> Moves<'a> {
    fn of(
        removed: &'a [Removed],
        files: &PlanFiles<'a>,
        applied: AppliedSide<'a>,
        before: AppliedTrees,
        rules: &'a Rules,
    ) -> Result<Self, Error> {
        let (mut by_object, mut by_key) = (HashMap::<_, Vec<_>>::new(), HashMap::<_, Vec<_>>::new());
        for one in removed {
            by_object.entry(one.object).or_default().push(one);
            by_key.entry(one.id.toggle()).or_default().push(one);
        }
        let snapshot = files.snapshot;
        let (then, trees) = (moved_then(removed, snapshot, rules)?, files.open()?);
        Ok(Self { by_object, by_key, then, trees, before, snapshot, applied, rules })
    }

    fn with_content(&self, object: ObjectId) -> impl Iterator<Item = &'a Removed> {
        self.by_object.get(&object).into_iter().flatten().copied()
    }

    /// Returns the removed documents that became this one, by their places among the differences.
    fn to_document(
        &self,
        path: &str,
        object: ObjectId,
        toggle: &ToggleId,
    ) -> Result<Vec<(usize, ToggleId)>, Error> {
        let then = self.then.get(toggle).into_iter().flatten().copied();
        let mut found = Vec::new();
        for one in self.with_content(object).chain(then) {
            // As in Git, what a document becomes is a new file. One that was changed to the same content is another.
            if one.came_as(path, None, self.snapshot, self.applied)? {
                found.push((one.at, toggle.clone()));
            }
        }
        Ok(found)
    }

    /// Returns the removed documents that became this file, which is not read.
    fn to_unread(
        &self,
        path: &str,
        id: ObjectId,
        comparison: &Comparison,
    ) -> Result<Vec<&'a Removed>, Error> {
        let meaning = |blob: &Blob| document::read("", blob, self.rules.kind).payload;
        let mut moved: Vec<&Removed> = self.with_content(id).collect();
        for one in keys_in(path).filter_map(|key| self.by_key.get(key)).flatten() {
            let applied = comparison.differences[one.at].applied.first();
            let Some(old) = applied.filter(|_| moved.iter().all(|other| other.at != one.at)) else {
                continue;
            };
            let old = meaning(&self.before.blob(old.id, LARGEST_DOCUMENT)?);
            if old.is_some() && old == meaning(&self.trees.blob(id, LARGEST_DOCUMENT)?) {
                moved.push(one);
            }
        }
        if moved.is_empty() {
            return Ok(moved);
        }
        // The id of a file in a work tree is not that of its content.
        let object = match self.trees.blob(id, LARGEST_DOCUMENT)? {
            Blob::Content(content) => id_of(ObjectKind::Blob, &content),
            Blob::Missing | Blob::TooLarge(_) => id,
        };
        let mut new = Vec::new();
        for one in moved {
            if one.came_as(path, Some(object), self.snapshot, self.applied)? {
                new.push(one);
            }
        }
        Ok(new)
    }
}

/// Returns the documents in scope that were removed.
fn removed(comparison: &Comparison, applied: AppliedSide<'_>, rules: &Rules) -> Vec<Removed> {
    let (unknown, settled) = (applied.view.unknown(), applied.view.settled());
    let mut all = Vec::new();
    for (at, one) in comparison.differences.iter().enumerate() {
        if !one.desired.is_empty() || !rules.policy.scope.contains(&one.id) {
            continue;
        }
        let Some(file) = one.applied.first() else { continue };
        let sent = unknown.get(&one.id).or_else(|| settled.get(&one.id));
        all.push(Removed {
            at,
            path: rules.layout.path(&one.id, file.format),
            id: one.id.clone(),
            object: sent.map_or(file.id, |sent| sent.object),
            recorded: OnceCell::new(),
        });
    }
    all
}

/// Returns the toggles whose documents had the content of removed ones at the commits that removed these.
fn moved_then<'r>(
    removed: &'r [Removed],
    snapshot: &Snapshot,
    rules: &Rules,
) -> Result<HashMap<ToggleId, Vec<&'r Removed>>, Error> {
    let mut by_commit: BTreeMap<CommitId, Vec<&Removed>> = BTreeMap::new();
    for one in removed {
        if let Some(commit) = snapshot.removal(&one.path)? {
            by_commit.entry(commit.id).or_default().push(one);
        }
    }
    let (reader, mut found) = (snapshot.reader()?, HashMap::<_, Vec<_>>::new());
    for (commit, removed) in by_commit {
        let Some(root) = snapshot.known_root_tree(commit)? else { continue };
        each_file(&reader, root, |path, id| {
            let there = removed.iter().filter(|one| one.object == id).copied().collect::<Vec<_>>();
            if let (false, PathKind::Document { id, .. }) =
                (there.is_empty(), rules.layout.classify(path.as_bytes()))
            {
                found.entry(id).or_default().extend(there);
            }
            Ok(())
        })?;
    }
    Ok(found)
}

/// Calls `each` with the path and the id of every file that has no part of its path hidden.
fn each_file(
    trees: &dyn Trees<Error = source::Error>,
    root: ObjectId,
    mut each: impl FnMut(&str, ObjectId) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut folders = vec![(String::new(), root)];
    while let Some((folder, id)) = folders.pop() {
        for entry in trees.tree(id)?.entries() {
            let Ok(name) = std::str::from_utf8(entry.name) else { continue };
            if name.starts_with(['.', '_']) {
                continue;
            }
            let path = trees::join(&folder, name);
            match entry.kind() {
                EntryKind::Tree => folders.push((path, entry.id)),
                EntryKind::Blob => each(&path, entry.id)?,
                EntryKind::Other => {}
            }
        }
    }
    Ok(())
}

/// Returns the revisions that were recorded since a toggle was applied, or those that are compared with.
fn recorded(id: &ToggleId, applied: AppliedSide<'_>) -> Result<Vec<CommitId>, Error> {
    if let Some(base) = applied.base {
        return Ok(base.base.revisions.to_vec());
    }
    let view = applied.view;
    let since = match AppliedHistory::of(view)? {
        Some(history) => history.since(BTreeSet::from([id.clone()]))?.of(id).collect(),
        None => Vec::new(),
    };
    // A pass that finds nothing to do is no deployment.
    let newest = view.last_clean_pass().map(|pass| pass.revision);
    Ok(since.into_iter().chain(newest).collect())
}

/// Returns the keys that a path may have in one of its components, perhaps with an extension.
fn keys_in(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').flat_map(|part| {
        let ends = part.match_indices('.').map(|(at, _)| at).chain([part.len()]);
        ends.map(|end| &part[..end])
    })
}

/// Holds what is not sent whatever its commit says: suspended and parked changes, those of a first pass, and
/// what a document elsewhere stops.
pub(super) fn hold(
    decided: Input,
    parked: &HeldRequests,
    applied: AppliedSide<'_>,
    config: &Config,
) -> Draft {
    let input = Input {
        parked: parked.clone(),
        suspensions: applied.view.suspensions().at(config.clock.unix()),
        now: applied.base.is_none().then(|| config.clock.unix()),
        ..decided
    };
    Draft::new(input, &config.rules.policy)
}

/// Finds the commits of the changes, whose trailers and reviews decide what the rails hold.
pub(super) fn attribute(
    draft: Draft,
    files: &PlanFiles<'_>,
    applied: AppliedSide<'_>,
    config: &Config,
) -> Result<Plan, Error> {
    let attributions = Attributions {
        snapshot: files.snapshot,
        are_committed: files.are_committed(),
        rules: &config.rules,
        most_undecided: config.most_undecided,
    };
    let plan = attributions.complete(draft, |changes| match &config.reviews {
        Some(reviews) if !changes.is_empty() => {
            reviews.unlisted(changes, files.snapshot, applied.view, config)
        }
        _ => Ok(Unlisted::new()),
    })?;
    with_files(plan, files, applied)
}

/// Adds the files of changes to a plan, as far as a page shows them.
pub(super) fn with_files(
    mut plan: Plan,
    files: &PlanFiles<'_>,
    applied: AppliedSide<'_>,
) -> Result<Plan, Error> {
    if let Some(trees) = applied.trees()? {
        let files = files.open()?;
        plan.read_files(|replaced, new| -> Result<_, Error> {
            let texts = (trees.blob(replaced, LARGEST_DOCUMENT)?, files.blob(new, LARGEST_DOCUMENT)?);
            Ok(text(texts.0).zip(text(texts.1)))
        })?;
    }
    Ok(plan)
}

/// Returns the text of a file that a plan has read before.
fn text(blob: Blob) -> Option<String> {
    match blob {
        // A work tree may have the line breaks of Windows, and its commits those of Git.
        Blob::Content(bytes) => String::from_utf8(bytes).ok().map(|text| text.replace("\r\n", "\n")),
        Blob::Missing | Blob::TooLarge(_) => None,
    }
}

/// Returns what the service has of the drifted toggles that may be overwritten.
fn overwritten(drifted: &LiveDifferences, policy: &Policy, overrides: &Overrides) -> LiveDifferences {
    let is_allowed = |id: &ToggleId| policy.on_drift == OnDrift::Overwrite || overrides.may_overwrite(id);
    let may_create = |live: &Live| matches!(live, Live::Toggle(_)) || policy.on_missing == OnMissing::Create;
    let allowed =
        drifted.iter().filter(|(id, live)| is_allowed(id) && may_create(live) && policy.scope.contains(id));
    allowed.map(|(id, live)| (id.clone(), live.clone())).collect()
}

/// Decides about each toggle, with the findings that its changes cause in other documents.
pub(super) fn decide_all(
    files: &PlanFiles<'_>,
    applied: AppliedSide<'_>,
    rules: &Rules,
    compared: Compared,
) -> Result<Input, Error> {
    let removed = compared.removed();
    let mut decided = decide(files, applied, rules, compared)?;
    let caused = dependents::caused(&decided, removed, files, rules)?;
    decided.findings.extend(caused.findings);
    (decided.broken, decided.dependents) = (caused.broken, caused.needs);
    Ok(decided)
}

/// Reads the differing documents and decides about each toggle.
pub(super) fn decide(
    files: &PlanFiles<'_>,
    applied: AppliedSide<'_>,
    rules: &Rules,
    compared: Compared,
) -> Result<Input, Error> {
    let Compared { comparison, overrides, overwritten } = compared;
    let environment_holds = emptied(comparison.lost, &comparison.differences, rules, &overrides);
    let unfinished = unfinished(files.snapshot, applied, rules)?;
    let deciding = DecisionContext {
        policy: &rules.policy,
        applied_counts: &comparison.applied_counts,
        asserted: &unfinished,
        overrides: &overrides,
        environment_holds: &environment_holds,
        overwritten: &overwritten,
    };
    let open = || Ok((files.open()?, applied.trees()?));
    let context = ReadContext {
        kind: rules.kind,
        sdks: rules.sdks,
        root: &rules.root,
        scope: &rules.policy.scope,
        on_remove: rules.policy.on_remove,
        layout: &rules.layout,
        unknown: applied.view.unknown(),
        settled: applied.view.settled(),
    };
    let removed = removed_documents(&comparison.differences);
    let (mut decided, mut findings, noted) =
        read(comparison.differences, context, |one| deciding.decide(one), open)?;
    let (mut needs, mut mixed) = (Needs::new(), BTreeMap::new());
    if !noted.is_empty() {
        let library = Library::new(files.open()?, files.root_tree(), &rules.layout, &rules.root, rules.kind)
            .for_sdks(rules.sdks)
            .without(removed);
        let found = references::check(noted, library)?;
        findings.extend(found.findings);
        (needs, mixed) = (found.needs, found.mixed);
        decided.iter_mut().filter(|one| found.invalid.contains(one.id())).for_each(DecidedToggle::invalidate);
    }
    findings.extend(match applied.base {
        None => comparison.findings,
        Some(base) => base.new_findings(comparison.findings, files, rules)?,
    });
    Ok(Input {
        source: SourceInfo {
            base: applied.base.map(|base| base.base.clone()),
            ..source_info(files.snapshot, rules)
        },
        base_url: rules.base_url.clone().or_else(|| Some(applied.view.tip()?.base_url.clone())),
        decided,
        applied_counts: comparison.applied_counts,
        asserted: applied.view.asserted(),
        environment_holds,
        parked: HeldRequests::new(),
        let_through: applied.view.let_through().clone(),
        overwritten,
        now: None,
        suspensions: Suspensions::default(),
        overrides,
        findings,
        needs,
        mixed,
        broken: BTreeMap::new(),
        dependents: Needs::new(),
        longest_chain: rules.kind.dialect().longest_chain(),
    })
}

pub(super) fn places<'a>(applied: AppliedSide<'_>, rules: &'a Rules) -> Places<'a> {
    Places {
        layout: &rules.layout,
        root: &rules.root,
        scope: &rules.policy.scope,
        others: &[],
        side: applied.side(),
    }
}

fn compared(
    files: &PlanFiles<'_>,
    applied: AppliedSide<'_>,
    rules: &Rules,
    overwritten: &LiveDifferences,
    scopes: &[(String, &Scope)],
) -> Result<Comparison, Error> {
    let roots = Roots { source: files.root_tree(), applied: applied.tree() };
    let others: Vec<&Scope> = scopes.iter().map(|(_, scope)| *scope).collect();
    let places = Places { others: &others, ..places(applied, rules) };
    // The service may not have what the applied tree shows, so these are compared even if both trees are
    // equal.
    let (unknown, settled) = (applied.view.unknown(), applied.view.settled());
    let always = unknown.keys().chain(settled.keys()).chain(overwritten.keys());
    let always: BTreeSet<ToggleId> = always.cloned().collect();
    let (source, trees) = (files.open()?, applied.trees()?);
    let mut found: Comparison =
        trees::compare::<_, _, Error>(&source, trees.as_ref(), roots, &places, &always)?;
    // Folders that are equal at both revisions are not read, and may contain no document.
    if applied.base.is_some() && !found.any_document {
        found.any_document = has_document(&source, files.root_tree(), &rules.layout)?;
    }
    // The rails divide by the number of applied toggles, so a confirmed change counts before it is recorded.
    count_settled(settled, &found.differences, &mut found.applied_counts);
    Ok(found)
}

/// Adds the confirmed changes that are not in the applied tree yet to the numbers of applied toggles.
fn count_settled(
    settled: &BTreeMap<ToggleId, Sent>,
    differences: &[Difference],
    applied_counts: &mut BTreeMap<EnvironmentId, usize>,
) {
    for (id, sent) in settled {
        let found = differences.binary_search_by(|one| one.id.cmp(id));
        let is_applied = found.is_ok_and(|at| !differences[at].applied.is_empty());
        let count = applied_counts.entry(id.environment()).or_default();
        match (sent.action, is_applied) {
            (Action::Adopt | Action::Create | Action::Update, false) => *count += 1,
            (Action::Disable, true) => *count -= 1,
            _ => {}
        }
    }
}

/// Refuses a source without documents, and a scope that matches nothing.
fn check_source(comparison: &Comparison, snapshot: &Snapshot, rules: &Rules) -> Result<(), Error> {
    // A source without documents never means that everything was removed (src/plan/README.md, "Missing and
    // invalid documents").
    if !comparison.any_document {
        let root = if rules.root.is_empty() { "." } else { &rules.root };
        return Err(Error::NoDocuments {
            revision: snapshot.revision(),
            root: root.to_owned(),
            files: comparison.files,
            findings: comparison.findings.clone(),
        });
    }
    matches_something(&rules.policy.scope, &comparison.unmatched)
}

/// Returns a note for each glob that matches no toggle: `--only`, and then `scopes` with what they belong to.
fn idle_globs(comparison: &Comparison, scopes: &[(String, &Scope)]) -> BTreeSet<String> {
    let only = comparison.unmatched.iter().map(|glob| (glob.as_str(), "`--only`"));
    let others = comparison.unmatched_others.iter().zip(scopes);
    let others =
        others.flat_map(|(globs, (owner, _))| globs.iter().map(move |glob| (glob.as_str(), owner.as_str())));
    let note =
        |(glob, owner): (&str, &str)| format!("no toggle matches the glob `{}` of {owner}", escaped(glob));
    only.chain(others).map(note).collect()
}

/// The documents that a source is compared with, and what was recorded with them.
#[derive(Clone, Copy, Debug)]
pub(super) struct AppliedSide<'a> {
    view: &'a StateSnapshot,
    /// The revision whose documents take the place of the applied ones. Its `view` is empty.
    base: Option<&'a BaseRevision>,
}

#[derive(Clone, Debug)]
pub(super) struct BaseRevision {
    pub(super) base: Base,
    pub(super) snapshot: Snapshot,
    /// The tree of the root; none without a document.
    pub(super) tree: Option<ObjectId>,
    /// Nothing is recorded with a revision.
    pub(super) nothing: StateSnapshot,
}

impl<'a> AppliedSide<'a> {
    pub(super) fn state(view: &'a StateSnapshot) -> Self {
        Self { view, base: None }
    }

    pub(super) fn revision(base: &'a BaseRevision) -> Self {
        Self { view: &base.nothing, base: Some(base) }
    }

    fn side(self) -> AppliedTree {
        if self.base.is_some() { AppliedTree::Revision } else { AppliedTree::State }
    }

    fn tree(self) -> Option<ObjectId> {
        match self.base {
            None => self.view.tip().map(|tip| tip.tree),
            Some(base) => base.tree,
        }
    }

    /// Opens the documents; none if there are none.
    fn trees(self) -> Result<Option<AppliedTrees>, Error> {
        Ok(match self.base {
            None => self.view.reader()?.map(AppliedTrees::State),
            Some(base) => Some(AppliedTrees::Revision(base.snapshot.reader()?)),
        })
    }
}

/// Reads the documents that take the place of the applied ones. Each thread needs its own.
#[derive(Debug)]
pub(super) enum AppliedTrees {
    State(ObjectReader),
    Revision(Reader),
}

impl Trees for AppliedTrees {
    type Error = Error;

    fn tree(&self, id: ObjectId) -> Result<Tree, Error> {
        Ok(match self {
            Self::State(trees) => trees.tree(id)?,
            Self::Revision(trees) => trees.tree(id)?,
        })
    }

    fn find_tree(&self, id: ObjectId) -> Option<Tree> {
        match self {
            Self::State(trees) => trees.find_tree(id),
            Self::Revision(trees) => trees.find_tree(id),
        }
    }

    fn blob(&self, id: ObjectId, limit: usize) -> Result<Blob, Error> {
        Ok(match self {
            Self::State(trees) => trees.blob(id, limit)?,
            Self::Revision(trees) => trees.blob(id, limit)?,
        })
    }
}

/// Returns the held environments with the reason.
fn emptied(
    lost: BTreeSet<EnvironmentId>,
    differences: &[Difference],
    rules: &Rules,
    overrides: &Overrides,
) -> BTreeMap<EnvironmentId, Arc<Hold>> {
    let scope = &rules.policy.scope;
    // A toggle outside `--only` is never an orphan (src/plan/README.md, "Missing and invalid documents"), so
    // nothing there needs a hold.
    let is_in_scope = |environment: &EnvironmentId| {
        let in_scope = |one: &Difference| scope.contains(&one.id) && one.id.environment() == *environment;
        scope.is_everything() || differences.iter().any(in_scope)
    };
    if rules.policy.allows_mass_change {
        return BTreeMap::new();
    }
    // An environment that loses all documents never means that everything was removed (src/plan/README.md,
    // "Missing and invalid documents").
    lost.into_iter()
        .filter(|environment| is_in_scope(environment) && !overrides.lifts_rails(environment))
        .map(|environment| {
            let hold = emptied_hold(&environment, &rules.policy);
            let allows_trailers = rules.policy.allows_trailers;
            let hold = overrides.explained(hold, std::iter::empty(), &environment, allows_trailers);
            (environment, Arc::new(hold))
        })
        .collect()
}

fn emptied_hold(environment: &EnvironmentId, policy: &Policy) -> Hold {
    let by_trailer = format!("put the trailer `Gitoggle-Allow: mass-change {environment}` on a commit");
    let advice = Advice {
        by_trailer: policy.allows_trailers.then_some(by_trailer),
        remarks: vec!["`--on-remove` (`disable` or `forget`) decides about its toggles".to_owned()],
        ..plan::hold::mass_change(environment, policy.allows_trailers)
    };
    plan::hold::environment("every document in this environment was removed").advised(advice)
}

/// Returns the toggles without an applied document that asserted first passes were to create.
pub(super) fn unfinished(
    snapshot: &Snapshot,
    applied: AppliedSide<'_>,
    rules: &Rules,
) -> Result<BTreeSet<ToggleId>, Error> {
    let mut all = BTreeSet::new();
    for (environment, revision) in applied.view.asserted() {
        let Some(source) = snapshot.known_root_tree(revision)? else {
            continue;
        };
        let (documents, trees) = (snapshot.reader()?, applied.trees()?);
        let roots = Roots { source, applied: applied.tree() };
        let places = places(applied, rules);
        let found: Comparison =
            trees::compare::<_, _, Error>(&documents, trees.as_ref(), roots, &places, &BTreeSet::new())?;
        let created = found.differences.into_iter();
        let created = created.filter(|one| one.applied.is_empty() && one.id.is_in(&environment));
        all.extend(created.map(|one| one.id));
    }
    Ok(all)
}
