//! Provides the time for passes and shared state. Tests replace it with a simulated clock.

use std::time::Duration;

use tokio::time::Instant;

/// Returns whether the process should end. Called repeatedly during a wait.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// The source of the time and of waits.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The clocks of the operating system.
    #[default]
    System,
    /// A clock that a test advances.
    #[cfg(test)]
    Simulated(std::sync::Arc<dyn SimulatedClock>),
}

/// A clock that a test advances.
#[cfg(test)]
pub trait SimulatedClock: std::fmt::Debug + Send + Sync {
    /// See [`Clock::elapsed`].
    fn elapsed(&self) -> Duration;
    /// See [`Clock::unix`].
    fn unix(&self) -> i64;
    /// See [`Clock::instant`].
    fn instant(&self) -> Instant;
    /// See [`Clock::sleep`].
    fn sleep(&self, duration: Duration);
    /// See [`Clock::sleep_until`].
    fn sleep_until(&self, at: Instant) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;
}

impl Clock {
    /// Returns the time since an arbitrary moment. It never goes backward, and includes time in which the machine was
    /// suspended.
    pub fn elapsed(&self) -> Duration {
        match self {
            Self::System => since_boot(),
            #[cfg(test)]
            Self::Simulated(clock) => clock.elapsed(),
        }
    }

    /// Returns the wall time, in seconds since 1970-01-01 UTC.
    pub fn unix(&self) -> i64 {
        match self {
            Self::System => jiff::Timestamp::now().as_second(),
            #[cfg(test)]
            Self::Simulated(clock) => clock.unix(),
        }
    }

    /// Returns the time for computing deadlines. It may stand still while the machine is suspended.
    pub fn instant(&self) -> Instant {
        match self {
            Self::System => Instant::now(),
            #[cfg(test)]
            Self::Simulated(clock) => clock.instant(),
        }
    }

    /// Blocks the thread.
    pub fn sleep(&self, duration: Duration) {
        match self {
            Self::System => std::thread::sleep(duration),
            #[cfg(test)]
            Self::Simulated(clock) => clock.sleep(duration),
        }
    }

    /// Waits until `at`, a moment of [`Clock::instant`].
    pub async fn sleep_until(&self, at: Instant) {
        match self {
            Self::System => tokio::time::sleep_until(at).await,
            #[cfg(test)]
            Self::Simulated(clock) => clock.sleep_until(at).await,
        }
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
        let clock = Clock::default();
        let (elapsed, instant, unix) = (clock.elapsed(), clock.instant(), clock.unix());
        clock.sleep(Duration::from_millis(5));
        assert!(clock.elapsed() - elapsed >= Duration::from_millis(5));
        assert!(clock.instant() - instant >= Duration::from_millis(5));
        assert!(clock.unix() >= unix);
    }
}
