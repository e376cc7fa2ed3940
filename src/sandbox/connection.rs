//! What a person enters in a shell to use a sandbox.

use std::path::{Path, PathBuf};

use crate::model::ServiceKind;
use crate::transport::Secret;

/// The token that the documentation names, which is not a secret.
const DOCUMENTED_TOKEN: &str = "sandbox-token";

/// Commands for one purpose.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConnectionStep {
    /// The purpose, such as `to publish the repository`.
    pub purpose: &'static str,
    /// The lines to enter.
    pub lines: Vec<String>,
}

/// The steps from a running sandbox to a first result, as its page and its start show them.
#[derive(Clone, Debug)]
pub(super) struct SandboxConnection {
    pub(super) url: String,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) token: Secret,
    pub(super) kind: ServiceKind,
}

impl SandboxConnection {
    pub(super) fn steps(&self) -> Vec<ConnectionStep> {
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
        let settings = ConnectionStep {
            purpose: "to use it in another terminal",
            lines: self.settings(),
        };
        let first = ConnectionStep {
            purpose,
            lines: vec![command.to_owned()],
        };
        vec![settings, first]
    }

    /// Describes the service in a sentence.
    pub(super) fn kind_in_words(&self) -> &'static str {
        match self.kind {
            ServiceKind::Documented => {
                "It implements the documented endpoint over HTTPS, and keeps every document that is published to it."
            }
            ServiceKind::FeatureProbe => {
                "It answers as FeatureProbe does, reads included, and keeps everything in memory."
            }
        }
    }

    fn settings(&self) -> Vec<String> {
        let mut lines = vec![export("BASE_URL", &self.url)];
        lines.push(match &self.ca_file {
            Some(file) => export("CA_FILE", &quoted(&absolute(file))),
            None => "# its certificate: start the sandbox with --ca-out ca.pem".to_owned(),
        });
        lines.push(match self.token.expose() {
            DOCUMENTED_TOKEN => export("TOKEN", DOCUMENTED_TOKEN),
            // The page is readable without a token, so it must not show one.
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
        let steps = connection.steps().into_iter();
        steps.flat_map(|step| step.lines).collect()
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
