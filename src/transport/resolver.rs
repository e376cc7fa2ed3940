//! Resolves host names, so that a thread that cannot start is an error of its own.
//!
//! The resolver of the client waits for a thread of the runtime, and without one it waits until the connection
//! times out, which reads like a service that does not respond.

use std::io;
use std::net::ToSocketAddrs as _;
use std::thread::Builder;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::oneshot;

use super::failure::NoThread;

type Lookup = Box<dyn FnOnce() + Send>;

/// Starts each lookup with this function.
pub(super) struct Resolver(pub(super) fn(Lookup) -> io::Result<()>);

impl Resolver {
    /// The resolver of the system, each lookup in a thread of its own: one that hangs delays neither another one
    /// nor the end of the process.
    pub(super) const IN_THREADS: Self =
        Self(|lookup| Builder::new().name("resolver".to_owned()).spawn(lookup).map(drop));
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (sender, receiver) = oneshot::channel();
        let started = (self.0)(Box::new(move || {
            // The connection that needed it may have timed out.
            let _ = sender.send((name.as_str(), 0).to_socket_addrs());
        }));
        Box::pin(async move {
            started.map_err(NoThread)?;
            Ok(Box::new(receiver.await??) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::transport::{no_thread, provider, reason};

    async fn error(resolver: Resolver, host: &str) -> reqwest::Error {
        provider();
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20));
        let client = client.dns_resolver(Arc::new(resolver)).build().unwrap();
        client.get(format!("http://{host}:1/")).send().await.unwrap_err()
    }

    #[tokio::test]
    async fn a_lookup_without_a_thread_is_an_error_of_its_own() {
        let full = Resolver(|_| Err(io::ErrorKind::WouldBlock.into()));
        let error_of_thread = error(full, "localhost").await;
        assert!(error_of_thread.is_connect() && !error_of_thread.is_timeout(), "{error_of_thread:?}");
        assert!(no_thread(&error_of_thread).is_some());
        assert!(reason(&error_of_thread).to_string().contains("no further thread"));
        // The name is found, and nothing listens there.
        let refused = error(Resolver::IN_THREADS, "localhost").await;
        assert!(
            no_thread(&refused).is_none() && reason(&refused).to_string().contains("refused"),
            "{refused:?}"
        );
        let unknown = error(Resolver::IN_THREADS, "no-such-host.invalid").await;
        assert!(unknown.is_connect() && no_thread(&unknown).is_none(), "{unknown:?}");
    }
}
