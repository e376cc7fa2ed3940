//! The reviews that count for a pass (`apply --reviewed`).
//!
//! On a forge, the review of a pull request counts for a change if the pull request was merged as the commit
//! of the change or as a descendant of it, if the branch did not undo the change since that merge, and if the
//! merge is not part of the revision at which the toggle was last applied. So a job that did not run, or two
//! quick merges, need nobody, and no review counts a second time.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::forge::{
    CommentPlan, ForgeMerge, ForgeReviews, RequestReview, ReviewPlace, ReviewQuery, ReviewSearch,
};
use crate::model::{
    Action, CommitId, ReviewedChanges, ServiceKind, ToggleId, Unlisted, UnlistedChange, escaped,
};
use crate::pass::Error;
use crate::pass::attribution::asks_for;
use crate::pass::config::Config;
use crate::plan::Change;
use crate::source::{self, HistoryEnd, KnownTips, Snapshot};
use crate::state::{AppliedHistory, RecordsSince, StateSnapshot};

/// How much the clocks of a forge and of the authors of commits may differ, in seconds.
const CLOCKS: i64 = 24 * 3600;

/// Where the reviews of changes are.
#[derive(Clone, Debug)]
pub(crate) enum ReviewSource {
    /// In a file that `plan -o json` wrote.
    File {
        /// The path as it was given.
        name: String,
        changes: ReviewedChanges,
    },
    /// In the comments on pull requests.
    Forge(Box<ForgeReviews>),
}

impl ReviewSource {
    /// Returns those of `changes` that no review lists. `applied` is the recorded state.
    pub(super) fn unlisted(
        &self,
        changes: &[Change],
        snapshot: &Snapshot,
        applied: &StateSnapshot,
        config: &Config,
    ) -> Result<Unlisted, Error> {
        match self {
            Self::File { name, changes: listed } => {
                let unlisted = changes.iter().filter(|change| !listed.list(change.digest()));
                let why = |change: &Change| UnlistedChange {
                    why: origin(change, &format!("which the review `{}` does not list", escaped(name))),
                    request: None,
                };
                Ok(unlisted.map(|change| (change.id.clone(), why(change))).collect())
            }
            Self::Forge(forge) => {
                // A document that is applied has passed this, and who lets it replace a change on the service
                // has decided on that.
                let changes: Vec<&Change> = changes.iter().filter(|change| !change.is_applied()).collect();
                if changes.is_empty() {
                    return Ok(Unlisted::new());
                }
                let merges = Merges::of(&changes, snapshot, applied, config.rules.kind)?;
                let query = ReviewQuery {
                    reference: snapshot.reference(),
                    since: merges.since(config.clock.unix()),
                    fresh: (applied.newest() != Some(snapshot.revision())).then(|| snapshot.revision()),
                };
                let open = changes.iter().map(|change| (&change.id, *change)).collect();
                let mut search = Search { merges, open };
                let reviews = forge.read(&query, &mut search).map_err(|error| Error::Reviews {
                    repository: forge.repository().to_owned(),
                    hint: error.hint(forge.api()).unwrap_or_else(|| {
                        let then = match error.may_pass() {
                            true => "run it again",
                            false => "the next run will end the same until that is changed",
                        };
                        format!("nothing was sent; {then}")
                    }),
                    error: error.into(),
                })?;
                let Search { merges, open } = search;
                let why = |(id, change): (&ToggleId, &Change)| (id.clone(), merges.why(change, &reviews));
                Ok(open.into_iter().map(why).collect())
            }
        }
    }
}

/// Returns where a change came from, and what its review lacks: continues the sentence "it …".
fn origin(change: &Change, lacks: &str) -> String {
    match (change.is_applied(), change.attribution.commit()) {
        (true, _) => format!("undoes a change on the service, {lacks}"),
        (_, None) => format!("came from files that are not committed, {lacks}"),
        (_, Some(commit)) => format!("came from commit {}, {lacks}", commit.id.short()),
    }
}

/// What a merge has to follow to be the review of a change.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Bounds {
    /// The commit of the change.
    commit: CommitId,
    applied: Applied,
    /// The descendants of the commit that do not have the change.
    differing: BTreeSet<CommitId>,
}

/// The revision at which a toggle was last applied.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Applied {
    At(CommitId),
    /// This clone has neither the revision nor a recorded one after it, so what follows it is not known.
    Elsewhere(CommitId),
    Never,
}

/// The search for the reviews of changes.
struct Search<'a> {
    merges: Merges,
    /// The changes that no review listed so far.
    open: BTreeMap<&'a ToggleId, &'a Change>,
}

impl ReviewSearch for Search<'_> {
    fn take(&mut self, merges: &[ForgeMerge]) {
        let made = merges.iter().filter(|merge| merge.is_made);
        let all = merges.iter().map(|merge| merge.commit);
        self.merges.judge(&all.collect(), made.map(|merge| merge.commit).collect());
    }

    fn place(&self, commit: CommitId) -> Option<ReviewPlace> {
        self.merges.place(commit)
    }

    fn is_enough(&mut self, review: &RequestReview) -> bool {
        let merges = &self.merges;
        self.open.retain(|_, change| !merges.lists(review, change));
        self.open.is_empty()
    }
}

