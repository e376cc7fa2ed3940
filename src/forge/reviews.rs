//! Finds the reviews of what was merged: the comments on the pull requests that commits came from.

use std::collections::{BTreeMap, BTreeSet};

use super::comment::{CommentKey, CommentPlan};
use super::job::ForgeTarget;
use super::routes::ForgeApi;
use super::{ForgeClient, ForgeError};
use crate::model::{CommitId, Reviews};
use crate::transport::Network;

/// The most commits that the forge is asked about. Each costs a request.
const MOST: usize = 300;

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
        let client = ForgeClient::new(self.target.clone(), &self.network)?;
        let user = client.user()?;
        let known: BTreeSet<CommitId> = history.iter().map(|(commit, _)| *commit).collect();
        let is_in_history =
            |commit: &str| commit.parse().is_ok_and(|commit| known.contains(&CommitId(commit)));
        let merged_as = |commit| client.merged_as(commit, &is_in_history);
        collect(history, is_enough, merged_as, |number| client.review(number, &self.key, user))
    }
}

/// Collects the reviews of the pull requests that `merged_as` names for the commits of `history`.
fn collect<E>(
    history: &HistoryEnd,
    is_enough: &dyn Fn(&Reviews) -> bool,
    merged_as: impl Fn(CommitId) -> Result<Option<u64>, E>,
    review: impl Fn(u64) -> Result<CommentPlan, E>,
) -> Result<Reviews, E> {
    let parents: BTreeMap<CommitId, &[CommitId]> =
        history.iter().map(|(commit, parents)| (*commit, parents.as_slice())).collect();
    let mut reviews = Reviews::none(match history.len() <= MOST {
        true => "which was not merged from a pull request".to_owned(),
        false => format!("which none of the newest {MOST} commits has merged from a pull request"),
    });
    let mut seen = BTreeSet::new();
    for commit in branch_first(history, &parents).into_iter().take(MOST) {
        let Some(number) = merged_as(commit)? else {
            continue;
        };
        let plan = match seen.insert(number) {
            true => Some(review(number)?),
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::LazyLock;

    use super::*;
    use crate::model::{ChangeDigest, ObjectId, Payload};

    /// The number of pull requests.
    const REQUESTS: u8 = 10;
    /// The toggle of a commit that nobody reviewed, which was pushed after the fifth merge.
    const PUSHED: u8 = 11;

    /// The commits are numbered so that each comes after its parents: the base, then for each request the commit of its
    /// branch and its merge.
    fn commit(number: u8) -> CommitId {
        CommitId(ObjectId([number; 20]))
    }

    fn merge(request: u8) -> u8 {
        3 * request
    }

    fn change(toggle: u8) -> u8 {
        match toggle {
            PUSHED => merge(5) + 1,
            request => merge(request) - 1,
        }
    }

    fn parents(number: u8) -> Vec<u8> {
        match number {
            0 => Vec::new(),
            number if number == change(PUSHED) => vec![merge(5)],
            // The branches of odd requests began at the base, the others at the merge before.
            number if number % 3 == 2 => vec![if number % 2 == 0 { 0 } else { number - 2 }],
            number => {
                let before = if number == merge(6) { change(PUSHED) } else { number - 3 };
                vec![before, number - 1]
            }
        }
    }

    /// The ancestors of each commit, itself included.
    static ANCESTORS: LazyLock<Vec<BTreeSet<u8>>> = LazyLock::new(|| {
        let mut all: Vec<BTreeSet<u8>> = Vec::new();
        for number in 0..=merge(REQUESTS) {
            let is_commit = number % 3 != 1 || number == change(PUSHED);
            let parents = if is_commit { parents(number) } else { Vec::new() };
            let above = parents.iter().flat_map(|parent| all[usize::from(*parent)].iter().copied());
            let found = above.chain([number]).collect();
            all.push(found);
        }
        all
    });

    fn ancestors(number: u8) -> &'static BTreeSet<u8> {
        &ANCESTORS[usize::from(number)]
    }

    /// Returns what `Snapshot::history_since` does.
    fn history(head: u8, ends: &[u8]) -> Vec<(CommitId, Vec<CommitId>)> {
        let common = ends.iter().map(|end| ancestors(*end).clone());
        let common = common.reduce(|a, b| &a & &b).and_then(|common| common.last().copied());
        let hidden = common.map(parents).unwrap_or_default().into_iter().flat_map(ancestors).copied();
        let hidden: BTreeSet<u8> = hidden.collect();
        let shown: Vec<u8> = ancestors(head).difference(&hidden).copied().collect();
        let ids = |numbers: Vec<u8>| numbers.into_iter().map(commit).collect();
        shown.into_iter().rev().map(|number| (commit(number), ids(parents(number)))).collect()
    }

    fn digest(toggle: u8) -> ChangeDigest {
        let payload = serde_json::from_str::<Payload>(
            r#"{"disabled":true,"content":{"rules":[],"disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[]}}"#,
        );
        ChangeDigest::new(&format!("shop/prod/t{toggle}").parse().unwrap(), &payload.unwrap())
    }

    /// How the job of a merge ends.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Job {
        Cancelled,
        /// It has sent half of the changes, and recorded neither the others nor its revision.
        Killed,
        Ran,
        /// The service has refused half of the changes; its revision is recorded.
        Refused,
    }

    #[test]
    fn whichever_jobs_ran_the_last_one_publishes_what_was_reviewed_and_nothing_else() {
        let digests: Vec<ChangeDigest> = (0..=PUSHED).map(digest).collect();
        for subset in 0..1_u16 << REQUESTS {
            let (mut applied, mut recorded) = (BTreeSet::new(), 0);
            for request in 1..=REQUESTS {
                let others = [Job::Cancelled, Job::Killed, Job::Refused];
                let ran = request == REQUESTS || subset >> (request - 1) & 1 == 1;
                let job = match ran {
                    true => Job::Ran,
                    false => others[(usize::from(request) + usize::from(subset)) % 3],
                };
                if job == Job::Cancelled {
                    continue;
                }
                let head = merge(request);
                let merged = (1..=PUSHED).filter(|toggle| ancestors(head).contains(&change(*toggle)));
                let due: Vec<u8> = merged.filter(|toggle| !applied.contains(toggle)).collect();
                let ends: Vec<u8> = due.iter().map(|toggle| change(*toggle)).chain([recorded]).collect();
                let is_enough =
                    |reviews: &Reviews| due.iter().all(|toggle| reviews.list(digests[usize::from(*toggle)]));
                let reviews = collect(
                    &history(head, &ends),
                    &is_enough,
                    |found| {
                        let request = (1..=REQUESTS).find(|request| commit(merge(*request)) == found);
                        Ok::<_, Infallible>(request.map(u64::from))
                    },
                    |number| {
                        let listed = [digests[usize::try_from(number).unwrap()]];
                        Ok(CommentPlan::Reviewed(listed.into_iter().collect()))
                    },
                );
                let reviews = reviews.unwrap();
                let listed: Vec<u8> =
                    due.into_iter().filter(|toggle| reviews.list(digests[usize::from(*toggle)])).collect();
                let sent = if job == Job::Ran { listed.len() } else { listed.len() / 2 };
                applied.extend(&listed[..sent]);
                recorded = if job == Job::Killed { recorded } else { head };
            }
            let expected: BTreeSet<u8> = (1..=REQUESTS).collect();
            assert_eq!(applied, expected, "jobs that ran: {subset:010b}");
        }
    }
}
