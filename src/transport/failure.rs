//! Why a request failed, in words.

use std::error::Error;
use std::io;

use crate::model::{escaped, plain};

/// The last cause of a failed request.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", escaped(.0))]
pub struct Reason(pub(super) String);

/// The system starts no further thread.
#[derive(Debug, thiserror::Error)]
#[error(
    "the system starts no further thread for this process; raise the limit of processes of this user or container"
)]
pub struct NoThread(#[source] pub(super) io::Error);

/// Returns the last cause of `error`, which is the most specific one.
pub fn reason(error: &(dyn Error + 'static)) -> Reason {
    // rustls reports an early end of the connection with the URL of its manual, and hyper in the terms of its
    // parser.
    if chain(error).any(is_cut) {
        return Reason("the connection was closed before the response was complete".to_owned());
    }
    if let Some(error) = no_thread(error) {
        return Reason(error.to_string());
    }
    let text = chain(error).last().unwrap_or(error).to_string();
    Reason(match text.as_str() {
        "received corrupt message of type InvalidContentType" => "the server does not speak TLS".to_owned(),
        "invalid HTTP version parsed" => "the server does not speak HTTP without TLS".to_owned(),
        _ => plain(&text),
    })
}

fn is_cut(error: &(dyn Error + 'static)) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    kind == Some(io::ErrorKind::UnexpectedEof)
        || error.to_string().starts_with("connection closed before message completed")
}

/// Returns the lack of a thread because of which a blocking client could not be built. It has a thread itself.
pub(super) fn error_of_thread(error: &reqwest::Error) -> Option<NoThread> {
    let found = chain(error).find_map(|cause| cause.downcast_ref::<io::Error>());
    found.filter(|error| error.kind() == io::ErrorKind::WouldBlock).map(|error| NoThread(error.kind().into()))
}

/// Returns the lack of a thread because of which a request was not sent.
pub(crate) fn no_thread<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a NoThread> {
    chain(error).find_map(|cause| cause.downcast_ref())
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
