//! SIGHUP asks a daemon for a pass. SIGINT and SIGTERM: the first starts nothing new and lets open requests end, the second leaves at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::daemon::Control;

/// Returns what becomes true at the first signal. Must be called within a runtime.
///
/// # Errors
/// When the system takes no handler.
pub(super) fn stop_on_signal() -> std::io::Result<watch::Receiver<bool>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        for count in 0.. {
            let code = tokio::select! {
                _ = interrupt.recv() => 130,
                _ = terminate.recv() => 143,
            };
            if count > 0 {
                std::process::exit(code);
            }
            let _ = stop.send(true);
        }
    });
    Ok(stopped)
}

/// SIGHUP is a trigger like any other; secrets and the CA file are read again at every pass anyway.
pub(super) fn reload_on_hangup(control: Control) -> std::io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            control.trigger().fire();
        }
    });
    Ok(())
}
