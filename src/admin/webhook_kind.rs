//! The kinds of senders of webhooks, and the headers that each uses.

use axum::http::HeaderMap;

/// The kind of sender, which decides how a webhook is signed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum WebhookKind {
    Generic,
    Gitea,
    GitHub,
    GitLab,
}

impl WebhookKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Gitea => "gitea",
            Self::GitHub => "github",
            Self::GitLab => "gitlab",
        }
    }

    /// Returns the header with the host's id of a delivery. The id of a generic webhook is part of what is signed.
    pub(super) fn delivery_header(self) -> Option<&'static str> {
        match self {
            Self::Generic => None,
            Self::Gitea => Some("x-gitea-delivery"),
            Self::GitHub => Some("x-github-delivery"),
            Self::GitLab => Some("x-gitlab-event-uuid"),
        }
    }

    pub(super) fn event_header(self) -> Option<&'static str> {
        match self {
            Self::Generic => None,
            Self::Gitea => Some("x-gitea-event"),
            Self::GitHub => Some("x-github-event"),
            Self::GitLab => Some("x-gitlab-event"),
        }
    }

    /// Returns whether the headers name a push, or no event at all.
    pub(super) fn is_push(self, headers: &HeaderMap) -> bool {
        let pushes: &[&str] = match self {
            Self::Generic => return true,
            Self::Gitea | Self::GitHub => &["push"],
            Self::GitLab => &["Push Hook", "System Hook", "Tag Push Hook"],
        };
        let event = self.event_header().and_then(|name| headers.get(name));
        // A webhook without the header is in doubt, so it fires (DESIGN, section 9).
        event.is_none_or(|event| pushes.iter().any(|push| event == push))
    }
}
