#![doc = include_str!("README.md")]

mod message;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::watch;

use crate::daemon::{Metrics, Role, Status};
use crate::notification::message::{Notification, SentNotifications};
use crate::transport::{
    Network, NetworkError, SecretError, SecretSource, SigningKey, SigningKeyError, UrlUser, https,
    is_passing, notification_backoff,
};

/// For one attempt, from connecting to the last byte.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// The pauses before the second and third attempt.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// Tells one receiver what it does not know yet.
///
/// A message is the difference between the status and what the receiver was told. So one that is not there gets a
/// single message once it is back, with what is still the case, and no other receiver gets it again.
struct DeliveryTask {
    receiver: Receiver,
    network: Network,
    metrics: Metrics,
    pauses: [Duration; 2],
    /// Returns the time without attempts after this number of messages in a row that were not delivered.
    rest: fn(u32) -> Duration,
    /// Records what the receiver was told.
    file: PathBuf,
}

impl DeliveryTask {
    /// Ends with the sender of the status.
    async fn run(self, mut status: watch::Receiver<Status>) {
        let (mut told, mut failures) = (None, 0);
        loop {
            match failures {
                0 if status.changed().await.is_err() => return,
                0 => {}
                failures => tokio::time::sleep((self.rest)(failures)).await,
            }
            if status.has_changed().is_err() {
                return;
            }
            let now = status.borrow_and_update().clone();
            // While another process is the writer, that process sends notifications and records them in the
            // file.
            if now.role != Role::Writer {
                continue;
            }
            // Read only as the writer, because another process may have changed the file until then.
            let told = told.get_or_insert_with(|| read(&self.file));
            failures = if self.tell(told, &now).await { 0 } else { failures + 1 };
        }
    }

    /// Delivers what the receiver was not told. Returns whether it knows everything now.
    async fn tell(&self, told: &mut SentNotifications, now: &Status) -> bool {
        for news in [SentNotifications::of_pass, SentNotifications::of_toggles] {
            let mut next = told.clone();
            if let Some(notification) = news(&mut next, now) {
                // Recorded first: a lost notification is better than one that every restart repeats.
                self.record(&next);
                if let Err(error) = self.deliver(&notification).await {
                    self.metrics.notification_failed();
                    tracing::warn!(
                        name: "notification_failed",
                        error = &error as &dyn std::error::Error,
                        "could not deliver notification; trying again later"
                    );
                    self.record(told);
                    return false;
                }
            }
            *told = next;
        }
        true
    }

    fn record(&self, told: &SentNotifications) {
        if let Err(error) = write(&self.file, told) {
            tracing::warn!(name: "notifications_unrecorded", reason = %error, "could not record which notifications were sent; they may be sent again");
        }
    }

    async fn deliver(&self, notification: &Notification) -> Result<(), DeliveryError> {
        // The same id for every attempt, so that a receiver recognizes a repetition.
        let id = format!("msg_{:032x}", fastrand::u128(..));
        let mut pauses = self.pauses.into_iter();
        loop {
            match (self.attempt(notification, &id).await, pauses.next()) {
                (Err(error), Some(pause)) if error.is_transient() => tokio::time::sleep(pause).await,
                (result, _) => return result,
            }
        }
    }

    async fn attempt(&self, notification: &Notification, id: &str) -> Result<(), DeliveryError> {
        let url = self.receiver.url()?;
        let (headers, body) = self.receiver.compose(notification, id, jiff::Timestamp::now())?;
        // A new client for each attempt reads the CA file again.
        let client = self.network.client(ATTEMPT_TIMEOUT).map_err(DeliveryError::Network)?;
        let request = client.post(url).header("content-type", "application/json");
        let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        let answer = request.body(body).send().await;
        // The URL may be a secret, and the error is logged.
        let answer = answer.map_err(|error| DeliveryError::Http(error.without_url()))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(DeliveryError::Refused(status)),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// The `https` URL, read again for each delivery. A secret, because the URL of a chat permits writing to
    /// it.
    pub url: SecretSource,
    pub format: ReceiverFormat,
}

#[derive(Clone, Debug)]
pub(crate) enum ReceiverFormat {
    /// `{"text": …}`, for Slack and compatible services.
    Slack,
    /// A Standard Webhook, signed if there is a secret.
    Standard(Option<SecretSource>),
}

impl ReceiverFormat {
    /// Returns the name of the file in the state folder that records what the receiver was told.
    fn file(&self) -> &'static str {
        match self {
            Self::Slack => "notifications-slack.json",
            Self::Standard(_) => "notifications.json",
        }
    }
}

