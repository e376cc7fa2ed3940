//! Parses `Retry-After`: seconds, or a date in one of the three formats of RFC 9110, section 5.6.7.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

/// Returns the wait: zero for a date in the past, `None` for a malformed text. A date counts from `sent`, the `Date` of the
/// same response, because the clock of this machine may show another time; without one, it counts from `now`.
#[must_use]
pub(crate) fn retry_after(text: &str, sent: Option<&str>, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that is too large still asks for a wait longer than any limit.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = http_date(text, now)?;
    let from = sent.and_then(|sent| http_date(sent.trim(), now)).unwrap_or(now);
    Some(Duration::try_from(date.duration_since(from)).unwrap_or_default())
}

/// Ignores the weekday, which services get wrong.
fn http_date(text: &str, now: Timestamp) -> Option<Timestamp> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (date, time) = match words[..] {
        // IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`
        [_, day, month, year, time, "GMT"] => (date(year.parse().ok()?, month, day)?, time),
        // RFC 850: `Sunday, 06-Nov-94 08:49:37 GMT`
        [_, date_of, time, "GMT"] => {
            let mut parts = date_of.splitn(3, '-');
            let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
            (date(full_year(year, now)?, month, day)?, time)
        }
        // asctime: `Sun Nov  6 08:49:37 1994`
        [_, month, day, time, year] => (date(year.parse().ok()?, month, day)?, time),
        _ => return None,
    };
    let time: Time = time_of(time)?;
    let instant = date.to_datetime(time).to_zoned(TimeZone::UTC).ok()?;
    Some(instant.timestamp())
}

fn date(year: i16, month: &str, day: &str) -> Option<Date> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let month = MONTHS.iter().zip(1..).find(|(name, _)| **name == month)?.1;
    Date::new(year, month, day.parse().ok()?).ok()
}

/// Returns the year with these last two digits that is not more than 50 years in the future.
fn full_year(digits: &str, now: Timestamp) -> Option<i16> {
    let digits: i16 = digits.parse().ok().filter(|digits| (0..100).contains(digits))?;
    let this = now.to_zoned(TimeZone::UTC).year();
    let year = this - this % 100 + digits;
    // RFC 9110, section 5.6.7, requires this.
    Some(if year > this + 50 { year - 100 } else { year })
}

/// Parses a time; a leap second becomes second 59.
fn time_of(text: &str) -> Option<Time> {
    let mut parts = text.splitn(3, ':').map(|part| part.parse::<i8>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    Time::new(hour, minute, if second == 60 { 59 } else { second }, 0).ok()
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
        for (sent, wait) in [
            ("Fri, 02 Jan 2026 09:00:00 GMT", 30),
            ("Fri, 02 Jan 2026 09:01:00 GMT", 0),
            ("soon", 21_385),
        ] {
            let wait = Some(Duration::from_secs(wait));
            assert_eq!(retry_after(until, Some(sent), now), wait, "{sent}");
        }
    }
}
