//! Delivers notifications: one task and a short queue per receiver, and a metric for each failure after three attempts.

use std::time::Duration;

use tokio::sync::mpsc;

use super::change::Notification;
use super::receiver::{DeliveryError, Receiver};
use crate::daemon::Metrics;
use crate::transport::Network;

/// The number of notifications that wait for a slow receiver.
const QUEUE: usize = 16;
/// For one attempt, from connecting to the last byte.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// The pauses before the second and third attempt.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// Passes notifications to the task that delivers them.
#[derive(Clone, Debug)]
pub(super) struct Notifier {
    queue: mpsc::Sender<Notification>,
    metrics: Metrics,
}

impl Notifier {
    /// Creates a notifier for `receiver` and the task that delivers. The task ends when the last clone of the notifier is
    /// dropped and the queue is empty, which takes less than a minute per queued notification.
    pub(super) fn new(
        receiver: Receiver,
        network: Network,
        metrics: Metrics,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let delivery = DeliveryTask {
            receiver,
            network,
            pauses: PAUSES,
        };
        let task = delivery.deliver_all(metrics.clone(), waiting);
        (Self { queue, metrics }, task)
    }

    /// Queues a notification without waiting. If the queue is full, drops and counts it.
    pub(super) fn send(&self, notification: Notification) {
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
        let client = self
            .network
            .client(ATTEMPT_TIMEOUT)
            .map_err(DeliveryError::Network)?;
        let request = client.post(url).header("content-type", "application/json");
        let request = headers
            .into_iter()
            .fold(request, |request, (name, value)| request.header(name, value));
        let answer = request.body(body).send().await;
        // The URL may be a secret, and the error is logged.
        let answer = answer.map_err(|error| DeliveryError::Http(error.without_url()))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(DeliveryError::Refused(status)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::change::{ChangeKind, ToggleChange};
    use super::super::receiver::ReceiverFormat;
    use super::*;
    use crate::git::testing::{Answer, Server};
    use crate::transport::{Secret, SecretSource, SigningKey};

    fn statuses(statuses: &[u16]) -> Server {
        Server::answering(statuses.iter().copied().map(Answer::status))
    }

    fn delivery(server: &Server, format: ReceiverFormat) -> DeliveryTask {
        DeliveryTask {
            receiver: Receiver {
                url: value(&server.url("hook")),
                format,
            },
            network: Network {
                ca_file: Some(server.ca_file()),
                ..Network::default()
            },
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
            changes: vec![ToggleChange {
                toggle: "a/b/c".parse().unwrap(),
                change: ChangeKind::Failed,
                reason: Some("400".to_owned()),
            }],
        }
    }

    fn failures(metrics: &Metrics) -> String {
        let text = metrics.encode();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("gitoggle_notices_failed_total "));
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
        assert_eq!(
            (request.method.as_str(), request.path.as_str()),
            ("POST", "/hook")
        );
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
        let ids: Vec<_> = requests
            .iter()
            .map(|request| request.header("webhook-id").unwrap())
            .collect();
        assert_eq!(ids.len(), 3);
        assert!(
            ids[0].starts_with("msg_") && ids.iter().all(|id| *id == ids[0]),
            "{ids:?}"
        );
    }

    #[tokio::test]
    async fn a_permanent_failure_is_not_retried_and_counted() {
        let server = statuses(&[404]);
        assert_eq!(run(delivery(&server, ReceiverFormat::Slack)).await, "1");
        let requests = server.take();
        assert_eq!(requests.len(), 1);
        let body = String::from_utf8_lossy(&requests[0].bytes);
        assert!(
            body.ends_with(r#""unfurl_links":false,"unfurl_media":false}"#),
            "{body}"
        );
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
        assert!(matches!(
            delivery.deliver(&notification()).await,
            Err(DeliveryError::Url)
        ));
    }

    #[tokio::test]
    async fn a_full_queue_drops_and_counts_but_never_waits() {
        let metrics = Metrics::new();
        let receiver = Receiver {
            url: value("https://localhost/"),
            format: ReceiverFormat::Slack,
        };
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
