//! Black-box tests of the built binary with real Git repositories and a real TLS service.
//!
//! They test the documented behavior, not the code. Every run states its exit code and its complete output: output
//! that a test does not mention is a failure.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set up its world stops there"
)]

mod architecture;
mod attribution;
mod audience;
mod browser;
mod build;
mod caches;
mod checking;
mod ci;
mod commands;
mod commands_remote;
mod crash;
mod daemon;
mod demo;
mod deploy;
mod diff;
mod drift;
mod explain;
mod first_pass;
mod fmt;
mod forge;
mod git_program;
mod help_examples;
mod hints;
mod history;
mod identity;
mod import;
mod init;
mod isolation;
mod live_faults;
mod live_first_pass;
mod live_holds;
mod live_missing;
mod live_publish;
mod log;
mod manual;
mod network;
mod newcomer;
mod orphans;
mod outcomes;
mod output;
mod outputs;
mod packages;
mod plan;
mod promote;
mod publish;
mod pull_request;
mod rails;
mod reader;
mod recovery;
mod refusals;
mod results;
mod sandbox;
mod secrets;
mod settings;
mod settings_safety;
mod shared;
mod shared_faults;
mod sidecar;
mod simulation;
mod soundness;
mod source_age;
mod sources;
mod stale;
mod state;
mod status;
mod support;
mod test_command;
mod unread_files;
mod validate;
mod verbose;
mod vocabulary;
mod waivers;
mod windows;
