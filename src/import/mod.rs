#![doc = include_str!("README.md")]

mod config;
mod error;
mod existing;
mod found;
mod input;
mod reading;
mod result;
mod run;
mod scope;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use config::{DriftedImport, ImportConfig, ImportSource};
pub(crate) use error::ImportError;
pub(crate) use result::{ImportReport, ImportResult, ImportStop, SkipReason};
pub(crate) use run::{ImportEvent, import};
pub(crate) use scope::ImportScope;
