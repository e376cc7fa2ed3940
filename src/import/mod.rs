#![doc = include_str!("README.md")]

mod config;
mod error;
mod found;
mod input;
mod reading;
mod run;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use config::{DriftedImport, ImportConfig, ImportSource};
pub(crate) use error::ImportError;
pub(crate) use reading::ImportScope;
pub(crate) use run::{ImportEvent, import};
pub(crate) use writer::{ImportReport, ImportResult, ImportStop, SkipReason};
