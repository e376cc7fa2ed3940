//! Checks that the sender of a webhook knows the secret: on the raw bytes as they arrive, before anything is
//! parsed, and in a time that does not depend on what is compared.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::response::problem;
use crate::model::{Forge, WebhookProof, hex};
use crate::transport::{Secret, SecretSource, SignatureCheck, SigningKey, hmac_sha256};

/// In seconds: the largest difference between a generic webhook's clock and ours.
const TOLERANCE: u64 = 5 * 60;
/// In bytes; ids are short.
const LONGEST_ID: usize = 512;

/// The kind of sender, which decides how a webhook is signed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum WebhookKind {
    Forge(Forge),
    Generic,
}

impl WebhookKind {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        Forge::ALL.into_iter().map(Self::Forge).chain([Self::Generic])
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Forge(forge) => forge.as_str(),
            Self::Generic => "generic",
        }
    }
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
pub(super) enum WebhookCheck {
    /// A header that was compared already.
    Header,
    /// An HMAC of the body or, where the body is a form, of the JSON text in it. GitHub signs the form, Gitea
    /// and Forgejo the text. Both are accepted from both, because either proves that the sender knows the
    /// secret.
    Mac {
        /// In hexadecimal digits.
        expected: String,
        body: Hmac<Sha256>,
        text: Option<(PayloadField, Hmac<Sha256>)>,
    },
    /// A Standard Webhooks signature, and the difference of its time from ours.
    Standard { check: SignatureCheck, off: u64 },
}

impl WebhookCheck {
    /// Starts the check of a webhook of `kind` that arrives at `now`.
    pub(super) fn new(
        kind: WebhookKind,
        headers: &HeaderMap,
        secret: &Secret,
        now: i64,
    ) -> Result<Self, Forged> {
        let forge = match kind {
            WebhookKind::Forge(forge) => forge,
            WebhookKind::Generic => return standard(headers, secret, now),
        };
        match forge.site().webhook {
            WebhookProof::Signature { header: name, prefix } => {
                let signature = header(headers, name)?.strip_prefix(prefix);
                Ok(mac(headers, secret, signature.ok_or(Forged::Header)?))
            }
            WebhookProof::Secret { header: name } => {
                let token = headers.get(name).ok_or(Forged::Header)?;
                if same(token.as_bytes(), secret.expose().as_bytes()) {
                    Ok(Self::Header)
                } else {
                    Err(Forged::Signature)
                }
            }
        }
    }

    pub(super) fn update(&mut self, chunk: &[u8]) {
        match self {
            Self::Header => {}
            Self::Mac { body, text, .. } => {
                body.update(chunk);
                if let Some((field, text)) = text {
                    text.update(&field.decode(chunk));
                }
            }
            Self::Standard { check, .. } => check.update(chunk),
        }
    }

