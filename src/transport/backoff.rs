//! How long to wait after a failure: one function for each thing that can fail, with the jitter of its caller.

use std::time::Duration;

/// The maximum number of attempts for a busy or lost request within one pass.
pub const REQUEST_TRIES: u32 = 4;

/// The longest `Retry-After` that a pass waits for. A longer one of a second toggle, or when no other toggle is
/// left, ends the pass and delays the next one by this duration.
pub const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Returns the wait after attempt number `tries` of a request: half a second, doubling up to 30 s, times the
/// jitter.
pub fn request_backoff(tries: u32, jitter: f64) -> Duration {
    growing(Duration::from_millis(500), Duration::from_secs(30), tries, jitter)
}

/// Returns the wait before probe number `probe` of a service that is in doubt: half a second, doubling up to 30 s.
pub fn probe_backoff(probe: u32) -> Duration {
    growing(Duration::from_millis(500), Duration::from_secs(30), probe, 1.0)
}

/// The time without requests after the service rejects a token, before one toggle probes it.
pub const PROBE_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// Returns the delay of the next pass after `failures` consecutive passes that failed: two seconds, doubling
/// up to five minutes, of which the jitter takes away up to a half.
pub fn pass_backoff(failures: u32, jitter: f64) -> Duration {
    growing(Duration::from_secs(2), Duration::from_secs(300), failures, 0.5 + jitter / 2.0)
}

/// Returns the delay of the next lookup of the source after `failures` consecutive lookups that failed. It is that
/// of a pass.
pub fn source_backoff(failures: u32, jitter: f64) -> Duration {
    pass_backoff(failures, jitter)
}

/// The longest wait of a toggle that failed alone.
pub const LONGEST_LONE_WAIT: Duration = Duration::from_secs(3600);

/// Returns the delay of the next attempt for a toggle that was the only one to fail in `failures` passes: 30
/// s, doubling up to [`LONGEST_LONE_WAIT`], of which the jitter takes away up to a half.
pub fn lone_backoff(failures: u32, jitter: f64) -> Duration {
    growing(Duration::from_secs(30), LONGEST_LONE_WAIT, failures, 0.5 + jitter / 2.0)
}

/// Returns the time without attempts to reach a receiver of notifications after `failures` messages in a row that
/// were not delivered: half a minute, doubling up to ten minutes.
pub fn notification_backoff(failures: u32) -> Duration {
    growing(Duration::from_secs(30), Duration::from_secs(600), failures, 1.0)
}

/// Returns `jitter × min(first × 2^(count − 1), longest)`.
fn growing(first: Duration, longest: Duration, count: u32, jitter: f64) -> Duration {
    let factor = 1_u32.checked_shl(count.saturating_sub(1)).unwrap_or(u32::MAX);
    // `mul_f64` panics for a number that is not finite.
    let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 1.0 };
    first.saturating_mul(factor).min(longest).mul_f64(jitter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn waits_double_up_to_a_maximum() {
        for (wait, seconds) in [
            (request_backoff(1, 0.0), 0.0),
            (request_backoff(1, 0.5), 0.25),
            (request_backoff(7, 1.0), 30.0),
            (request_backoff(u32::MAX, 1.0), 30.0),
            (probe_backoff(2), 1.0),
            (probe_backoff(7), 30.0),
            (pass_backoff(1, 1.0), 2.0),
            (pass_backoff(3, 1.0), 8.0),
            (pass_backoff(3, 0.0), 4.0),
            (pass_backoff(40, 1.0), 300.0),
            (source_backoff(2, 1.0), 4.0),
            (lone_backoff(1, 1.0), 30.0),
            (lone_backoff(9, 1.0), 3600.0),
        ] {
            assert_eq!(wait, Duration::from_secs_f64(seconds));
        }
    }

    proptest! {
        #[test]
        fn a_wait_never_exceeds_its_maximum(tries in any::<u32>(), jitter in any::<f64>()) {
            prop_assert!(request_backoff(tries, jitter) <= Duration::from_secs(30));
        }
    }
}
