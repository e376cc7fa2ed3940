//! The command line: arguments, output and failures.

pub mod args;
pub mod failure;
pub mod output;
