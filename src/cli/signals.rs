//! Handles signals. SIGHUP triggers a pass of the daemon. The first SIGINT or SIGTERM stops new requests and
//! waits for open ones, for 25 s at most; the second ends the process. Processes of `git` end with this one.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::daemon::Control;
use crate::git;
use crate::telemetry::Stream;

/// How long a command that is told to end may take to record what it did, as the daemon may.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(25);

struct EndSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl EndSignals {
    fn new() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next signal. Returns 128 plus its number, as in shells.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }
}

/// Returns a flag that the first signal sets. Must be called within a runtime.
pub(super) fn stop_on_signal() -> io::Result<watch::Receiver<bool>> {
    let mut signals = EndSignals::new()?;
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        signals.next().await;
        git::wind_down();
        let _ = stop.send(true);
        // The second signal does not wait for open requests (src/cli/README.md, "Commands that publish").
        exit(signals.next().await);
    });
    Ok(stopped)
}

/// Ends a command that was told to end and has not ended after a while: a request that is still open is then
/// unknown, and the journal has it. Must be called within a runtime.
pub(super) fn limit_stop(mut stop: watch::Receiver<bool>) {
    tokio::spawn(async move {
        if stop.wait_for(|stop| *stop).await.is_ok() {
            tokio::time::sleep(SHUTDOWN_GRACE).await;
            let _ =
                Stream::Stderr.print("error: interrupted while a request was open; the next run continues\n");
            exit(1);
        }
    });
}

/// Ends the process at the first signal, together with its processes of `git`, which do not get the signals
/// of a terminal.
pub(super) fn exit_on_signal() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _entered = runtime.enter();
        EndSignals::new()?
    };
    std::thread::Builder::new().spawn(move || exit(runtime.block_on(signals.next())))?;
    Ok(())
}

fn exit(code: i32) {
    git::kill_all();
    std::process::exit(code);
}

/// Orders a pass at every SIGHUP, like `POST /reconcile`. Every pass reads secrets and the CA file again.
pub(super) fn reload_on_hangup(control: Control) -> io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            // The driver has ended only if the process ends.
            let _ = control.reconcile().await;
        }
    });
    Ok(())
}
