//! Finds files that claim the same toggle: two extensions, or, with FeatureProbe, keys that differ only in case.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::folded::FoldedId;
use super::{Claims, Difference, Places, join};
use crate::document::{Diagnostic, tree};
use crate::model::ToggleId;
use crate::plan::RenameState;

/// Adds to each toggle the files on one side of all toggles whose keys differ from its own only in case. FeatureProbe
/// folds all three keys, so each of these files claims all of these toggles.
pub(super) fn merge(differences: &mut [Difference], side: fn(&mut Difference) -> &mut Claims) {
    let mut groups: HashMap<FoldedId, Vec<usize>> = HashMap::new();
    for (index, difference) in differences.iter_mut().enumerate() {
        if side(difference).is_empty() {
            continue;
        }
        groups
            .entry(FoldedId::from(&difference.id))
            .or_default()
            .push(index);
    }
    for group in groups.into_values().filter(|group| group.len() > 1) {
        // Copied before the first one is extended, so that each file is added once.
        let own: Vec<_> = group
            .iter()
            .map(|index| {
                (
                    differences[*index].id.clone(),
                    side(&mut differences[*index]).clone(),
                )
            })
            .collect();
        for (at, index) in group.into_iter().enumerate() {
            let others = own.iter().enumerate().filter(|(other, _)| *other != at);
            for (_, (id, files)) in others {
                side(&mut differences[index]).add(&own[at].0, (id, files.clone()));
            }
        }
    }
}

/// Returns the toggles without a file whose keys differ only in case from those of a document, which is among
/// `differences` or in `folded`.
pub(super) fn renamed<T>(
    differences: &[Difference],
    folded: &HashMap<FoldedId, T>,
) -> BTreeMap<ToggleId, RenameState> {
    let fold = |one: &Difference| FoldedId::from(&one.id);
    let mut removed = differences.iter().filter(|one| one.desired.is_empty()).peekable();
    if removed.peek().is_none() {
        return BTreeMap::new();
    }
    let present = differences.iter().filter(|one| !one.desired.is_empty());
    let present: HashSet<_> = present.map(fold).collect();
    removed
        .filter(|one| present.contains(&fold(one)) || folded.contains_key(&fold(one)))
        .map(|one| (one.id.clone(), RenameState::Settled))
        .collect()
}

/// Gives each new document what the state records for the toggle in `renamed` whose keys differ from its own only in case.
/// FeatureProbe folds all three keys, so both are one toggle. `always` has the toggles that are decided on even if both
/// sides are equal.
pub(super) fn inherit(
    differences: &mut [Difference],
    renamed: &mut BTreeMap<ToggleId, RenameState>,
    always: &BTreeSet<ToggleId>,
) {
    let mut former: HashMap<FoldedId, Vec<usize>> = HashMap::new();
    for (index, one) in differences.iter().enumerate() {
        if renamed.contains_key(&one.id) {
            former.entry(FoldedId::from(&one.id)).or_default().push(index);
        }
    }
    for index in 0..differences.len() {
        let one = &differences[index];
        // A document that has a record of its own has inherited already.
        if !matches!(one.desired, Claims::One(_)) || !one.applied.is_empty() || always.contains(&one.id) {
            continue;
        }
        // With two former names, neither is known to be the last one.
        let Some([former]) = former.get(&FoldedId::from(&one.id)).map(Vec::as_slice) else {
            continue;
        };
        let former = &differences[*former];
        let (id, applied) = (former.id.clone(), former.applied.clone());
        differences[index].applied = applied;
        if !differences[index].is_unchanged() || always.contains(&id) {
            renamed.insert(id.clone(), RenameState::Pending);
        }
        differences[index].former = Some(Box::new(id));
    }
}

/// Returns one error for each file that claims a toggle in scope together with another file.
pub(super) fn duplicates(differences: &[Difference], places: &Places<'_>) -> Vec<Diagnostic> {
    let is_clash = |one: &&Difference| one.desired.is_clash() && places.scope.contains(&one.id);
    differences
        .iter()
        .filter(is_clash)
        .flat_map(|one| clash(one, places))
        .collect()
}

fn clash(difference: &Difference, places: &Places<'_>) -> Vec<Diagnostic> {
    let (mut own, mut folded) = (Vec::new(), Vec::new());
    for (toggle, path) in difference.desired.paths(&difference.id, places.layout) {
        match *toggle == difference.id {
            true => own.push(join(places.root, &path)),
            false => folded.push(join(places.root, &path)),
        }
    }
    match folded.is_empty() {
        true => tree::duplicate(&difference.id, &own),
        false => tree::folded(&difference.id, &own, &folded),
    }
}
