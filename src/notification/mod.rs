#![doc = include_str!("README.md")]

mod message;

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::daemon::{Metrics, Role, Status};
use crate::notification::message::{Notification, SentNotifications};
use crate::transport::{
    Network, NetworkError, SecretError, SecretSource, SigningKey, SigningKeyError, UrlUser, https, is_passing,
};

/// The number of notifications that wait for a slow receiver.
const QUEUE: usize = 16;

/// For one attempt, from connecting to the last byte.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// The pauses before the second and third attempt.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// Passes notifications to the task that delivers them.
#[derive(Clone, Debug)]
pub(crate) struct Notifier {
    queue: mpsc::Sender<Notification>,
    metrics: Metrics,
}

impl Notifier {
    /// Creates a notifier for `receiver` and the task that delivers. The task ends when the last clone of the
    /// notifier is dropped and the queue is empty, which takes less than a minute per queued notification.
    pub(crate) fn new(
        receiver: Receiver,
        network: Network,
        metrics: Metrics,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let delivery = DeliveryTask { receiver, network, pauses: PAUSES };
        let task = delivery.deliver_all(metrics.clone(), waiting);
        (Self { queue, metrics }, task)
    }

    /// Queues a notification without waiting. If the queue is full, drops and counts it.
    fn send(&self, notification: Notification) {
        // A receiver that does not keep up must not delay passes or other receivers.
        if self.queue.try_send(notification).is_err() {
            self.metrics.notification_failed();
            tracing::warn!(name: "notification_dropped", "notification dropped: the receiver does not keep up");
        }
    }
}

struct DeliveryTask {
    receiver: Receiver,
    network: Network,
    pauses: [Duration; 2],
}

impl DeliveryTask {
    async fn deliver_all(self, metrics: Metrics, mut waiting: mpsc::Receiver<Notification>) {
        while let Some(notification) = waiting.recv().await {
            if let Err(error) = self.deliver(&notification).await {
                metrics.notification_failed();
                tracing::warn!(
                    name: "notification_failed",
                    error = &error as &dyn std::error::Error,
                    "could not deliver notification"
                );
            }
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

/// The file in the state folder that records the sent notifications.
const FILE: &str = "notifications.json";

/// Starts a task that sends the changes in `status` to `receivers`.
pub(crate) fn spawn(
    receivers: Vec<Receiver>,
    network: &Network,
    metrics: &Metrics,
    mut status: watch::Receiver<Status>,
    state_dir: &Path,
) {
    if receivers.is_empty() {
        return;
    }
    let start = |receiver| {
        let (notifier, delivery) = Notifier::new(receiver, network.clone(), metrics.clone());
        tokio::spawn(delivery);
        notifier
    };
    let notifiers: Vec<Notifier> = receivers.into_iter().map(start).collect();
    let file = state_dir.join(FILE);
    tokio::spawn(async move {
        let mut sent = None;
        while status.changed().await.is_ok() {
            let now = status.borrow_and_update().clone();
            // While another process is the writer, that process sends notifications and records them in the
            // file.
            if now.role != Role::Writer {
                continue;
            }
            // Read only as the writer, because another process may have changed the file until then.
            let sent = sent.get_or_insert_with(|| read(&file));
            let notifications = sent.update(&now);
            if notifications.is_empty() {
                continue;
            }
            // Recorded first: a lost notification is better than one that every restart repeats.
            if let Err(error) = write(&file, sent) {
                tracing::warn!(name: "notifications_unrecorded", reason = %error, "could not record which notifications were sent; they may be sent again");
            }
            for notification in notifications {
                notifiers.iter().for_each(|notifier| notifier.send(notification.clone()));
            }
        }
    });
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
    use super::ReceiverFormat;
    use super::*;
    use crate::git::testing::{Answer, Server};
    use crate::notification::message::{ChangeKind, News, ToggleChange};
    use crate::transport::{Secret, SecretSource, SigningKey};

    fn statuses(statuses: &[u16]) -> Server {
        Server::answering(statuses.iter().copied().map(Answer::status))
    }

    fn delivery(server: &Server, format: ReceiverFormat) -> DeliveryTask {
        DeliveryTask {
            receiver: Receiver { url: value(&server.url("hook")), format },
            network: Network { ca_file: Some(server.ca_file()), ..Network::default() },
            pauses: [Duration::ZERO; 2],
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

    /// Delivers one notification as the task does, and returns how many failed.
    async fn run(delivery: DeliveryTask) -> String {
        let metrics = Metrics::new();
        let (queue, waiting) = mpsc::channel(QUEUE);
        queue.try_send(notification()).unwrap();
        drop(queue);
        delivery.deliver_all(metrics.clone(), waiting).await;
        failures(&metrics)
    }

    #[tokio::test]
    async fn a_receiver_can_check_the_signature() {
        let server = statuses(&[204]);
        let delivery = delivery(&server, ReceiverFormat::Standard(Some(value("whsec_aGVsbG8="))));
        assert_eq!(run(delivery).await, "0");
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
        assert_eq!(run(delivery(&server, ReceiverFormat::Standard(None))).await, "0");
        let requests = server.take();
        let ids: Vec<_> = requests.iter().map(|request| request.header("webhook-id").unwrap()).collect();
        assert_eq!(ids.len(), 3);
        assert!(ids[0].starts_with("msg_") && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }

    #[tokio::test]
    async fn a_permanent_failure_is_not_retried_and_counted() {
        let server = statuses(&[404]);
        assert_eq!(run(delivery(&server, ReceiverFormat::Slack)).await, "1");
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
        assert_eq!(run(delivery).await, "1");
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
    async fn a_full_queue_drops_and_counts_but_never_waits() {
        let metrics = Metrics::new();
        let receiver = Receiver { url: value("https://localhost/"), format: ReceiverFormat::Slack };
        let (notifier, task) = Notifier::new(receiver, Network::default(), metrics.clone());
        for _ in 0..QUEUE + 3 {
            notifier.send(notification());
        }
        assert_eq!(failures(&metrics), "3");
        drop(task);
        notifier.send(notification());
        assert_eq!(failures(&metrics), "4");
    }
}
