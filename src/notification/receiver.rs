//! The receivers of notifications: their addresses, their formats, and why a delivery failed.

use super::change::Notification;
use super::message;
use crate::transport::{NetworkError, SecretError, SecretSource, SigningKey, SigningKeyError};

/// A receiver of notifications.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The `https` URL, read again for each delivery. A secret, because the URL of a chat permits writing to it.
    pub url: SecretSource,
    /// The format of messages.
    pub format: ReceiverFormat,
}

/// The format of messages to a receiver.
#[derive(Clone, Debug)]
pub enum ReceiverFormat {
    /// `{"text": …}`, for Slack and compatible services.
    Slack,
    /// A Standard Webhook, signed if there is a secret.
    Standard(Option<SecretSource>),
}

type Headers = Vec<(&'static str, String)>;

impl Receiver {
    pub(super) fn url(&self) -> Result<url::Url, DeliveryError> {
        let url = self.url.read().map_err(DeliveryError::Secret)?;
        url::Url::parse(url.expose().trim())
            .ok()
            // The URL and the message must not cross a network in plain text.
            .filter(|url| url.scheme() == "https")
            .ok_or(DeliveryError::Url)
    }

    /// Returns the headers and the body of a notification.
    pub(super) fn compose(
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
        let mut headers = vec![
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", seconds.to_string()),
        ];
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
pub(super) enum DeliveryError {
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
    pub(super) fn is_transient(&self) -> bool {
        match self {
            // A request that cannot be built fails the same way every time.
            Self::Http(error) => !error.is_builder(),
            Self::Refused(status) => status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429),
            Self::Key(_) | Self::Network(_) | Self::Secret(_) | Self::Url => false,
        }
    }
}
