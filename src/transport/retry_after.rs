//! When a server wants to be asked again: whether its status is about the moment, and its `Retry-After`.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Returns whether a status is about the moment, so that the same request may succeed later.
pub fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..)
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
mod tests {
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
