//! Delivery: one task, a short queue, a few tries, then a metric.

use std::time::Duration;

use tokio::sync::mpsc;

use super::change::Notice;
use super::receiver::{DeliveryError, Receiver};
use crate::daemon::Metrics;
use crate::transport::Network;

/// How many notices wait for a receiver that is slow.
const QUEUE: usize = 16;
/// For one try, connect to last byte.
const LONGEST_TRY: Duration = Duration::from_secs(10);
/// What is waited before the second and third try.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// Where a pass leaves its notices.
#[derive(Clone, Debug)]
pub struct Notifier {
    queue: mpsc::Sender<Notice>,
    metrics: Metrics,
}

impl Notifier {
    /// Makes one for `receiver`, and the task that delivers. The task ends when the last clone of the notifier is
    /// gone and the queue is empty, which takes less than a minute per waiting notice; drop it to leave at once.
    pub fn new(
        receiver: Receiver,
        network: Network,
        metrics: Metrics,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let courier = Courier {
            receiver,
            network,
            pauses: PAUSES,
        };
        let task = courier.deliver_all(metrics.clone(), waiting);
        (Self { queue, metrics }, task)
    }

    /// Leaves a notice and does not wait. Where the receiver is so slow that the queue is full, it is dropped and
    /// counted.
    pub fn tell(&self, notice: Notice) {
        if self.queue.try_send(notice).is_err() {
            self.metrics.notice_failed();
            tracing::warn!(name: "notification_dropped", "a notice was dropped: the receiver does not keep up");
        }
    }
}

/// What delivers.
struct Courier {
    receiver: Receiver,
    network: Network,
    pauses: [Duration; 2],
}

impl Courier {
    async fn deliver_all(self, metrics: Metrics, mut waiting: mpsc::Receiver<Notice>) {
        while let Some(notice) = waiting.recv().await {
            if let Err(error) = self.deliver(&notice).await {
                metrics.notice_failed();
                tracing::warn!(
                    name: "notification_failed",
                    error = &error as &dyn std::error::Error,
                    "a notice could not be delivered"
                );
            }
        }
    }

    async fn deliver(&self, notice: &Notice) -> Result<(), DeliveryError> {
        // The same id in every try, so that a receiver can tell a repetition.
        let id = format!("msg_{:032x}", fastrand::u128(..));
        let mut pauses = self.pauses.into_iter();
        loop {
            match (self.attempt(notice, &id).await, pauses.next()) {
                (Err(error), Some(pause)) if error.is_passing() => tokio::time::sleep(pause).await,
                (result, _) => return result,
            }
        }
    }

