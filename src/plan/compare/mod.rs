//! Compares the desired and the applied tree by object id: walks both side by side and skips equal folders.
//!
//! Reads no document. With the default layout both trees have the same shape, so a commit that changes ten
//! files costs ten folders. Any other layout is compared file by file (src/plan/README.md, "Order of
//! decisions").

mod classify;
#[cfg(test)]
mod tests;
mod walk;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use classify::is_hidden;
use walk::Walk;

use crate::document::{Diagnostic, Layout, PathKind};
use crate::model::{EntryKind, EnvironmentId, Format, ObjectId, Scope, ToggleId, Trees, Unmatched};

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

#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Sorted by toggle.
    pub(crate) differences: Vec<Difference>,
    /// The number of applied toggles, for each compared environment.
    pub(crate) applied_counts: BTreeMap<EnvironmentId, usize>,
    /// The environments with applied toggles and without documents.
    pub(crate) lost: BTreeSet<EnvironmentId>,
    pub(crate) findings: Vec<Diagnostic>,
    /// Whether the source contains a document.
    pub(crate) any_document: bool,
    /// The number of files in the folders that were read.
    pub(crate) files: usize,
    /// The globs of the scope that match no toggle, neither in the source nor applied.
    pub(crate) unmatched: Vec<String>,
    /// The same for each of the other scopes, in their order.
    pub(crate) unmatched_others: Vec<Vec<String>>,
}

/// The location and scope of documents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    pub(crate) layout: &'a Layout,
    /// The prefix of paths in findings.
    pub(crate) root: &'a str,
    /// A path outside of it yields no finding.
    pub(crate) scope: &'a Scope,
    /// Scopes of settings and orders, whose globs are only compared with the ids of toggles.
    pub(crate) others: &'a [&'a Scope],
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

/// Compares the trees under `roots`. `always` names toggles that are differences even if both sides are
/// equal: their last outcome is unknown.
pub(crate) fn compare<S: Trees, A: Trees, E: CompareError<S, A>>(
    source: &S,
    applied: Option<&A>,
    roots: Roots,
    places: &Places<'_>,
    always: &BTreeSet<ToggleId>,
) -> Result<Comparison, E> {
    let mut found = Walk::<_, _, E>::new(source, applied, *places, always).run(roots)?;
    let mut unmatched = unmatched::<_, _, E>(source, applied, roots, places, &found)?.into_iter();
    found.unmatched = unmatched.next().unwrap_or_default();
    found.unmatched_others = unmatched.collect();
    Ok(found)
}

/// Returns whether `path` is one of `within` or below one of them. An empty list, and an empty path in it,
/// contain all.
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

/// The files that claim a toggle. Without a clash, they need no memory: a cold plan can have a
/// million.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum Claims {
    #[default]
    None,
    /// The path of a file that would be the document if it had another name or place, or were not a link. It is
    /// not read, but it shows that nobody removed the toggle.
    Unread(Box<str>),
    /// No file, but a document whose id differs only in case: the repository still has the toggle, under that
    /// id.
    Renamed,
    /// No file, but a document with its content, which came with the removal: it was renamed to that of this
    /// toggle.
    Moved(Box<ToggleId>),
    /// The file whose path names the toggle.
    One(File),
    /// Several files, each with the toggle that its path names.
    #[expect(clippy::box_collection, reason = "a clash is rare, and a list is three times as large")]
    Clash(Box<Vec<(ToggleId, File)>>),
}

impl Claims {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Returns whether a file that is read claims the toggle.
    fn has_document(&self) -> bool {
        matches!(self, Self::One(_) | Self::Clash(_))
    }

    /// Returns whether several files claim the toggle.
    pub(crate) fn is_clash(&self) -> bool {
        matches!(self, Self::Clash(_))
    }

    pub(crate) fn first(&self) -> Option<File> {
        match self {
            Self::None | Self::Unread(_) | Self::Renamed | Self::Moved(_) => None,
            Self::One(file) => Some(*file),
            Self::Clash(files) => files.first().map(|(_, file)| *file),
        }
    }

    /// Returns the files of the toggle `id`, each with the toggle that its path names.
    fn named<'a>(&'a self, id: &'a ToggleId) -> impl Iterator<Item = (&'a ToggleId, File)> {
        let (one, several) = match self {
            Self::None | Self::Unread(_) | Self::Renamed | Self::Moved(_) => (None, None),
            Self::One(file) => (Some((id, *file)), None),
            Self::Clash(files) => (None, Some(&**files)),
        };
        let several = several.into_iter().flatten().map(|(name, file)| (name, *file));
        one.into_iter().chain(several)
    }

    /// Returns the toggles that the paths of the files of the toggle `id` name, with the paths under the
    /// root.
    pub(crate) fn paths<'a>(
        &'a self,
        id: &'a ToggleId,
        layout: &Layout,
    ) -> impl Iterator<Item = (&'a ToggleId, String)> {
        self.named(id).map(|(name, file)| (name, layout.path(name, file.format)))
    }

    /// Adds to the files of the toggle `id` those of another one, or more of its own.
    fn add(&mut self, id: &ToggleId, (other, more): (&ToggleId, Self)) {
        if !self.has_document() {
            *self = more;
        } else if more.has_document() {
            let all = self.named(id).chain(more.named(other));
            *self = Self::Clash(Box::new(all.map(|(name, file)| (name.clone(), file)).collect()));
        }
    }
}

/// Returns the globs of each scope that match no toggle in the source, in the state or in `found`: first
/// those of the scope of `places`, then those of the others. With a mistyped glob of `--only`, every pass would
/// succeed without an effect, and with one of a change window, everything would be published in it.
pub(super) fn unmatched<S: Trees, A: Trees, E: CompareError<S, A>>(
    source: &S,
    applied: Option<&A>,
    roots: Roots,
    places: &Places<'_>,
    found: &Comparison,
) -> Result<Vec<Vec<String>>, E> {
    let scopes = std::iter::once(&places.scope).chain(places.others);
    let mut unmatched: Vec<Unmatched<'_>> = scopes.map(|scope| scope.unmatched()).collect();
    if unmatched.iter().all(Unmatched::is_empty) {
        return Ok(vec![Vec::new(); unmatched.len()]);
    }
    let mut remove = |claim: &str| {
        unmatched.iter_mut().for_each(|globs| globs.remove_matching(claim));
        unmatched.iter().all(Unmatched::is_empty)
    };
    let is_done = found.differences.iter().any(|difference| remove(difference.id.as_str()));
    if !is_done {
        let mut remove = |kind| match kind {
            PathKind::Document { id, .. } => remove(id.as_str()),
            // A file with an invalid key has its own error, so its glob is not called mistyped.
            PathKind::BadKey { claim, .. } => remove(&claim),
            _ => false,
        };
        let is_done = search(source, roots.source, places.layout, &mut remove)?;
        if let (Some(applied), Some(root), false) = (applied, roots.applied, is_done) {
            search(applied, root, places.side.layout(places.layout).as_ref(), &mut remove)?;
        }
    }
    Ok(unmatched.iter().map(Unmatched::globs).collect())
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