type Headers = Vec<(&'static str, String)>;

impl Receiver {
    pub(crate) fn url(&self) -> Result<url::Url, DeliveryError> {
        let url = self.url.read().map_err(DeliveryError::Secret)?;
        // The reason could quote a part of the URL.
        https(url.expose(), UrlUser::Allowed).map_err(|_| DeliveryError::Url)
    }

    /// Returns the headers and the body of a notification.
    fn compose(
        &self,
        notification: &Notification,
        id: &str,
        now: jiff::Timestamp,
    ) -> Result<(Headers, String), DeliveryError> {
        let secret = match &self.format {
            ReceiverFormat::Slack => return Ok((Vec::new(), message::slack(notification).to_string())),
            ReceiverFormat::Standard(secret) => secret,
        };
        let body = message::standard(notification, &format!("{now:.0}")).to_string();
        let seconds = now.as_second();
        let mut headers = vec![("webhook-id", id.to_owned()), ("webhook-timestamp", seconds.to_string())];
        if let Some(secret) = secret {
            let secret = secret.read().map_err(DeliveryError::Secret)?;
            let key = SigningKey::new(&secret).map_err(DeliveryError::Key)?;
            headers.push(("webhook-signature", key.sign(id, seconds, body.as_bytes())));
        }
        Ok((headers, body))
    }
}

/// Why a notification was not delivered. Never contains the receiver's URL.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeliveryError {
    #[error("could not reach the receiver of notifications")]
    Http(#[source] reqwest::Error),
    #[error(transparent)]
    Key(SigningKeyError),
    #[error(transparent)]
    Network(NetworkError),
    #[error("the receiver of notifications returned {0}")]
    Refused(reqwest::StatusCode),
    #[error(transparent)]
    Secret(SecretError),
    #[error("the URL of the receiver of notifications is not an `https` URL")]
    Url,
}

impl DeliveryError {
    /// Returns whether another attempt may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            // A request that cannot be built fails the same way every time.
            Self::Http(error) => !error.is_builder(),
            Self::Refused(status) => is_passing(status.as_u16()),
            Self::Key(_) | Self::Network(_) | Self::Secret(_) | Self::Url => false,
        }
    }
}

/// Starts a task for each receiver, which sends it the changes in `status`.
pub(crate) fn spawn(
    receivers: Vec<Receiver>,
    network: &Network,
    metrics: &Metrics,
    status: &watch::Receiver<Status>,
    state_dir: &Path,
) {
    for receiver in receivers {
        let file = state_dir.join(receiver.format.file());
        let (network, metrics, status) = (network.clone(), metrics.clone(), status.clone());
        let task =
            DeliveryTask { receiver, network, metrics, pauses: PAUSES, rest: notification_backoff, file };
        tokio::spawn(task.run(status));
    }
}

