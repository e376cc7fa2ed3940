//! What a service or an input contains, on its way to the writer.

use super::report::{ImportResult, ImportStop};
use crate::model::{Payload, ToggleId};

/// A piece of what an import reads.
#[derive(Debug)]
pub(super) enum Found {
    /// Everything was found.
    Ended,
    /// All lists have been read: this many toggles are going to be.
    Listed(usize),
    /// A result that needs no document, by the name of a toggle, a folder of toggles or a place of the input.
    Result(String, ImportResult),
    /// A toggle exists, in scope or not.
    Seen(String),
    /// The search ended early, for this reason.
    Stopped(ImportStop),
    /// The targeting of a toggle in scope.
    Targeting(ToggleId, Payload),
}
