//! Tests of the built program from outside: real Git repositories, a real TLS service, the real binary.
//!
//! They hold the program to what its documentation promises, not to its code. Every run states its exit code and
//! every byte it may print: what a test does not mention must not be there.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set up its world stops there"
)]

mod architecture;
mod attribution;
mod caches;
mod checking;
mod commands;
mod commands_remote;
mod crash;
mod daemon;
mod deploy;
mod first_pass;
mod history;
mod isolation;
mod network;
mod orphans;
mod outcomes;
mod output;
mod plan;
mod publish;
mod rails;
mod readme;
mod recovery;
mod refusals;
mod results;
mod sandbox;
mod secrets;
mod settings;
mod settings_safety;
mod shared;
mod sidecar;
mod simulation;
mod soundness;
mod source_age;
mod sources;
mod stale;
mod state;
mod status;
mod support;
mod validate;
