//! Lists the documents of the applied tree.

use std::collections::BTreeMap;

use crate::document::Layout;
use crate::git::ObjectReader;
use crate::model::{EntryKind, Format, ObjectId, ToggleId, Trees as _};
use crate::plan::compare::join;
use crate::state::{Error, StateSnapshot};

/// Returns the documents in the applied tree of `view`, read with its reader.
///
/// # Errors
/// If the tree cannot be read.
pub(crate) fn applied_tree(
    view: &StateSnapshot,
    reader: Option<&ObjectReader>,
) -> Result<BTreeMap<ToggleId, (ObjectId, Format)>, Error> {
    let (Some(tip), Some(reader)) = (view.tip(), reader) else {
        return Ok(BTreeMap::new());
    };
    // The applied tree has the default layout, whatever that of the source is (DESIGN, section 4).
    let layout = Layout::default();
    let mut documents = BTreeMap::new();
    let mut folders = vec![(String::new(), tip.tree)];
    while let Some((prefix, folder)) = folders.pop() {
        for entry in reader.tree(folder)?.entries() {
            let path = join(&prefix, &String::from_utf8_lossy(entry.name));
            match entry.kind() {
                EntryKind::Tree => folders.push((path, entry.id)),
                EntryKind::Blob => {
                    if let Some((id, format)) = layout.recorded(path.as_bytes()) {
                        documents.insert(id, (entry.id, format));
                    }
                }
                EntryKind::Other => {}
            }
        }
    }
    Ok(documents)
}
