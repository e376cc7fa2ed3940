//! The address of the client that sends a request, for the log.

use std::fmt;
use std::net::SocketAddr;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;

use super::connection::Gate;

/// The address of a client, as `axum::extract::ConnectInfo` hands it to an endpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller(SocketAddr);

impl Connected<IncomingStream<'_, Gate>> for Caller {
    fn connect_info(stream: IncomingStream<'_, Gate>) -> Self {
        Self(*stream.remote_addr())
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
