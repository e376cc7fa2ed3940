//! Streams JSON of any size: a thread serializes as fast as the client reads, so a slow client costs a few chunks of
//! memory and blocks nothing else.

use std::io::{self, BufWriter, Write};

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use tokio::sync::mpsc;

use crate::model::HarmlessJsonWriter;

/// The bytes that wait for a client are at most this many times three.
const CHUNK: usize = 16 * 1024;

/// Responds with the JSON that `serialize` writes, on a thread that serves no other requests. The limit of connections
/// also limits the threads.
pub(super) fn json_stream(
    serialize: impl FnOnce(&mut dyn Write) -> serde_json::Result<()> + Send + 'static,
) -> Response {
    let (sender, receiver) = mpsc::channel(1);
    tokio::task::spawn_blocking(move || {
        let mut out = BufWriter::with_capacity(CHUNK, ChunkWriter(sender));
        // It fails only if the client is gone.
        if serialize(&mut HarmlessJsonWriter(&mut out)).is_ok() {
            let _ = out.write_all(b"\n").and_then(|()| out.flush());
        }
    });
    let chunks = unfold(receiver, async |mut receiver: mpsc::Receiver<Bytes>| {
        let chunk = receiver.recv().await?;
        Some((Ok::<_, io::Error>(chunk), receiver))
    });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (headers, Body::from_stream(chunks)).into_response()
}

/// Sends what is written to the client, and waits while it does not read.
struct ChunkWriter(mpsc::Sender<Bytes>);

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let chunk = Bytes::copy_from_slice(bytes);
        self.0
            .blocking_send(chunk)
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
