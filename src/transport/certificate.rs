//! What is wrong with a server's certificate, told apart so that a message can say what to do.

use std::error::Error as _;
use std::fmt;

/// What is wrong with a server's certificate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CertificateFault {
    /// Its time is over.
    Expired,
    /// Its time has not begun, which mostly means that a clock is wrong.
    NotYetValid,
    /// Something else is wrong with it: it is malformed, revoked or made for another purpose.
    Other,
    /// Nobody who is trusted has signed it.
    Untrusted,
    /// It is for another host.
    WrongName,
}

impl fmt::Display for CertificateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "it has expired",
            Self::NotYetValid => "it is not valid yet",
            Self::Other => "it cannot be accepted",
            Self::Untrusted => "unknown issuer",
            Self::WrongName => "it is for another name",
        })
    }
}

/// Returns what was wrong with the server's certificate, where that is why the request failed.
#[must_use]
pub fn certificate_fault(error: &reqwest::Error) -> Option<CertificateFault> {
    let mut cause = error.source();
    while let Some(current) = cause {
        if let Some(rustls::Error::InvalidCertificate(fault)) = tls_error(current) {
            return Some(classify(fault));
        }
        cause = current.source();
    }
    None
}

/// Looks into I/O errors, however deep: as a source, one that wraps another error is skipped along with it.
fn tls_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    match error.downcast_ref::<std::io::Error>() {
        Some(outer) => tls_error(outer.get_ref()?),
        None => error.downcast_ref(),
    }
}

fn classify(fault: &rustls::CertificateError) -> CertificateFault {
    use rustls::CertificateError as E;
    match fault {
        E::Expired | E::ExpiredContext { .. } => CertificateFault::Expired,
        E::NotValidYet | E::NotValidYetContext { .. } => CertificateFault::NotYetValid,
        E::UnknownIssuer | E::BadSignature => CertificateFault::Untrusted,
        E::NotValidForName | E::NotValidForNameContext { .. } => CertificateFault::WrongName,
        _ => CertificateFault::Other,
    }
}

#[cfg(test)]
mod tests {
    use rustls::CertificateError as E;

    use super::*;

    #[test]
    fn faults_of_certificates_are_told_apart() {
        for (fault, kind) in [
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