    /// Ends the check after the complete body.
    pub(super) fn finish(self) -> Result<(), Forged> {
        match self {
            Self::Header => Ok(()),
            Self::Mac { expected, body, text } => {
                let is_expected = |mac: Hmac<Sha256>| {
                    same(expected.as_bytes(), hex(&mac.finalize().into_bytes()).as_bytes())
                };
                // Both are compared, so that the time does not depend on which of them matches.
                let body = is_expected(body);
                let text = text.is_some_and(|(_, text)| is_expected(text));
                if body || text { Ok(()) } else { Err(Forged::Signature) }
            }
            // The signature comes first: only an authentic timestamp is evidence of a late delivery.
            Self::Standard { check, .. } if !check.is_authentic() => Err(Forged::Signature),
            Self::Standard { off, .. } if off > TOLERANCE => Err(Forged::Late),
            Self::Standard { .. } => Ok(()),
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

fn mac(headers: &HeaderMap, secret: &Secret, expected: &str) -> WebhookCheck {
    let expected = expected.to_ascii_lowercase();
    let body = hmac_sha256(secret.expose().as_bytes());
    let text = is_form(headers).then(|| (PayloadField::default(), body.clone()));
    WebhookCheck::Mac { expected, body, text }
}

fn standard(headers: &HeaderMap, secret: &Secret, now: i64) -> Result<WebhookCheck, Forged> {
    let key = SigningKey::new(secret).map_err(|_| Forged::Key)?;
    let id = header(headers, "webhook-id")?;
    if id.len() > LONGEST_ID {
        return Err(Forged::Header);
    }
    let timestamp: i64 = header(headers, "webhook-timestamp")?.parse().map_err(|_| Forged::Header)?;
    let check = key.check(id, timestamp, header(headers, "webhook-signature")?);
    let off = now.abs_diff(timestamp);
    Ok(WebhookCheck::Standard { check, off })
}

/// The field that holds the JSON text.
const FIELD: &[u8] = b"payload=";

fn is_form(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        // Parameters such as `charset` may follow the type.
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"))
}

/// Decodes the JSON text of a form, chunk by chunk: the value of its first field `payload`. GitHub, Gitea and
/// Forgejo offer the content type `application/x-www-form-urlencoded`, and Gitea and Forgejo sign that text,
/// not the form.
#[derive(Debug, Default)]
pub(super) struct PayloadField {
    part: Part,
    /// An escape such as `%2C` of which the end has not arrived yet.
    escape: Vec<u8>,
}

/// The part of the form that the next byte belongs to.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// The name of a field, of which this many bytes match [`FIELD`].
    Name(usize),
    /// Another field.
    Other,
    Past,
    Value,
}

impl Default for Part {
    fn default() -> Self {
        Self::Name(0)
    }
}

impl PayloadField {
    /// Returns the decoded bytes of the value that `chunk` completes.
    fn decode(&mut self, chunk: &[u8]) -> Vec<u8> {
        let mut decoded = Vec::with_capacity(chunk.len());
        for &byte in chunk {
            self.part = match self.part {
                Part::Value if byte == b'&' => Part::Past,
                Part::Value => {
                    self.value(byte, &mut decoded);
                    Part::Value
                }
                Part::Name(_) | Part::Other if byte == b'&' => Part::Name(0),
                Part::Name(matched) if FIELD[matched] == byte => {
                    if matched + 1 == FIELD.len() {
                        Part::Value
                    } else {
                        Part::Name(matched + 1)
                    }
                }
                Part::Name(_) | Part::Other => Part::Other,
                Part::Past => Part::Past,
            };
        }
        decoded
    }

    fn value(&mut self, byte: u8, decoded: &mut Vec<u8>) {
        if self.escape.is_empty() {
            match byte {
                b'%' => self.escape.push(byte),
                b'+' => decoded.push(b' '),
                _ => decoded.push(byte),
            }
            return;
        }
        self.escape.push(byte);
        if self.escape.len() == 3 {
            let escape = std::mem::take(&mut self.escape);
            // A malformed escape stands for itself, as in browsers.
            decoded.extend(percent_encoding::percent_decode(&escape));
        }
    }
}

/// Returns whether two texts are the same, in a time that depends on neither's content nor on the length of
/// ours.
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
    let problem = || problem(StatusCode::SERVICE_UNAVAILABLE, &format!("could not read the {name}"));
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
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    fn verify(
        kind: WebhookKind,
        pairs: &[(&'static str, &str)],
        body: &str,
        secret: &str,
        now: i64,
    ) -> Result<(), Forged> {
        let secret = Secret::new(secret.to_owned());
        let mut check = WebhookCheck::new(kind, &headers(pairs), &secret, now)?;
        for chunk in body.as_bytes().chunks(3) {
            check.update(chunk);
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
            verified(WebhookKind::Forge(Forge::GitHub), &[("x-hub-signature-256", signature)], body, secret)
        };
        let right = format!("sha256={HEX}");
        assert!(check(&right, "Hello, World!", SECRET));
        assert!(check(&right.to_uppercase().replace("SHA", "sha"), "Hello, World!", SECRET));
        assert!(!check(&right, "Hello, World", SECRET));
        assert!(!check(&right, "Hello, World!", "another"));
        for signature in
            ["sha256=", HEX, &format!("sha1={HEX}"), &right[..70], &format!("{right}0"), "sha256=é"]
        {
            assert!(!check(signature, "Hello, World!", SECRET), "{signature}");
        }
        assert!(!verified(WebhookKind::Forge(Forge::GitHub), &[], "Hello, World!", SECRET));
        assert!(verified(
            WebhookKind::Forge(Forge::Gitea),
            &[("x-gitea-signature", HEX)],
            "Hello, World!",
            SECRET
        ));
        assert!(!verified(WebhookKind::Forge(Forge::Gitea), &[("x-gitea-signature", HEX)], "Hello", SECRET));
        assert!(!verified(
            WebhookKind::Forge(Forge::Gitea),
            &[("x-hub-signature-256", &right)],
            "Hello, World!",
            SECRET
        ));
    }

    #[test]
    fn gitlab_sends_the_secret_itself() {
        for (token, right) in [("s3cret", true), ("s3cre", false), ("s3crets", false), ("", false)] {
            assert_eq!(
                verified(WebhookKind::Forge(Forge::GitLab), &[("x-gitlab-token", token)], "{}", "s3cret"),
                right
            );
        }
        assert!(!verified(WebhookKind::Forge(Forge::GitLab), &[], "{}", "s3cret"));
    }

    #[test]
    fn a_generic_webhook_is_a_standard_one_of_the_last_five_minutes() {
        const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let pairs = [
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        ];
        let check = |pairs: &[_], now: i64| {
            verify(WebhookKind::Generic, pairs, r#"{"test": 2432232314}"#, SECRET, now)
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

    #[test]
    fn the_payload_is_decoded_however_the_form_is_cut_into_chunks() {
        let form = "other=1&pay=x&payload=%7B%22a%22%3A+%22%C3%A9%2B%22%7D&payload=second";
        for size in [1, 2, 3, 5, 7, 1000] {
            let mut field = PayloadField::default();
            let decoded: Vec<u8> =
                form.as_bytes().chunks(size).flat_map(|chunk| field.decode(chunk)).collect();
            assert_eq!(String::from_utf8(decoded).unwrap(), r#"{"a": "é+"}"#, "{size}");
        }
    }

    #[test]
    fn a_form_without_a_payload_has_no_text() {
        for form in ["", "a=b", "payloads=x", "xpayload=x", "payload"] {
            assert_eq!(PayloadField::default().decode(form.as_bytes()), b"", "{form}");
        }
    }
}
