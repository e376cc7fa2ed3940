//! Checks that the sender of a webhook knows the secret: on the raw bytes as they arrive, before anything is parsed, and
//! in a time that does not depend on what is compared.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::answer::problem;
use super::form::is_form;
use super::webhook_kind::WebhookKind;
use crate::model::hex;
use crate::transport::{Secret, SecretSource, SignatureCheck, SigningKey, hmac_sha256};

/// In seconds: the largest difference between a generic webhook's clock and ours.
const TOLERANCE: u64 = 5 * 60;
/// In bytes; ids are short.
const LONGEST_ID: usize = 512;

/// The claims of an authentic webhook's headers.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Authentic {
    /// The sender's id of this delivery.
    pub(super) delivery: Option<Vec<u8>>,
}

/// Why a webhook is not authentic.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Forged {
    Header,
    Key,
    Late,
    Signature,
}

impl Forged {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Header => "a signature header is missing or malformed",
            Self::Key => "the webhook secret begins with `whsec_`, but the rest is not base64",
            Self::Late => "`webhook-timestamp` is more than five minutes off",
            Self::Signature => "the signature does not match",
        }
    }
}

/// The check of one webhook, which is fed with the body while it arrives.
pub(super) struct WebhookCheck {
    proof: Proof,
    delivery: Option<Vec<u8>>,
}

/// The proof that a webhook is authentic.
enum Proof {
    /// A header that was compared already.
    Header,
    /// An HMAC of the body or, where the body is a form, of the JSON text in it. GitHub signs the form, Gitea and Forgejo
    /// the text. Both are accepted from both, because either proves that the sender knows the secret.
    Mac {
        /// In hexadecimal digits.
        expected: String,
        body: Hmac<Sha256>,
        text: Option<Hmac<Sha256>>,
    },
    /// A Standard Webhooks signature, and the difference of its time from ours.
    Standard { check: SignatureCheck, off: u64 },
}

impl WebhookCheck {
    /// Starts the check of a webhook of `kind` that arrives at `now`.
    ///
    /// # Errors
    /// If the headers alone prove that it is not authentic.
    pub(super) fn new(
        kind: WebhookKind,
        headers: &HeaderMap,
        secret: &Secret,
        now: i64,
    ) -> Result<Self, Forged> {
        let (proof, delivery) = match kind {
            WebhookKind::Generic => {
                let (proof, id) = standard(headers, secret, now)?;
                (proof, Some(id.as_bytes().to_vec()))
            }
            WebhookKind::Gitea => (mac(headers, secret, header(headers, "x-gitea-signature")?), None),
            WebhookKind::GitHub => {
                let signature = header(headers, "x-hub-signature-256")?.strip_prefix("sha256=");
                (mac(headers, secret, signature.ok_or(Forged::Header)?), None)
            }
            WebhookKind::GitLab => {
                let token = headers.get("x-gitlab-token").ok_or(Forged::Header)?;
                match same(token.as_bytes(), secret.expose().as_bytes()) {
                    true => (Proof::Header, None),
                    false => return Err(Forged::Signature),
                }
            }
        };
        let header = kind.delivery_header().and_then(|name| headers.get(name));
        let delivery = delivery.or_else(|| header.map(|id| id.as_bytes().to_vec()));
        Ok(Self { proof, delivery })
    }

    /// Adds a part of the body, and the JSON text in it where the body is a form.
    pub(super) fn update(&mut self, chunk: &[u8], decoded: Option<&[u8]>) {
        match &mut self.proof {
            Proof::Header => {}
            Proof::Mac { body, text, .. } => {
                body.update(chunk);
                if let (Some(text), Some(decoded)) = (text, decoded) {
                    text.update(decoded);
                }
            }
            Proof::Standard { check, .. } => check.update(chunk),
        }
    }

    /// Ends the check after the complete body.
    ///
    /// # Errors
    /// If the webhook is not authentic.
    pub(super) fn finish(self) -> Result<Authentic, Forged> {
        let delivery = self.delivery;
        match self.proof {
            Proof::Header => Ok(Authentic { delivery }),
            Proof::Mac { expected, body, text } => {
                let is_expected = |mac: Hmac<Sha256>| {
                    same(expected.as_bytes(), hex(&mac.finalize().into_bytes()).as_bytes())
                };
                // Both are compared, so that the time does not depend on which of them matches.
                let body = is_expected(body);
                let text = text.is_some_and(is_expected);
                match body || text {
                    true => Ok(Authentic { delivery }),
                    false => Err(Forged::Signature),
                }
            }
            // The signature comes first: only an authentic timestamp is evidence of a late delivery.
            Proof::Standard { check, .. } if !check.is_authentic() => Err(Forged::Signature),
            Proof::Standard { off, .. } if off > TOLERANCE => Err(Forged::Late),
            Proof::Standard { .. } => Ok(Authentic { delivery }),
        }
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<&'a str, Forged> {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .map(str::trim)
        .filter(|value| !value.is_empty())
        .ok_or(Forged::Header)
}

fn mac(headers: &HeaderMap, secret: &Secret, expected: &str) -> Proof {
    let expected = expected.to_ascii_lowercase();
    let body = hmac_sha256(secret.expose().as_bytes());
    let text = is_form(headers).then(|| body.clone());
    Proof::Mac { expected, body, text }
}

/// Starts the check of a generic webhook, and returns its id.
fn standard<'a>(headers: &'a HeaderMap, secret: &Secret, now: i64) -> Result<(Proof, &'a str), Forged> {
    let key = SigningKey::new(secret).map_err(|_| Forged::Key)?;
    let id = header(headers, "webhook-id")?;
    if id.len() > LONGEST_ID {
        return Err(Forged::Header);
    }
    let timestamp: i64 = header(headers, "webhook-timestamp")?
        .parse()
        .map_err(|_| Forged::Header)?;
    let check = key.check(id, timestamp, header(headers, "webhook-signature")?);
    let off = now.abs_diff(timestamp);
    Ok((Proof::Standard { check, off }, id))
}

