//! Why the certificate of a server was rejected.

use std::fmt;

use super::failure::chain;

/// What to do about a clock that makes a certificate look out of date.
pub(crate) const CORRECT_CLOCK: &str = "correct the clock of this machine";

/// Why a server's certificate was rejected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CertificateFault {
    /// A CA certificate, such as plain `openssl req -x509` makes.
    CaCertificate,
    /// Past the end of its validity.
    Expired,
    /// Before the start of its validity; usually a clock is wrong.
    NotYetValid,
    /// Another fault: malformed, revoked, or made for another purpose.
    Other,
    /// Not signed by a trusted CA.
    Untrusted,
    /// Made for another host.
    WrongName,
}

impl fmt::Display for CertificateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CaCertificate => "a CA certificate is used as the server's certificate",
            Self::Expired => "it has expired",
            Self::NotYetValid => "it is not valid yet",
            Self::Other => "it is not acceptable",
            Self::Untrusted => "unknown issuer",
            Self::WrongName => "it is for another name",
        })
    }
}

/// Returns the fault of the server's certificate if the request failed because of it.
pub fn certificate_fault(error: &reqwest::Error) -> Option<CertificateFault> {
    chain(error).find_map(|cause| match cause.downcast_ref() {
        Some(rustls::Error::InvalidCertificate(fault)) => Some(classify(fault)),
        _ => None,
    })
}

/// Returns whether the request failed because the server does not speak TLS.
pub fn is_without_tls(error: &reqwest::Error) -> bool {
    chain(error).any(|cause| matches!(cause.downcast_ref(), Some(rustls::Error::InvalidMessage(_))))
}

fn classify(fault: &rustls::CertificateError) -> CertificateFault {
    use rustls::CertificateError as E;
    match fault {
        E::Expired | E::ExpiredContext { .. } => CertificateFault::Expired,
        E::NotValidYet | E::NotValidYetContext { .. } => CertificateFault::NotYetValid,
        // A CA that was created again has the same name, so a certificate of the old one fails only at the
        // signature.
        E::UnknownIssuer | E::BadSignature => CertificateFault::Untrusted,
        E::NotValidForName | E::NotValidForNameContext { .. } => CertificateFault::WrongName,
        // The type of the wrapped error is private to rustls. It prints as its name.
        E::Other(other) if other.to_string() == "CaUsedAsEndEntity" => CertificateFault::CaCertificate,
        _ => CertificateFault::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use rustls::{CertificateError as E, OtherError};

    use super::*;

    #[test]
    fn each_fault_of_a_certificate_has_its_own_kind() {
        let other = |name: &str| E::Other(OtherError(Arc::new(io::Error::other(name.to_owned()))));
        for (fault, kind) in [
            (other("CaUsedAsEndEntity"), CertificateFault::CaCertificate),
            (other("PathLenConstraintViolated"), CertificateFault::Other),
            (E::Expired, CertificateFault::Expired),
            (E::NotValidYet, CertificateFault::NotYetValid),
            (E::UnknownIssuer, CertificateFault::Untrusted),
            (E::NotValidForName, CertificateFault::WrongName),
            (E::Revoked, CertificateFault::Other),
        ] {
            assert_eq!(classify(&fault), kind);
        }
    }
}
