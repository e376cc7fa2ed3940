#![doc = include_str!("README.md")]

mod applied;
mod check;
mod memory;
mod reading;
mod scan;
#[cfg(test)]
mod simulation;

pub use crate::drift::check::DriftScanner;
pub(crate) use check::overwritable;
pub use check::{DriftCheck, plan_live};
pub use scan::{DriftScan, ScanDepth, ScanRequest};
