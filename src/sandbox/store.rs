//! What the documented endpoint keeps and refuses: requests, documents, and the file of its history; the
//! strict check of a body against src/service/README.md, "The contract"; and faults at random, but the same
//! ones for the same seed.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::hash::{Hash, Hasher as _};
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::{Content, Rule, Serve, ToggleId};
use crate::transport::Secret;

/// One request to the endpoint, whatever the response was.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    pub toggle: ToggleId,
    pub body: Bytes,
}

/// The requests and documents of one sandbox.
#[derive(Clone)]
pub(super) struct RequestLog {
    /// Contended by the requests, each of which holds it for microseconds, twice.
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    received: Vec<ReceivedRequest>,
    /// The number of documents.
    stored: usize,
    toggles: HashMap<ToggleId, ToggleLog>,
    most_open: usize,
    file: Option<HistoryFile>,
}

#[derive(Default)]
struct ToggleLog {
    requests: u64,
    open: usize,
    newest: Option<Arc<StoredDocument>>,
}

impl RequestLog {
    /// Begins with the documents of `file`.
    pub(super) fn new(file: Option<(HistoryFile, Vec<StoredDocument>)>) -> Self {
        let (file, stored) = file.map_or_else(Default::default, |(file, old)| (Some(file), old));
        let mut toggles: HashMap<ToggleId, ToggleLog> = HashMap::new();
        let count = stored.len();
        for document in stored {
            let log = toggles.entry(document.toggle.clone()).or_default();
            log.newest = Some(Arc::new(document));
        }
        let inner = Inner { received: Vec::new(), stored: count, toggles, most_open: 0, file };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Records the arrival of a request, which is open until the returned value is dropped.
    pub(super) fn arrive(&self, toggle: ToggleId, body: &[u8]) -> OpenRequest {
        let mut inner = self.lock();
        let body = Bytes::copy_from_slice(body);
        inner.received.push(ReceivedRequest { toggle: toggle.clone(), body });
        let log = inner.toggles.entry(toggle.clone()).or_default();
        log.open += 1;
        log.requests += 1;
        let (nth, open) = (log.requests - 1, log.open);
        inner.most_open = inner.most_open.max(open);
        drop(inner);
        OpenRequest { request_log: self.clone(), toggle, nth }
    }

    pub(super) fn received(&self) -> Vec<ReceivedRequest> {
        self.lock().received.clone()
    }

    pub(super) fn newest(&self, toggle: &ToggleId) -> Option<Arc<StoredDocument>> {
        self.lock().toggles.get(toggle)?.newest.clone()
    }

    /// Returns the most requests that were ever open for one toggle at the same time. A request that its
    /// client gave up counts until the sandbox notices.
    pub(super) fn most_open(&self) -> usize {
        self.lock().most_open
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that has arrived and is not finished.
pub(super) struct OpenRequest {
    request_log: RequestLog,
    pub(super) toggle: ToggleId,
    /// The number of earlier requests for the same toggle.
    pub(super) nth: u64,
}

impl OpenRequest {
    pub(super) fn store(&self, body: Accepted) -> std::io::Result<Arc<StoredDocument>> {
        let mut inner = self.request_log.lock();
        let inner = &mut *inner;
        let log = inner.toggles.entry(self.toggle.clone()).or_default();
        let document = StoredDocument {
            seq: inner.stored,
            toggle: self.toggle.clone(),
            version: log.newest.as_ref().map_or(1, |newest| newest.version + 1),
            at: Timestamp::now(),
            body,
        };
        // The file comes first, so that a document that could not be written does not count as stored.
        if let Some(file) = &mut inner.file {
            file.append(&document)?;
        }
        inner.stored += 1;
        let document = Arc::new(document);
        log.newest = Some(Arc::clone(&document));
        Ok(document)
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        // This also runs if the client gives up, because the server then drops the request.
        if let Some(log) = self.request_log.lock().toggles.get_mut(&self.toggle) {
            log.open -= 1;
        }
    }
}

/// A document, which is also one line of the history file.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StoredDocument {
    /// Its number, from 0, in order of storing.
    pub(super) seq: usize,
    pub(super) toggle: ToggleId,
    /// The number of documents that were stored for this toggle, this one included.
    pub(super) version: u64,
    #[serde(with = "as_text")]
    pub(super) at: Timestamp,
    #[serde(flatten)]
    pub(super) body: Accepted,
}

mod as_text {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(at)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// A history file that is open for appending.
pub(super) struct HistoryFile(File);

impl HistoryFile {
    /// Opens or creates `path` and reads its documents. Removes a last line that was cut off.
    pub(super) fn open(path: &Path) -> std::io::Result<(Self, Vec<StoredDocument>)> {
        let mut file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
        let mut published = Vec::new();
        let mut good = 0;
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            published.push(read(&line)?);
            good += line.len() as u64;
            line.clear();
        }
        // The next document would otherwise continue the torn line.
        file.set_len(good)?;
        file.seek(SeekFrom::Start(good))?;
        Ok((Self(file), published))
    }

    pub(super) fn append(&mut self, published: &StoredDocument) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(published)?;
        line.push(b'\n');
        self.0.write_all(&line)
    }
}

fn read(line: &[u8]) -> std::io::Result<StoredDocument> {
    let document: StoredDocument = serde_json::from_slice(line)?;
    // An operator may have edited the file.
    documented(&document.body.content).map_err(std::io::Error::other)?;
    Ok(document)
}

pub(super) struct SandboxState {
    pub(super) request_log: RequestLog,
    pub(super) token: Secret,
    pub(super) faults: Faults,
    pub(super) loses_next: AtomicBool,
}

impl SandboxState {
    pub(super) fn strike(&self, request: &OpenRequest) -> Fault {
        if self.loses_next.swap(false, Ordering::Relaxed) {
            Fault::DropAfterStore
        } else {
            self.faults.strike(&request.toggle, request.nth)
        }
    }
}

/// The largest request body, in bytes. A document has at most 1 MiB, and JSON may need more for the same.
pub(super) const LARGEST_REQUEST: usize = 4 * 1024 * 1024;

/// A request body: exactly these members.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Accepted {
    pub(super) comment: String,
    pub(super) disabled: bool,
    pub(super) content: Content,
}

