//! The receivers of notices: their addresses, their formats, and why a delivery failed.

use super::change::Notice;
use super::message;
use super::signature::{SigningKey, SigningKeyError};
use crate::transport::{NetworkError, SecretError, SecretSource};

/// A receiver of notices.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Its `https` URL. A secret, because whoever has the URL of a chat can write there. Read again for each delivery.
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

type Headers = Vec<(&'static str, String)>;

impl Receiver {
    /// Returns where its notices go.
    pub(super) fn url(&self) -> Result<url::Url, DeliveryError> {
        let url = self.url.read().map_err(DeliveryError::Secret)?;
        url::Url::parse(url.expose().trim())
            .ok()
            .filter(|url| url.scheme() == "https")
            .ok_or(DeliveryError::Url)
    }

    /// Returns the headers and the body of a notice.
    pub(super) fn compose(
        &self,
        notice: &Notice,
        id: &str,
        now: jiff::Timestamp,
    ) -> Result<(Headers, String), DeliveryError> {
        let secret = match &self.format {
            ReceiverFormat::Slack => return Ok((Vec::new(), message::slack(notice).to_string())),
            ReceiverFormat::Standard(secret) => secret,
        };
        let body = message::standard(notice, &format!("{now:.0}")).to_string();
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

/// Why a notice was not delivered. Never holds the receiver's URL.
#[derive(Debug, thiserror::Error)]
pub(super) enum DeliveryError {
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
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Http(error) => !error.is_builder(),
            Self::Refused(status) => status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429),
            Self::Key(_) | Self::Network(_) | Self::Secret(_) | Self::Url => false,
        }
    }
}