/// Which merges can review which changes.
struct Merges {
    history: HistoryEnd,
    bounds: BTreeMap<ToggleId, Bounds>,
    /// The same without the toggles. Each with the commit of the change and its descendants, as far as the branch undid
    /// the change after them. A merge with an old parent takes the change from there again, but nobody reviewed that.
    undone: BTreeMap<Bounds, BTreeSet<CommitId>>,
    /// The commit of each change with its descendants.
    after: BTreeMap<CommitId, BTreeSet<CommitId>>,
    /// Each revision at which a toggle was last applied, with its ancestors.
    until: BTreeMap<CommitId, BTreeSet<CommitId>>,
    /// The revisions that passes have recorded since then: the branch had them.
    recorded: BTreeSet<CommitId>,
}

impl Merges {
    fn of(
        changes: &[&Change],
        snapshot: &Snapshot,
        applied: &StateSnapshot,
        kind: ServiceKind,
    ) -> Result<Self, Error> {
        let commits =
            changes.iter().filter_map(|change| Some((change.id.clone(), change.attribution.commit()?.id)));
        let commits: BTreeMap<ToggleId, CommitId> = commits.collect();
        let history = snapshot.history_since(&commits.values().copied().collect())?;
        let distinct: BTreeSet<CommitId> = commits.values().copied().collect();
        let after: BTreeMap<CommitId, BTreeSet<CommitId>> =
            distinct.into_iter().map(|commit| (commit, history.descendants(commit))).collect();
        let mut differing = differing(changes, snapshot, &history, &after, kind)?;
        let records = match AppliedHistory::of(applied)? {
            Some(records) => records.since(commits.keys().cloned().collect())?,
            None => RecordsSince::default(),
        };
        let (mut bounds, mut until) = (BTreeMap::new(), BTreeMap::new());
        for (id, commit) in commits {
            let mut applied = Applied::Never;
            for revision in records.of(&id) {
                let ancestors = match until.entry(revision) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(snapshot.ancestors_in(&history, revision)?),
                };
                if ancestors.is_some() {
                    applied = Applied::At(revision);
                    break;
                }
                // What the next recorded revision has is older than the change as well.
                applied = Applied::Elsewhere(revision);
            }
            let differing = differing.remove(&id).unwrap_or_default();
            bounds.insert(id, Bounds { commit, applied, differing });
        }
        let until = until.into_iter().filter_map(|(revision, ancestors)| Some((revision, ancestors?)));
        let recorded = bounds.keys().flat_map(|id| records.of(id)).collect();
        let until = until.collect();
        let mut merges = Self { history, bounds, undone: BTreeMap::new(), after, until, recorded };
        merges.judge(&BTreeSet::new(), BTreeSet::new());
        Ok(merges)
    }

    /// Finds what the branch undid. `tips` are commits that it is known to have had besides those that passes have
    /// recorded, and `merges` those of them that the forge made.
    fn judge(&mut self, tips: &BTreeSet<CommitId>, merges: BTreeSet<CommitId>) {
        let tips = KnownTips { all: tips | &self.recorded, merges };
        let undone =
            |bounds: &Bounds| self.history.undone(&self.after[&bounds.commit], &bounds.differing, &tips);
        self.undone = self.bounds.values().map(|bounds| (bounds.clone(), undone(bounds))).collect();
    }

    /// Returns the time before which nothing of interest was merged, in seconds since 1970-01-01 UTC. The clock
    /// of an author may have been ahead, so the commits of a change alone do not bound it.
    fn since(&self, now: i64) -> i64 {
        let earliest = self.after.values().filter_map(|commits| self.history.earliest(commits));
        earliest.min().unwrap_or(now).min(now) - CLOCKS
    }

    fn follows(&self, merge: CommitId, bounds: &Bounds) -> bool {
        self.after[&bounds.commit].contains(&merge)
            && !self.undone[bounds].contains(&merge)
            && match bounds.applied {
                Applied::At(revision) => !self.until[&revision].contains(&merge),
                Applied::Elsewhere(_) => false,
                Applied::Never => true,
            }
    }

    /// Returns the place of a merge that can review a change. The oldest ones come first, because most
    /// changes are reviewed by the merge that brought them.
    fn place(&self, merge: CommitId) -> Option<ReviewPlace> {
        let reviewed = self.undone.keys().enumerate().filter(|(_, bounds)| self.follows(merge, bounds));
        let changes: Vec<usize> = reviewed.map(|(number, _)| number).collect();
        let newer = if changes.is_empty() { None } else { self.history.position(merge) }?;
        Some(ReviewPlace { order: usize::MAX - newer, changes })
    }

    fn can_review(&self, review: &RequestReview, change: &Change) -> bool {
        self.bounds.get(&change.id).is_some_and(|bounds| self.follows(review.merged_as, bounds))
    }

    fn lists(&self, review: &RequestReview, change: &Change) -> bool {
        matches!(&review.plan, CommentPlan::Reviewed(listed) if listed.list(change.digest()))
            && self.can_review(review, change)
    }

    /// Returns why none of `reviews`, oldest first, lists `change`.
    fn why(&self, change: &Change, reviews: &[RequestReview]) -> UnlistedChange {
        let unlisted = |lacks: &str| UnlistedChange { why: origin(change, lacks), request: None };
        let Some(bounds) = self.bounds.get(&change.id) else {
            return unlisted("which no pull request has");
        };
        let with = &self.after[&bounds.commit];
        let can_review: Vec<&RequestReview> =
            reviews.iter().filter(|review| self.can_review(review, change)).collect();
        let is_brought = |review: &&&RequestReview| {
            let before = self.history.parents(review.merged_as).first();
            before.is_none_or(|before| !with.contains(before))
        };
        // Of several that were merged as one commit, the one that has the change and whose plan does not have it.
        let own = |first: &&RequestReview| {
            let alike = can_review.iter().filter(|review| review.merged_as == first.merged_as);
            let is_planned = |plan: &CommentPlan| matches!(plan, CommentPlan::Reviewed(_));
            alike.min_by_key(|review| (!with.contains(&review.head), is_planned(&review.plan))).copied()
        };
        let brought = can_review.iter().find(is_brought).and_then(own);
        // A rebase and a fast-forward leave no merge, so the next request may have brought this commit, too.
        let next = can_review.first().and_then(own).filter(|review| {
            !matches!(review.plan, CommentPlan::Reviewed(_))
                && self.history.parents(review.merged_as).len() == 1
        });
        match (bounds.applied, brought, next) {
            (_, Some(RequestReview { number, plan, .. }), _) => UnlistedChange {
                why: format!("came from pull request {number}, {}", why_unlisted(plan)),
                request: (*plan != CommentPlan::Unlisted).then_some(*number),
            },
            (_, None, Some(RequestReview { number, plan, .. })) => UnlistedChange {
                why: origin(change, &format!("perhaps of pull request {number}, {}", why_unlisted(plan))),
                request: (*plan != CommentPlan::Unlisted).then_some(*number),
            },
            (Applied::Elsewhere(revision), ..) => unlisted(&format!(
                "whose reviews cannot be told from older ones, because this clone lacks {}, at which the toggle was last \
                 applied",
                revision.short()
            )),
            _ if !self.undone[bounds].is_empty() => unlisted(
                "which was undone since, and no plan of a pull request that was merged after that lists it",
            ),
            _ if !can_review.is_empty() => {
                unlisted("which no plan of a pull request that was merged since lists")
            }
            (Applied::At(revision), ..) if self.until[&revision].contains(&bounds.commit) => {
                // The record of the toggle itself may be of a history that was rewritten, so this revision
                // only has what was applied.
                unlisted(&format!(
                    "and after {}, which a pass has recorded, no pull request was merged that could review it",
                    revision.short()
                ))
            }
            _ => unlisted("which was not merged from a pull request"),
        }
    }
}

