//! Compares the desired and the applied tree by object id: walks both side by side and skips equal folders.
//!
//! Reads no document. With the default layout both trees have the same shape, so a commit that changes ten files costs
//! ten folders. Any other layout is compared file by file (DESIGN, section 4, "Compare").

mod claims;
mod classify;
mod matched;
#[cfg(test)]
mod tests;
mod walk;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::document::{Diagnostic, Layout};
use crate::model::{EnvironmentId, Format, ObjectId, Scope, ToggleId, Trees};
pub(crate) use claims::Claims;
pub(crate) use matched::has_document;
use matched::unmatched;
use walk::Walk;

/// One document on either side. Its path follows from its toggle and the layout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct File {
    pub(crate) format: Format,
    pub(crate) id: ObjectId,
}

/// A toggle whose two sides are different objects.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Difference {
    pub(crate) id: ToggleId,
    /// The files that claim it: none if it was removed, several if they clash.
    pub(crate) desired: Claims,
    /// The applied files: several only at a revision where they clash.
    pub(crate) applied: Claims,
}

impl Difference {
    /// Returns the difference of a toggle without files.
    fn of(id: ToggleId) -> Self {
        Self { id, desired: Claims::None, applied: Claims::None }
    }

    /// Returns whether both sides are the same object in the same format.
    pub(super) fn is_unchanged(&self) -> bool {
        !self.desired.is_empty() && self.desired == self.applied
    }
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Sorted by toggle.
    pub(crate) differences: Vec<Difference>,
    /// The number of applied toggles, for each compared environment.
    pub(crate) applied_counts: BTreeMap<EnvironmentId, usize>,
    /// The toggles without a file whose ids differ only in case from that of a document: the repository still has the
    /// toggle, under that id.
    pub(crate) renamed: BTreeSet<ToggleId>,
    /// The environments with applied toggles and without documents.
    pub(crate) lost: BTreeSet<EnvironmentId>,
    /// The findings on paths.
    pub(crate) findings: Vec<Diagnostic>,
    /// Whether the source contains a document.
    pub(crate) any_document: bool,
    /// The number of files in the folders that were read.
    pub(crate) files: usize,
    /// The globs of the scope that match no toggle, neither in the source nor applied.
    pub(crate) unmatched: Vec<String>,
}

/// The location and scope of documents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    pub(crate) layout: &'a Layout,
    /// The prefix of paths in findings.
    pub(crate) root: &'a str,
    /// A path outside of it yields no finding.
    pub(crate) scope: &'a Scope,
    pub(crate) side: AppliedTree,
}

/// The tree that the source is compared with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AppliedTree {
    /// The tree of a revision: documents in the layout of the source, among other files.
    Revision,
    /// The tree of the state: nothing but documents, in the default layout.
    State,
}

impl AppliedTree {
    /// Returns the layout of the tree, given that of the source.
    fn layout(self, source: &Layout) -> Cow<'_, Layout> {
        match self {
            Self::Revision => Cow::Borrowed(source),
            Self::State => Cow::Owned(Layout::default()),
        }
    }
}

/// The two trees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roots {
    pub(crate) source: ObjectId,
    pub(crate) applied: Option<ObjectId>,
}

/// The source contains more than [`MOST_FILES`](crate::document::MOST_FILES) files and folders.
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

/// Compares the trees under `roots`. `always` names toggles that are differences even if both sides are equal:
/// their last outcome is unknown.
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

/// Returns whether `path` is one of `within` or below one of them. An empty list, and an empty path in it, contain all.
pub(crate) fn is_within(path: &str, within: &[String]) -> bool {
    let contains = |folder: &String| {
        let rest = path.strip_prefix(folder.as_str());
        folder.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    within.is_empty() || within.iter().any(contains)
}

/// Joins two parts of a path, either of which may be empty.
pub(crate) fn join(prefix: &str, name: &str) -> String {
    match (prefix, name) {
        ("", name) => name.to_owned(),
        (prefix, "") => prefix.to_owned(),
        (prefix, name) => format!("{prefix}/{name}"),
    }
}
