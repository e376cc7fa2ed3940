//! Finds the toggles that need those that a plan changes. Reads all documents of the environments with
//! changes, so only a plan that somebody reads has them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use super::Error;
use super::compare::{AppliedSide, PlanFiles};
use super::config::Rules;
use super::references::{self, Library};
use crate::document::Diagnostic;
use crate::model::{EnvironmentId, ToggleId, Trees};
use crate::plan::{Change, Dependents, Plan};
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

    /// Returns the toggles that need one of these, directly or through others.
    fn all_of<'k>(&'k self, keys: impl Iterator<Item = &'k str>) -> HashSet<&'k str> {
        let mut open: Vec<&str> = keys.collect();
        let mut all = HashSet::new();
        while let Some(next) = open.pop() {
            let needing = self.by_key.get(&next.to_lowercase()).into_iter().flatten();
            open.extend(needing.map(String::as_str).filter(|key| all.insert(*key)));
        }
        all
    }
}

/// Adds to a plan the toggles that need those that it changes, and what the documents of `differing` make wrong
/// in documents that stay as they are.
pub(super) fn with_dependents(
    mut plan: Plan,
    differing: &BTreeSet<ToggleId>,
    files: &PlanFiles<'_>,
    applied: AppliedSide<'_>,
    rules: &Rules,
) -> Result<Plan, Error> {
    let mut changes: BTreeMap<EnvironmentId, HashMap<String, &Change>> = BTreeMap::new();
    let withheld = plan.withheld().iter().filter_map(|held| held.change.as_deref());
    for change in plan.changes().iter().chain(withheld) {
        let changes = changes.entry(change.id.environment()).or_default();
        changes.insert(change.id.toggle().to_owned(), change);
    }
    for id in plan.orphans().iter().map(|orphan| &orphan.id).chain(differing) {
        changes.entry(id.environment()).or_default();
    }
    if !rules.kind.can().refer || changes.is_empty() {
        return Ok(plan);
    }
    let mut library = Library::new(files.open()?, files.root_tree(), &rules.layout, &rules.root, rules.kind);
    let mut indexes = BTreeMap::new();
    for (environment, changes) in changes {
        let index = index(&mut library, &environment, |key| {
            let change = changes.get(key)?;
            Some(change.payload.prerequisites().into_iter().map(|one| one.key).collect())
        })?;
        indexes.insert(environment, index);
    }
    plan.set_dependents(|id| {
        indexes.get(&id.environment()).map(|index| index.of(id.toggle())).unwrap_or_default()
    });
    plan.add_findings(new_findings(&mut library, &indexes, differing, applied, rules)?);
    Ok(plan)
}

/// Returns the findings about references in documents that do not differ, as far as the applied side does not
/// have them.
fn new_findings(
    library: &mut Library<'_, Box<dyn Trees<Error = source::Error>>>,
    indexes: &BTreeMap<EnvironmentId, DependencyIndex>,
    differing: &BTreeSet<ToggleId>,
    applied: AppliedSide<'_>,
    rules: &Rules,
) -> Result<Vec<Diagnostic>, Error> {
    let mut unchanged = BTreeSet::new();
    for (environment, index) in indexes {
        let own: Vec<&ToggleId> = differing.iter().filter(|id| id.is_in(environment)).collect();
        let known: HashSet<String> = own.iter().map(|id| id.toggle().to_lowercase()).collect();
        let needing = index.all_of(own.iter().map(|id| id.toggle())).into_iter();
        let needing = needing.filter(|key| !known.contains(&key.to_lowercase()));
        let (project, environment) = (environment.project.as_str(), environment.environment.as_str());
        unchanged.extend(needing.filter_map(|key| ToggleId::new(project, environment, key).ok()));
    }
    let noted = library.note(unchanged.iter().cloned())?;
    let mut found = references::check(noted, library)?.findings;
    if let (false, Some(trees), Some(top)) = (found.is_empty(), applied.trees()?, applied.tree()) {
        let layout = applied.side().layout(&rules.layout);
        let mut library = Library::new(trees, top, &layout, &rules.root, rules.kind);
        let noted = library.note(unchanged)?;
        let old = references::check(noted, &mut library)?.findings;
        let old: HashSet<_> = old.iter().map(|(id, one)| (id, one.id, &one.message)).collect();
        found.retain(|(id, one)| !old.contains(&(id, one.id, &one.message)));
    }
    Ok(found.into_iter().map(|(_, finding)| finding).collect())
}

/// Returns what the documents of an environment need. `known` has what those need that were read before.
pub(super) fn index<T: Trees>(
    library: &mut Library<'_, T>,
    environment: &EnvironmentId,
    known: impl Fn(&str) -> Option<Vec<String>>,
) -> Result<DependencyIndex, Error>
where
    Error: From<T::Error>,
{
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

/// Returns the documents that need one of the `removed` ones.
pub(super) fn needing<T: Trees>(
    library: &mut Library<'_, T>,
    removed: &[ToggleId],
) -> Result<BTreeSet<ToggleId>, Error>
where
    Error: From<T::Error>,
{
    let mut all = BTreeSet::new();
    let environments: BTreeSet<EnvironmentId> = removed.iter().map(ToggleId::environment).collect();
    for environment in environments {
        let index = index(library, &environment, |_| None)?;
        for id in removed.iter().filter(|id| id.is_in(&environment)) {
            let needing = index.of(id.toggle()).direct.into_iter();
            all.extend(
                needing.filter_map(|key| ToggleId::new(id.project(), id.environment_key(), &key).ok()),
            );
        }
    }
    Ok(all)
}
