//! Reads the reviews of what was merged: the comments on the pull requests that were merged into a branch.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::client::{ForgeAnswer, ReadPage};
use super::comment::{CommentKey, CommentPlan};
use super::job::{ForgeTarget, branch_name};
use super::routes::{ListedRequest, RequestedPage};
use super::{ForgeClient, ForgeError, ForgeRetries};
use crate::model::{CommitId, Forge};
use crate::transport::Network;

/// The waits before the list is read again, while a merge is not in it yet.
const WAITS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];

#[derive(Clone, Debug)]
pub(crate) struct ForgeReviews {
    pub(crate) target: ForgeTarget,
    pub(crate) network: Network,
    pub(crate) retries: ForgeRetries,
    pub(crate) key: CommentKey,
}

/// The plan in the comment of a merged pull request.
#[derive(Clone, Debug)]
pub(crate) struct RequestReview {
    pub(crate) number: u64,
    /// What the branch had after the merge.
    pub(crate) merged_as: CommitId,
    /// The newest commit of the pull request, or `merged_as` if the forge does not name another one.
    pub(crate) head: CommitId,
    pub(crate) plan: CommentPlan,
}

/// How a pull request was merged.
#[derive(Clone, Debug)]
pub(crate) struct MergedRequest {
    /// What the branch had after the merge.
    pub(crate) commit: CommitId,
    /// The newest commit of the pull request, if the forge names it.
    pub(crate) head: Option<CommitId>,
    /// Where the pull request began, if the forge names it.
    pub(crate) base: Option<CommitId>,
    /// The commits of the pull request, if the forge lists all of them.
    pub(crate) commits: BTreeSet<CommitId>,
}

/// The reviews that a pass looks for.
pub(crate) struct ReviewQuery<'a> {
    /// The ref of the commits, which may be a detached `HEAD`.
    pub(crate) reference: &'a str,
    /// The time before which no pull request of interest was merged, in seconds since 1970-01-01 UTC.
    pub(crate) since: i64,
    /// The newest commit, if no pass has seen it. Its pull request may not be in the list yet.
    pub(crate) fresh: Option<CommitId>,
}

/// What decides which reviews are read.
pub(crate) trait ReviewSearch {
    /// Takes all pull requests that were merged into the branch, as far as the forge lists them.
    fn take(&mut self, merges: &[ForgeMerge]);

    /// Returns what a review of a pull request that was merged as `commit` could be about; none if it cannot count.
    fn place(&self, commit: CommitId) -> Option<ReviewPlace>;

    /// Returns whether no review is missing, with this one.
    fn is_enough(&mut self, review: &RequestReview) -> bool;
}

/// A commit as which a pull request was merged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForgeMerge {
    pub(crate) commit: CommitId,
    /// Whether the forge made that commit: it is not the newest one of the pull request.
    pub(crate) is_made: bool,
}

/// What the review of a merge could be about.
#[derive(Clone, Debug)]
pub(crate) struct ReviewPlace {
    /// The order in which reviews are read.
    pub(crate) order: usize,
    /// The numbers of the changes that it could list.
    pub(crate) changes: Vec<usize>,
}

impl ForgeReviews {
    pub(crate) fn api(&self) -> Forge {
        self.target.api
    }

    pub(crate) fn repository(&self) -> &str {
        &self.target.repository
    }

    /// Reads the reviews until there are enough, or until no other one can count.
    pub(crate) fn read(
        &self,
        query: &ReviewQuery<'_>,
        search: &mut dyn ReviewSearch,
    ) -> Result<Vec<RequestReview>, ForgeError> {
        let branch = branch_name(query.reference).filter(|_| query.reference.starts_with("refs/"));
        let branch = branch.or(self.target.branch.as_deref());
        let branch = branch.ok_or_else(|| ForgeError::NoBranch(query.reference.to_owned()))?;
        let client = ForgeClient::new(self.target.clone(), &self.network, &self.retries)?;
        let user = &client.user()?;
        let mut reviews: Vec<RequestReview> = Vec::new();
        let mut waits = WAITS.iter();
        loop {
            let listed = client.merged_requests(branch, query.since)?;
            let is_listed = |fresh| listed.values().any(|request| request.commit == Some(fresh));
            let is_complete = query.fresh.is_none_or(is_listed);
            let merges: Vec<ForgeMerge> = listed.values().filter_map(ListedRequest::merge).collect();
            search.take(&merges);
            let requests = listed.into_values().filter_map(|request| {
                let merged_as = request.commit?;
                Some(Candidate { place: search.place(merged_as)?, merged_as, request })
            });
            for Candidate { merged_as, request, .. } in worth_reading(requests.collect()) {
                let number = request.number;
                if reviews.iter().any(|review| review.number == number) {
                    continue;
                }
                let head = request.head.unwrap_or(merged_as);
                let plan = client.review(number, &self.key, user, request.comments)?;
                let review = RequestReview { number, merged_as, head, plan };
                let is_enough = search.is_enough(&review);
                reviews.push(review);
                if is_enough {
                    return Ok(reviews);
                }
            }
            if is_complete && !client.is_merging(branch)? {
                return Ok(reviews);
            }
            let Some(wait) = waits.next() else {
                return Ok(reviews);
            };
            std::thread::sleep(*wait);
        }
    }
}

