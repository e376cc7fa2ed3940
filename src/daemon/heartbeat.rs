//! Whether the loop of the driver still runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The time of the driver loop's last turn. A driver whose passes all fail has a heartbeat as well.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    last: Arc<Mutex<Instant>>,
    silence_allowed: Duration,
}

impl Heartbeat {
    /// Creates a heartbeat that has just beaten. The loop is stalled after `silence_allowed`, which
    /// must be longer than the longest time between two beats: the poll interval, or one step of a long pass.
    pub(crate) fn new(silence_allowed: Duration) -> Self {
        Self { last: Arc::new(Mutex::new(Instant::now())), silence_allowed }
    }

    /// Records a turn of the loop.
    pub fn beat(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns the time since the last beat if the loop has stalled.
    pub(crate) fn stalled_for(&self) -> Option<Duration> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        Some(last.elapsed()).filter(|silence| *silence > self.silence_allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_loop_without_a_beat_for_too_long_has_stalled() {
        let heart = Heartbeat::new(Duration::from_secs(60));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(heart.stalled_for(), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(heart.stalled_for(), Some(Duration::from_secs(61)));
        heart.beat();
        assert_eq!(heart.stalled_for(), None);
    }
}
