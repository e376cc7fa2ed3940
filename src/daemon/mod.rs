//! The loop around the pass: a pass when it is due, when somebody asks, and when the source moved.

mod after_pass;
mod control;
mod decisions;
mod driver;
#[cfg(test)]
mod driver_tests;
mod freshness;
mod heartbeat;
mod leader;
mod loop_state;
mod metrics;
mod pass_outcome;
mod probe;
mod release;
mod schedule;
mod status;
mod underway;
mod waiting;

pub use control::{Command, Control, ControlError, Trigger};
pub use driver::Driver;
pub use heartbeat::Heartbeat;
pub use metrics::{Metrics, Writing};
pub use release::{AllowRequest, Rejection, Released, Where};
pub use status::{
    LastPass, PassResult, Readiness, Role, ScopedSuspensionJson, SourceStatus, Standing, Status, StatusJson,
    Success, SuspensionJson, ToggleState, ToggleStatus, Waiting, Withheld, WithheldGroup, WithheldReason,
    status,
};
