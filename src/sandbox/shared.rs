//! The state that the sandbox's requests share.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Faults;
use super::faults::Fault;
use super::request_log::{OpenRequest, RequestLog};
use crate::transport::Secret;

pub(super) struct SandboxState {
    pub(super) request_log: RequestLog,
    pub(super) token: Secret,
    pub(super) faults: Faults,
    pub(super) loses_next: AtomicBool,
}

impl SandboxState {
    /// Returns the fault that strikes an authentic request.
    pub(super) fn strike(&self, request: &OpenRequest) -> Fault {
        match self.loses_next.swap(false, Ordering::Relaxed) {
            true => Fault::DropAfterStore,
            false => self.faults.strike(&request.toggle, request.nth),
        }
    }
}
