//! `gitoggle sandbox`: serves a local toggle service.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::print;
use crate::cli::{runtime, signals};
use crate::config::{Settings, count, ratio};
use crate::model::{ServiceKind, duration, escaped};
use crate::sandbox::{Faults, Sandbox, SandboxConfig};

/// Serve a local toggle service for experiments
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Serves a local toggle service with the documented endpoint, over HTTPS, for experiments and \
                  tests. It accepts the token in GITOGGLE_SANDBOX_TOKEN, by default sandbox-token. With \
                  --service-kind featureprobe, it answers as FeatureProbe does, reads included, and keeps everything \
                  in memory. It starts with a sample, or with the projects in the --data file: {\"projects\": \
                  [{\"key\", \"environments\": [{\"key\"}], \"segments\": [{\"key\", \"rules\"}], \"toggles\": \
                  [{\"key\", \"returnType\", \"variations\", \"targeting\": {ENVIRONMENT: {\"comment\", \
                  \"disabled\", \"content\"}}}]}]}."
)]
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

pub(super) fn run(settings: &Settings, args: &SandboxArgs) -> Result<ExitStatus, Failure> {
    runtime::multi_threaded(1)?.block_on(serve(settings, args))
}

async fn serve(settings: &Settings, args: &SandboxArgs) -> Result<ExitStatus, Failure> {
    let data = data(settings.service_kind, args)?;
    let token = settings.sandbox_token.read().map_err(Failure::failed)?;
    let mut stop = signals::stop_on_signal().map_err(Failure::failed)?;
    let sandbox = Sandbox::start(SandboxConfig {
        listen: args.listen,
        ca_file: args.ca_out.clone(),
        faults: faults(&args.faults),
        history_file: args.history_file.clone(),
        kind: settings.service_kind,
        data,
        ..SandboxConfig::new(token)
    })
    .map_err(Failure::failed)?;
    let (url, instructions) = (sandbox.url(), sandbox.instructions());
    print(&format!("listening on {url}\n{instructions}stop with Ctrl-C\n"))?;
    let _ = stop.wait_for(|stop| *stop).await;
    sandbox.stop().await;
    Ok(ExitStatus::Clean)
}

/// Reads the initial data, and refuses the options that belong to the other kind of service.
fn data(kind: ServiceKind, args: &SandboxArgs) -> Result<Option<String>, Failure> {
    let refused = |text: &str, hint: &str| Err(Failure::new(ExitStatus::Usage, text).hint(hint));
    let readable = ServiceKind::words_with(|can| can.read_live);
    match (kind.can().read_live, &args.data, &args.history_file) {
        (false, Some(_), _) => {
            refused("--data needs a service that can be read", &format!("add --service-kind {readable}"))
        }
        (true, _, Some(_)) => refused(
            &format!(
                "--history-file is not supported with --service-kind {}, which keeps everything in memory",
                kind.as_str()
            ),
            "read the history of a toggle at …/targeting/versions",
        ),
        (_, Some(file), _) => std::fs::read_to_string(file).map(Some).map_err(|error| {
            Failure::failed(format!("could not read `{}`: {error}", escaped(&file.to_string_lossy())))
        }),
        (_, None, _) => Ok(None),
    }
}

fn faults(args: &FaultArgs) -> Faults {
    Faults {
        fail_rate: args.fail_rate,
        latency: args.latency,
        drop_after_store_rate: args.drop_rate,
        too_many_rate: args.too_many_rate,
        retry_after: args.retry_after,
        seed: args.seed,
    }
}
