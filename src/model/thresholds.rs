//! The numbers at which a function takes another path, and a list of those that only bound something.
//!
//! These only bound what something costs or shows, and tests are at the bound where it is:
//!
//! | Bounds | Beyond it |
//! |---|---|
//! | lines of the journal in one sync (`state/journal/file.rs`) | the next line is in the next sync |
//! | tries to read state between two trims (`state/snapshot.rs`), rejected pushes (`state/shared/remote.rs`), rounds of a request (`pass/publish/attempt.rs`), reads of a list (`service/reader/lists.rs`), tries (`transport/backoff.rs`) | the last result counts |
//! | waits: term, renewal and patience of shared state, the pauses of a pass, the graces of processes | the wait ends; the rules are pure functions with tests at both sides (`state/shared/protocol.rs`) |
//! | replaced requests that a request remembers (`model/request.rs`) | the oldest is forgotten, so a change of the service is taken as someone else's |
//! | documents that a thread reads at a time (`pass/read.rs`), keys of one search for a similar one (`pass/references.rs`) | another part follows |
//! | commits of `FETCH_HEAD` and files beside a checkout (`source/place.rs`) | the age of the source is unknown |
//! | failed reads in a row (`service/reader`) | the scan ends as failed |
//! | the age of a list of the service (`service/reader/project.rs`), open repositories that wait for a reader (`git/repository.rs`) | the list is read, the repository is opened again |
//! | searches for similar keys, circles and dependents (`pass/references.rs`, `document/references.rs`, `pass/dependents.rs`), and the memory of owners (`document/owners.rs`) | a message without a suggestion, with the beginning of a circle, or without owners |
//! | repairs of a text and the cost of its patterns (`document/syntax.rs`, `document/condition.rs`) | the first error is the last one; an error that names the bound |
//! | lines of a diff (`plan/change.rs`), changes that a comment compares (`report/markdown.rs`), changes that are logged one by one (`pass/report.rs`) | the canonical forms, a row for each change, the count |
//! | the work of the parser of clean documents (`document/plain.rs`) | the syntax tree, which reads the same: tests read each document with both |
//! | sizes of documents, responses, lists, texts, pages and depths | an error that names the bound, or a text that says how many are left out |

use std::time::Duration;

/// The numbers at which a function takes another path to the same promise.
///
/// Both paths must keep what their callers rely on, so no such number is fixed where it is used. Three
/// simulations draw all of them small as well as real, and each field names the test whose outcome depends on
/// it. A fault behind a number that no test reaches stays unseen until somebody has that many toggles.
///
/// A number that only bounds a list, a text, a wait or a repetition is not among them: nothing else happens
/// beyond it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Thresholds {
    /// With more documents than this, the state has the `git` program copy them. Others are compressed one by
    /// one.
    ///
    /// Test: `jobs_that_share_state_apply_the_newest_commit`.
    pub few_documents: usize,
    /// With more packs than this, the state has the `git` program merge them.
    ///
    /// Test: `jobs_that_share_state_apply_the_newest_commit`.
    pub most_packs: usize,
    /// A pass that takes longer than this records what was confirmed so far, again and again.
    ///
    /// Test: `jobs_that_share_state_apply_the_newest_commit`.
    pub checkpoint: Duration,
    /// As many failures of different toggles in a row put the service in doubt. Before, each is charged to
    /// its toggle.
    ///
    /// Test: `jobs_that_share_state_apply_the_newest_commit`.
    pub failures_in_a_row: usize,
    /// Until a change was applied, no more requests than this are open.
    ///
    /// Test: `jobs_that_share_state_apply_the_newest_commit`.
    pub first_round: usize,
    /// From this number of applied toggles on, an environment has a share that one pass may change.
    ///
    /// Test: `a_process_without_permission_sends_only_what_was_sent_or_let_through_before`.
    pub fewest_for_share: usize,
    /// Of this many scans for drift, one reads every toggle. The others read what has another version.
    ///
    /// Test: `every_scan_finds_what_it_can_see_and_one_of_them_everything`.
    pub scans: u32,
    /// A revision this many commits away from the recorded one is recorded without a search for a difference.
    ///
    /// Test: `every_look_at_a_source_finds_what_the_git_program_finds`.
    pub far: usize,
    /// With more trees than this, a snapshot reads further trees again each time.
    ///
    /// Test: `every_look_at_a_source_finds_what_the_git_program_finds`.
    pub most_trees: usize,
    /// With more bytes of trees than this, a walk through the history forgets them.
    ///
    /// Test: `every_look_at_a_source_finds_what_the_git_program_finds`.
    pub tree_bytes: usize,
    /// With more packs than this, the mirror of a source is cloned again.
    ///
    /// Test: `every_look_at_a_source_finds_what_the_git_program_finds`.
    pub most_mirror_packs: usize,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            // So many documents are worth a process.
            few_documents: 100,
            // A commit takes four times as long with a thousand packs as with fifty.
            most_packs: 50,
            // Well below the 20 s within which an announcement on shared state must be renewed.
            checkpoint: Duration::from_secs(5),
            failures_in_a_row: 10,
            first_round: 3,
            // With fewer toggles, one ordinary change would exceed the share.
            fewest_for_share: 10,
            scans: 20,
            far: 1_000,
            // A plan of a few changes reads fewer, and a plan of all documents reads each tree once.
            most_trees: 512,
            // A walk through a long history would otherwise keep every version of every folder.
            tree_bytes: 32 << 20,
            // Each fetch adds a pack.
            most_mirror_packs: 256,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Thresholds {
        /// Draws each threshold: 1, 2, 3, or as it is in production.
        pub(crate) fn drawn(seed: u64) -> Self {
            let (mut rng, real) = (fastrand::Rng::with_seed(!seed), Self::default());
            let drawn = |rng: &mut fastrand::Rng, real| [1, 2, 3, real][rng.usize(..4)];
            let seconds = [1, 2, 3, real.checkpoint.as_secs()][rng.usize(..4)];
            // Merging runs a program, which takes as long as ten passes.
            let merges = rng.u8(..8) == 0;
            // Without `..`, so that a new threshold is drawn as well.
            Self {
                few_documents: drawn(&mut rng, real.few_documents),
                most_packs: if merges { rng.usize(1..=3) } else { real.most_packs },
                checkpoint: Duration::from_secs(seconds),
                failures_in_a_row: drawn(&mut rng, real.failures_in_a_row),
                first_round: drawn(&mut rng, real.first_round),
                fewest_for_share: drawn(&mut rng, real.fewest_for_share),
                far: drawn(&mut rng, real.far),
                most_trees: drawn(&mut rng, real.most_trees),
                tree_bytes: drawn(&mut rng, real.tree_bytes),
                scans: [1, 2, 3, real.scans][rng.usize(..4)],
                most_mirror_packs: drawn(&mut rng, real.most_mirror_packs),
            }
        }
    }
}
