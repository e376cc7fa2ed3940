//! Arguments of `demo` and `sandbox`, which need no service.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgMatches, value_parser};

use super::{option, toggle};
use crate::config::{Command, count, ratio};
use crate::model::duration;

/// The options of the demonstration.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DemoArgs {
    /// The folder of the sample repository and the state; none uses a temporary one.
    pub keep: Option<PathBuf>,
    /// The wait between steps.
    pub pause: DemoPause,
}

/// The wait between the steps of the demonstration.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DemoPause {
    /// This duration.
    For(Duration),
    /// A default on a terminal, none elsewhere.
    OnTerminal,
}

/// The options of the sandbox, with the faults that it injects.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxArgs {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The file to write the certificate authority to.
    pub ca_out: Option<PathBuf>,
    /// The file to append published documents to, one JSON object per line.
    pub history_file: Option<PathBuf>,
    /// The file with the projects to start with.
    pub data: Option<PathBuf>,
    /// The share of requests that get a 500, between 0 and 1.
    pub fail_rate: f64,
    /// The delay of each response.
    pub latency: Duration,
    /// The share of requests that are stored but get no response, between 0 and 1.
    pub drop_rate: f64,
    /// The share of requests that get a 429, between 0 and 1.
    pub too_many_rate: f64,
    /// The `Retry-After` of a 429.
    pub retry_after: Duration,
    /// The seed of the random faults.
    pub seed: u64,
}

/// Returns the arguments of `command` that are not settings.
pub(super) fn own(command: Command) -> Vec<Arg> {
    match command {
        Command::Demo => vec![
            path(
                "keep",
                "DIR",
                "Keep the sample repository and the state in this folder",
            ),
            option(
                "pause",
                "TIME",
                "Wait this long between steps [1s on a terminal, else 0s]",
            )
            .value_parser(duration)
            .overrides_with("no-pause"),
            toggle("no-pause", "Do not wait between steps").overrides_with("pause"),
        ],
        _ => sandbox_own(),
    }
}

fn sandbox_own() -> Vec<Arg> {
    let rate = |name, help| {
        option(name, "RATIO", help)
            .default_value("0")
            .value_parser(ratio)
            .help_heading("Faults")
    };
    vec![
        option(
            "listen",
            "ADDR",
            "Listen on this address; port 0 selects a free port [127.0.0.1:8443]",
        )
        .default_value("127.0.0.1:8443")
        .value_parser(value_parser!(SocketAddr)),
        path(
            "ca-out",
            "FILE",
            "Write the certificate authority to this PEM file",
        ),
        path(
            "history-file",
            "FILE",
            "Append published documents to this file, one JSON object per line",
        ),
        path(
            "data",
            "FILE",
            "Start with the projects in this JSON file (with --service-kind featureprobe) [a sample]",
        ),
        rate("fail-rate", "Answer this share of requests with a 500 [0]"),
        rate("drop-rate", "Store this share of requests without a response [0]"),
        rate("too-many-rate", "Answer this share of requests with a 429 [0]"),
        option("retry-after", "TIME", "Send this Retry-After with a 429 [1s]")
            .default_value("1s")
            .value_parser(duration)
            .help_heading("Faults"),
        option("latency", "TIME", "Delay every response by this duration [0s]")
            .default_value("0s")
            .value_parser(duration)
            .help_heading("Faults"),
        option("seed", "N", "Use this seed for the random faults [1]")
            .default_value("1")
            .value_parser(count)
            .help_heading("Faults"),
    ]
}

fn path(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    option(name, value, help).value_parser(value_parser!(PathBuf))
}

pub(super) fn demo(matches: &ArgMatches) -> DemoArgs {
    DemoArgs {
        keep: matches.get_one("keep").cloned(),
        pause: match (matches.get_flag("no-pause"), matches.get_one("pause")) {
            (true, _) => DemoPause::For(Duration::ZERO),
            (false, Some(pause)) => DemoPause::For(*pause),
            (false, None) => DemoPause::OnTerminal,
        },
    }
}

pub(super) fn sandbox(matches: &ArgMatches) -> SandboxArgs {
    let rate = |name| *matches.get_one(name).expect("rates have defaults");
    SandboxArgs {
        listen: *matches.get_one("listen").expect("it has a default"),
        ca_out: matches.get_one("ca-out").cloned(),
        history_file: matches.get_one("history-file").cloned(),
        data: matches.get_one("data").cloned(),
        fail_rate: rate("fail-rate"),
        latency: *matches.get_one("latency").expect("it has a default"),
        drop_rate: rate("drop-rate"),
        too_many_rate: rate("too-many-rate"),
        retry_after: *matches.get_one("retry-after").expect("it has a default"),
        seed: *matches.get_one("seed").expect("it has a default"),
    }
}
