//! Writes and reads the lines of a journal.

use serde::Deserialize;

use super::index::{JournalEntry, JournalIndex};
use crate::model::{Certainty, CommitId, Sent, ToggleId};

/// One line of the journal.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum JournalLine {
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
}

/// Reads a journal.
///
/// # Errors
/// The number of a damaged line before the last one.
pub(crate) fn replay(bytes: &[u8]) -> Result<Replay, usize> {
    let mut replay = Replay::default();
    let mut after_hole = false;
    // The last line may be incomplete. Its request was not sent, because `begin` had not returned.
    let whole = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    for (number, line) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
        match serde_json::from_slice(line) {
            Ok(JournalLine::Header {
                journal: 1,
                id,
                base_url,
                pass: mark,
            }) => {
                replay.header = Some(JournalHeader { id, base_url, mark });
            }
            Ok(JournalLine::Intent {
                intent,
                toggle,
                base,
                sent,
            }) => {
                let outcome = None;
                replay.index.intend(
                    toggle,
                    JournalEntry {
                        number: intent,
                        base,
                        sent,
                        outcome,
                    },
                );
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

/// Returns the first line of a journal.
pub(crate) fn header(header: &JournalHeader) -> String {
    let JournalHeader { id, base_url, mark } = header;
    let mut line =
        serde_json::json!({ "journal": 1, "id": id, "base_url": base_url, "pass": mark }).to_string();
    line.push('\n');
    line
}

/// Returns the line of an intent.
pub(crate) fn intent(number: u64, id: &ToggleId, base: Option<CommitId>, sent: &Sent) -> String {
    let Sent {
        action,
        payload,
        comment,
        object,
        format,
        path,
        revision,
        base_version,
        note,
        earlier,
    } = sent;
    // The payload is JSON already, so the line is formatted without parsing it again.
    let text = |text: &str| serde_json::to_string(text).expect("a string is valid JSON");
    let base_version =
        base_version.map_or_else(String::new, |version| format!(",\"base_version\":{version}"));
    let note = note.map_or_else(String::new, |note| format!(",\"note\":\"{}\"", note.as_str()));
    let earlier = match earlier.as_slice() {
        [] => String::new(),
        earlier => format!(",\"earlier\":{}", serde_json::json!(earlier)),
    };
    let base = base.map_or_else(|| "null".to_owned(), |base| format!("\"{base}\""));
    format!(
        "{{\"intent\":{number},\"toggle\":\"{id}\",\"base\":{base},\"sent\":{{\"action\":\"{}\",\"payload\":{},\
         \"comment\":{},\"object\":\"{object}\",\"format\":\"{}\",\"path\":{},\"revision\":\"{revision}\"{base_version}{note}{earlier}}}}}\n",
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
