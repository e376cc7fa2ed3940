//! gitoggle keeps a feature-toggle service in step with a Git repository.
pub mod model;
pub mod reconcile;
pub mod transport;
