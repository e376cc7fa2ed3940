//! Handles signals. SIGHUP triggers a pass of the daemon. The first SIGINT or SIGTERM stops new requests and waits for
//! open ones; the second ends the process.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::daemon::Control;

/// Returns a flag that the first signal sets. Must be called within a runtime.
///
/// # Errors
/// If the handlers cannot be installed.
pub(super) fn stop_on_signal() -> std::io::Result<watch::Receiver<bool>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        for count in 0.. {
            let code = tokio::select! {
                // 128 plus the number of the signal, as in shells.
                _ = interrupt.recv() => 130,
                _ = terminate.recv() => 143,
            };
            if count > 0 {
                // The second signal does not wait for open requests (DESIGN, section 9).
                std::process::exit(code);
            }
            let _ = stop.send(true);
        }
    });
    Ok(stopped)
}

/// Triggers a pass at every SIGHUP. Every pass reads secrets and the CA file again.
pub(super) fn reload_on_hangup(control: Control) -> std::io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            control.trigger().fire();
        }
    });
    Ok(())
}
