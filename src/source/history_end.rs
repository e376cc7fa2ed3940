//! The newest part of a history, back to some commits of it.

use std::collections::BTreeSet;

use super::Parents;
use crate::git::{CommitNode, Libgit2Error, Repository, commit};
use crate::model::CommitId;

/// Commits that are known to have been the tip of the branch.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownTips {
    pub(crate) all: BTreeSet<CommitId>,
    /// Those that a forge made, as merges of pull requests into the tip before, which is their first parent.
    pub(crate) merges: BTreeSet<CommitId>,
}

/// The newest part of a history.
pub(crate) struct HistoryEnd {
    /// Newest first: each commit before its parents.
    pub(super) commits: Vec<CommitNode>,
    /// The newest commits that are not part of it.
    pub(super) before: Vec<CommitId>,
    /// The earliest time of the last commit of it and of some of its ancestors.
    older: Option<i64>,
}

impl HistoryEnd {
    /// The number of ancestors whose times count. All of them are older than what was merged after them, so one
    /// right clock is enough. A pull request has at least one commit, so they add about a page to the list of pull
    /// requests.
    const OLDER: usize = 50;

    /// Reads the history of `start` back to all of `ends`, or further back to their common ancestor if they
    /// are on branches.
    pub(super) fn read(
        repository: &Repository,
        start: CommitId,
        ends: &BTreeSet<CommitId>,
    ) -> Result<Self, Libgit2Error> {
        let ends: Vec<CommitId> = ends.iter().copied().collect();
        let last = commit::common_ancestor(repository, &ends)?;
        let before = match last {
            Some(last) => CommitNode::read(repository, last)?.parents(Parents::All).to_vec(),
            None => Vec::new(),
        };
        let commits = commit::newest_first(repository, start, Parents::All, &before)?;
        let commits = commits.map(|commit| CommitNode::read(repository, commit?));
        let commits = commits.collect::<Result<_, _>>()?;
        let (mut older, mut next) = (None, last);
        for _ in 0..Self::OLDER {
            // The clone may be shallow, and then less is known.
            let Some(node) = next.and_then(|id| CommitNode::read(repository, id).ok()) else { break };
            older = Some(older.map_or(node.time, |time: i64| time.min(node.time)));
            next = node.parents(Parents::First).first().copied();
        }
        Ok(Self { commits, before, older })
    }

    /// Returns the number of newer commits, of a commit that is part of it.
    pub(crate) fn position(&self, commit: CommitId) -> Option<usize> {
        self.commits.iter().position(|found| found.id == commit)
    }

    /// Returns `commit` and its descendants.
    pub(crate) fn descendants(&self, commit: CommitId) -> BTreeSet<CommitId> {
        let mut found = BTreeSet::from([commit]);
        for node in self.commits.iter().rev() {
            if node.parents(Parents::All).iter().any(|parent| found.contains(parent)) {
                found.insert(node.id);
            }
        }
        found
    }

    /// Returns those of `among` after which the branch had one of `differing`. `among` has all descendants of
    /// its commits.
    ///
    /// What a merge of a pull request brought besides its first parent was never the tip of the branch, so a
    /// version that was only tried there is not one that the branch had. Nothing else tells these commits from
    /// older tips of the branch, because whoever pushes a merge chooses the order of its parents. A forge also counts
    /// a pushed merge as that of a request whose newest commit it has, so a merge whose content Git would not have
    /// made proves nothing.
    pub(crate) fn undone(
        &self,
        among: &BTreeSet<CommitId>,
        differing: &BTreeSet<CommitId>,
        tips: &KnownTips,
    ) -> BTreeSet<CommitId> {
        let has_change = |id: CommitId| among.contains(&id) && !differing.contains(&id);
        // Git takes what one parent has changed since the common ancestor.
        let drops_other = |merge: &CommitNode, before: CommitId, other: CommitId| {
            has_change(merge.id)
                && differing.contains(&other)
                && self.common_ancestor(before, other).is_some_and(has_change)
        };
        let is_of_forge = |merge: &&CommitNode| match merge.parents(Parents::All) {
            [before, others @ ..] if tips.merges.contains(&merge.id) => {
                !others.iter().any(|other| drops_other(merge, *before, *other))
            }
            _ => false,
        };
        let merges: Vec<&CommitNode> = self.commits.iter().filter(is_of_forge).collect();
        let mut undone = BTreeSet::new();
        for node in self.commits.iter().filter(|node| among.contains(&node.id)) {
            let id = node.id;
            let was_tip = || tips.all.contains(&id) || !self.was_brought(id, &merges);
            if differing.contains(&id) && !undone.contains(&id) && was_tip() {
                undone.insert(id);
            }
            if undone.contains(&id) {
                undone.extend(node.parents(Parents::All).iter().filter(|parent| among.contains(parent)));
            }
        }
        undone
    }

    /// Returns whether `commit` came with one of `merges`, which a forge made, so that it was not the tip of the branch
    /// by then.
    fn was_brought(&self, commit: CommitId, merges: &[&CommitNode]) -> bool {
        let with = self.descendants(commit);
        merges.iter().filter(|merge| with.contains(&merge.id)).any(|merge| {
            match merge.parents(Parents::All) {
                [before, _, ..] => !with.contains(before),
                _ => false,
            }
        })
    }

    /// Returns the newest commit that both have or are.
    fn common_ancestor(&self, one: CommitId, other: CommitId) -> Option<CommitId> {
        let mut sides = [BTreeSet::from([one]), BTreeSet::from([other])];
        self.commits
            .iter()
            .map(|node| {
                for side in sides.iter_mut().filter(|side| side.contains(&node.id)) {
                    side.extend(node.parents(Parents::All));
                }
                (node.id, sides.iter().all(|side| side.contains(&node.id)))
            })
            .find(|(_, is_common)| *is_common)
            .map(|(id, _)| id)
    }

    /// Returns the parents of a commit that is part of it.
    pub(crate) fn parents(&self, commit: CommitId) -> &[CommitId] {
        let found = self.commits.iter().find(|found| found.id == commit);
        found.map_or(&[], |found| found.parents(Parents::All))
    }

    /// Returns the earliest time of `commits` and of what they are based on, in seconds since 1970-01-01 UTC.
    pub(crate) fn earliest(&self, commits: &BTreeSet<CommitId>) -> Option<i64> {
        let times = self.commits.iter().filter(|found| commits.contains(&found.id)).map(|found| found.time);
        times.chain(self.older).min()
    }
}
