//! Answers that are told in advance: what a test says comes next, whatever the request holds.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::model::ToggleId;

/// What happens to one request instead of what would have happened. It is not checked first: a script may store a
/// body that the sandbox would refuse only if it can be read.
#[derive(Clone, Debug)]
pub struct Script {
    /// Whether the document is stored first.
    pub effect: Effect,
    /// How long it takes.
    pub delay: Duration,
    /// What the client gets.
    pub reply: Reply,
}

/// Whether a scripted request stores its document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    /// As if it had never arrived.
    Nothing,
    /// As a good request does.
    Stored,
}

/// What the client of a scripted request gets.
#[derive(Clone, Debug)]
pub enum Reply {
    /// This answer. A `Content-Length` that is larger than the body breaks it off; over HTTP/1.1 only in a release
    /// build, because debug builds of the server insist on the right length.
    Answer {
        /// The status.
        status: u16,
        /// The headers.
        headers: Vec<(String, String)>,
        /// The body.
        body: Vec<u8>,
    },
    /// The end of the connection.
    Drop,
    /// Nothing at all, until the client gives up.
    Silence,
}

impl Script {
    /// Answers `status` with `body`, storing nothing.
    #[must_use]
    pub fn answer(status: u16, body: &str) -> Self {
        Self {
            effect: Effect::Nothing,
            delay: Duration::ZERO,
            reply: Reply::Answer {
                status,
                headers: Vec::new(),
                body: body.into(),
            },
        }
    }

    /// Ends the connection without an answer.
    #[must_use]
    pub fn drop(effect: Effect) -> Self {
        Self {
            effect,
            delay: Duration::ZERO,
            reply: Reply::Drop,
        }
    }

    /// Never answers.
    #[must_use]
    pub fn silence(effect: Effect) -> Self {
        Self {
            effect,
            delay: Duration::ZERO,
            reply: Reply::Silence,
        }
    }

    /// Adds a header to an answer; does nothing to other replies.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        if let Reply::Answer { headers, .. } = &mut self.reply {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Stores the document before answering.
    #[must_use]
    pub fn stored(mut self) -> Self {
        self.effect = Effect::Stored;
        self
    }
}

/// What is still to come: for one toggle, or for whoever comes.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    for_anyone: VecDeque<Script>,
    for_toggle: BTreeMap<ToggleId, VecDeque<Script>>,
}

impl Scripts {
    pub(super) fn push(&mut self, toggle: Option<&ToggleId>, script: Script) {
        match toggle {
            Some(toggle) => self
                .for_toggle
                .entry(toggle.clone())
                .or_default()
                .push_back(script),
            None => self.for_anyone.push_back(script),
        }
    }

    /// Takes what comes next for `toggle`: its own script first.
    pub(super) fn next(&mut self, toggle: &ToggleId) -> Option<Script> {
        let own = self.for_toggle.get_mut(toggle).and_then(VecDeque::pop_front);
        own.or_else(|| self.for_anyone.pop_front())
    }
}
