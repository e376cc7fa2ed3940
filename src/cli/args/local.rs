//! Arguments of `demo` and `sandbox`, which need no service.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::config::{count, ratio};
use crate::model::duration;

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct DemoArgs {
    /// Keep the sample repository and the state in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Wait this long between steps [1s on a terminal, else 0s]
    #[arg(long, value_name = "TIME", value_parser = duration, overrides_with = "no_pause")]
    pub(crate) pause: Option<Duration>,
    /// Do not wait between steps
    #[arg(long, overrides_with = "pause")]
    pub(crate) no_pause: bool,
}

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct SandboxArgs {
    /// Listen on this address; port 0 selects a free port [127.0.0.1:8443]
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8443")]
    pub(crate) listen: SocketAddr,
    /// Write the certificate authority to this PEM file
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_out: Option<PathBuf>,
    /// Append published documents to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub(crate) history_file: Option<PathBuf>,
    /// Start with the projects in this JSON file (with --service-kind featureprobe) [a sample]
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) faults: FaultArgs,
}

/// The faults that the sandbox injects.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Faults")]
pub(crate) struct FaultArgs {
    /// Answer this share of requests with a 500 [0]
    #[arg(long, value_name = "RATIO", default_value = "0", value_parser = ratio)]
    pub(crate) fail_rate: f64,
    /// Store this share of requests without a response [0]
    #[arg(long, value_name = "RATIO", default_value = "0", value_parser = ratio)]
    pub(crate) drop_rate: f64,
    /// Answer this share of requests with a 429 [0]
    #[arg(long, value_name = "RATIO", default_value = "0", value_parser = ratio)]
    pub(crate) too_many_rate: f64,
    /// Send this Retry-After with a 429 [1s]
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub(crate) retry_after: Duration,
    /// Delay every response by this duration [0s]
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    pub(crate) latency: Duration,
    /// Use this seed for the random faults [1]
    #[arg(long, value_name = "N", default_value = "1", value_parser = count)]
    pub(crate) seed: u64,
}
