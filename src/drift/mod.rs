//! Compares the service with what was last applied (DESIGN, section 8.4).
//!
//! A scan asks for the version of each environment's payload for SDKs, and reads the toggles whose versions are not those
//! that a scan found equal to the applied documents, or a pass published. Every 20th scan of an environment, whichever
//! command makes it, reads every toggle, because an unchanged payload proves nothing after the service lost an increment
//! of its version. What was found out is kept in the state folder; without it, a scan reads every toggle.
//!
//! # What a scan promises
//!
//! * It only reads: it has no type that can publish, and it changes neither the source nor the record of what was applied.
//! * A toggle counts as in sync only if its live targeting was read and equals the applied document that is compared. A
//!   toggle that could not be read counts as neither in sync nor drifted.
//! * A failed read never ends a known drift. It ends when the toggle is read again, or when a pass applies the toggle.
//! * A toggle that was applied while it was read is not reported as drifted.

mod check;
mod memory;
mod reading;
mod scan;

pub use crate::drift::check::DriftScanner;
pub use crate::drift::scan::{DriftScan, ScanDepth, ScanRequest};
pub(crate) use check::overwritable;
pub use check::{DriftCheck, plan_live};
