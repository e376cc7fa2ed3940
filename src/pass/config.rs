//! What shapes a plan besides the documents, and how two passes tell that it is the same.

use sha2::{Digest, Sha256};

use crate::document::Layout;
use crate::model::ServiceKind;
use crate::plan::Policy;

/// What shapes a plan, besides the documents.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The repository as it is shown.
    pub repo: String,
    /// The root, empty for the top.
    pub root: String,
    /// Where documents are.
    pub layout: Layout,
    /// Which checks there are.
    pub kind: ServiceKind,
    /// Rails and the like.
    pub policy: Policy,
    /// What a rewritten history means.
    pub history: HistoryRule,
    /// The service, where one is given.
    pub base_url: Option<String>,
}

/// What a rewritten history means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HistoryRule {
    /// It is followed, without having been told to.
    Default,
    /// It is followed: somebody said so.
    Follow,
    /// It stops the pass.
    Refuse,
}

impl Rules {
    /// Returns SHA-256, in hexadecimal, over everything that shapes a plan besides the documents.
    pub(super) fn digest(&self) -> String {
        let Self {
            repo: _,
            root,
            layout,
            kind,
            policy,
            history: _,
            base_url,
        } = self;
        let text = format!("{root}\n{layout}\n{kind:?}\n{}\n{base_url:?}", policy.digest());
        crate::model::hex(&Sha256::digest(text))
    }
}
