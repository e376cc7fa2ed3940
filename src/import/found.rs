//! What a service or an input contains, on its way to the writer.

use std::collections::BTreeMap;

use tokio::sync::mpsc::Sender;

use super::config::DriftedImport;
use crate::import::{ImportResult, ImportStop, SkipReason};
use crate::model::{LiveContent, Payload, ToggleId};

/// A piece of what an import reads.
#[derive(Debug)]
pub(super) enum Found {
    Ended,
    /// All lists have been read: this many toggles are going to be.
    Listed(usize),
    /// A result that needs no document, by the name of a toggle, a folder of toggles or a place of the input.
    Result(String, ImportResult),
    /// A toggle exists, in scope or not.
    Seen(String),
    /// The search ended early, for this reason.
    Stopped(ImportStop),
    Targeting(ToggleId, Payload),
}

/// Sends what the service has of drifted toggles.
pub(super) async fn give(toggles: BTreeMap<ToggleId, DriftedImport>, to: Sender<Found>) {
    let mut all = vec![Found::Listed(toggles.len())];
    all.extend(toggles.into_iter().map(|(id, drifted)| match drifted.live {
        LiveContent::Known(payload) => Found::Targeting(id, payload),
        LiveContent::Inexpressible(reason) => {
            Found::Result(id.to_string(), ImportResult::Skipped(SkipReason::Inexpressible, reason))
        }
    }));
    all.push(Found::Ended);
    for found in all {
        // The send fails only if the import has ended for another reason.
        let _ = to.send(found).await;
    }
}
