//! Reads what a FeatureProbe service has (src/service/README.md, "Reading"). Sends only GET requests.
//!
//! A failed read is an [`Outcome`] whose certainty is that nothing was stored, so that one retry policy
//! serves reads and publishes. A read that got no response is *busy*, because there is nothing that could
//! have been lost.
//!
//! The service compares keys without regard to case, so lookups do, too ([`ByKey`]). Keys that are not valid
//! in a repository are kept aside ([`Listing`]).

mod lists;
mod project;

pub use crate::service::reader::lists::PayloadVersions;
pub use crate::service::reader::lists::{EnvironmentInfo, InvalidKey, ListedToggle, Listing};
pub use crate::service::reader::project::{EnvironmentReader, ToggleIndex};
pub use crate::service::reader::project::{ProjectReader, ToggleDemand};

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::error::Category;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::Instrument as _;
use url::Url;

use super::classify::{Length, decoded};
use super::retry::{Again, Evidence, PassEffect, RetryContext, decide, effect};
use crate::model::{Certainty, Key, OutcomeKind, ServiceKind};
use crate::service::classify::description;
use crate::service::connection::{Authorization, Received, ReceivedBody, ServiceConnection};
use crate::service::{BaseUrl, Body, ClientConfig, ClientError, Outcome, ServiceTrust, classify};
use crate::transport::Secret;

/// In bytes, before and after decompression. A page of 1,000 toggles is 0.4 MiB, a targeting up to 1 MiB, and
/// the history of a toggle and the payload of an environment have no limit.
const LARGEST_READ: usize = 64 << 20;

/// A client of the service that only reads. Clones share connections, the token and the SDK keys.
#[derive(Clone, Debug)]
pub struct LiveReader {
    connection: ServiceConnection,
    sdk_keys: SdkKeys,
}

/// The SDK keys of environments, which outlive the reader that looked them up. Clones share them.
// By project. Scans of several environments look up and replace SDK keys at the same time.
#[derive(Clone, Debug, Default)]
pub struct SdkKeys(Arc<Mutex<BTreeMap<Key, ByKey<Secret>>>>);

impl SdkKeys {
    /// Forgets the keys, so that the next reads look them up. A key that was reset is not rejected while the
    /// service has its payload in a cache, which no change reaches.
    pub fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, ByKey<Secret>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveReader {
    /// Builds a reader. Reads the CA file and the token, but opens no connection.
    pub fn new(config: ClientConfig) -> Result<Self, ClientError> {
        ServiceConnection::new(config).map(Self::with)
    }

    pub(super) fn with(connection: ServiceConnection) -> Self {
        Self { connection, sdk_keys: SdkKeys::default() }
    }

    /// Returns this reader with the SDK keys that another one looked up.
    #[must_use]
    pub fn with_sdk_keys(self, sdk_keys: SdkKeys) -> Self {
        Self { sdk_keys, ..self }
    }

    const fn kind(&self) -> ServiceKind {
        self.connection.kind()
    }

    /// Returns the address of the service.
    pub const fn base_url(&self) -> &BaseUrl {
        self.connection.base_url()
    }

    /// See [`super::Client::token_generation`].
    pub fn token_generation(&self) -> u64 {
        self.connection.token_generation()
    }

    /// Reads the token again.
    pub fn reload_token(&self) -> Result<(), ClientError> {
        self.connection.reload_token()
    }

    /// Returns the JSON at `url`. `expected` is a noun phrase for the message about any other JSON.
    async fn json<T: DeserializeOwned>(&self, url: Url, expected: &str) -> Result<T, Outcome> {
        let received = self.get(url, self.connection.authorization()).await?;
        parse(&received, expected)
    }

    async fn get(&self, url: Url, authorization: Authorization) -> Result<Received, Outcome> {
        let received = self.connection.get(url, authorization, LARGEST_READ);
        received.await.map_err(Outcome::of_read)
    }
}

/// The number of reads in a row that may fail before the others are not tried anymore, as in a pass whose
/// service is in doubt.
const MOST_FAILURES: u32 = 5;

/// After how long without a useful response the log says so, once two reads in a row had none.
const LOGGED_SILENCE: Duration = Duration::from_secs(5);

/// The reads of one scan or one import, of which some may run at the same time.
///
/// A `Retry-After` holds back all of them. When the service as a whole has failed, every further read fails
/// immediately with the same outcome.
#[derive(Debug)]
pub struct ReadSession {
    reader: LiveReader,
    // Concurrent reads record their outcomes. Held only for that.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    held_until: Option<Instant>,
    failures: u32,
    silence: Option<Silence>,
    ended: Option<Outcome>,
}

/// Reads in a row without a useful response, retries included.
#[derive(Debug)]
struct Silence {
    reads: u32,
    /// When the first of them began.
    since: Instant,
    is_logged: bool,
}

impl Silence {
    const fn new(since: Instant) -> Self {
        Self { reads: 0, since, is_logged: false }
    }

