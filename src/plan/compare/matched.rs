//! Finds the globs of `--only` that match no toggle: mistyped ones would make every pass succeed without doing anything.

use super::walk::is_hidden;
use super::{CompareError, Comparison, Places, Roots, join};
use crate::document::{Layout, Place};
use crate::model::{EntryKind, ObjectId, Trees, Unmatched};

/// Returns the globs that match no toggle that is in the source, applied, or in `found` for another reason.
pub(super) fn unmatched<S: Trees, A: Trees, E: CompareError<S, A>>(
    source: &S,
    applied: Option<&A>,
    roots: Roots,
    places: &Places<'_>,
    found: &Comparison,
) -> Result<Vec<String>, E> {
    let mut unmatched = places.scope.unmatched();
    for difference in &found.differences {
        unmatched.see(difference.id.as_str());
    }
    search(source, roots.source, places.layout, &mut unmatched)?;
    if let (Some(applied), Some(root)) = (applied, roots.applied) {
        // The state has a layout of its own, which is always the default one.
        search(applied, root, &Layout::default(), &mut unmatched)?;
    }
    Ok(unmatched.globs())
}

/// Shows the toggles under `root` to `unmatched`, until every glob has matched one.
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
            match (entry.kind(), layout.place(path.as_bytes())) {
                (EntryKind::Tree, _) => folders.push((path, entry.id)),
                (EntryKind::Blob, Place::Document { id, .. }) => unmatched.see(id.as_str()),
                (EntryKind::Blob, Place::BadKey { claim, .. }) => unmatched.see(&claim),
                _ => {}
            }
        }
    }
    Ok(())
}
