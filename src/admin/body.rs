//! Reading a request's body up to a limit, before anything else: whoever gets a refusal has been listened to, and
//! so reads it instead of a broken connection.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, HttpBody as _};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::Response;

use super::server::problem;

/// What is read and thrown away beyond the limit, so that a sender that is only a little too talkative reads the
/// answer instead of a broken connection.
const THROWN_AWAY: usize = 4 << 20;

/// What is set aside before anything was sent; in bytes.
const USUAL: usize = 16 << 10;

/// Returns `request` with its whole body where that has at most `limit` bytes, however it is framed.
///
/// # Errors
/// The answer to give: 413 when it is larger, 400 when it breaks off.
pub(super) async fn read(request: Request, limit: usize) -> Result<Request, Response> {
    let too_large = || {
        problem(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("at most {limit} bytes are allowed"),
        )
    };
    let (head, mut body) = request.into_parts();
    let waits_for_permission = head.headers.contains_key(header::EXPECT);
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit && waits_for_permission {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(announced.min(USUAL));
    let mut read = 0_usize;
    while let Some(chunk) = next(&mut body).await {
        let chunk = chunk.map_err(|_| problem(StatusCode::BAD_REQUEST, "the body is incomplete"))?;
        read = read.saturating_add(chunk.len());
        if read > limit + THROWN_AWAY {
            break;
        }
        if read <= limit {
            bytes.extend_from_slice(&chunk);
        }
    }
    if read > limit {
        return Err(too_large());
    }
    Ok(Request::from_parts(head, Body::from(bytes)))
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
