//! What the journal says, as a value: which requests were about to be sent and what came of them.
//!
//! Pure. Nothing is ever dropped here for being unknown: an intent leaves only when its request certainly was not
//! stored, when a later request for the toggle was confirmed, or when it was recorded.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::model::{CommitId, Sent, ToggleId};

/// What came of one request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The service confirmed it.
    Applied,
    /// The service certainly did not store it.
    NotApplied,
    /// It may or may not have been stored.
    Unknown,
}

/// One request: its intent, and its outcome where there is one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) base: Option<CommitId>,
    pub(crate) sent: Sent,
    pub(crate) outcome: Option<Finish>,
}

/// One line of the journal.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
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
        finish: Finish,
    },
}

/// All requests that are not recorded yet, by toggle, oldest first.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Ledger {
    toggles: BTreeMap<ToggleId, Vec<Entry>>,
    open: HashMap<u64, ToggleId>,
    highest: u64,
}

impl Ledger {
    /// Notes that a request is about to be sent.
    pub(crate) fn intend(&mut self, id: ToggleId, entry: Entry) {
        self.highest = self.highest.max(entry.number);
        self.open.insert(entry.number, id.clone());
        self.toggles.entry(id).or_default().push(entry);
    }

    /// Notes what came of it; a number that is not known (any more) changes nothing.
    pub(crate) fn finish(&mut self, number: u64, finish: Finish) {
        let Some(id) = self.open.remove(&number) else {
            return;
        };
        let Some(entries) = self.toggles.get_mut(&id) else {
            return;
        };
        match finish {
            Finish::Applied => {
                // What went before no longer matters: the service confirmed something newer.
                let at = entries.iter().position(|entry| entry.number == number);
                for before in entries.drain(..at.unwrap_or(0)) {
                    self.open.remove(&before.number);
                }
                entries[0].outcome = Some(finish);
            }
            Finish::NotApplied => entries.retain(|entry| entry.number != number),
            Finish::Unknown => {
                for entry in entries.iter_mut().filter(|entry| entry.number == number) {
                    entry.outcome = Some(finish);
                }
            }
        }
        if entries.is_empty() {
            self.toggles.remove(&id);
        }
    }

    /// Returns what is confirmed and not recorded yet.
    pub(crate) fn settled(&self) -> impl Iterator<Item = (&ToggleId, &Entry)> {
        self.toggles.iter().flat_map(|(id, entries)| {
            let applied = entries
                .iter()
                .filter(|entry| entry.outcome == Some(Finish::Applied));
            applied.map(move |entry| (id, entry))
        })
    }

    /// Returns the last request of each toggle whose outcome is not known.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = (&ToggleId, &Entry)> {
        self.toggles.iter().filter_map(|(id, entries)| {
            let last = entries.last()?;
            (last.outcome != Some(Finish::Applied)).then_some((id, last))
        })
    }

    /// Drops what is recorded elsewhere, and takes back what cannot be trusted.
    pub(crate) fn cut(&mut self, cut: &Cut) {
        self.forget(&cut.folded);
        self.doubt(|entry| cut.doubtful.contains(&entry.number));
        for id in &cut.forgotten {
            self.forget_toggle(id);
        }
    }

    /// Drops what was recorded.
    fn forget(&mut self, numbers: &[u64]) {
        let numbers: std::collections::HashSet<u64> = numbers.iter().copied().collect();
        self.toggles.retain(|_, entries| {
            entries.retain(|entry| !numbers.contains(&entry.number));
            !entries.is_empty()
        });
    }

    /// Drops everything about `id`.
    pub(crate) fn forget_toggle(&mut self, id: &ToggleId) {
        for entry in self.toggles.remove(id).unwrap_or_default() {
            self.open.remove(&entry.number);
        }
    }

    /// Drops what the last pass on shared state left open. Whoever moved the record since could do so only from its
    /// announcement: each toggle of it was unknown to them, and is settled in their record or on their list.
    pub(crate) fn supersede(&mut self) {
        self.toggles.clear();
        self.open.clear();
    }

    /// Takes back confirmations that cannot be trusted: they become unknown.
    pub(crate) fn doubt(&mut self, doubtful: impl Fn(&Entry) -> bool) {
        for entries in self.toggles.values_mut() {
            for entry in entries.iter_mut() {
                if entry.outcome == Some(Finish::Applied) && doubtful(entry) {
                    entry.outcome = Some(Finish::Unknown);
                }
            }
        }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&ToggleId, &Entry)> {
        self.toggles
            .iter()
            .flat_map(|(id, entries)| entries.iter().map(move |entry| (id, entry)))
    }

    /// Returns whether no request is open, unknown or waits to be recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.toggles.is_empty()
    }

    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }
}

/// What leaves the journal, because it is recorded elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    pub(crate) folded: Vec<u64>,
    pub(crate) doubtful: Vec<u64>,
    pub(crate) forgotten: Vec<ToggleId>,
}

impl Cut {
    pub(crate) fn is_empty(&self) -> bool {
        self.folded.is_empty() && self.doubtful.is_empty() && self.forgotten.is_empty()
    }
}

/// What a journal file holds.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    pub(crate) ledger: Ledger,
    /// The file's id, base URL and, for a pass on shared state, that pass's own mark.
    pub(crate) header: Option<Header>,
}

/// The first line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Header {
    pub(crate) id: String,
    pub(crate) base_url: String,
    pub(crate) pass: Option<String>,
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
    for (index, line) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
        match serde_json::from_slice(line) {
            Ok(Line::Header {
                journal: 1,
                id,
                base_url,
                pass,
            }) => {
                replay.header = Some(Header { id, base_url, pass });
            }
            Ok(Line::Intent {
                intent,
                toggle,
                base,
                sent,
            }) => {
                let outcome = None;
                replay.ledger.intend(
                    toggle,
                    Entry {
                        number: intent,
                        base,
                        sent,
                        outcome,
                    },
                );
            }
            Ok(Line::Outcome { outcome, finish }) if !after_hole => replay.ledger.finish(outcome, finish),
            Ok(Line::Outcome { .. }) => {}
            Err(_) if line.contains(&0) => after_hole = true,
            Ok(Line::Header { .. }) | Err(_) => return Err(index + 1),
        }
    }
    Ok(replay)
}

/// Returns the first line of a journal.
pub(crate) fn header_line(header: &Header) -> String {
    let Header { id, base_url, pass } = header;
    let mut line =
        serde_json::json!({ "journal": 1, "id": id, "base_url": base_url, "pass": pass }).to_string();
    line.push('\n');
    line
}

/// Returns the line of an intent. The payload is JSON already, so that it is not taken apart for this.
pub(crate) fn intent_line(number: u64, id: &ToggleId, base: Option<CommitId>, sent: &Sent) -> String {
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
pub(crate) fn outcome_line(number: u64, finish: Finish) -> String {
    let finish = match finish {
        Finish::Applied => "applied",
        Finish::NotApplied => "not_applied",
        Finish::Unknown => "unknown",
    };
    format!("{{\"outcome\":{number},\"finish\":\"{finish}\"}}\n")
}
