//! The side that the source is compared with: the recorded state, or the documents of another revision.

use std::collections::BTreeMap;

use crate::document::Diagnostic;
use crate::git::ObjectReader;
use crate::model::{
    Blob, CommitId, EnvironmentId, ObjectId, RequestDigest, Sent, Suspensions, ToggleId, Tree, Trees,
};
use crate::pass::Error;
use crate::pass::config::Rules;
use crate::plan::compare::AppliedTree;
use crate::plan::{Base, Overrides};
use crate::source::{self, Reader, Snapshot};
use crate::state::StateSnapshot;

/// The documents that take the place of the applied ones.
#[derive(Clone, Copy, Debug)]
pub(in crate::pass) enum AppliedSide<'a> {
    State(&'a StateSnapshot),
    Revision(&'a BaseRevision),
}

/// The documents of a revision.
#[derive(Clone, Debug)]
pub(in crate::pass) struct BaseRevision {
    pub(super) base: Base,
    /// The repository.
    pub(super) snapshot: Snapshot,
    /// The tree of the root; none without a document.
    pub(super) tree: Option<ObjectId>,
}

impl<'a> AppliedSide<'a> {
    pub(super) fn tree(self) -> Option<ObjectId> {
        match self {
            Self::State(view) => view.tip().map(|tip| tip.tree),
            Self::Revision(base) => base.tree,
        }
    }

    /// Returns the revision that was applied last.
    pub(super) fn revision(self) -> Option<CommitId> {
        match self {
            Self::State(view) => view.tip().map(|tip| tip.revision),
            Self::Revision(_) => None,
        }
    }

    pub(super) fn kind(self) -> AppliedTree {
        match self {
            Self::State(_) => AppliedTree::State,
            Self::Revision(_) => AppliedTree::Revision,
        }
    }

    /// Opens the documents; none if there are none.
    pub(super) fn trees(self) -> Result<Option<AppliedTrees>, Error> {
        Ok(match self {
            Self::State(view) => view.reader()?.map(AppliedTrees::State),
            Self::Revision(base) => Some(AppliedTrees::Revision(base.snapshot.reader()?)),
        })
    }

    /// Returns the requests without a known outcome. A revision has none.
    pub(super) fn unknown(self) -> BTreeMap<ToggleId, Sent> {
        let Self::State(view) = self else {
            return BTreeMap::new();
        };
        view.unknown().clone()
    }

    /// Returns the confirmed requests that are not in the tree yet. A revision has none.
    pub(super) fn settled(self) -> &'a BTreeMap<ToggleId, Sent> {
        static NONE: BTreeMap<ToggleId, Sent> = BTreeMap::new();
        match self {
            Self::State(view) => view.settled(),
            Self::Revision(_) => &NONE,
        }
    }

    /// Returns the environments whose first pass was asserted and has not ended. A revision has none.
    pub(super) fn asserted(self) -> BTreeMap<EnvironmentId, CommitId> {
        match self {
            Self::State(view) => view.asserted(),
            Self::Revision(_) => BTreeMap::new(),
        }
    }

    /// Returns the unsent requests that the rails have let through. A revision has none.
    pub(super) fn let_through(self) -> BTreeMap<ToggleId, RequestDigest> {
        match self {
            Self::State(view) => view.let_through().clone(),
            Self::Revision(_) => BTreeMap::new(),
        }
    }

    /// Returns the decisions of operators that are valid at `revision`.
    pub(super) fn overrides(self, revision: CommitId) -> Overrides {
        match self {
            Self::State(view) => Overrides::at(revision, view.allowances()),
            Self::Revision(_) => Overrides::default(),
        }
    }

    /// Returns the suspensions at `now`. A revision has none.
    pub(super) fn suspensions(self, now: i64) -> Suspensions {
        match self {
            Self::State(view) => view.suspensions().at(now),
            Self::Revision(_) => Suspensions::default(),
        }
    }

    /// Returns the recorded base URL.
    pub(super) fn base_url(self) -> Option<String> {
        match self {
            Self::State(view) => view.tip().map(|tip| tip.base_url.clone()),
            Self::Revision(_) => None,
        }
    }

    /// Returns those of the findings about the trees that this comparison reports.
    pub(super) fn tree_findings(
        self,
        found: Vec<Diagnostic>,
        head: ObjectId,
        rules: &Rules,
    ) -> Result<Vec<Diagnostic>, source::Error> {
        match self {
            Self::Revision(base) => base.new_findings(found, head, rules),
            Self::State(_) => Ok(found),
        }
    }

    /// Returns the revision that takes the place of the state.
    pub(super) fn base(self) -> Option<Base> {
        match self {
            Self::State(_) => None,
            Self::Revision(base) => Some(base.base.clone()),
        }
    }
}

/// Reads the documents that take the place of the applied ones. Each thread needs its own.
#[derive(Debug)]
pub(crate) enum AppliedTrees {
    State(ObjectReader),
    Revision(Reader),
}

impl Trees for AppliedTrees {
    type Error = Error;

    fn tree(&self, id: ObjectId) -> Result<Tree, Error> {
        Ok(match self {
            Self::State(trees) => trees.tree(id)?,
            Self::Revision(trees) => trees.tree(id)?,
        })
    }

    fn find_tree(&self, id: ObjectId) -> Option<Tree> {
        match self {
            Self::State(trees) => trees.find_tree(id),
            Self::Revision(trees) => trees.find_tree(id),
        }
    }

    fn blob(&self, id: ObjectId, limit: usize) -> Result<Blob, Error> {
        Ok(match self {
            Self::State(trees) => trees.blob(id, limit)?,
            Self::Revision(trees) => trees.blob(id, limit)?,
        })
    }
}
