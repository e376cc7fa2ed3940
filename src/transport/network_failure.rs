//! Describes failed requests: the cause in plain words instead of a library's, and the proxy if it is at fault.

use std::error::Error;
use std::{fmt, io};

use hyper_util::client::proxy::matcher::Matcher;

use crate::model::{escaped, plain};

/// A proxy that did not connect to the target.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProxyFault {
    /// The address, without credentials.
    proxy: String,
    fault: TunnelFault,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum TunnelFault {
    /// It ended the connection without a response.
    Closed,
    /// Status 407.
    Credentials,
    /// Any other status or a malformed response.
    Refused,
    /// It is a SOCKS proxy, to which the client spoke HTTP.
    Socks,
    TimedOut,
    Unreachable(Reason),
}

impl fmt::Display for ProxyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proxy = escaped(&self.proxy);
        match &self.fault {
            TunnelFault::Closed => write!(f, "the proxy `{proxy}` closed the connection"),
            TunnelFault::Credentials => write!(f, "the proxy `{proxy}` requires credentials (407)"),
            TunnelFault::Refused => write!(f, "the proxy `{proxy}` refused to connect to it"),
            TunnelFault::Socks => {
                write!(f, "`{proxy}` is a SOCKS proxy, and only HTTP proxies are supported")
            }
            TunnelFault::TimedOut => write!(f, "the connection through the proxy `{proxy}` timed out"),
            TunnelFault::Unreachable(why) => write!(f, "the proxy `{proxy}` is unreachable: {why}"),
        }
    }
}

/// Returns why the proxy did not connect to the target, if the request failed there.
pub fn proxy_fault(error: &reqwest::Error) -> Option<ProxyFault> {
    if !error.is_connect() && !error.is_timeout() {
        return None;
    }
    // The client does not report the proxy that it used, so the same rules are applied again.
    let proxy = proxy_for(error.url()?)?;
    let fault = match chain(error).find_map(tunnel_fault) {
        _ if proxy.starts_with("socks") => TunnelFault::Socks,
        Some(fault) => fault,
        // The error of a timeout while connecting does not contain the error of the tunnel.
        None if error.is_connect() && error.is_timeout() => TunnelFault::TimedOut,
        None => return None,
    };
    Some(ProxyFault { proxy, fault })
}

/// Returns the address of the proxy that requests to `target` go through, without credentials.
fn proxy_for(target: &url::Url) -> Option<String> {
    let intercept = Matcher::from_env().intercept(&target.as_str().parse().ok()?)?;
    let uri = intercept.uri();
    Some(format!("{}://{}", uri.scheme_str()?, uri.authority()?))
}

/// Classifies the client's error for a tunnel by its text, because its type is private.
fn tunnel_fault(error: &(dyn Error + 'static)) -> Option<TunnelFault> {
    let text = error.to_string();
    let fault = match text.strip_prefix("tunnel error: ")? {
        "failed to create underlying connection" => TunnelFault::Unreachable(reason(error)),
        "proxy authorization required" => TunnelFault::Credentials,
        "unexpected end of file" | "io error establishing tunnel" => TunnelFault::Closed,
        _ => TunnelFault::Refused,
    };
    Some(fault)
}

/// The last cause of a failed request.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", escaped(.0))]
pub struct Reason(String);

/// Returns the last cause of `error`, which is the most specific one.
pub fn reason(error: &(dyn Error + 'static)) -> Reason {
    // rustls reports an early end of the connection with the URL of its manual, and hyper in the terms of its parser.
    if chain(error).any(is_cut) {
        return Reason("the connection was closed before the response was complete".to_owned());
    }
    let text = chain(error).last().unwrap_or(error).to_string();
    Reason(match text.as_str() {
        "received corrupt message of type InvalidContentType" => "the server does not speak TLS".to_owned(),
        "invalid HTTP version parsed" => "the server does not speak HTTP without TLS".to_owned(),
        _ => plain(&text),
    })
}

/// Returns why a request got no response: the fault of the certificate or of the proxy, or the last cause.
pub(super) fn no_response(error: &reqwest::Error) -> Reason {
    if let Some(fault) = certificate_fault(error) {
        let hint = match fault {
            CertificateFault::Untrusted => "; to trust its CA, pass the CA certificate with `--ca-file`",
            _ => "",
        };
        return Reason(format!("could not verify its certificate: {fault}{hint}"));
    }
    match proxy_fault(error) {
        Some(fault) => Reason(fault.to_string()),
        None if error.is_timeout() => Reason("no response arrived in time".to_owned()),
        None => reason(error),
    }
}

fn is_cut(error: &(dyn Error + 'static)) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    kind == Some(io::ErrorKind::UnexpectedEof)
        || error.to_string().starts_with("connection closed before message completed")
}

/// Returns `error` and its causes, including the error that an I/O error wraps, which its `source` skips.
pub(super) fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| cause(*error))
}

fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

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
        // A CA that was created again has the same name, so a certificate of the old one fails only at the signature.
        E::UnknownIssuer | E::BadSignature => CertificateFault::Untrusted,
        E::NotValidForName | E::NotValidForNameContext { .. } => CertificateFault::WrongName,
        // The type of the wrapped error is private to rustls. It prints as its name.
        E::Other(other) if other.to_string() == "CaUsedAsEndEntity" => CertificateFault::CaCertificate,
        _ => CertificateFault::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_connection_is_described_without_a_manual() {
        let manual = "peer closed connection without sending TLS close_notify: https://docs.rs/rustls/…";
        let tls = io::Error::new(io::ErrorKind::UnexpectedEof, manual);
        let outer = io::Error::other(tls);
        assert_eq!(reason(&outer).to_string(), "the connection was closed before the response was complete");
    }

    #[test]
    fn a_mistaken_scheme_is_described_in_plain_words() {
        for (text, expected) in [
            ("received corrupt message of type InvalidContentType", "the server does not speak TLS"),
            ("invalid HTTP version parsed", "the server does not speak HTTP without TLS"),
        ] {
            let outer = io::Error::other(io::Error::other(text));
            assert_eq!(reason(&outer).to_string(), expected);
        }
    }

    #[test]
    fn the_last_cause_is_found_within_nested_io_errors() {
        let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "refused");
        let outer = io::Error::other(io::Error::other(refused));
        assert_eq!(reason(&outer).to_string(), "refused");
    }
}

#[cfg(test)]
mod certificate_tests {
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
