//! `gitoggle sandbox` as a child process.

use std::path::PathBuf;

use super::command::Running;
use super::{Gitoggle, World, eventually, free_port};

/// The token that the sandbox accepts by default.
pub(super) const TOKEN: &str = "for-this-test";

/// A running sandbox.
pub(crate) struct RunningSandbox {
    port: u16,
    authority: PathBuf,
    _running: Running,
}

impl RunningSandbox {
    /// Starts a sandbox on a free port, and waits until it listens. It writes the certificate of its
    /// authority to `authority`.
    pub(crate) fn start(
        world: &World,
        authority: PathBuf,
        options: impl FnOnce(Gitoggle) -> Gitoggle,
    ) -> Self {
        let port = free_port();
        let sandbox = world
            .bare("sandbox")
            .set("listen", format!("127.0.0.1:{port}"))
            .set("ca-out", &authority)
            .env("GITOGGLE_SANDBOX_TOKEN", TOKEN);
        let running = options(sandbox).start_logged(&world.path("sandbox.log"));
        eventually("the sandbox to listen", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
            std::fs::read_to_string(&authority)
                .is_ok_and(|text| text.contains("END CERTIFICATE"))
                .then_some(())
        });
        Self { port, authority, _running: running }
    }

    /// Returns its address.
    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Gives a run the address, the certificate, and the default token of the sandbox.
    pub(crate) fn connected(&self, run: Gitoggle) -> Gitoggle {
        run.set("base-url", self.url()).set("ca-file", &self.authority).env("GITOGGLE_TOKEN", TOKEN)
    }
}
