//! The outcome of a request that got no response (src/service/README.md, "Outcomes").

use std::error::Error as _;

use crate::model::{Certainty, OutcomeKind};
use crate::service::Outcome;
use crate::transport::{
    CORRECT_CLOCK, CertificateFault, Network, certificate_fault, is_without_tls, no_thread, proxy_fault,
    reason, sanitized,
};

/// Returns the outcome of a request to the service at `host` that failed without a response. Removes `secret`
/// from its texts.
pub(super) fn unanswered(error: &reqwest::Error, secret: &str, host: &str, network: &Network) -> Outcome {
    // A rejected certificate is also a failed connection, so it comes first.
    if let Some(fault) = certificate_fault(error) {
        return untrusted(fault, host, network);
    }
    if is_without_tls(error) {
        let reason = format!("`{host}` does not speak TLS, so nothing was sent");
        return unsent(CertificateFault::Other, reason);
    }
    // A timeout while connecting has sent nothing, so this comes before the check for timeouts.
    if error.is_connect() || error.is_builder() {
        let reason = format!("could not connect to `{host}`: {}", not_connected(error, secret));
        return Outcome { is_unsent: true, ..Outcome::new(OutcomeKind::Busy, Certainty::NotStored, reason) };
    }
    let why = if error.is_timeout() {
        "no complete response arrived within `--timeout`".to_owned()
    } else {
        format!("no response arrived: {}", sanitized(&reason(error).to_string(), secret))
    };
    let reason = format!("the request was sent to `{host}`, but {why}");
    Outcome::new(OutcomeKind::Lost, Certainty::Unknown, reason)
}

fn not_connected(error: &reqwest::Error, secret: &str) -> String {
    if let Some(error) = no_thread(error) {
        return error.to_string();
    }
    if let Some(fault) = proxy_fault(error) {
        return sanitized(&fault.to_string(), secret);
    }
    if error.is_timeout() {
        return "no connection was made in time".to_owned();
    }
    let mut cause = error.source();
    while let Some(current) = cause {
        // The type of this error is private to the client, so only its text identifies it.
        if current.to_string() == "dns error" {
            return format!(
                "its host name could not be resolved ({}); check `--base-url` and the name servers of this machine",
                sanitized(&reason(error).to_string(), secret)
            );
        }
        cause = current.source();
    }
    sanitized(&reason(error).to_string(), secret)
}

/// Returns the outcome of a request to a `host` whose certificate was rejected.
pub(crate) fn untrusted(fault: CertificateFault, host: &str, network: &Network) -> Outcome {
    unsent(fault, certificate(fault, host, network))
}

/// Returns the outcome of a handshake that failed before the request was sent.
fn unsent(fault: CertificateFault, reason: String) -> Outcome {
    Outcome { fault: Some(fault), ..Outcome::new(OutcomeKind::Untrusted, Certainty::NotStored, reason) }
}

fn certificate(fault: CertificateFault, host: &str, network: &Network) -> String {
    match fault {
        CertificateFault::CaCertificate => format!(
            "could not verify the certificate of `{host}`: {fault}; create a server certificate with the basic \
             constraint `CA:FALSE`"
        ),
        CertificateFault::Expired => {
            format!("the certificate of `{host}` has expired; renew it there, or {CORRECT_CLOCK}")
        }
        CertificateFault::NotYetValid => {
            format!("the certificate of `{host}` is not valid yet; check the clock of this machine")
        }
        CertificateFault::Other => format!("could not verify the certificate of `{host}`: {fault}"),
        CertificateFault::Untrusted => {
            let advice = network.trust_advice();
            format!("the certificate of `{host}` is not signed by a trusted CA; {advice}")
        }
        CertificateFault::WrongName => {
            format!("the certificate of `{host}` is for another name; check `--base-url`")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;

    /// Sends a request to `address`, where nothing responds.
    async fn sent_to(address: std::net::SocketAddr) -> Outcome {
        crate::transport::provider();
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_millis(200));
        let sent = client.build().unwrap().get(format!("http://{address}/")).send().await;
        unanswered(&sent.unwrap_err(), "", "t.example", &Network::default())
    }

    #[tokio::test]
    async fn only_a_request_that_may_have_left_is_unknown() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // The system accepts the connection, and nobody reads the request.
        let silent = sent_to(address).await;
        drop(listener.accept().unwrap());
        let cutting = std::thread::spawn(move || drop(listener.accept().unwrap().0));
        let cut = sent_to(address).await;
        cutting.join().unwrap();
        // Another test could listen at the port that is free again.
        let refused = sent_to(std::net::SocketAddr::from(([127, 0, 0, 1], 1))).await;
        for (outcome, word, certainty, reason) in [
            (silent, "lost", Certainty::Unknown, "within `--timeout`"),
            (cut, "lost", Certainty::Unknown, "no response arrived: "),
            (refused, "busy", Certainty::NotStored, "could not connect to `t.example`: "),
            (
                untrusted(CertificateFault::Expired, "t.example", &Network::default()),
                "untrusted",
                Certainty::NotStored,
                "has expired",
            ),
        ] {
            assert_eq!((outcome.kind.as_str(), outcome.certainty), (word, certainty), "{outcome}");
            assert_eq!(outcome.is_unsent, word == "busy", "{outcome}");
            assert!(outcome.to_string().contains(reason), "{outcome}");
        }
    }

    #[test]
    fn the_reason_of_an_untrusted_certificate_names_the_flag() {
        for (ca_file, advice) in [
            (None, "pass the CA certificate with `--ca-file`"),
            (Some("/etc/ca.pem".into()), "add the CA certificate to `/etc/ca.pem` (`--ca-file`)"),
        ] {
            let network = Network { ca_file, ..Network::default() };
            let outcome = untrusted(CertificateFault::Untrusted, "t.example", &network);
            assert!(outcome.to_string().contains(advice), "{outcome}");
        }
    }
}
