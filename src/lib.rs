//! gitoggle keeps a feature-toggle service in step with a Git repository.
pub mod cli;
pub mod config;
pub mod document;
pub mod model;
pub mod telemetry;
pub mod transport;