    /// Counts a read that ended at `now`. Returns whether the log has to say that the service is silent: once.
    fn lasts(&mut self, now: Instant) -> bool {
        self.reads += 1;
        let is_due = !self.is_logged && self.reads > 1 && now - self.since >= LOGGED_SILENCE;
        self.is_logged |= is_due;
        is_due
    }
}

impl ReadSession {
    pub fn new(reader: LiveReader) -> Self {
        Self { reader, state: Mutex::default() }
    }

    pub const fn reader(&self) -> &LiveReader {
        &self.reader
    }

    pub fn ended(&self) -> Option<Outcome> {
        self.state().ended.clone()
    }

    /// Calls `read` until it succeeds or the policy gives it up.
    ///
    /// # Errors
    /// The last outcome, or the outcome that ended the session.
    pub async fn read<T, F>(&self, read: impl Fn() -> F) -> Result<T, Outcome>
    where
        F: Future<Output = Result<T, Outcome>>,
    {
        let mut tries = 0;
        loop {
            tries += 1;
            self.permitted().await?;
            // Read before the request, so that a token that another read loads meanwhile is newer.
            let generation = self.reader.token_generation();
            let began = Instant::now();
            let failure = match read().instrument(tracing::debug_span!("read", attempt = tries)).await {
                Ok(value) => {
                    let mut state = self.state();
                    (state.failures, state.silence) = (0, None);
                    return Ok(value);
                }
                Err(failure) => failure,
            };
            self.unanswered(&failure, began);
            match self.next(&failure, tries, generation) {
                Again::After(wait) => {
                    let wait_s = wait.as_secs_f64();
                    tracing::debug!(name: "retry", attempt = tries, wait_s, reason = %failure, "will be tried again");
                    sleep(wait).await;
                }
                Again::Now => {}
                Again::Never => return Err(failure),
            }
        }
    }

    /// Logs that the service hangs. Otherwise the log has nothing of it until all retries have failed.
    fn unanswered(&self, failure: &Outcome, began: Instant) {
        let mut state = self.state();
        if effect(failure.kind).evidence != Evidence::Passing {
            state.silence = None;
            return;
        }
        if state.silence.get_or_insert(Silence::new(began)).lasts(Instant::now()) {
            tracing::warn!(name: "doubted", reason = %failure, "no useful response from the service");
        }
    }

    /// Waits while reads are held back.
    async fn permitted(&self) -> Result<(), Outcome> {
        loop {
            let until = {
                let state = self.state();
                if let Some(outcome) = &state.ended {
                    return Err(outcome.clone());
                }
                state.held_until.filter(|until| *until > Instant::now())
            };
            match until {
                Some(until) => sleep_until(until).await,
                None => return Ok(()),
            }
        }
    }