fn read(file: &Path) -> SentNotifications {
    let bytes = std::fs::read(file).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn write(file: &Path, sent: &SentNotifications) -> std::io::Result<()> {
    // One name, so that what a killed process left is replaced. The state folder has one writer.
    let temporary = file.with_extension("tmp");
    let mut new = std::fs::File::create(&temporary)?;
    new.write_all(&serde_json::to_vec(sent)?)?;
    // Synced before the rename, so that a power cut does not leave an empty file.
    new.sync_all()?;
    std::fs::rename(temporary, file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::{LastPass, PassResult, ToggleState, ToggleStatus};
    use crate::git::testing::{Answer, Server};
    use crate::notification::message::{ChangeKind, News, ToggleChange};
    use crate::transport::{Secret, SecretSource, SigningKey};

    fn statuses(statuses: &[u16]) -> Server {
        Server::answering(statuses.iter().copied().map(Answer::status))
    }

    fn delivery(server: &Server, format: ReceiverFormat) -> DeliveryTask {
        DeliveryTask {
            file: server.ca_file().with_file_name(format.file()),
            receiver: Receiver { url: value(&server.url("hook")), format },
            network: Network { ca_file: Some(server.ca_file()), ..Network::default() },
            metrics: Metrics::new(),
            pauses: [Duration::ZERO; 2],
            rest: |_| Duration::ZERO,
        }
    }

    fn value(text: &str) -> SecretSource {
        SecretSource::Value(Secret::new(text.to_owned()))
    }

    fn notification() -> Notification {
        Notification {
            repo: "/srv/toggles".to_owned(),
            reference: None,
            revision: None,
            news: News::Changes(vec![ToggleChange {
                toggle: "a/b/c".parse().unwrap(),
                change: ChangeKind::Failed,
                reason: Some("400".to_owned()),
            }]),
        }
    }

    fn failures(metrics: &Metrics) -> String {
        let text = metrics.encode();
        let line = text.lines().find_map(|line| line.strip_prefix("gitoggle_notices_failed_total "));
        line.unwrap().to_owned()
    }

    fn status(toggles: &[(&str, ToggleState)]) -> Status {
        let mut status = Status {
            role: Role::Writer,
            last_pass: Some(LastPass { at: 1, result: PassResult::Success, took_ms: 1 }),
            ..Status::default()
        };
        let toggles = toggles.iter().map(|(toggle, state)| ToggleStatus::in_state(toggle, *state));
        status.set_toggles(toggles.collect());
        status
    }

    #[tokio::test]
    async fn a_receiver_can_check_the_signature() {
        let server = statuses(&[204]);
        let delivery = delivery(&server, ReceiverFormat::Standard(Some(value("whsec_aGVsbG8="))));
        delivery.deliver(&notification()).await.unwrap();
        let requests = server.take();
        let request = &requests[0];
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/hook"));
        let key = SigningKey::new(&Secret::new("whsec_aGVsbG8=".to_owned())).unwrap();
        let header = |name| request.header(name).unwrap();
        let mut check = key.check(
            header("webhook-id"),
            header("webhook-timestamp").parse().unwrap(),
            header("webhook-signature"),
        );
        check.update(&request.bytes);
        assert!(check.is_authentic(), "{request:?}");
        let body = request.body();
        assert_eq!(body["data"]["counts"]["failed"], 1);
        let timestamp = body["timestamp"].as_str().unwrap();
        assert_eq!(timestamp.len(), "2026-01-02T03:04:05Z".len(), "{timestamp}");
    }

    #[tokio::test]
    async fn a_transient_failure_is_retried_with_the_same_id() {
        let server = statuses(&[503, 429, 200]);
        delivery(&server, ReceiverFormat::Standard(None)).deliver(&notification()).await.unwrap();
        let requests = server.take();
        let ids: Vec<_> = requests.iter().map(|request| request.header("webhook-id").unwrap()).collect();
        assert_eq!(ids.len(), 3);
        assert!(ids[0].starts_with("msg_") && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }

    #[tokio::test]
    async fn a_permanent_failure_is_not_repeated_at_once_and_counted() {
        let server = statuses(&[404]);
        let delivery = delivery(&server, ReceiverFormat::Slack);
        let mut told = SentNotifications::default();
        assert!(!delivery.tell(&mut told, &status(&[("a/b/c", ToggleState::Failed)])).await);
        assert_eq!((failures(&delivery.metrics).as_str(), told), ("1", SentNotifications::default()));
        let requests = server.take();
        assert_eq!(requests.len(), 1);
        let body = String::from_utf8_lossy(&requests[0].bytes);
        assert!(body.ends_with(r#""unfurl_links":false,"unfurl_media":false}"#), "{body}");
    }

    #[tokio::test]
    async fn an_unreachable_receiver_counts_as_a_failure() {
        let server = statuses(&[]);
        let mut delivery = delivery(&server, ReceiverFormat::Slack);
        delivery.receiver.url = value("https://127.0.0.1:1/hook");
        let mut told = SentNotifications::default();
        assert!(!delivery.tell(&mut told, &status(&[("a/b/c", ToggleState::Failed)])).await);
        assert_eq!(failures(&delivery.metrics), "1");
    }

    #[tokio::test]
    async fn an_error_shows_neither_the_url_nor_plain_http() {
        let server = statuses(&[]);
        let mut delivery = delivery(&server, ReceiverFormat::Slack);
        delivery.receiver.url = value("https://127.0.0.1:1/hook");
        let error = delivery.deliver(&notification()).await.unwrap_err();
        assert!(!format!("{error:?}").contains("/hook"), "{error:?}");
        delivery.receiver.url = value("http://localhost/hook");
        assert!(matches!(delivery.deliver(&notification()).await, Err(DeliveryError::Url)));
    }

    #[tokio::test]
    async fn what_a_receiver_was_not_told_is_told_once_it_is_back() {
        use ToggleState::{Failed, Held, InSync};
        let server = statuses(&[404, 404, 200]);
        let delivery = delivery(&server, ReceiverFormat::Standard(None));
        let mut told = SentNotifications::default();
        let file = delivery.file.clone();
        for (state, is_told) in [
            (&[("a/b/c", Failed), ("a/b/d", Held)], false),
            // What was over before it was told is not told.
            (&[("a/b/c", InSync), ("a/b/d", Held)], false),
            (&[("a/b/c", InSync), ("a/b/d", Held)], true),
            (&[("a/b/c", InSync), ("a/b/d", Held)], true),
        ] {
            assert_eq!(delivery.tell(&mut told, &status(state)).await, is_told, "{state:?}");
            assert_eq!(read(&file), told, "also after a restart");
        }
        let requests = server.take();
        assert_eq!(requests.len(), 3);
        let last = &requests[2].body()["data"]["changes"];
        let expected = serde_json::json!([{ "toggle": "a/b/d", "change": "held", "reason": "why" }]);
        assert_eq!(*last, expected);
    }

    #[tokio::test]
    async fn a_receiver_that_comes_back_is_told_without_another_pass() {
        let server = statuses(&[404, 200]);
        let delivery = delivery(&server, ReceiverFormat::Slack);
        let (sender, receiver) = watch::channel(Status::default());
        let task = tokio::spawn(delivery.run(receiver));
        sender.send_replace(status(&[("a/b/c", ToggleState::Held)]));
        let mut requests = Vec::new();
        while requests.len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            requests.extend(server.take());
        }
        drop(sender);
        task.await.unwrap();
        assert_eq!(requests.len(), 2);
    }
}
