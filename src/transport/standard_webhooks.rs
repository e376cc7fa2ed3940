//! Signs notifications, and checks the signatures of webhooks, by the Standard Webhooks specification.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::Secret;

/// The key of a Standard Webhooks secret: the base64 after `whsec_`, or the text itself without that prefix.
#[derive(Clone)]
pub(crate) struct SigningKey(Vec<u8>);

/// A secret with the prefix of base64 that is not base64.
#[derive(Debug, thiserror::Error)]
#[error("the webhook secret begins with `whsec_`, but the rest is not base64")]
pub(crate) struct SigningKeyError(#[source] base64::DecodeError);

impl SigningKey {
    pub(crate) fn new(secret: &Secret) -> Result<Self, SigningKeyError> {
        let text = secret.expose();
        match text.strip_prefix("whsec_") {
            None => Ok(Self(text.as_bytes().to_vec())),
            Some(encoded) => STANDARD.decode(encoded.trim_end()).map(Self).map_err(SigningKeyError),
        }
    }

    /// Returns the value of `webhook-signature`.
    pub(crate) fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let mac = self.mac(id, timestamp, body).finalize().into_bytes();
        format!("v1,{}", STANDARD.encode(mac))
    }

    /// Starts a check of a body that has not arrived yet. `signatures` are separated by spaces; some may have
    /// other versions or older keys.
    pub(crate) fn check(&self, id: &str, timestamp: i64, signatures: &str) -> SignatureCheck {
        let signatures = signatures
            .split(' ')
            .filter_map(|signature| STANDARD.decode(signature.strip_prefix("v1,")?).ok());
        SignatureCheck {
            mac: self.mac(id, timestamp, b""),
            signatures: signatures.take(MOST_SIGNATURES).collect(),
        }
    }

    fn mac(&self, id: &str, timestamp: i64, body: &[u8]) -> Hmac<Sha256> {
        let mut mac = hmac_sha256(&self.0);
        // The signed content begins with these fields, so the body can be checked while it arrives.
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        mac
    }
}

/// The check of a Standard Webhooks signature while the body arrives.
#[derive(Debug)]
pub(crate) struct SignatureCheck {
    mac: Hmac<Sha256>,
    signatures: Vec<Vec<u8>>,
}

impl SignatureCheck {
    pub(crate) fn update(&mut self, chunk: &[u8]) {
        self.mac.update(chunk);
    }

    /// Returns whether a signature matches. The comparison takes the same time for any content.
    pub(crate) fn is_authentic(&self) -> bool {
        self.signatures.iter().any(|signature| self.mac.clone().verify_slice(signature).is_ok())
    }
}

/// More than a key rotation needs.
const MOST_SIGNATURES: usize = 16;

pub(crate) fn hmac_sha256(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC accepts keys of any length")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const AT: i64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn key(secret: &str) -> SigningKey {
        SigningKey::new(&Secret::new(secret.to_owned())).unwrap()
    }

    fn verifies(key: &SigningKey, id: &str, timestamp: i64, body: &[u8], signatures: &str) -> bool {
        let mut check = key.check(id, timestamp, signatures);
        body.chunks(7).for_each(|chunk| check.update(chunk));
        check.is_authentic()
    }

    #[test]
    fn the_documented_example_is_signed_and_verified() {
        let key = key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        assert_eq!(key.sign(ID, AT, BODY), SIGNATURE);
        for signatures in
            [SIGNATURE.to_owned(), format!("v1a,xyz v1,AAAA {SIGNATURE}"), format!("{SIGNATURE} v2,other")]
        {
            assert!(verifies(&key, ID, AT, BODY, &signatures), "{signatures}");
        }
    }

    #[test]
    fn a_change_of_the_id_time_or_body_invalidates_the_signature() {
        let key = key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        assert!(!verifies(&key, "msg_other", AT, BODY, SIGNATURE));
        assert!(!verifies(&key, ID, AT + 1, BODY, SIGNATURE));
        assert!(!verifies(&key, ID, AT, b"{}", SIGNATURE));
        for signatures in
            ["", "v1,", "v1", &SIGNATURE[3..], "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="]
        {
            assert!(!verifies(&key, ID, AT, BODY, signatures), "{signatures}");
        }
    }

    #[test]
    fn a_secret_is_raw_text_or_marked_base64() {
        assert_eq!(key("plain text").0, b"plain text");
        assert_eq!(key("whsec_aGk=").0, b"hi");
        assert!(SigningKey::new(&Secret::new("whsec_?".to_owned())).is_err());
    }
}
