//! Compares one environment: which files claim which toggle, and which toggles are not the same on both sides.

use std::collections::hash_map::Entry as Seen;
use std::collections::{BTreeMap, HashSet};

use super::walk::{Placed, Walk, is_file};
use super::{CompareError, Difference, File, join};
use crate::document::{Layout, Place, tree};
use crate::model::{Differing, Entry, ServiceKind, ToggleId, Tree, Trees};

impl<S: Trees, A: Trees, E: CompareError<S, A>> Walk<'_, S, A, E> {
    /// Compares the folder of one environment. Files that are the same on both sides are passed over by name and id,
    /// unless another file could claim the same toggle.
    pub(super) fn environment_folder(&mut self, prefix: &str, ours: &Tree, theirs: &Tree, is_twin: bool) {
        if is_twin {
            let recorded = applied_documents(prefix, theirs.entries());
            let desired = self.documents(prefix, ours.entries());
            return self.environment(desired, recorded, theirs.files(), false);
        }
        let (mut desired, mut recorded, mut differing) = (Vec::new(), Vec::new(), HashSet::new());
        for (our, their) in Differing::new(ours, theirs) {
            let (our, their) = (our.filter(is_file), their.filter(is_file));
            if our.map(|entry| entry.id) == their.map(|entry| entry.id) {
                continue;
            }
            let names = our.into_iter().chain(their).map(|entry| stem(entry.name));
            differing.extend(names.map(<[u8]>::to_ascii_lowercase));
            desired.extend(our);
            recorded.extend(their);
        }
        let folder = format!("{prefix}/");
        let always = self
            .always
            .iter()
            .filter_map(|id| id.as_str().strip_prefix(folder.as_str()));
        differing.extend(always.map(|toggle| toggle.to_ascii_lowercase().into_bytes()));
        let same = ours.files() - desired.len();
        self.found.any_document |= same > 0;
        if differing.is_empty() {
            return;
        }
        // A file that is the same on both sides may still claim a toggle that differs.
        let is_wanted = |entry: &Entry<'_>| differing.contains(&stem(entry.name).to_ascii_lowercase());
        let is_new = |entry: &Entry<'_>| desired.binary_search_by(|one| one.name.cmp(entry.name)).is_err();
        let siblings = ours.entries().filter(is_file).filter(is_wanted).filter(is_new);
        let siblings: Vec<_> = siblings.collect();
        let with_siblings = |mut entries: Vec<_>| {
            entries.extend_from_slice(&siblings);
            entries.sort_by_key(|entry: &Entry<'_>| entry.name);
            entries.into_iter()
        };
        let recorded = applied_documents(prefix, with_siblings(recorded));
        let desired = with_siblings(desired);
        let desired = self.documents(prefix, desired);
        self.environment(desired, recorded, theirs.files(), same > 0);
    }

    /// Compares the given documents of one environment, in which `count` toggles are applied. `has_others` says whether the
    /// source has documents besides.
    pub(super) fn environment(&mut self, desired: Placed, applied: Placed, count: usize, has_others: bool) {
        let mut sides: BTreeMap<ToggleId, (Vec<File>, Option<File>)> = BTreeMap::new();
        let Some(environment) = desired
            .iter()
            .chain(&applied)
            .next()
            .map(|(id, _)| id.environment())
        else {
            return;
        };
        if !has_others && desired.is_empty() {
            self.found.lost.insert(environment.clone());
        }
        self.found.applied_counts.insert(environment, count);
        for (id, file) in desired {
            sides.entry(id).or_default().0.push(file);
        }
        for (id, file) in applied {
            sides.entry(id).or_default().1 = Some(file);
        }
        for (id, (desired, applied)) in sides {
            let difference = Difference { id, desired, applied };
            self.fold(&difference);
            if self.is_to_be_kept(&difference) {
                self.found.differences.push(difference);
            }
        }
    }

    /// What is the same on both sides may still clash with another toggle, which shows only at the end.
    fn is_to_be_kept(&self, difference: &Difference) -> bool {
        !difference.is_unchanged()
            || self.always.contains(&difference.id)
            || self.places.kind == ServiceKind::FeatureProbe
    }

    /// Warns of toggles whose ids differ only in case: a service that documents nothing about it may fold them.
    fn fold(&mut self, Difference { id, desired, .. }: &Difference) {
        let path = match (desired.first(), self.places.kind) {
            (Some(file), ServiceKind::Documented) => &file.path,
            _ => return,
        };
        match self.folded.entry(id.as_str().to_ascii_lowercase()) {
            Seen::Vacant(free) => drop(free.insert(id.clone())),
            Seen::Occupied(taken) => {
                let finding = tree::case_fold(id, &join(self.places.root, path), taken.get());
                self.found.findings.push(finding);
            }
        }
    }
}

/// A file's name without its last extension.
fn stem(name: &[u8]) -> &[u8] {
    name.iter()
        .rposition(|byte| *byte == b'.')
        .map_or(name, |dot| &name[..dot])
}

/// The documents among some files of one folder of the state, whose layout is always the default one.
pub(super) fn applied_documents<'e>(prefix: &str, entries: impl Iterator<Item = Entry<'e>>) -> Placed {
    let layout = Layout::default();
    entries
        .filter(is_file)
        .filter_map(|entry| {
            let path = join(prefix, std::str::from_utf8(entry.name).ok()?);
            match layout.place(path.as_bytes()) {
                Place::Document { id, format } => Some((
                    id,
                    File {
                        path,
                        format,
                        id: entry.id,
                    },
                )),
                _ => None,
            }
        })
        .collect()
}
