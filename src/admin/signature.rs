//! Whether a webhook was sent by somebody who knows the secret. Checked on the raw bytes, before anything is
//! parsed, in a time that does not depend on what is compared.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use hmac::Mac as _;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::server::problem;
use super::webhook::Kind;
use crate::notice::{SigningKey, SigningKeyError, hmac_sha256};
use crate::transport::{Secret, SecretSource};

/// In seconds, both ways: how far a generic webhook's clock may be from ours.
const TOLERANCE: u64 = 5 * 60;
/// In bytes; ids are short.
const LONGEST_ID: usize = 512;

/// What a webhook's headers say about it once it is authentic.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Authentic {
    /// The sender's id of this delivery.
    pub(super) delivery: Option<Vec<u8>>,
}

/// Why a webhook is not taken for what it says.
#[derive(Debug, thiserror::Error)]
pub(super) enum Forged {
    #[error("the header `{0}` is missing or malformed")]
    Header(&'static str),
    #[error(transparent)]
    Key(SigningKeyError),
    #[error("`webhook-timestamp` is more than five minutes off")]
    Late,
    #[error("the signature does not match")]
    Signature,
}

/// Checks a webhook of `kind` that arrived at `now`.
pub(super) fn verify(
    kind: Kind,
    headers: &HeaderMap,
    body: &[u8],
    secret: &Secret,
    now: i64,
) -> Result<Authentic, Forged> {
    match kind {
        Kind::Generic => return standard(headers, body, secret, now),
        Kind::Gitea => mac(secret, body, header(headers, "x-gitea-signature")?)?,
        Kind::GitHub => {
            let name = "x-hub-signature-256";
            let signature = header(headers, name)?.strip_prefix("sha256=");
            mac(secret, body, signature.ok_or(Forged::Header(name))?)?;
        }
        Kind::GitLab => {
            let name = "x-gitlab-token";
            let token = headers.get(name).ok_or(Forged::Header(name))?;
            if !same(token.as_bytes(), secret.expose().as_bytes()) {
                return Err(Forged::Signature);
            }
        }
    }
    let delivery = kind
        .delivery_header()
        .and_then(|name| headers.get(name))
        .map(|id| id.as_bytes().to_vec());
    Ok(Authentic { delivery })
}

fn header<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<&'a str, Forged> {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .map(str::trim)
        .filter(|value| !value.is_empty())
        .ok_or(Forged::Header(name))
}

fn mac(secret: &Secret, body: &[u8], hex: &str) -> Result<(), Forged> {
    let signature = decoded(hex).ok_or(Forged::Signature)?;
    hmac_sha256(secret.expose().as_bytes())
        .chain_update(body)
        .verify_slice(&signature)
        .map_err(|_| Forged::Signature)
}

fn decoded(hex: &str) -> Option<[u8; 32]> {
    let digits = hex.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
        *byte = u8::try_from(high? * 16 + low?).ok()?;
    }
    Some(bytes)
}

fn standard(headers: &HeaderMap, body: &[u8], secret: &Secret, now: i64) -> Result<Authentic, Forged> {
    let key = SigningKey::new(secret).map_err(Forged::Key)?;
    let id = header(headers, "webhook-id")?;
    if id.len() > LONGEST_ID {
        return Err(Forged::Header("webhook-id"));
    }
    let timestamp: i64 = header(headers, "webhook-timestamp")?
        .parse()
        .map_err(|_| Forged::Header("webhook-timestamp"))?;
    let signatures = header(headers, "webhook-signature")?;
    if !key.verifies(id, timestamp, body, signatures) {
        return Err(Forged::Signature);
    }
    if now.abs_diff(timestamp) > TOLERANCE {
        return Err(Forged::Late);
    }
    Ok(Authentic {
        delivery: Some(id.as_bytes().to_vec()),
    })
}

/// Returns whether two texts are the same, in a time that depends on neither's content nor on the length of ours.
pub(super) fn same(given: &[u8], ours: &[u8]) -> bool {
    Sha256::digest(given).ct_eq(&Sha256::digest(ours)).into()
}

/// Reads a secret anew, so that it can be rotated while we run.
///
/// # Errors
/// The answer to give: 503, for it is our fault. The log says why.
pub(super) async fn secret(source: &SecretSource, name: &str) -> Result<Secret, Response> {
    let source = source.clone();
    let read = tokio::task::spawn_blocking(move || source.read()).await;
    let problem = || {
        problem(
            StatusCode::SERVICE_UNAVAILABLE,
            &format!("the {name} cannot be read"),
        )
    };
    match read {
        Ok(Ok(secret)) => Ok(secret),
        Ok(Err(error)) => {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the {name} cannot be read"
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

    fn verified(kind: Kind, pairs: &[(&'static str, &str)], body: &str, secret: &str) -> bool {
        let secret = Secret::new(secret.to_owned());
        verify(kind, &headers(pairs), body.as_bytes(), &secret, 1_614_265_330).is_ok()
    }

    #[test]
    fn the_example_in_githubs_documentation_is_authentic() {
        const HEX: &str = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        const SECRET: &str = "It's a Secret to Everybody";
        let check = |signature: &str, body, secret| {
            verified(Kind::GitHub, &[("x-hub-signature-256", signature)], body, secret)
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
        assert!(!verified(Kind::GitHub, &[], "Hello, World!", SECRET));
        assert!(verified(
            Kind::Gitea,
            &[("x-gitea-signature", HEX)],
            "Hello, World!",
            SECRET
        ));
        assert!(!verified(
            Kind::Gitea,
            &[("x-gitea-signature", HEX)],
            "Hello",
            SECRET
        ));
        assert!(!verified(
            Kind::Gitea,
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
                verified(Kind::GitLab, &[("x-gitlab-token", token)], "{}", "s3cret"),
                right
            );
        }
        assert!(!verified(Kind::GitLab, &[], "{}", "s3cret"));
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
            let body = br#"{"test": 2432232314}"#;
            verify(
                Kind::Generic,
                &headers(pairs),
                body,
                &Secret::new(SECRET.to_owned()),
                now,
            )
        };
        for (off, right) in [(-301, false), (-300, true), (0, true), (300, true), (301, false)] {
            assert_eq!(check(&pairs, 1_614_265_330 + off).is_ok(), right, "{off}");
        }
        for missing in 0..3 {
            let mut some = pairs.to_vec();
            some.remove(missing);
            assert!(matches!(check(&some, 1_614_265_330), Err(Forged::Header(_))));
        }
        let mut odd = pairs;
        odd[1].1 = "9223372036854775808";
        assert!(matches!(check(&odd, 1_614_265_330), Err(Forged::Header(_))));
        odd[1].1 = "-9223372036854775808";
        assert!(matches!(check(&odd, 1_614_265_330), Err(Forged::Signature)));
    }
}
