//! The time, and waits: a trait, so that the simulation runs in virtual time.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;

/// The source of the time and of waits.
pub trait Clock: std::fmt::Debug + Send + Sync {
    /// Returns the time since an arbitrary moment. It never goes backward, and includes time in which the
    /// machine was suspended.
    fn elapsed(&self) -> Duration;

    /// Returns the wall time, in seconds since 1970-01-01 UTC.
    fn unix(&self) -> i64;

    /// Returns the time for computing deadlines. It may stand still while the machine is suspended.
    fn instant(&self) -> Instant;

    /// Blocks the thread.
    fn sleep(&self, duration: Duration);

    /// Waits until `at`, a moment of [`Clock::instant`].
    fn sleep_until(&self, at: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn elapsed(&self) -> Duration {
        since_boot()
    }

    fn unix(&self) -> i64 {
        jiff::Timestamp::now().as_second()
    }

    fn instant(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn sleep_until(&self, at: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep_until(at))
    }
}

fn since_boot() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    // On Linux, CLOCK_MONOTONIC stands still while the machine is suspended; on macOS it does not.
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_advances() {
        let clock = SystemClock;
        let (elapsed, instant, unix) = (clock.elapsed(), clock.instant(), clock.unix());
        clock.sleep(Duration::from_millis(5));
        assert!(clock.elapsed() - elapsed >= Duration::from_millis(5));
        assert!(clock.instant() - instant >= Duration::from_millis(5));
        assert!(clock.unix() >= unix);
    }
}
