//! Finds the reviews of what was merged: the comments on the pull requests that commits came from.

use std::collections::{BTreeMap, BTreeSet};

use super::client::{ForgeClient, ForgeError};
use super::comment::{CommentKey, CommentPlan};
use super::job::ForgeTarget;
use super::routes::ForgeApi;
use crate::model::{CommitId, Reviews};
use crate::transport::Network;

/// The most commits that the forge is asked about. Each costs a request.
const MOST: usize = 300;

/// The reviews on a forge.
#[derive(Clone, Debug)]
pub(crate) struct ForgeReviews {
    pub(crate) target: ForgeTarget,
    pub(crate) network: Network,
    pub(crate) key: CommentKey,
}

/// The end of a history, newest first: commits with their parents, each before its parents.
pub(crate) type HistoryEnd = [(CommitId, Vec<CommitId>)];

impl ForgeReviews {
    pub(crate) fn api(&self) -> ForgeApi {
        self.target.api
    }

    pub(crate) fn repository(&self) -> &str {
        &self.target.repository
    }

    /// Reads the reviews of the pull requests that were merged as one of the commits of `history`, until `is_enough`.
    pub(crate) fn read(
        &self,
        history: &HistoryEnd,
        is_enough: &dyn Fn(&Reviews) -> bool,
    ) -> Result<Reviews, ForgeError> {
        let parents: BTreeMap<CommitId, &[CommitId]> =
            history.iter().map(|(commit, parents)| (*commit, parents.as_slice())).collect();
        let mut reviews = Reviews::none(match history.len() <= MOST {
            true => "which was not merged from a pull request".to_owned(),
            false => format!("which none of the newest {MOST} commits has merged from a pull request"),
        });
        let client = ForgeClient::new(self.target.clone(), &self.network)?;
        let user = client.user()?;
        let is_in_history =
            |commit: &str| commit.parse().is_ok_and(|commit| parents.contains_key(&CommitId(commit)));
        let mut seen = BTreeSet::new();
        for commit in branch_first(history, &parents).into_iter().take(MOST) {
            let Some(number) = client.merged_as(commit, &is_in_history)? else {
                continue;
            };
            let plan = match seen.insert(number) {
                true => Some(client.review(number, &self.key, user)?),
                false => None,
            };
            let request = format!("pull request {number}, {}", why_unlisted(plan.as_ref()));
            reviews.name(brought_by(commit, &parents), &request);
            if let Some(CommentPlan::Reviewed(changes)) = plan {
                reviews.add(changes);
            }
            if is_enough(&reviews) {
                break;
            }
        }
        Ok(reviews)
    }
}

impl ForgeClient {
    /// Returns the number of the pull request that `commit` came from, and that was merged as a commit of the history.
    fn merged_as(
        &self,
        commit: CommitId,
        is_in_history: &dyn Fn(&str) -> bool,
    ) -> Result<Option<u64>, ForgeError> {
        match self.call(&self.routes.requests_of(&commit.to_string())) {
            // Gitea has no list, and answers so for a commit without a pull request.
            Err(error) if error.refused(404) => Ok(None),
            answer => Ok(self.routes.read_merged(&answer?.body, is_in_history)),
        }
    }
}

/// Continues the sentence about a change that is not in a review.
fn why_unlisted(plan: Option<&CommentPlan>) -> &'static str {
    match plan {
        Some(CommentPlan::Failed) => "whose last plan failed",
        Some(CommentPlan::Missing) => {
            "which has no plan in a comment that gitoggle wrote with this token's user and these settings, and that is \
             unchanged since"
        }
        Some(CommentPlan::Unlisted) => "whose comment has too many changes to list them",
        Some(CommentPlan::Reviewed(_)) | None => "whose last plan did not have this change",
    }
}

/// Returns the commits of the branch itself, then the others, each newest first. Most merges are on the branch.
fn branch_first(history: &HistoryEnd, parents: &BTreeMap<CommitId, &[CommitId]>) -> Vec<CommitId> {
    let first = history.first().map(|(commit, _)| *commit);
    let on_branch = |commit: &CommitId| parents.get(commit)?.first().copied();
    let branch: Vec<CommitId> =
        std::iter::successors(first, on_branch).take_while(|commit| parents.contains_key(commit)).collect();
    let known: BTreeSet<CommitId> = branch.iter().copied().collect();
    let others = history.iter().map(|(commit, _)| *commit).filter(|commit| !known.contains(commit));
    branch.into_iter().chain(others).collect()
}

/// Returns the commits that a merge brought into its branch, and the merge.
fn brought_by(merge: CommitId, parents: &BTreeMap<CommitId, &[CommitId]>) -> BTreeSet<CommitId> {
    let before = parents.get(&merge).and_then(|parents| parents.first());
    let before = before.map(|before| reachable(*before, parents)).unwrap_or_default();
    reachable(merge, parents).difference(&before).copied().collect()
}

fn reachable(start: CommitId, parents: &BTreeMap<CommitId, &[CommitId]>) -> BTreeSet<CommitId> {
    let (mut found, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(commit) = open.pop() {
        if let Some(parents) = parents.get(&commit)
            && found.insert(commit)
        {
            open.extend(*parents);
        }
    }
    found
}
