//! The documents that were stored.

use bytes::Bytes;
use jiff::Timestamp;

use super::body;
use crate::model::{Targeting, ToggleId};

#[derive(Clone, Debug)]
pub(super) struct StoredDocument {
    /// Its number, from 0, in order of storing.
    pub(super) seq: usize,
    pub(super) toggle: ToggleId,
    /// The number of documents that were stored for this toggle, this one included.
    pub(super) version: u64,
    pub(super) at: Timestamp,
    /// The request's body, byte for byte.
    pub(super) body: Bytes,
}

impl StoredDocument {
    pub(super) fn comment(&self) -> String {
        self.parsed().comment
    }

    pub(super) fn targeting(&self) -> Targeting {
        self.parsed().targeting
    }

    fn parsed(&self) -> body::Accepted {
        body::check(&self.body).expect("only checked bodies are stored")
    }
}