    async fn attempt(&self, notice: &Notice, id: &str) -> Result<(), DeliveryError> {
        let url = self.receiver.url()?;
        let (headers, body) = self.receiver.compose(notice, id, jiff::Timestamp::now())?;
        let client = self.network.client(LONGEST_TRY).map_err(DeliveryError::Network)?;
        let request = client.post(url).header("content-type", "application/json");
        let request = headers
            .into_iter()
            .fold(request, |request, (name, value)| request.header(name, value));
        let answer = request.body(body).send().await;
        let answer = answer.map_err(|error| DeliveryError::Http(error.without_url()))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(DeliveryError::Refused(status)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::thread::JoinHandle;

    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

    use super::super::change::{Change, ChangeKind};
    use super::super::receiver::ReceiverFormat;
    use super::super::signature::SigningKey;
    use super::*;
    use crate::transport::{Secret, SecretSource, provider};

    /// An HTTPS server that gives the given answers and returns what it was asked.
    struct Stand {
        url: String,
        ca: tempfile::NamedTempFile,
        requests: JoinHandle<Vec<String>>,
    }

    impl Stand {
        fn answering(statuses: &'static [u16]) -> Self {
            provider();
            let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
            let mut ca = tempfile::NamedTempFile::new().unwrap();
            ca.write_all(certified.cert.pem().as_bytes()).unwrap();
            let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
            let tls = rustls::ServerConfig::builder()
                .with_no_client_auth()
                .with_single_cert(vec![certified.cert.der().clone()], key)
                .unwrap();
            let tls = Arc::new(tls);
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("https://localhost:{}/hook", listener.local_addr().unwrap().port());
            let requests = std::thread::spawn(move || {
                let answered = statuses
                    .iter()
                    .map(|status| serve(&listener, Arc::clone(&tls), *status));
                answered.collect()
            });
            Self { url, ca, requests }
        }

        fn courier(&self, format: ReceiverFormat) -> Courier {
            Courier {
                receiver: Receiver {
                    url: value(&self.url),
                    format,
                },
                network: Network {
                    ca_file: Some(self.ca.path().to_owned()),
                    ..Network::default()
                },
                pauses: [Duration::ZERO; 2],
            }
        }
    }

    fn serve(listener: &TcpListener, tls: Arc<rustls::ServerConfig>, status: u16) -> String {
        let (stream, _) = listener.accept().unwrap();
        let connection = rustls::ServerConnection::new(tls).unwrap();
        let mut stream = rustls::StreamOwned::new(connection, stream);
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while !is_whole(&request) {
            let read = stream.read(&mut buffer).unwrap();
            assert!(read > 0, "the request broke off");
            request.extend_from_slice(&buffer[..read]);
        }
        let answer = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).unwrap();
        stream.conn.send_close_notify();
        stream.flush().unwrap();
        String::from_utf8(request).unwrap()
    }

    fn is_whole(request: &[u8]) -> bool {
        let text = String::from_utf8_lossy(request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            return false;
        };
        let length = header(head, "content-length").parse::<usize>().unwrap();
        body.len() >= length
    }

    fn header<'a>(request: &'a str, name: &str) -> &'a str {
        let mut lines = request.lines();
        lines
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            .unwrap_or_default()
    }

    fn value(text: &str) -> SecretSource {
        SecretSource::Value(Secret::new(text.to_owned()))
    }

    fn notice() -> Notice {
        Notice {
            repo: "/srv/toggles".to_owned(),
            reference: None,
            revision: None,
            changes: vec![Change {
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

    /// Delivers one notice as the task does, and returns how many failed.
    async fn run(courier: Courier) -> String {
        let metrics = Metrics::new();
        let (queue, waiting) = mpsc::channel(QUEUE);
        queue.try_send(notice()).unwrap();
        drop(queue);
        courier.deliver_all(metrics.clone(), waiting).await;
        failures(&metrics)
    }

    #[tokio::test]
    async fn a_receiver_can_check_the_signature() {
        let stand = Stand::answering(&[204]);
        let courier = stand.courier(ReceiverFormat::Standard(Some(value("whsec_aGVsbG8="))));
        assert_eq!(run(courier).await, "0");
        let requests = stand.requests.join().unwrap();
        let request = &requests[0];
        assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
        let body = request.split_once("\r\n\r\n").unwrap().1;
        let key = SigningKey::new(&Secret::new("whsec_aGVsbG8=".to_owned())).unwrap();
        let mut check = key.check(
            header(request, "webhook-id"),
            header(request, "webhook-timestamp").parse().unwrap(),
            header(request, "webhook-signature"),
        );
        check.update(body.as_bytes());
        assert!(check.is_authentic(), "{request}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["data"]["counts"]["failed"], 1);
        let timestamp = body["timestamp"].as_str().unwrap();
        assert_eq!(timestamp.len(), "2026-01-02T03:04:05Z".len(), "{timestamp}");
    }

    #[tokio::test]
    async fn what_passes_is_tried_again_with_the_same_id() {
        let stand = Stand::answering(&[503, 429, 200]);
        assert_eq!(run(stand.courier(ReceiverFormat::Standard(None))).await, "0");
        let requests = stand.requests.join().unwrap();
        let ids: Vec<&str> = requests
            .iter()
            .map(|request| header(request, "webhook-id"))
            .collect();
        assert!(
            ids[0].starts_with("msg_") && ids.iter().all(|id| *id == ids[0]),
            "{ids:?}"
        );
    }

    #[tokio::test]
    async fn what_stays_is_not_tried_again_and_counted() {
        let stand = Stand::answering(&[404]);
        assert_eq!(run(stand.courier(ReceiverFormat::Slack)).await, "1");
        let requests = stand.requests.join().unwrap();
        assert!(
            requests[0].ends_with(r#""unfurl_links":false,"unfurl_media":false}"#),
            "{}",
            requests[0]
        );
    }

    #[tokio::test]
    async fn a_receiver_that_is_not_there_costs_a_metric() {
        let stand = Stand::answering(&[]);
        let courier = stand.courier(ReceiverFormat::Slack);
        stand.requests.join().unwrap();
        assert_eq!(run(courier).await, "1");
    }

    #[tokio::test]
    async fn an_error_shows_neither_the_url_nor_plain_http() {
        let mut courier = Stand::answering(&[]).courier(ReceiverFormat::Slack);
        let error = courier.deliver(&notice()).await.unwrap_err();
        assert!(!format!("{error:?}").contains("/hook"), "{error:?}");
        courier.receiver.url = value("http://localhost/hook");
        assert!(matches!(
            courier.deliver(&notice()).await,
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
            notifier.tell(notice());
        }
        assert_eq!(failures(&metrics), "3");
        drop(task);
        notifier.tell(notice());
        assert_eq!(failures(&metrics), "4");
    }
}
