//! Streams JSON of any size piece by piece. Pieces are made when the client has read the ones before, so a slow client costs
//! a few chunks of memory, no thread, and blocks nothing else.

use std::io::{self, Write as _};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::unfold;

use super::AdminState;
use super::answer::json_body;
use crate::model::HarmlessJsonWriter;

/// Pieces are joined up to this size.
const CHUNK: usize = 16 * 1024;

/// Responds with the JSON whose pieces `begin` returns, each a few characters or one toggle. All work is done on threads
/// that serve no other requests, in turns with other pages.
pub(super) fn json_stream<I>(
    shared: AdminState,
    begin: impl FnOnce(&AdminState) -> I + Send + 'static,
) -> Response
where
    I: Iterator<Item = String> + Send + 'static,
{
    let state = shared.clone();
    let pieces = std::iter::once_with(move || begin(&state)).flatten();
    let chunks = unfold((shared, Some(pieces)), async |(shared, pieces)| {
        let mut pieces = pieces?;
        let made = shared.page(move |_| (chunk(&mut pieces), pieces)).await;
        match made {
            Some((chunk, _)) if chunk.is_empty() => None,
            Some((chunk, pieces)) => Some((Ok(chunk), (shared, Some(pieces)))),
            // Without the error, the response would look complete.
            None => Some((Err(io::Error::other("shutting down")), (shared, None))),
        }
    });
    json_body(Body::from_stream(chunks))
}

fn chunk(pieces: &mut impl Iterator<Item = String>) -> Bytes {
    let mut chunk = Vec::new();
    while chunk.len() < CHUNK
        && let Some(piece) = pieces.next()
    {
        let written = HarmlessJsonWriter(&mut chunk).write_all(piece.as_bytes());
        written.expect("memory can be written");
    }
    Bytes::from(chunk)
}