/// Returns for each toggle those descendants of the commit of its change that do not have the change.
fn differing(
    changes: &[&Change],
    snapshot: &Snapshot,
    history: &HistoryEnd,
    after: &BTreeMap<CommitId, BTreeSet<CommitId>>,
    kind: ServiceKind,
) -> Result<BTreeMap<ToggleId, BTreeSet<CommitId>>, Error> {
    let reader = snapshot.reader()?;
    let committed = changes.iter().filter_map(|change| Some((*change, change.attribution.commit()?.id)));
    let (changes, commits): (Vec<&Change>, Vec<CommitId>) = committed.unzip();
    let paths = changes.iter().zip(&commits).map(|(change, commit)| (&*change.path, &after[commit]));
    let paths: Vec<(&str, &BTreeSet<CommitId>)> = paths.collect();
    let differing = snapshot.differing(history, &paths, |number, version| {
        let change = changes[number];
        let Some(version) = version.filter(|_| change.action != Action::Disable) else {
            return Ok(false);
        };
        match asks_for(&reader, &change.path, version, &change.payload, kind) {
            // A version that the clone lacks is not known to be the same.
            Err(source::Error::MissingObject(_) | source::Error::PartialClone(_)) => Ok(false),
            found => found,
        }
    })?;
    Ok(changes.into_iter().map(|change| change.id.clone()).zip(differing).collect())
}

/// Continues the sentence about a change that is not in the plan of its pull request.
fn why_unlisted(plan: &CommentPlan) -> &'static str {
    match plan {
        CommentPlan::Failed => "whose last plan failed",
        CommentPlan::Missing => {
            "which has no plan in a comment that gitoggle wrote with this token's user, `--root` and `--layout`, and that \
             is unchanged since"
        }
        CommentPlan::Unlisted => "whose comment has too many changes to list them",
        CommentPlan::Reviewed(_) => "whose last plan did not have this change",
    }
}
