//! The lines of a journal: written and read.

use serde::Deserialize;

use super::index::{Entry, JournalIndex};
use crate::model::{Certainty, CommitId, Sent, ToggleId};

/// One line of the journal.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line {
    Header {
        journal: u32,
        id: String,
        base_url: String,
        #[serde(default)]
        pass: Option<String>,
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

/// What a journal file holds.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    pub(crate) index: JournalIndex,
    /// The file's id, base URL and, for a pass on shared state, that pass's own mark.
    pub(crate) header: Option<Header>,
}

/// The first line.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Header {
    pub(crate) id: String,
    pub(crate) base_url: String,
    pub(crate) mark: Option<String>,
}

/// Reads a journal, or gives the number of the line that cannot be read.
///
/// The last line may be torn: its request was not sent, for begin had not returned. So may a whole last batch after
/// a power cut, which leaves zero bytes in it; what can still be read after such a hole counts as unknown.
pub(crate) fn replay(bytes: &[u8]) -> Result<Replay, usize> {
    let mut replay = Replay::default();
    let mut after_hole = false;
    let whole = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    for (number, line) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
        match serde_json::from_slice(line) {
            Ok(Line::Header {
                journal: 1,
                id,
                base_url,
                pass: mark,
            }) => {
                replay.header = Some(Header { id, base_url, mark });
            }
            Ok(Line::Intent {
                intent,
                toggle,
                base,
                sent,
            }) => {
                let outcome = None;
                replay.index.intend(
                    toggle,
                    Entry {
                        number: intent,
                        base,
                        sent,
                        outcome,
                    },
                );
            }
            Ok(Line::Outcome { outcome, finish }) if !after_hole => replay.index.finish(outcome, finish),
            Ok(Line::Outcome { .. }) => {}
            Err(_) if line.contains(&0) => after_hole = true,
            Ok(Line::Header { .. }) | Err(_) => return Err(number + 1),
        }
    }
    Ok(replay)
}

/// Returns the first line of a journal.
pub(crate) fn header(header: &Header) -> String {
    let Header { id, base_url, mark } = header;
    let mut line =
        serde_json::json!({ "journal": 1, "id": id, "base_url": base_url, "pass": mark }).to_string();
    line.push('\n');
    line
}

/// Returns the line of an intent. The payload is JSON already, so that it is not taken apart for this.
pub(crate) fn intent(number: u64, id: &ToggleId, base: Option<CommitId>, sent: &Sent) -> String {
    let Sent {
        action,
        payload,
        comment,
        object,
        format,
        path,
        revision,
    } = sent;
    let text = |text: &str| serde_json::to_string(text).expect("text always has a JSON form");
    let base = base.map_or_else(|| "null".to_owned(), |base| format!("\"{base}\""));
    format!(
        "{{\"intent\":{number},\"toggle\":\"{id}\",\"base\":{base},\"sent\":{{\"action\":\"{}\",\"payload\":{},\
         \"comment\":{},\"object\":\"{object}\",\"format\":\"{}\",\"path\":{},\"revision\":\"{revision}\"}}}}\n",
        action.as_str(),
        payload.as_json(),
        text(comment),
        format.as_str(),
        text(path),
    )
}

/// Returns the line of an outcome.
pub(crate) fn outcome(number: u64, finish: Certainty) -> String {
    let finish = match finish {
        Certainty::Stored => "applied",
        Certainty::NotStored => "not_applied",
        Certainty::Unknown => "unknown",
    };
    format!("{{\"outcome\":{number},\"finish\":\"{finish}\"}}\n")
}
