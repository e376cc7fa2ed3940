//! Waiting for a condition instead of sleeping.

use std::time::{Duration, Instant};

/// How long anything may take before a test gives up; far more than it needs, because machines are slow at
/// times.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// Waits until `condition` gives something, and panics with `what` when it does not in time.
pub(crate) fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(start.elapsed() < DEADLINE, "waited in vain for: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