/// Checks a body. The error is the reason for a refusal.
pub(super) fn check(body: &[u8]) -> Result<Accepted, String> {
    let accepted: Accepted = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    documented(&accepted.content)?;
    Ok(accepted)
}

/// Refuses what the documented API does not have, although it is part of the targeting.
pub(super) fn documented(content: &Content) -> Result<(), String> {
    let Content { rules, disabled_serve, default_serve, variations, prerequisites } = content;
    if prerequisites.is_some() {
        return Err("content: unknown field `prerequisites`".to_owned());
    }
    let check = |place: &str, serve: &Serve| match serve {
        Serve::Select(select) if (*select as usize) < variations.len() => Ok(()),
        Serve::Select(select) => Err(format!(
            "{place}: select {select} is out of range, there are {} variations",
            variations.len()
        )),
        Serve::Split(_) => Err(format!("{place}: unknown field `split`")),
        Serve::Nothing => Err(format!("{place}: missing field `select`")),
    };
    check("content.disabledServe", disabled_serve)?;
    check("content.defaultServe", default_serve)?;
    for (index, Rule { serve, conditions, .. }) in rules.iter().enumerate() {
        check(&format!("content.rules[{index}].serve"), serve)?;
        if conditions.iter().any(|condition| condition.between.is_some()) {
            return Err(format!("content.rules[{index}]: unknown field `leftPredicate`"));
        }
    }
    Ok(())
}

/// The faults of a sandbox; none by default. Rates are probabilities in `0.0..=1.0`.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    /// How often a request is answered 500 or 503, half of each, without storing.
    pub fail_rate: f64,
    /// The delay of every request before it is processed.
    pub latency: Duration,
    /// How often the connection ends without an answer after the document was stored.
    pub drop_after_store_rate: f64,
    /// How often a request is answered 429, without storing.
    pub too_many_rate: f64,
    /// The `Retry-After` of such a 429, in whole seconds.
    pub retry_after: Duration,
    /// The same seed strikes the same attempts for the same toggles, in any order of arrival.
    pub seed: u64,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            fail_rate: 0.0,
            latency: Duration::ZERO,
            drop_after_store_rate: 0.0,
            too_many_rate: 0.0,
            retry_after: Duration::from_secs(1),
            seed: 0,
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fault {
    DropAfterStore,
    Internal,
    None,
    TooMany,
    Unavailable,
}