    fn next(&self, failure: &Outcome, tries: u32, generation: u64) -> Again {
        let decision = decide(
            failure,
            RetryContext {
                tries,
                jitter: fastrand::f64(),
                token: self.reader.connection.token_state(failure, generation),
            },
        );
        let mut state = self.state();
        match decision.pass {
            PassEffect::End | PassEffect::EndFor(_) => state.ended = Some(failure.clone()),
            PassEffect::GoOn => {}
            PassEffect::HoldBack(wait) => {
                state.held_until = state.held_until.max(Some(Instant::now() + wait));
            }
        }
        match (decision.toggle, effect(failure.kind).evidence) {
            // A refusal concerns one toggle or environment, and proves that the service works.
            (Again::Never, Evidence::Useful) => state.failures = 0,
            (Again::Never, _) => state.failures += 1,
            (Again::After(_) | Again::Now, _) => {}
        }
        if state.failures >= MOST_FAILURES {
            state.ended.get_or_insert_with(|| failure.clone());
        }
        decision.toggle
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Parses the body of a 2xx as `expected`, a noun phrase for messages. Every other response is a failed read.
pub(crate) fn parse<T: DeserializeOwned>(received: &Received, expected: &str) -> Result<T, Outcome> {
    if !matches!(received.status, 200..=299) {
        return Err(failed(received));
    }
    let bytes = match received.body() {
        ReceivedBody::Broken => return Err(cut_short(received.status, expected)),
        ReceivedBody::Cut(_) => return Err(too_long(received.status, expected)),
        ReceivedBody::Whole(bytes) => bytes,
    };
    let text = match decoded(bytes, received.encoding(), LARGEST_READ) {
        None => return Err(not_json(received, expected)),
        Some((_, Length::Cut)) => return Err(too_long(received.status, expected)),
        Some((text, Length::Whole)) => text,
    };
    serde_json::from_slice(&text).map_err(|error| match error.classify() {
        Category::Data => unexpected(received, expected, &error),
        Category::Eof if !text.trim_ascii().is_empty() => cut_short(received.status, expected),
        Category::Eof | Category::Io | Category::Syntax => not_json(received, expected),
    })
}

/// Classifies a response that is not a success.
///
/// FeatureProbe responds with 400 if something does not exist, so a 404 or 405 always means a wrong base URL, whatever
/// its body.
pub(crate) fn failed(received: &Received) -> Outcome {
    let response = received.response();
    let outcome = classify(&response, ServiceTrust::Unproven).of_read();
    let description = || description(response.status, &response.body);
    match (outcome.kind, outcome.status) {
        (OutcomeKind::Misrouted | OutcomeKind::Refused, Some(404 | 405)) => {
            // The reason for a publish also names a missing toggle.
            let reason = format!("{}; check `--base-url`", description());
            Outcome { kind: OutcomeKind::Misrouted, reason, ..outcome }
        }
        // The reason for a publish also advises to create what is missing. A refused list does not say what
        // that is.
        (OutcomeKind::Refused, _) => Outcome { reason: description(), ..outcome },
        _ => outcome,
    }
}

/// Returns whether the service failed, which FeatureProbe also does for what does not exist
/// (src/service/featureprobe.md).
fn is_500(failure: &Outcome) -> bool {
    failure.kind == OutcomeKind::Busy && failure.status == Some(500)
}

fn unexpected(received: &Received, expected: &str, error: &serde_json::Error) -> Outcome {
    let (status, error) = (received.status, error.to_string());
    // The part before it may quote the body, in which SDK keys may be.
    let shape = match error.rsplit_once(", expected ") {
        Some((_, wanted)) => match wanted.split_once(" at line ") {
            // The names of types in Rust mean nothing to a user.
            Some(("usize" | "u64", place)) => format!("expected a whole number at line {place}"),
            Some((wanted, place)) if wanted.starts_with("struct ") => {
                format!("expected an object at line {place}")
            }
            _ => format!("expected {wanted}"),
        },
        None => error,
    };
    refused(
        status,
        format!(
            "the service responded with {status} and JSON that is not {expected}: {}",
            received.sanitized(&shape)
        ),
    )
}

fn too_long(status: u16, expected: &str) -> Outcome {
    let limit = LARGEST_READ >> 20;
    refused(
        status,
        format!(
            "the service responded with {status} and a body of more than {limit} MiB, the limit for {expected}"
        ),
    )
}

pub(crate) fn refused(status: u16, reason: String) -> Outcome {
    unread(OutcomeKind::Refused, status, reason)
}

fn cut_short(status: u16, expected: &str) -> Outcome {
    let reason = format!("the service responded with {status} and only the beginning of {expected}");
    unread(OutcomeKind::Busy, status, reason)
}

fn unread(kind: OutcomeKind, status: u16, reason: String) -> Outcome {
    Outcome { status: Some(status), ..Outcome::new(kind, Certainty::NotStored, reason) }
}

fn not_json(received: &Received, expected: &str) -> Outcome {
    let status = received.status;
    let what = match received.response().body {
        Body::Empty => "an empty body".to_owned(),
        // The beginning of broken JSON may contain SDK keys.
        Body::Other { begins } if !begins.starts_with(['{', '[']) => {
            format!("a body that is not JSON (`{begins}`)")
        }
        Body::Broken | Body::Json { .. } | Body::Other { .. } => "a body that is not JSON".to_owned(),
    };
    let reason =
        format!("the service responded with {status} and {what} instead of {expected}; check `--base-url`");
    unread(OutcomeKind::Misrouted, status, reason)
}

/// Values by key, in the service's spelling. Lookups ignore case, because `feature_4` and `FEATURE_4` are one
/// toggle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ByKey<T> {
    values: BTreeMap<Key, T>,
    /// Spellings by key in lower case.
    spellings: BTreeMap<String, Vec<Key>>,
}

impl<T> ByKey<T> {
    /// Returns the value of `key`.
    ///
    /// A service whose database respects case may have keys that differ only in case. They are different
    /// then, so only the exact spelling finds one of them.
    pub fn get(&self, key: &str) -> Option<&T> {
        match self.spellings.get(&key.to_ascii_lowercase())?.as_slice() {
            [only] => self.values.get(only),
            several => {
                let exact = several.iter().find(|spelling| spelling.as_str() == key)?;
                self.values.get(exact)
            }
        }
    }

