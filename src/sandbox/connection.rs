//! What a person enters in a shell to use a sandbox.

use std::path::{Path, PathBuf};

use crate::model::{ServiceKind, escaped};
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
        let (purpose, command) = match self.kind {
            ServiceKind::Documented => (
                "to publish the repository in the current folder",
                "gitoggle apply --first-pass assert",
            ),
            ServiceKind::FeatureProbe => (
                "to import its toggles to the repository in the current folder",
                "gitoggle import",
            ),
        };
        let settings = self.settings().into_iter();
        let settings: String = settings.map(|line| format!("  {}\n", escaped(&line))).collect();
        format!("to use it in another terminal:\n{settings}{purpose}:\n  {command}\n")
    }

    fn settings(&self) -> Vec<String> {
        let mut lines = vec![export("BASE_URL", &self.url)];
        lines.push(match &self.ca_file {
            Some(file) => export("CA_FILE", &quoted(&absolute(file))),
            None => "# its certificate: start the sandbox with --ca-out ca.pem".to_owned(),
        });
        lines.push(match self.token.expose() {
            DOCUMENTED_TOKEN => export("TOKEN", DOCUMENTED_TOKEN),
            // What is printed may be logged.
            _ => export("TOKEN", "\"$GITOGGLE_SANDBOX_TOKEN\""),
        });
        if self.kind == ServiceKind::FeatureProbe {
            lines.push(export("SERVICE_KIND", "featureprobe"));
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

/// Quotes text for a shell where that is necessary.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/:+,@%=".contains(&byte);
    match text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(ca_file: Option<&str>, token: &str, kind: ServiceKind) -> Vec<String> {
        let connection = SandboxConnection {
            url: "https://127.0.0.1:1".to_owned(),
            ca_file: ca_file.map(PathBuf::from),
            token: Secret::new(token.to_owned()),
            kind,
        };
        let text = connection.instructions();
        let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn the_lines_have_the_address_the_certificate_and_the_token() {
        assert_eq!(
            lines(Some("/a/ca.pem"), "sandbox-token", ServiceKind::Documented),
            [
                "export GITOGGLE_BASE_URL=https://127.0.0.1:1",
                "export GITOGGLE_CA_FILE=/a/ca.pem",
                "export GITOGGLE_TOKEN=sandbox-token",
                "gitoggle apply --first-pass assert",
            ]
        );
        let readable = lines(None, "sandbox-token", ServiceKind::FeatureProbe);
        assert_eq!(
            readable[1],
            "# its certificate: start the sandbox with --ca-out ca.pem"
        );
        assert_eq!(
            readable[3..],
            ["export GITOGGLE_SERVICE_KIND=featureprobe", "gitoggle import"]
        );
    }

    #[test]
    fn a_token_of_ones_own_is_not_shown() {
        let lines = lines(Some("ca.pem"), "t0ken", ServiceKind::Documented);
        assert_eq!(lines[2], "export GITOGGLE_TOKEN=\"$GITOGGLE_SANDBOX_TOKEN\"");
        assert!(!lines.concat().contains("t0ken"), "{lines:?}");
    }

    #[test]
    fn a_path_cannot_end_its_quotes() {
        let found = lines(Some("/a b/$(x)'; y"), "", ServiceKind::Documented);
        assert_eq!(found[1], r"export GITOGGLE_CA_FILE='/a b/$(x)'\''; y'");
    }
}
