//! Finds the globs of `--only` that match no toggle: with a mistyped glob, every pass would succeed without an effect.

use super::classify::is_hidden;
use super::{CompareError, Comparison, Places, Roots, join};
use crate::document::{Layout, PathKind};
use crate::model::{EntryKind, ObjectId, Trees};

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
    if unmatched.is_empty() {
        return Ok(Vec::new());
    }
    let mut remove = |kind| {
        match kind {
            PathKind::Document { id, .. } => unmatched.remove_matching(id.as_str()),
            // A file with an invalid key has its own error, so its glob is not called mistyped.
            PathKind::BadKey { claim, .. } => unmatched.remove_matching(&claim),
            _ => {}
        }
        unmatched.is_empty()
    };
    let found = search(source, roots.source, places.layout, &mut remove)?;
    if let (Some(applied), Some(root), false) = (applied, roots.applied, found) {
        search(applied, root, places.side.layout(places.layout).as_ref(), &mut remove)?;
    }
    Ok(unmatched.globs())
}

/// Returns whether there is a document under `root`.
pub(crate) fn has_document<T: Trees>(trees: &T, root: ObjectId, layout: &Layout) -> Result<bool, T::Error> {
    search(trees, root, layout, &mut |kind| matches!(kind, PathKind::Document { .. }))
}

/// Classifies the files under `root` until `is_enough` returns `true`; returns whether it did.
fn search<T: Trees>(
    trees: &T,
    root: ObjectId,
    layout: &Layout,
    is_enough: &mut impl FnMut(PathKind) -> bool,
) -> Result<bool, T::Error> {
    let mut folders = vec![(String::new(), root)];
    while let Some((prefix, folder)) = folders.pop() {
        let tree = trees.tree(folder)?;
        for entry in tree.entries() {
            if is_hidden(entry.name) {
                continue;
            }
            let path = join(&prefix, &String::from_utf8_lossy(entry.name));
            match entry.kind() {
                EntryKind::Tree => folders.push((path, entry.id)),
                EntryKind::Blob if is_enough(layout.classify(path.as_bytes())) => return Ok(true),
                EntryKind::Blob | EntryKind::Other => {}
            }
        }
    }
    Ok(false)
}
