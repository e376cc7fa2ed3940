//! gitoggle keeps a feature-toggle service in step with a Git repository.
pub mod admin;
pub mod model;
pub mod notice;
pub mod reconcile;
pub mod transport;
