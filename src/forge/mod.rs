//! The services that host repositories and run CI jobs.

mod ci;
#[cfg(test)]
mod ci_tests;

pub use ci::{Forge, PullRequest};
