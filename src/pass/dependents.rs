//! Finds the toggles that need those that a plan changes. That reads all documents of an environment, so a
//! pass looks only for those that a change may break.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use super::Error;
use super::compare::PlanFiles;
use super::config::Rules;
use super::references::{self, Library, Noted};
use crate::document::Diagnostic;
use crate::model::{EnvironmentId, FoldedId, Payload, Prerequisite, ToggleId, Trees};
use crate::plan::{Change, DecidedToggle, Dependents, Input, Needs, Plan};
use crate::source;

/// The toggles that need each toggle of an environment. Keys are in lower case, because the service ignores
/// case.
#[derive(Debug, Default)]
pub(super) struct DependencyIndex {
    by_key: HashMap<String, Vec<String>>,
}

impl DependencyIndex {
    /// Notes that the toggle `key` needs another one.
    pub(super) fn add(&mut self, key: &str, needed: &str) {
        self.by_key.entry(needed.to_lowercase()).or_default().push(key.to_owned());
    }

    /// Returns the toggles that need this one.
    pub(super) fn of(&self, key: &str) -> Dependents {
        /// The most toggles that are looked for, so that a plan of many changes takes linear time.
        const MOST: usize = 1_000;
        let direct: BTreeSet<&String> = self.by_key.get(&key.to_lowercase()).into_iter().flatten().collect();
        let mut open: VecDeque<&String> = direct.iter().copied().collect();
        let mut indirect = BTreeSet::new();
        while let Some(next) = open.pop_front() {
            for other in self.by_key.get(&next.to_lowercase()).into_iter().flatten() {
                let is_known = direct.contains(other) || other.as_str() == key;
                if !is_known && direct.len() + indirect.len() < MOST && indirect.insert(other) {
                    open.push_back(other);
                }
            }
        }
        let owned = |keys: BTreeSet<&String>| keys.into_iter().cloned().collect();
        Dependents { direct: owned(direct), indirect: owned(indirect) }
    }
}

/// Adds the toggles to a plan that need those that it changes.
pub(super) fn with_dependents(mut plan: Plan, files: &PlanFiles<'_>, rules: &Rules) -> Result<Plan, Error> {
    let mut changes: BTreeMap<EnvironmentId, HashMap<String, &Change>> = BTreeMap::new();
    let withheld = plan.withheld().iter().filter_map(|held| held.change.as_deref());
    for change in plan.changes().iter().chain(withheld) {
        let changes = changes.entry(change.id.environment()).or_default();
        changes.insert(change.id.toggle().to_owned(), change);
    }
    for orphan in plan.orphans() {
        changes.entry(orphan.id.environment()).or_default();
    }
    if !rules.kind.can().refer || changes.is_empty() {
        return Ok(plan);
    }
    let mut library = Library::new(files.open()?, files.root_tree(), &rules.layout, &rules.root, rules.kind);
    let keys = |payload: &Payload| payload.prerequisites().into_iter().map(|one| one.key).collect::<Vec<_>>();
    // The documents of these, if there are any, do not tell what they need.
    let mut all_kept: BTreeMap<EnvironmentId, HashMap<&str, Vec<String>>> = BTreeMap::new();
    for (id, payload) in plan.all_kept() {
        all_kept.entry(id.environment()).or_default().insert(id.toggle(), keys(payload));
    }
    let mut indexes = BTreeMap::new();
    for (environment, changes) in changes {
        let mut kept = all_kept.remove(&environment).unwrap_or_default();
        kept.retain(|key, _| !changes.contains_key(*key));
        let mut index = index(&mut library, &environment, |key| match kept.contains_key(key) {
            true => Some(Vec::new()),
            false => Some(keys(&changes.get(key)?.payload)),
        })?;
        for (key, needed) in kept {
            needed.iter().for_each(|needed| index.add(key, needed));
        }
        indexes.insert(environment, index);
    }
    plan.set_dependents(|id| {
        indexes.get(&id.environment()).map(|index| index.of(id.toggle())).unwrap_or_default()
    });
    Ok(plan)
}

