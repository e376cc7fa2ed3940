#![doc = include_str!("README.md")]

mod applied;
mod clock;
mod error;
mod files;
pub(crate) mod folder;
mod journal;
mod live_versions;
mod orders;
mod shared;
mod sidecar;
mod snapshot;
mod store;
#[cfg(test)]
mod tests;

pub use crate::git::FailpointHook;
pub use applied::{
    AppliedEdit, AppliedHistory, AppliedRevision, DeploymentQuery, DocumentPair, DocumentReader, PassHead,
    RecordsSince, Revisions, Tip,
};
pub use clock::{Clock, SystemClock};
pub use error::Error;
pub use folder::{Holder, foreign, this_process};
pub use journal::{Begun, Journal};
pub use live_versions::{EqualVersion, LiveVersions, OtherVersion};
pub use orders::Orders;
#[cfg(test)]
pub(crate) use shared::SimulatedRemote;
#[cfg(test)]
pub(crate) use shared::head::SharedHead;
pub(crate) use shared::{GitProgram, RemoteRef};
pub use shared::{MayRestore, Queues, RemoteFault, SharedOptions, SharedRemote, Stop};
pub(crate) use sidecar::lost as lost_environments;
pub use sidecar::{CleanPass, Failures};
pub use snapshot::StateSnapshot;
pub use store::{Options, Store};
