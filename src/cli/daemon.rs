//! Sends commands to a running daemon, and explains its errors.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::failure::{ExitStatus, Failure};
use crate::config::Settings;
use crate::model::escaped;
use crate::transport::{DaemonClient, DaemonError, DaemonReply, DaemonUrl, Network};

pub(super) struct Daemon(DaemonClient);

impl Daemon {
    pub(super) fn of(settings: &Settings) -> Result<Self, Failure> {
        let Some(token) = &settings.admin_token else {
            let failure = Failure::new(ExitStatus::Usage, "an admin token is required");
            return Err(failure.hint(
                "give the token of the daemon's `--admin-token-file` with `--admin-token-file FILE` or in \
                 GITOGGLE_ADMIN_TOKEN",
            ));
        };
        let token = token.read().map_err(|error| {
            let hint = error.hint();
            Failure::failed(error).hint(hint)
        })?;
        let url = settings.url.clone();
        if url.is_exposed() {
            tracing::warn!(name: "exposed_token", %url, "the admin token is sent unencrypted; use https");
        }
        let network = Network { ca_file: settings.ca_file.clone(), ..Network::default() };
        Ok(Self(DaemonClient::new(url, token, &network)?))
    }

    pub(super) fn url(&self) -> &DaemonUrl {
        self.0.url()
    }

    /// Sends a command and returns the reply. Omits null members.
    pub(super) fn send(&self, path: &str, command: &Value) -> Result<Value, Failure> {
        let mut command = command.clone();
        if let Value::Object(members) = &mut command {
            members.retain(|_, value| !value.is_null());
        }
        let reply = self.0.post(path, &command.to_string());
        self.parse(reply)
    }

    pub(super) fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.parse(self.0.get(path))
    }

    fn parse<T: DeserializeOwned>(&self, reply: Result<DaemonReply, DaemonError>) -> Result<T, Failure> {
        let reply = reply.map_err(|error| self.unreachable(error))?;
        match reply.status {
            // A proxy or another server may respond with a success that is not JSON.
            200..=299 => serde_json::from_slice(&reply.body).map_err(|_| self.foreign(&reply)),
            _ => Err(self.refused(&reply)),
        }
    }

    fn unreachable(&self, error: DaemonError) -> Failure {
        let is_unreachable = matches!(error, DaemonError::Unreachable(..));
        let hint = "check that `gitoggle run` runs and listens there, or give its address with `--url`; a daemon in \
                    Kubernetes is reached with `kubectl -n gitoggle port-forward deployment/gitoggle 8077`";
        Failure::failed(error).maybe_hint(is_unreachable.then_some(hint))
    }

    fn refused(&self, reply: &DaemonReply) -> Failure {
        // A redirect could send the admin token to another host.
        if let Some(location) = &reply.location {
            let url = self.url();
            let message = format!("`{url}` redirects to `{}`, which is not followed", escaped(location));
            return Failure::failed(message).hint("give the address of the daemon itself with `--url`");
        }
        let Ok(problem) = serde_json::from_slice::<Value>(&reply.body) else {
            return self.foreign(reply);
        };
        let Some(error) = problem["error"].as_str() else {
            return self.foreign(reply);
        };
        let hint = match reply.status {
            401 => Some("use the token of the daemon's `--admin-token-file`"),
            _ => problem["hint"].as_str(),
        };
        Failure::failed(format!("the daemon refused the command ({}): {error}", reply.status))
            .maybe_hint(hint)
    }

    fn foreign(&self, reply: &DaemonReply) -> Failure {
        let message =
            format!("`{}` responded with {}, but not as a gitoggle daemon", self.url(), reply.status);
        Failure::failed(message).hint("give the address of the daemon, which is its `--listen`, with `--url`")
    }
}