impl Faults {
    /// Returns the fault that strikes the `nth` request for `target`.
    pub(super) fn strike(&self, target: &impl Hash, nth: u64) -> Fault {
        let Self { fail_rate, latency: _, drop_after_store_rate, too_many_rate, retry_after: _, seed } = self;
        // This hasher has fixed keys, so that a seed selects the same faults in every process.
        let mut hasher = std::hash::DefaultHasher::new();
        // The faults must not depend on the order of arrival, so they are drawn for each request separately.
        (seed, target, nth).hash(&mut hasher);
        let mut random = fastrand::Rng::with_seed(hasher.finish());
        // One number decides among all faults, so that their rates add up.
        let drawn = random.f64();
        if drawn < *fail_rate {
            return if random.bool() { Fault::Internal } else { Fault::Unavailable };
        }
        if drawn < fail_rate + too_many_rate {
            return Fault::TooMany;
        }
        if drawn < fail_rate + too_many_rate + drop_after_store_rate {
            return Fault::DropAfterStore;
        }
        Fault::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_are_open_for_one_toggle_at_the_same_time_are_counted() {
        let request_log = RequestLog::new(None);
        let arrive = |id: &str| request_log.arrive(id.parse().unwrap(), b"");
        let one = arrive("p/e/a");
        let two = arrive("p/e/b");
        assert_eq!((one.nth, two.nth), (0, 0));
        drop(one);
        let three = arrive("p/e/a");
        assert_eq!((three.nth, request_log.most_open()), (1, 1));
        let _four = arrive("p/e/a");
        assert_eq!(request_log.most_open(), 2);
    }

    fn strikes(faults: &Faults) -> Vec<Fault> {
        let id: ToggleId = "p/e/t".parse().unwrap();
        (0..1000).map(|nth| faults.strike(&id, nth)).collect()
    }

    #[test]
    fn the_same_seed_strikes_the_same_requests() {
        let faults =
            Faults { fail_rate: 0.2, drop_after_store_rate: 0.1, too_many_rate: 0.1, ..Faults::default() };
        assert_eq!(strikes(&faults), strikes(&faults));
        assert_ne!(strikes(&faults), strikes(&Faults { seed: 1, ..faults.clone() }));
        let count = |fault| strikes(&faults).iter().filter(|drawn| **drawn == fault).count();
        assert!((60..140).contains(&count(Fault::TooMany)), "{}", count(Fault::TooMany));
        assert!((60..140).contains(&count(Fault::Internal)), "{}", count(Fault::Internal));
        assert!((60..140).contains(&count(Fault::DropAfterStore)));
    }

    #[test]
    fn nothing_strikes_by_default_and_everything_at_rate_one() {
        assert!(strikes(&Faults::default()).iter().all(|fault| *fault == Fault::None));
        let all = Faults { too_many_rate: 1.0, ..Faults::default() };
        assert!(strikes(&all).iter().all(|fault| *fault == Fault::TooMany));
    }

    const GOOD: &str = r#"{"comment":"c","disabled":false,"content":{"rules":[{"name":"r","serve":{"select":0},"conditions":[{"type":"number","subject":"age","predicate":">","objects":["18"]}]}],"disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[{"value":"v","name":"n","description":""}]}}"#;

    #[test]
    fn the_contracts_example_is_accepted() {
        let accepted = check(GOOD.as_bytes()).unwrap();
        assert_eq!(accepted.comment, "c");
        assert_eq!(accepted.content.rules.len(), 1);
    }

    /// The example with the first text replaced by the second is refused for the reason.
    fn refused(cases: &[(&str, &str, &str)]) {
        for (from, to, reason) in cases {
            let error = check(GOOD.replacen(from, to, 1).as_bytes()).err().unwrap();
            assert!(error.contains(reason), "{to}: {error}");
        }
    }

    #[test]
    fn a_missing_unknown_or_repeated_field_is_refused() {
        refused(&[
            (r#""comment":"c","#, "", "missing field `comment`"),
            (r#""disabled":false,"#, "", "missing field `disabled`"),
            (r#""comment":"c""#, r#""comment":"c","comment":"d""#, "duplicate field `comment`"),
            (r#""comment":"c""#, r#""comment":"c","baseVersion":1"#, "unknown field `baseVersion`"),
            (r#""name":"r","#, "", "missing field `name`"),
            (r#""name":"r","#, r#""name":"r","title":"","#, "unknown field `title`"),
            (r#","description":"""#, "", "missing field `description`"),
            (r#""defaultServe":{"select":0}"#, r#""defaultServe":{}"#, "missing field `select`"),
            (
                r#""defaultServe":{"select":0}"#,
                r#""defaultServe":{"split":[10000]}"#,
                "unknown field `split`",
            ),
            (r#""variations":"#, r#""prerequisites":[],"variations":"#, "unknown field `prerequisites`"),
            (
                r#""objects":["18"]"#,
                r#""objects":["18"],"leftPredicate":">","rightPredicate":"<","rightObjects":["65"]"#,
                "unknown field `leftPredicate`",
            ),
        ]);
    }

    #[test]
    fn another_value_or_another_text_is_refused() {
        refused(&[
            (r#""disabled":false"#, r#""disabled":"false""#, "expected a boolean"),
            (r#""disabled":false"#, r#""disabled":null"#, "expected a boolean"),
            (r#"["18"]"#, "[18]", "expected a string"),
            (r#""defaultServe":{"select":0}"#, r#""defaultServe":{"select":1}"#, "select 1 is out of range"),
            (r#""defaultServe":{"select":0}"#, r#""defaultServe":{"select":-1}"#, "invalid value"),
            (r#""defaultServe":{"select":0}"#, r#""defaultServe":{"select":0.0}"#, "expected u32"),
            ("}}", "}} x", "trailing characters"),
        ]);
        assert!(check(b"").is_err());
        assert!(check(b"[]").is_err());
    }
}
