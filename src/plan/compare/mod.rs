//! Desired against applied, by object id: the two trees are walked side by side and equal folders are skipped.
//!
//! Nothing is read or parsed here. With the default layout both trees have one shape, so that a commit that
//! touches ten files costs ten folders; any other layout is compared file by file (DESIGN, section 4, "Compare").

mod clash;
mod environment;
mod matched;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{Diagnostic, Layout};
use crate::model::{EnvironmentId, Format, ObjectId, Scope, ServiceKind, ToggleId, Trees};
use matched::unmatched;
use walk::Walk;

/// One document on either side.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct File {
    /// The path under the root.
    pub(crate) path: String,
    pub(crate) format: Format,
    pub(crate) id: ObjectId,
}

/// One toggle whose two sides are not the same object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Difference {
    pub(crate) id: ToggleId,
    /// The files that claim it: none when it is gone, several when they clash.
    pub(crate) desired: Vec<File>,
    pub(crate) applied: Option<File>,
}

impl Difference {
    /// Returns whether both sides are the same after all.
    pub(super) fn is_unchanged(&self) -> bool {
        matches!((self.desired.as_slice(), &self.applied), ([one], Some(other))
            if one.id == other.id && one.format == other.format)
    }
}

/// What comparing two trees found.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Sorted by toggle.
    pub(crate) differences: Vec<Difference>,
    /// Toggles applied, for every environment that was looked into.
    pub(crate) applied_counts: BTreeMap<EnvironmentId, usize>,
    /// Environments in which something is applied and no document is left.
    pub(crate) lost: BTreeSet<EnvironmentId>,
    /// What is wrong with paths rather than with documents.
    pub(crate) findings: Vec<Diagnostic>,
    /// Whether the source holds any document at all.
    pub(crate) any_document: bool,
    /// How many files were looked at.
    pub(crate) files: usize,
    /// The globs of the scope that match no toggle, neither in the source nor applied.
    pub(crate) unmatched: Vec<String>,
}

/// Where documents are, and which of them are in scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    pub(crate) layout: &'a Layout,
    /// What findings put before a path.
    pub(crate) root: &'a str,
    /// A path outside it yields no finding.
    pub(crate) scope: &'a Scope,
    /// FeatureProbe takes keys that differ only in case for one.
    pub(crate) kind: ServiceKind,
}

/// The two trees, either of which may be missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roots {
    pub(crate) source: ObjectId,
    pub(crate) applied: Option<ObjectId>,
}

/// The source holds more than [`MOST_FILES`](crate::document::MOST_FILES) files and folders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooManyFiles;

/// An error of a comparison: either side could not be read, or there are too many files.
pub(crate) trait CompareError<S: Trees, A: Trees>:
    From<S::Error> + From<A::Error> + From<TooManyFiles>
{
}

impl<E, S: Trees, A: Trees> CompareError<S, A> for E where
    E: From<S::Error> + From<A::Error> + From<TooManyFiles>
{
}

/// Compares the trees under `roots`. `always` names toggles that are differences even where both sides are equal
/// (their last outcome is unknown).
pub(crate) fn compare<S: Trees, A: Trees, E: CompareError<S, A>>(
    source: &S,
    applied: Option<&A>,
    roots: Roots,
    places: &Places<'_>,
    always: &BTreeSet<ToggleId>,
) -> Result<Comparison, E> {
    let mut found = Walk::<_, _, E>::new(source, applied, *places, always).run(roots)?;
    found.unmatched = unmatched::<_, _, E>(source, applied, roots, places, &found)?;
    Ok(found)
}

/// Joins two parts of a path, either of which may be empty.
pub(crate) fn join(prefix: &str, name: &str) -> String {
    match (prefix, name) {
        ("", name) => name.to_owned(),
        (prefix, "") => prefix.to_owned(),
        (prefix, name) => format!("{prefix}/{name}"),
    }
}
