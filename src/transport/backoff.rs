//! How long to wait after a failure: one function for each thing that can fail, with the jitter of its caller.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The maximum number of attempts for a busy or lost request within one pass.
pub const REQUEST_TRIES: u32 = 4;

/// The longest `Retry-After` that a pass waits for. A longer one of a second toggle, or when no other toggle is
/// left, ends the pass and delays the next one by this duration.
pub const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Returns the wait after attempt number `tries` of a request: half a second, doubling up to 30 s, times the
/// jitter.
pub fn backoff(tries: u32, jitter: f64) -> Duration {
    growing(Duration::from_millis(500), Duration::from_secs(30), tries, jitter)
}

/// The time without requests after the service rejects a token, before one toggle probes it.
pub const PROBE_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// Returns the delay of the next pass after `failures` consecutive passes that failed: two seconds, doubling
/// up to five minutes, of which the jitter takes away up to a half.
pub fn pass_backoff(failures: u32, jitter: f64) -> Duration {
    growing(Duration::from_secs(2), Duration::from_secs(300), failures, 0.5 + jitter / 2.0)
}

/// Returns the delay of the next look at the source after `failures` consecutive looks that failed. It is that
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

/// Returns whether a status is about the moment, so that the same request may succeed later.
pub fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..)
}

/// Returns `jitter × min(first × 2^(count − 1), longest)`.
fn growing(first: Duration, longest: Duration, count: u32, jitter: f64) -> Duration {
    let factor = 1_u32.checked_shl(count.saturating_sub(1)).unwrap_or(u32::MAX);
    // `mul_f64` panics for a number that is not finite.
    let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 1.0 };
    first.saturating_mul(factor).min(longest).mul_f64(jitter)
}

/// Returns the wait: zero for a date in the past, `None` for a malformed text. A date counts from `sent`, the
/// `Date` of the same response, because the clock of this machine may show another time; without one, it
/// counts from `now`.
pub(crate) fn retry_after(text: &str, sent: Option<&str>, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that is too large still asks for a wait longer than any limit.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = http_date(text)?;
    let from = sent.and_then(|sent| http_date(sent.trim())).unwrap_or(now);
    Some(Duration::try_from(date.duration_since(from)).unwrap_or_default())
}

/// Parses a date in one of the three forms, without its weekday, which services get wrong.
fn http_date(text: &str) -> Option<Timestamp> {
    const IMF_FIXDATE: &str = "%d %b %Y %H:%M:%S GMT";
    const RFC_850: &str = "%d-%b-%y %H:%M:%S GMT";
    const ASCTIME: &str = "%b %d %H:%M:%S %Y";
    let (_, text) = text.split_once(' ')?;
    let mut forms = [IMF_FIXDATE, RFC_850, ASCTIME].into_iter();
    let date = forms.find_map(|form| DateTime::strptime(form, text).ok())?;
    Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod retry_after_tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date_in_any_of_three_forms() {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        for (text, wait) in [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Fri, 02 Jan 2026 03:04:35 GMT", Some(30)),
            ("Mon, 02 Jan 2026 03:04:35 GMT", Some(30)),
            ("Fri, 02 Jan 2026 03:04:00 GMT", Some(0)),
            ("Friday, 02-Jan-26 03:04:35 GMT", Some(30)),
            ("Wednesday, 31-Dec-99 23:59:59 GMT", Some(0)),
            ("Fri Jan  2 03:04:35 2026", Some(30)),
            ("Fri Jan 12 03:04:05 2026", Some(10 * 24 * 3600)),
            ("Fri, 02 Jan 2026 03:04:60 GMT", Some(54)),
            ("Fri, 32 Jan 2026 03:04:35 GMT", None),
            ("Fri, 02 Jan 2026 25:04:35 GMT", None),
            ("Friday, 02-Foo-26 03:04:35 GMT", None),
            ("Fri Jan 2026", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
        ] {
            let wait = wait.map(Duration::from_secs);
            assert_eq!(retry_after(text, None, now), wait, "{text:?}");
        }
    }

    #[test]
    fn a_date_counts_from_the_clock_of_the_service() {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        let until = "Fri, 02 Jan 2026 09:00:30 GMT";
        for (sent, wait) in
            [("Fri, 02 Jan 2026 09:00:00 GMT", 30), ("Fri, 02 Jan 2026 09:01:00 GMT", 0), ("soon", 21_385)]
        {
            let wait = Some(Duration::from_secs(wait));
            assert_eq!(retry_after(until, Some(sent), now), wait, "{sent}");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn waits_double_up_to_a_maximum() {
        for (wait, seconds) in [
            (backoff(1, 0.0), 0.0),
            (backoff(1, 0.5), 0.25),
            (backoff(7, 1.0), 30.0),
            (backoff(u32::MAX, 1.0), 30.0),
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
            prop_assert!(backoff(tries, jitter) <= Duration::from_secs(30));
        }
    }
}
