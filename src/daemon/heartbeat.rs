//! Whether the loop turns: what `/healthz` asks.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The driver's sign of life. It says nothing about the world: a driver that fails at every pass beats as well.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// Contended by the driver and those who ask, for the time of one copy.
    last: Arc<Mutex<Instant>>,
    silence_allowed: Duration,
}

impl Heartbeat {
    /// Makes one that has just beaten and that may be silent for `silence_allowed`, which must be longer than the
    /// longest time between two beats: the poll interval, or one step of a long pass.
    #[must_use]
    pub fn new(silence_allowed: Duration) -> Self {
        Self {
            last: Arc::new(Mutex::new(Instant::now())),
            silence_allowed,
        }
    }

    /// Says that the loop has turned.
    pub fn beat(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns how long the loop has been silent, where that is longer than it may be.
    #[must_use]
    pub fn stopped_for(&self) -> Option<Duration> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        Some(last.elapsed()).filter(|silence| *silence > self.silence_allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_is_silent_for_too_long_has_stopped() {
        let heart = Heartbeat::new(Duration::from_secs(60));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(heart.stopped_for(), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(heart.stopped_for(), Some(Duration::from_secs(61)));
        heart.beat();
        assert_eq!(heart.stopped_for(), None);
    }
}
