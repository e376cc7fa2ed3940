//! The numbers at which a function takes another path, and a list of those that only bound something.
//!
//! These only bound something, so each has one path, and tests at its bound where it is:
//!
//! | Bounds | Beyond it |
//! |---|---|
//! | lines of the journal in one sync (`state/journal/file.rs`) | the next line is in the next sync |
//! | tries to read state between two trims (`state/snapshot.rs`), rejected pushes (`state/shared/remote.rs`), rounds of a request (`pass/publish/attempt.rs`), reads of a list (`service/reader/lists.rs`), tries (`transport/backoff.rs`) | the last result counts |
//! | waits: term, renewal and patience of shared state, the pauses of a pass, the graces of processes | the wait ends; the rules are pure functions with tests at both sides (`state/shared/protocol.rs`) |
//! | replaced requests that a request remembers (`model/request.rs`) | the oldest is forgotten, so a change of the service counts as foreign |
//! | documents that a thread reads at a time (`pass/read.rs`), keys of one search for a similar one (`pass/references.rs`) | another part follows |
//! | commits of `FETCH_HEAD` and files beside a checkout (`source/place.rs`) | the age of the source is unknown |
//! | failed reads in a row (`service/reader`) | the scan ends as failed |
//! | sizes of documents, responses, lists, texts, pages and depths | an error that names the bound, or a text that says how many are left out |

use std::time::Duration;

/// The numbers at which a function takes another path to the same promise.
///
/// Both paths must keep what their callers rely on, so no such number is fixed where it is used: the simulation of passes
/// draws each of them small as well as real, and tests of the source set them. A fault behind a number that no test
/// reaches stays unseen until somebody has that many toggles.
///
/// A number that only bounds a list, a text, a wait or a repetition is not among them: nothing else happens beyond it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Thresholds {
    /// With more documents than this, the state has the `git` program copy them. Others are compressed one by one.
    pub few_documents: usize,
    /// With more packs than this, the state has the `git` program merge them.
    pub most_packs: usize,
    /// A pass that takes longer than this records what was confirmed so far, again and again.
    pub checkpoint: Duration,
    /// As many failures of different toggles in a row put the service in doubt. Before, each is charged to its toggle.
    pub failures_in_a_row: usize,
    /// Until a change was applied, no more requests than this are open.
    pub first_round: usize,
    /// From this number of applied toggles on, an environment has a share that one pass may change.
    pub fewest_for_share: usize,
    /// Of this many scans for drift, one reads every toggle. The others read what has another version.
    pub scans: u32,
    /// A revision this many commits away from the recorded one is recorded without a search for a difference.
    pub far: usize,
    /// With more trees than this, a snapshot reads further trees again each time.
    pub most_trees: usize,
    /// With more bytes of trees than this, a walk through the history forgets them.
    pub tree_bytes: usize,
    /// With more packs than this, the mirror of a source is cloned again.
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
