//! Describes failed requests in words: the cause instead of a library's text, and the proxy where it is at fault.

use std::error::Error;
use std::fmt;
use std::io;

use hyper_util::client::proxy::matcher::Matcher;

use crate::model::escaped;

/// A proxy that did not connect to the target.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProxyFault {
    /// Its address, without credentials.
    proxy: String,
    fault: Fault,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Fault {
    /// It ended the connection without a response.
    Closed,
    /// It requires credentials (407).
    Credentials,
    /// It refuses to connect to the target.
    Refuses,
    /// No tunnel through it was made in time.
    TimedOut,
    /// It cannot be reached; why, in words.
    Unreachable(Reason),
}

impl fmt::Display for ProxyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proxy = escaped(&self.proxy);
        match &self.fault {
            Fault::Closed => write!(f, "the proxy `{proxy}` closed the connection"),
            Fault::Credentials => write!(f, "the proxy `{proxy}` requires credentials (407)"),
            Fault::Refuses => write!(f, "the proxy `{proxy}` refused to connect to it"),
            Fault::TimedOut => write!(f, "no connection through the proxy `{proxy}` was made in time"),
            Fault::Unreachable(why) => write!(f, "the proxy `{proxy}` cannot be reached: {why}"),
        }
    }
}

/// Returns why the proxy did not connect to the target, if the request failed there.
#[must_use]
pub fn proxy_fault(error: &reqwest::Error) -> Option<ProxyFault> {
    if !error.is_connect() && !error.is_timeout() {
        return None;
    }
    let proxy = proxy_for(error.url()?)?;
    let fault = match chain(error).find_map(tunnel_fault) {
        Some(fault) => fault,
        None if error.is_connect() && error.is_timeout() => Fault::TimedOut,
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

/// Reads the fault off the client's error for a tunnel. Its type cannot be named, so its text has to do.
fn tunnel_fault(error: &(dyn Error + 'static)) -> Option<Fault> {
    let text = error.to_string();
    let fault = match text.strip_prefix("tunnel error: ")? {
        "failed to create underlying connection" => Fault::Unreachable(reason(error)),
        "proxy authorization required" => Fault::Credentials,
        "unexpected end of file" | "io error establishing tunnel" => Fault::Closed,
        _ => Fault::Refuses,
    };
    Some(fault)
}

/// The last cause of a failed request, in words.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", escaped(.0))]
pub struct Reason(String);

/// Returns the last cause of `error`: the one that names what really happened.
///
/// A connection that ends too early is reported by rustls with the address of its manual, and by hyper in the terms of its
/// own parser. Both become one plain sentence.
#[must_use]
pub fn reason(error: &(dyn Error + 'static)) -> Reason {
    if chain(error).any(is_cut) {
        return Reason("the connection was closed before the response was complete".to_owned());
    }
    Reason(chain(error).last().unwrap_or(error).to_string())
}

fn is_cut(error: &(dyn Error + 'static)) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    kind == Some(io::ErrorKind::UnexpectedEof)
        || error
            .to_string()
            .starts_with("connection closed before message completed")
}

/// Returns `error` and its causes. What an I/O error wraps is one of them, although its `source` skips it.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| cause(*error))
}

fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
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
        assert_eq!(
            reason(&outer).to_string(),
            "the connection was closed before the response was complete"
        );
    }

    #[test]
    fn the_last_cause_counts_also_within_io_errors() {
        let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "refused");
        let outer = io::Error::other(io::Error::other(refused));
        assert_eq!(reason(&outer).to_string(), "refused");
    }
}
