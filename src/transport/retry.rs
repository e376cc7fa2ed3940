//! The limits and waits of retries, which are the same for every server.

use std::time::Duration;

/// The maximum number of attempts for a busy or lost request within one pass.
pub const TRIES: u32 = 4;

/// The longest `Retry-After` that a pass waits for. A longer one ends the pass and delays the next one by this duration.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Returns the wait after attempt number `tries` of a request: half a second, doubling up to 30 s, times the jitter.
#[must_use]
pub fn backoff(tries: u32, jitter: f64) -> Duration {
    growing(Duration::from_millis(500), Duration::from_secs(30), tries, jitter)
}

/// Returns `jitter × min(first × 2^(count − 1), longest)`.
pub(crate) fn growing(first: Duration, longest: Duration, count: u32, jitter: f64) -> Duration {
    let factor = 1_u32.checked_shl(count.saturating_sub(1)).unwrap_or(u32::MAX);
    // `mul_f64` panics for a number that is not finite.
    let jitter = if jitter.is_finite() {
        jitter.clamp(0.0, 1.0)
    } else {
        1.0
    };
    first.saturating_mul(factor).min(longest).mul_f64(jitter)
}
