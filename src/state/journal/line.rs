//! Writes and reads the lines of a journal.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{JournalEntry, JournalIndex};
use crate::model::{Certainty, CommitId, RequestDigest, Sent, ToggleId};

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum JournalLine {
    Header {
        journal: u32,
        id: String,
        base_url: String,
        pass: Option<String>,
        timeout_ms: u64,
        open: BTreeSet<ToggleId>,
        let_through: BTreeMap<ToggleId, RequestDigest>,
    },
    Intent {
        intent: u64,
        toggle: ToggleId,
        base: Option<CommitId>,
        sent: Sent,
    },
    Outcome {
        outcome: u64,
        finish: Certainty,
    },
}

/// The content of a journal file.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    pub(crate) index: JournalIndex,
    pub(crate) header: Option<JournalHeader>,
}

/// The first line of a journal. `mark` identifies the announcement of a pass on shared state.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct JournalHeader {
    pub(crate) id: String,
    pub(crate) base_url: String,
    pub(crate) mark: Option<String>,
    /// The longest timeout of the requests in the journal and of those of `open`.
    pub(crate) timeout: Duration,
    /// The toggles with a request that a killed process left open, whatever became of them since.
    pub(crate) open: BTreeSet<ToggleId>,
    /// The requests that the rails let through in the last pass that sent any.
    pub(crate) let_through: BTreeMap<ToggleId, RequestDigest>,
}

/// Reads a journal.
///
/// # Errors
/// The number of a damaged line before the last one.
pub(crate) fn replay(bytes: &[u8]) -> Result<Replay, usize> {
    let mut replay = Replay::default();
    let mut after_hole = false;
    // The last line may be incomplete. Its request was not sent, because `begin` had not returned.
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    for (number, line) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
        match serde_json::from_slice(line) {
            Ok(JournalLine::Header {
                journal: 1,
                id,
                base_url,
                pass: mark,
                timeout_ms,
                open,
                let_through,
            }) => {
                let timeout = Duration::from_millis(timeout_ms);
                replay.header = Some(JournalHeader { id, base_url, mark, timeout, open, let_through });
            }
            Ok(JournalLine::Intent { intent, toggle, base, sent }) => {
                let outcome = None;
                replay.index.intend(toggle, JournalEntry { number: intent, base, sent, outcome });
            }
            Ok(JournalLine::Outcome { outcome, finish }) if !after_hole => {
                replay.index.finish(outcome, finish);
            }
            Ok(JournalLine::Outcome { .. }) => {}
            // A power cut may leave zero bytes in the last batch. Requests after them count as unknown.
            Err(_) if line.contains(&0) => after_hole = true,
            Ok(JournalLine::Header { .. }) | Err(_) => return Err(number + 1),
        }
    }
    Ok(replay)
}

pub(crate) fn header_line(header: &JournalHeader) -> String {
    let JournalHeader { id, base_url, mark, timeout, open, let_through } = header;
    line(&serde_json::json!({
        "journal": 1,
        "id": id,
        "base_url": base_url,
        "pass": mark,
        "timeout_ms": u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
        "open": open,
        "let_through": let_through,
    }))
}

pub(crate) fn intent(number: u64, id: &ToggleId, base: Option<CommitId>, sent: &Sent) -> String {
    #[derive(Serialize)]
    struct Intent<'a> {
        intent: u64,
        toggle: &'a ToggleId,
        base: Option<CommitId>,
        sent: &'a Sent,
    }
    line(&Intent { intent: number, toggle: id, base, sent })
}

pub(crate) fn outcome(number: u64, finish: Certainty) -> String {
    #[derive(Serialize)]
    struct Outcome {
        outcome: u64,
        finish: Certainty,
    }
    line(&Outcome { outcome: number, finish })
}

fn line(content: &impl Serialize) -> String {
    let mut line = serde_json::to_string(content).expect("text and numbers always have a JSON form");
    line.push('\n');
    line
}