    /// Returns all keys with their values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &T)> {
        self.values.iter()
    }
}

impl<T> FromIterator<(Key, T)> for ByKey<T> {
    fn from_iter<I: IntoIterator<Item = (Key, T)>>(values: I) -> Self {
        let values: BTreeMap<Key, T> = values.into_iter().collect();
        let mut spellings: BTreeMap<String, Vec<Key>> = BTreeMap::new();
        for key in values.keys() {
            let folded = key.as_str().to_ascii_lowercase();
            spellings.entry(folded).or_default().push(key.clone());
        }
        Self { values, spellings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_service_is_logged_once_before_all_retries_have_failed() {
        for (ends, logged) in [
            // Refused connections fail soon, and the error of the command follows.
            (&[0, 1, 2, 4][..], None),
            // One slow response is no silence.
            (&[9], None),
            (&[3, 7, 11, 15], Some(7)),
            (&[10, 21, 32, 43], Some(21)),
        ] {
            let since = Instant::now();
            let mut silence = Silence::new(since);
            let due = ends.iter().filter(|end| silence.lasts(since + Duration::from_secs(**end)));
            assert_eq!(due.copied().collect::<Vec<_>>(), Vec::from_iter(logged), "{ends:?}");
        }
    }

    #[test]
    fn a_lookup_ignores_case_unless_only_case_tells_keys_apart() {
        let values: ByKey<u8> = [("Pay", 1), ("ship", 2), ("SHIP", 3)]
            .map(|(key, value)| (key.parse().unwrap(), value))
            .into_iter()
            .collect();
        for (key, value) in [
            ("Pay", Some(1)),
            ("PAY", Some(1)),
            ("ship", Some(2)),
            ("SHIP", Some(3)),
            ("Ship", None),
            ("none", None),
        ] {
            assert_eq!(values.get(key).copied(), value, "{key}");
        }
        let keys: Vec<&str> = values.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["Pay", "SHIP", "ship"]);
    }
}
