#![doc = include_str!("README.md")]

mod control;
mod drift;
mod driver;
mod file_events;
mod freshness;
mod heartbeat;
mod loop_state;
mod metrics;
mod probe;
mod release;
mod schedule;
mod status;

pub use crate::model::{HoldKind, ToggleState};
pub use crate::pass::{DeploymentHistory, DeploymentPart};
pub use crate::plan::{DeploymentJson, DeploymentLog, HistoryJson, deployment_json, history_json};
pub(crate) use control::NOT_THE_WRITER;
pub use control::{Control, ControlError, DriverCommand, Trigger};
pub use driver::Driver;
pub use file_events::watch_source;
pub use heartbeat::Heartbeat;
pub use metrics::{Metrics, ScanResult};
pub use release::{AllowRequest, Rejection, Released};
pub(crate) use release::{is_first_pass_over, released_by};
#[cfg(test)]
pub(crate) use schedule::PassOutcome;
#[cfg(test)]
pub(crate) use schedule::{DriftScans, Schedule};
pub use status::{
    DocumentPaths, EnvironmentStatus, LastPass, LastPlan, Overview, PassResult, Readiness, Role, ScanFailure,
    ScanFailureExtent, ScopedSuspensionJson, ServiceWait, SourceStatus, StateCounts, Status, StatusJson,
    StatusReport, Success, SuspensionJson, ToggleStatus, Withheld, WithheldGroup, status, status_live,
};
