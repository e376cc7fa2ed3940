//! What a person enters in a shell to use a running sandbox.

use std::path::{Path, PathBuf};

use crate::model::{ServiceKind, escaped, shell_word};
use crate::transport::Secret;

/// The token that the documentation names, which is not a secret.
const DOCUMENTED_TOKEN: &str = "sandbox-token";

/// How a sandbox is reached.
#[derive(Clone, Debug)]
pub(super) struct SandboxConnection {
    pub(super) url: String,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) token: Secret,
    pub(super) kind: ServiceKind,
}

impl SandboxConnection {
    /// Returns the steps from a running sandbox to a first result.
    pub(super) fn instructions(&self) -> String {
        let (purpose, command) = if self.kind.can().read_live {
            ("to import its toggles to the repository in the current folder", "gitoggle import")
        } else {
            ("to publish the repository in the current folder", "gitoggle apply --first-pass assert")
        };
        let settings = self.settings().into_iter();
        let settings: String = settings.map(|line| format!("  {}\n", escaped(&line))).collect();
        format!("to use it in another terminal:\n{settings}{purpose}:\n  {command}\n")
    }

    fn settings(&self) -> Vec<String> {
        let mut lines = vec![export("BASE_URL", &self.url)];
        lines.push(match &self.ca_file {
            Some(file) => export("CA_FILE", &shell_word(&absolute(file))),
            None => "# its certificate: start the sandbox with --ca-out ca.pem".to_owned(),
        });
        lines.push(match self.token.expose() {
            DOCUMENTED_TOKEN => export("TOKEN", DOCUMENTED_TOKEN),
            // What is printed may be logged.
            _ => export("TOKEN", "\"$GITOGGLE_SANDBOX_TOKEN\""),
        });
        if self.kind != ServiceKind::default() {
            lines.push(export("SERVICE_KIND", self.kind.as_str()));
        }
        lines
    }
}

fn export(name: &str, value: &str) -> String {
    format!("export GITOGGLE_{name}={value}")
}

/// Returns the path of a file for a shell in any folder.
fn absolute(given: &Path) -> String {
    let path = given.canonicalize().or_else(|_| std::path::absolute(given));
    let path = path.as_deref().unwrap_or(given);
    path.to_string_lossy().into_owned()
}
