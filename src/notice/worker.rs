//! Delivery: one task, a short queue, a few tries, then a metric.

use std::time::Duration;

use tokio::sync::mpsc;

use super::change::Notice;
use super::message;
use super::signature::{SigningKey, SigningKeyError};
use crate::reconcile::Metrics;
use crate::transport::{Network, NetworkError, SecretError, SecretSource};

/// How many notices wait for a receiver that is slow.
const QUEUE: usize = 16;
/// For one try, connect to last byte.
const LONGEST_TRY: Duration = Duration::from_secs(10);
/// What is waited before the second and third try.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// Somebody who is told.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Its `https` URL. A secret, because a chat's URL is all that is needed to write there; read anew every time.
    pub url: SecretSource,
    /// What it reads.
    pub format: ReceiverFormat,
}

/// What a receiver reads.
#[derive(Clone, Debug)]
pub enum ReceiverFormat {
    /// `{"text": …}`, as Slack and those who imitate it.
    Slack,
    /// A Standard Webhook, signed with the secret where there is one.
    Standard(Option<SecretSource>),
}

/// Where a pass leaves its notices.
#[derive(Clone, Debug)]
pub struct Notifier {
    queue: mpsc::Sender<Notice>,
    metrics: Metrics,
}

impl Notifier {
    /// Makes one for `receiver`, and the task that delivers. The task ends when the last clone of the notifier is
    /// gone and the queue is empty, which takes less than a minute per waiting notice; drop it to leave at once.
    #[must_use]
    pub fn new(
        receiver: Receiver,
        network: Network,
        metrics: Metrics,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let task = deliver_all(receiver, network, metrics.clone(), waiting);
        (Self { queue, metrics }, task)
    }

    /// Leaves a notice and does not wait. Where the receiver is so slow that the queue is full, it is dropped and
    /// counted.
    pub fn tell(&self, notice: Notice) {
        if self.queue.try_send(notice).is_err() {
            self.metrics.notice_failed();
            tracing::warn!("a notice was dropped: the receiver does not keep up");
        }
    }
}

async fn deliver_all(
    receiver: Receiver,
    network: Network,
    metrics: Metrics,
    mut waiting: mpsc::Receiver<Notice>,
) {
    while let Some(notice) = waiting.recv().await {
        if let Err(error) = deliver(&receiver, &network, &notice).await {
            metrics.notice_failed();
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "a notice could not be delivered"
            );
        }
    }
}

/// Why a notice was not delivered. Never holds the receiver's URL.
#[derive(Debug, thiserror::Error)]
enum DeliveryError {
    #[error("cannot reach the receiver of notices")]
    Http(#[source] reqwest::Error),
    #[error(transparent)]
    Key(SigningKeyError),
    #[error(transparent)]
    Network(NetworkError),
    #[error("the receiver of notices answered {0}")]
    Refused(reqwest::StatusCode),
    #[error(transparent)]
    Secret(SecretError),
    #[error("the URL of the receiver of notices is no `https` URL")]
    Url,
}

impl DeliveryError {
    /// Returns whether another try may go better.
    fn is_passing(&self) -> bool {
        match self {
            Self::Http(error) => !error.is_builder(),
            Self::Refused(status) => status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429),
            Self::Key(_) | Self::Network(_) | Self::Secret(_) | Self::Url => false,
        }
    }
}

async fn deliver(receiver: &Receiver, network: &Network, notice: &Notice) -> Result<(), DeliveryError> {
    // The same id in every try, so that a receiver can tell a repetition.
    let id = format!("msg_{:032x}", fastrand::u128(..));
    let mut pauses = PAUSES.into_iter();
    loop {
        match (attempt(receiver, network, notice, &id).await, pauses.next()) {
            (Err(error), Some(pause)) if error.is_passing() => tokio::time::sleep(pause).await,
            (result, _) => return result,
        }
    }
}

async fn attempt(
    receiver: &Receiver,
    network: &Network,
    notice: &Notice,
    id: &str,
) -> Result<(), DeliveryError> {
    let url = receiver.url.read().map_err(DeliveryError::Secret)?;
    let url = url::Url::parse(url.expose().trim()).map_err(|_| DeliveryError::Url)?;
    if url.scheme() != "https" {
        return Err(DeliveryError::Url);
    }
    let now = jiff::Timestamp::now();
    let body = match &receiver.format {
        ReceiverFormat::Slack => message::slack(notice),
        ReceiverFormat::Standard(_) => {
            let second = jiff::Timestamp::from_second(now.as_second()).unwrap_or(now);
            message::standard(notice, &second.to_string())
        }
    }
    .to_string();
    let client = network.client(LONGEST_TRY).map_err(DeliveryError::Network)?;
    let mut request = client.post(url).header("content-type", "application/json");
    if let ReceiverFormat::Standard(secret) = &receiver.format {
        request = request
            .header("webhook-id", id)
            .header("webhook-timestamp", now.as_second().to_string());
        if let Some(secret) = secret {
            let secret = secret.read().map_err(DeliveryError::Secret)?;
            let key = SigningKey::new(&secret).map_err(DeliveryError::Key)?;
            let signature = key.sign(id, now.as_second(), body.as_bytes());
            request = request.header("webhook-signature", signature);
        }
    }
    let answer = request.body(body).send().await;
    let answer = answer.map_err(|error| DeliveryError::Http(error.without_url()))?;
    match answer.status() {
        status if status.is_success() => Ok(()),
        status => Err(DeliveryError::Refused(status)),
    }
}