/// Returns what the documents of an environment need. `known` has what those need that were read before.
pub(super) fn index<T: Trees<Error = source::Error>>(
    library: &mut Library<'_, T>,
    environment: &EnvironmentId,
    known: impl Fn(&str) -> Option<Vec<String>>,
) -> Result<DependencyIndex, Error> {
    let mut index = DependencyIndex::default();
    for (id, file) in library.documents_of(environment)? {
        let keys = match known(id.toggle()) {
            Some(keys) => keys,
            None => library.needed_by_file(file)?,
        };
        keys.iter().for_each(|key| index.add(id.toggle(), key));
    }
    Ok(index)
}

/// What changes mean for documents that do not change.
#[derive(Debug, Default)]
pub(super) struct Caused {
    /// The documents that need a changed one.
    pub(super) unchanged: BTreeSet<ToggleId>,
    /// The findings in them about what they need.
    pub(super) findings: Vec<Diagnostic>,
    /// What those of them need that are invalid.
    pub(super) broken: BTreeMap<ToggleId, Vec<Prerequisite>>,
    /// What those need, and what that needs.
    pub(super) needs: Needs,
}

/// Finds out what the changes mean for documents that do not change. The documents of the toggles `removed` are among
/// the changes.
pub(super) fn caused(
    input: &Input,
    removed: HashSet<FoldedId>,
    files: &PlanFiles<'_>,
    rules: &Rules,
) -> Result<Caused, Error> {
    let changed = input.decided.iter().filter(|one| one.concerns_others());
    let changed: BTreeSet<ToggleId> = changed.map(|one| one.id().clone()).collect();
    if !rules.kind.can().refer || changed.is_empty() {
        return Ok(Caused::default());
    }
    let library = Library::new(files.open()?, files.root_tree(), &rules.layout, &rules.root, rules.kind);
    let mut library = library.for_sdks(rules.sdks).without(removed);
    let mut ids = unchanged(&mut library, &changed)?;
    // All that differ have their own findings. What is out of scope breaks as well.
    let differing: BTreeSet<&ToggleId> = input.decided.iter().map(DecidedToggle::id).collect();
    ids.retain(|id| !differing.contains(id));
    found(library, ids)
}

/// Returns the findings in these documents of the library about what they need.
pub(super) fn found<T: Trees<Error = source::Error>>(
    mut library: Library<'_, T>,
    unchanged: BTreeSet<ToggleId>,
) -> Result<Caused, Error> {
    let noted = library.unchanged(&unchanged)?;
    let needed = |one: &Noted| {
        let needed = one.payload.as_ref().map(Payload::prerequisites).unwrap_or_default();
        (one.id.clone(), needed)
    };
    let mut broken: BTreeMap<_, _> = noted.iter().map(needed).collect();
    let found = references::check(noted, library)?;
    broken.retain(|id, _| found.invalid.contains(id));
    let needs = if broken.is_empty() { Needs::new() } else { found.needs };
    Ok(Caused { unchanged, findings: found.findings, broken, needs })
}

/// Returns the other documents that need one of the `changed` ones, directly or through others.
fn unchanged<T: Trees<Error = source::Error>>(
    library: &mut Library<'_, T>,
    changed: &BTreeSet<ToggleId>,
) -> Result<BTreeSet<ToggleId>, Error> {
    let mut all = BTreeSet::new();
    let environments: BTreeSet<EnvironmentId> = changed.iter().map(ToggleId::environment).collect();
    for environment in environments {
        let own: BTreeSet<&str> =
            changed.iter().filter(|id| id.is_in(&environment)).map(ToggleId::toggle).collect();
        // What a changed document needs is checked with it.
        let index = index(library, &environment, |key| own.contains(key).then(Vec::new))?;
        for key in &own {
            let Dependents { direct, indirect } = index.of(key);
            let id = |key: String| {
                let EnvironmentId { project, environment } = &environment;
                ToggleId::new(project.as_str(), environment.as_str(), &key).ok()
            };
            all.extend(direct.into_iter().chain(indirect).filter_map(id));
        }
    }
    all.retain(|id| !changed.contains(id));
    Ok(all)
}