/// Returns whether two texts are the same, in a time that depends on neither's content nor on the length of ours.
pub(super) fn same(given: &[u8], ours: &[u8]) -> bool {
    // Digests have the same length, so the comparison does not reveal the length of the secret.
    Sha256::digest(given).ct_eq(&Sha256::digest(ours)).into()
}

/// Reads a secret again, so that it can be rotated while the daemon runs.
///
/// # Errors
/// The response with status 503. The reason is logged.
pub(super) async fn secret(source: &SecretSource, name: &str) -> Result<Secret, Response> {
    let source = source.clone();
    // A secret on a slow volume must not block the threads that serve requests.
    let read = tokio::task::spawn_blocking(move || source.read()).await;
    let problem = || {
        problem(
            StatusCode::SERVICE_UNAVAILABLE,
            &format!("could not read the {name}"),
        )
    };
    match read {
        Ok(Ok(secret)) => Ok(secret),
        Ok(Err(error)) => {
            tracing::error!(
                name: "secret_unreadable",
                error = &error as &dyn std::error::Error,
                secret = name,
                "could not read secret"
            );
            Err(problem())
        }
        Err(_) => Err(problem()),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_str(value).unwrap(),
                )
            })
            .collect()
    }

    fn verify(
        kind: WebhookKind,
        pairs: &[(&'static str, &str)],
        body: &str,
        secret: &str,
        now: i64,
    ) -> Result<Authentic, Forged> {
        let secret = Secret::new(secret.to_owned());
        let mut check = WebhookCheck::new(kind, &headers(pairs), &secret, now)?;
        for chunk in body.as_bytes().chunks(3) {
            check.update(chunk, None);
        }
        check.finish()
    }

    fn verified(kind: WebhookKind, pairs: &[(&'static str, &str)], body: &str, secret: &str) -> bool {
        verify(kind, pairs, body, secret, 1_614_265_330).is_ok()
    }

    #[test]
    fn the_example_in_githubs_documentation_is_authentic() {
        const HEX: &str = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        const SECRET: &str = "It's a Secret to Everybody";
        let check = |signature: &str, body, secret| {
            verified(
                WebhookKind::GitHub,
                &[("x-hub-signature-256", signature)],
                body,
                secret,
            )
        };
        let right = format!("sha256={HEX}");
        assert!(check(&right, "Hello, World!", SECRET));
        assert!(check(
            &right.to_uppercase().replace("SHA", "sha"),
            "Hello, World!",
            SECRET
        ));
        assert!(!check(&right, "Hello, World", SECRET));
        assert!(!check(&right, "Hello, World!", "another"));
        for signature in [
            "sha256=",
            HEX,
            &format!("sha1={HEX}"),
            &right[..70],
            &format!("{right}0"),
            "sha256=é",
        ] {
            assert!(!check(signature, "Hello, World!", SECRET), "{signature}");
        }
        assert!(!verified(WebhookKind::GitHub, &[], "Hello, World!", SECRET));
        assert!(verified(
            WebhookKind::Gitea,
            &[("x-gitea-signature", HEX)],
            "Hello, World!",
            SECRET
        ));
        assert!(!verified(
            WebhookKind::Gitea,
            &[("x-gitea-signature", HEX)],
            "Hello",
            SECRET
        ));
        assert!(!verified(
            WebhookKind::Gitea,
            &[("x-hub-signature-256", &right)],
            "Hello, World!",
            SECRET
        ));
    }

    #[test]
    fn gitlab_sends_the_secret_itself() {
        for (token, right) in [
            ("s3cret", true),
            ("s3cre", false),
            ("s3crets", false),
            ("", false),
        ] {
            assert_eq!(
                verified(WebhookKind::GitLab, &[("x-gitlab-token", token)], "{}", "s3cret"),
                right
            );
        }
        assert!(!verified(WebhookKind::GitLab, &[], "{}", "s3cret"));
    }

    #[test]
    fn a_generic_webhook_is_a_standard_one_of_the_last_five_minutes() {
        const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let pairs = [
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            (
                "webhook-signature",
                "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            ),
        ];
        let check = |pairs: &[_], now: i64| {
            verify(
                WebhookKind::Generic,
                pairs,
                r#"{"test": 2432232314}"#,
                SECRET,
                now,
            )
        };
        for (off, right) in [(-301, false), (-300, true), (0, true), (300, true), (301, false)] {
            assert_eq!(check(&pairs, 1_614_265_330 + off).is_ok(), right, "{off}");
        }
        for missing in 0..3 {
            let mut some = pairs.to_vec();
            some.remove(missing);
            assert!(matches!(check(&some, 1_614_265_330), Err(Forged::Header)));
        }
        let mut odd = pairs;
        odd[1].1 = "9223372036854775808";
        assert!(matches!(check(&odd, 1_614_265_330), Err(Forged::Header)));
        odd[1].1 = "-9223372036854775808";
        assert!(matches!(check(&odd, 1_614_265_330), Err(Forged::Signature)));
    }
}
