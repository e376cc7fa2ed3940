//! `gitoggle sandbox`: serves a local toggle service.

use crate::config::Settings;
use crate::sandbox::{Faults, Sandbox, SandboxConfig};

use super::args::SandboxArgs;
use super::failure::{ExitStatus, Failure};
use super::{print, signals};

pub(super) fn run(settings: &Settings, args: &SandboxArgs) -> Result<ExitStatus, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    runtime.map_err(Failure::failed)?.block_on(serve(settings, args))
}

async fn serve(settings: &Settings, args: &SandboxArgs) -> Result<ExitStatus, Failure> {
    let token = settings.sandbox_token.read().map_err(Failure::failed)?;
    let mut stop = signals::stop_on_signal().map_err(Failure::failed)?;
    let sandbox = Sandbox::start(SandboxConfig {
        listen: args.listen,
        ca_file: args.ca_out.clone(),
        faults: faults(args),
        history_file: args.history_file.clone(),
        ..SandboxConfig::new(token)
    })
    .map_err(Failure::failed)?;
    let url = sandbox.url();
    let mut text = format!("listening on {url}\nweb page: {url}/\n");
    if let Some(file) = &args.ca_out {
        text += &format!("certificate authority: {}\n", file.display());
    }
    print(&(text + "stop with Ctrl-C\n"))?;
    let _ = stop.wait_for(|stop| *stop).await;
    sandbox.stop().await;
    Ok(ExitStatus::Clean)
}

fn faults(args: &SandboxArgs) -> Faults {
    Faults {
        fail_rate: args.fail_rate,
        latency: args.latency,
        drop_after_store_rate: args.drop_rate,
        too_many_rate: args.too_many_rate,
        retry_after: args.retry_after,
        seed: args.seed,
    }
}
