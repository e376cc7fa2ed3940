//! `gitoggle sandbox`: serves a local toggle service.

use crate::config::Settings;
use crate::model::{ServiceKind, escaped};
use crate::sandbox::{Faults, Sandbox, SandboxConfig};

use super::args::{FaultArgs, SandboxArgs};
use super::failure::{ExitStatus, Failure};
use super::{print, setup};

pub(super) fn run(settings: &Settings, args: &SandboxArgs) -> Result<ExitStatus, Failure> {
    setup::runtime(1)?.block_on(serve(settings, args))
}

async fn serve(settings: &Settings, args: &SandboxArgs) -> Result<ExitStatus, Failure> {
    let data = data(settings.service_kind, args)?;
    let token = settings.sandbox_token.read().map_err(Failure::failed)?;
    let mut stop = setup::stop_on_signal().map_err(Failure::failed)?;
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
    match (kind, &args.data, &args.history_file) {
        (ServiceKind::Documented, Some(_), _) => {
            refused("--data needs a service that can be read", "add --service-kind featureprobe")
        }
        (ServiceKind::FeatureProbe, _, Some(_)) => refused(
            "--history-file is not supported with --service-kind featureprobe, which keeps everything in memory",
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
