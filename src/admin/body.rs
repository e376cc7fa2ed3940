//! Reads request bodies up to a limit. A sender whose body is refused has been read to the end, within reason, so that
//! it receives the response instead of a broken connection.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, HttpBody as _};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::Response;

use super::server::problem;

/// The number of bytes that are read and dropped beyond the limit.
const THROWN_AWAY: usize = 4 << 20;

/// The number of bytes that are allocated before the first one has arrived.
const USUAL: usize = 16 << 10;

/// A body that was not read to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Unread {
    /// The connection ended before the body did.
    Incomplete,
    /// The body is larger than this many bytes.
    TooLarge(usize),
}

impl Unread {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Incomplete => StatusCode::BAD_REQUEST,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        }
    }

    pub(super) fn response(self) -> Response {
        let reason = match self {
            Self::Incomplete => "the body is incomplete".to_owned(),
            Self::TooLarge(limit) => format!("at most {limit} bytes are allowed"),
        };
        problem(self.status(), &reason)
    }
}

/// Returns `request` with its whole body in memory.
///
/// # Errors
/// When the body has more than `limit` bytes, however it is framed, or breaks off.
pub(super) async fn read(request: Request, limit: usize) -> Result<Request, Unread> {
    let (head, body) = request.into_parts();
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(announced.min(USUAL));
    stream(&head, body, limit, |chunk| bytes.extend_from_slice(chunk)).await?;
    Ok(Request::from_parts(head, Body::from(bytes)))
}

/// Passes the body to `sink` while it arrives.
///
/// # Errors
/// When the body has more than `limit` bytes, however it is framed, or breaks off. `sink` has seen a part of it then.
pub(super) async fn stream(
    head: &Parts,
    mut body: Body,
    limit: usize,
    mut sink: impl FnMut(&[u8]),
) -> Result<(), Unread> {
    let waits_for_permission = head.headers.contains_key(header::EXPECT);
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit && waits_for_permission {
        return Err(Unread::TooLarge(limit));
    }
    let mut read = 0_usize;
    while let Some(chunk) = next(&mut body).await {
        let chunk = chunk.map_err(|_| Unread::Incomplete)?;
        read = read.saturating_add(chunk.len());
        if read > limit + THROWN_AWAY {
            break;
        }
        if read <= limit {
            sink(&chunk);
        }
    }
    match read > limit {
        true => Err(Unread::TooLarge(limit)),
        false => Ok(()),
    }
}

async fn next(body: &mut Body) -> Option<Result<bytes::Bytes, axum::Error>> {
    loop {
        match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await? {
            Err(error) => return Some(Err(error)),
            Ok(frame) => {
                if let Ok(data) = frame.into_data() {
                    return Some(Ok(data));
                }
            }
        }
    }
}
