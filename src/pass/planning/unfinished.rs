//! Finds what is left of asserted first passes.
//!
//! `--first-pass assert` is a decision about the toggles that have a document at that time. A pass that ends early leaves some
//! of them, and the next pass continues with these. A document that was added later belongs to no first pass.

use std::collections::BTreeSet;

use super::applied::AppliedSide;
use super::plan_files::places;
use crate::model::ToggleId;
use crate::pass::Error;
use crate::pass::config::Rules;
use crate::plan::compare::{Comparison, Roots, compare};
use crate::source::Snapshot;

/// Returns the toggles without an applied document that asserted first passes were to create.
pub(super) fn unfinished(
    snapshot: &Snapshot,
    applied: AppliedSide<'_>,
    rules: &Rules,
) -> Result<BTreeSet<ToggleId>, Error> {
    let mut all = BTreeSet::new();
    for (environment, revision) in applied.asserted() {
        let Some(source) = snapshot.known_root_tree(revision)? else {
            continue;
        };
        let (documents, trees) = (snapshot.reader()?, applied.trees()?);
        let roots = Roots {
            source,
            applied: applied.tree(),
        };
        let places = places(applied, rules);
        let found: Comparison =
            compare::<_, _, Error>(&documents, trees.as_ref(), roots, &places, &BTreeSet::new())?;
        let created = found.differences.into_iter();
        let created = created.filter(|one| one.applied.is_empty() && one.id.is_in(&environment));
        all.extend(created.map(|one| one.id));
    }
    Ok(all)
}