/// A pull request whose comment may be about the changes that a pass looks for.
struct Candidate {
    place: ReviewPlace,
    merged_as: CommitId,
    request: ListedRequest,
}

/// Returns the pull requests whose comments are read, in the order in which that is done. The target of one that was
/// created after the first merge of a change had that change already, so no plan of it can list that.
fn worth_reading(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_unstable_by_key(|candidate| (candidate.place.order, candidate.request.number));
    let mut first_merges: BTreeMap<usize, i64> = BTreeMap::new();
    for Candidate { place, request, .. } in &candidates {
        let Some(merged_at) = request.merged_at else { continue };
        for change in &place.changes {
            let first = first_merges.entry(*change).or_insert(merged_at);
            *first = merged_at.min(*first);
        }
    }
    candidates.retain(|Candidate { place, request, .. }| {
        let is_too_late = |change: &usize| {
            request.created_at.zip(first_merges.get(change)).is_some_and(|(created, first)| created > *first)
        };
        // A list with comments costs nothing more.
        request.comments.is_some() || !place.changes.iter().all(is_too_late)
    });
    candidates
}

impl ForgeClient {
    /// Returns the pull requests that were merged into `branch` and changed after `since`, by number.
    fn merged_requests(&self, branch: &str, since: i64) -> Result<BTreeMap<u64, ListedRequest>, ForgeError> {
        let mut merged = BTreeMap::new();
        let mut read = |answer: &ForgeAnswer| {
            let entries = self.routes.entries(&answer.body);
            let entries =
                entries.ok_or_else(|| answer.foreign("it did not return a list of pull requests"))?;
            let mut read = ReadPage { ids: Vec::new(), is_last: entries.is_empty() };
            for entry in entries {
                let request = self.routes.read_merged(entry, branch);
                let request = request.ok_or_else(|| answer.foreign("a pull request has no number"))?;
                read.ids.push(request.number);
                read.is_last |= request.changed_at.is_some_and(|time| time < since);
                if request.is_merged {
                    merged.insert(request.number, request);
                }
            }
            Ok(read)
        };
        let request = |page: &RequestedPage| self.routes.merged(branch, since, page);
        if self.list("merged pull requests", request, &mut read)? > 1 {
            // A request that changed meanwhile has moved to the first page.
            read(&self.call(&request(&RequestedPage::FIRST))?)?;
        }
        Ok(merged)
    }

    /// Returns how pull request `number` was merged into `branch`; none if it is not. It was not merged before
    /// `since`, in seconds since 1970-01-01 UTC.
    pub(crate) fn merged_request(
        &self,
        number: u64,
        branch: &str,
        since: i64,
    ) -> Result<Option<MergedRequest>, ForgeError> {
        const CLOCKS: i64 = 24 * 3600;
        let mut merged = self.merged_requests(branch, since - CLOCKS)?;
        let Some(ListedRequest { commit: Some(commit), head, base, .. }) = merged.remove(&number) else {
            return Ok(None);
        };
        let commits = self.commits(number)?;
        Ok(Some(MergedRequest { commit, head, base, commits }))
    }

    /// Returns the commits of pull request `number`; none if the forge does not list all of them.
    fn commits(&self, number: u64) -> Result<BTreeSet<CommitId>, ForgeError> {
        let (mut commits, mut after) = (BTreeSet::new(), None);
        while let Some(request) = self.routes.commits(number, after.as_deref()) {
            let answer = self.call(&request)?;
            let page = self.routes.read_commits(&answer.body);
            let page =
                page.ok_or_else(|| answer.foreign("it did not return the commits of a pull request"))?;
            let known = commits.len();
            commits.extend(page.commits);
            if commits.len() >= page.total {
                return Ok(commits);
            }
            // A page without a new commit ends a list that would have no end.
            after = page.next.filter(|_| commits.len() > known);
            if after.is_none() {
                break;
            }
        }
        Ok(BTreeSet::new())
    }

    /// Returns whether a pull request is being merged into `branch`.
    fn is_merging(&self, branch: &str) -> Result<bool, ForgeError> {
        let Some(request) = self.routes.merging(branch) else {
            return Ok(false);
        };
        let answer = self.call(&request)?;
        Ok(self.routes.entries(&answer.body).is_some_and(|requests| !requests.is_empty()))
    }
}
