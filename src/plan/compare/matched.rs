//! Finds the globs of `--only` that match no toggle: with a mistyped glob, every pass would succeed without an effect.

use super::classifier::is_hidden;
use super::{CompareError, Comparison, Places, Roots, join};
use crate::document::{Layout, PathKind};
use crate::model::{EntryKind, ObjectId, Trees, Unmatched};

/// Returns the globs that match no toggle in the source, in the state or in `found`.
pub(super) fn unmatched<S: Trees, A: Trees, E: CompareError<S, A>>(
    source: &S,
    applied: Option<&A>,
    roots: Roots,
    places: &Places<'_>,
    found: &Comparison,
) -> Result<Vec<String>, E> {
    let mut unmatched = places.scope.unmatched();
    for difference in &found.differences {
        unmatched.remove_matching(difference.id.as_str());
    }
    search(source, roots.source, places.layout, &mut unmatched)?;
    if let (Some(applied), Some(root)) = (applied, roots.applied) {
        // The state always has the default layout.
        search(applied, root, &Layout::default(), &mut unmatched)?;
    }
    Ok(unmatched.globs())
}

/// Removes the globs that match a toggle under `root` from `unmatched`; stops when none is left.
fn search<T: Trees>(
    trees: &T,
    root: ObjectId,
    layout: &Layout,
    unmatched: &mut Unmatched<'_>,
) -> Result<(), T::Error> {
    let mut folders = vec![(String::new(), root)];
    while let Some((prefix, folder)) = folders.pop().filter(|_| !unmatched.is_empty()) {
        let tree = trees.tree(folder)?;
        for entry in tree.entries() {
            if is_hidden(entry.name) {
                continue;
            }
            let path = join(&prefix, &String::from_utf8_lossy(entry.name));
            match (entry.kind(), layout.classify(path.as_bytes())) {
                (EntryKind::Tree, _) => folders.push((path, entry.id)),
                (EntryKind::Blob, PathKind::Document { id, .. }) => unmatched.remove_matching(id.as_str()),
                // A file with an invalid key has an error of its own, so its glob is not called mistyped.
                (EntryKind::Blob, PathKind::BadKey { claim, .. }) => unmatched.remove_matching(&claim),
                _ => {}
            }
        }
    }
    Ok(())
}
