//! A token bucket, which limits a burst and a rate.

use std::time::Duration;

use tokio::time::Instant;

/// A limit of a burst and a rate.
#[derive(Debug)]
pub(super) struct Bucket {
    size: f64,
    per_second: f64,
    tokens: f64,
    filled_at: Instant,
}

impl Bucket {
    /// Creates a full bucket of `size` tokens that gains `per_second` tokens.
    pub(super) fn new(size: u32, per_second: u32) -> Self {
        Self {
            size: size.into(),
            per_second: per_second.into(),
            tokens: size.into(),
            filled_at: Instant::now(),
        }
    }

    /// Takes one token.
    ///
    /// # Errors
    /// The time until a token is available, if the bucket is empty.
    pub(super) fn take(&mut self) -> Result<(), Duration> {
        let now = Instant::now();
        // Filled on demand, so that an idle bucket needs no timer.
        let gained = now.duration_since(self.filled_at).as_secs_f64() * self.per_second;
        self.filled_at = now;
        self.tokens = (self.tokens + gained).min(self.size);
        if self.tokens < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - self.tokens) / self.per_second));
        }
        self.tokens -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_allowed_then_a_rate() {
        let mut bucket = Bucket::new(3, 2);
        for _ in 0..3 {
            assert_eq!(bucket.take(), Ok(()));
        }
        assert_eq!(bucket.take(), Err(Duration::from_millis(500)));
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(bucket.take(), Ok(()));
        assert!(bucket.take().is_err());
        tokio::time::advance(Duration::from_secs(3600)).await;
        for _ in 0..3 {
            assert_eq!(bucket.take(), Ok(()));
        }
        assert!(bucket.take().is_err());
    }
}
