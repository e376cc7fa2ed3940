//! gitoggle keeps a feature-toggle service in step with a Git repository.

pub mod admin;
pub mod cli;
pub mod config;
pub mod document;
pub mod model;
pub mod notice;
pub mod plan;
pub mod reconcile;
pub mod sandbox;
pub mod service;
pub mod source;
pub mod state;
pub mod telemetry;
pub mod transport;
