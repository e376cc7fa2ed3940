//! A time in another notation, as the one that a document has.

use crate::model::{rfc3339, seconds};

/// The time that a text means.
#[derive(Debug, Eq, PartialEq)]
pub(in crate::document) struct MeantTime {
    /// In seconds since 1970-01-01 UTC.
    pub(in crate::document) seconds: i64,
    /// Whether the text names its zone.
    pub(in crate::document) has_zone: bool,
    /// Whether the text has a fraction of a second, which `seconds` has not.
    pub(in crate::document) has_fraction: bool,
}

impl MeantTime {
    /// Returns what to write, with this offset instead of `Z` if it is not empty.
    pub(in crate::document) fn help(&self, offset: &str) -> String {
        let zone = if offset.is_empty() { "Z" } else { offset };
        let write = |seconds| rfc3339(seconds).replace('Z', zone);
        let time = write(self.seconds);
        match self.has_zone {
            _ if !(EARLIEST..=LATEST).contains(&self.seconds) => {
                format!("write a time from `{}` to `{}`", write(EARLIEST), write(LATEST))
            }
            true if self.has_fraction => format!("write `{time}`; {NO_FRACTIONS}"),
            true => format!("write `{time}`, which is the same time"),
            false if self.has_fraction => {
                format!("write `{time}` if the time is meant in UTC; {NO_FRACTIONS}")
            }
            false => format!("write `{time}` if the time is meant in UTC"),
        }
    }
}

const NO_FRACTIONS: &str = "a time has whole seconds, so this drops the fraction";

/// The first second of the year 0 and the last one of the year 9999. Years have four digits.
const EARLIEST: i64 = -62_167_219_200;
const LATEST: i64 = 253_402_300_799;

/// Returns the time that a text in another notation means: with `Z`, a negative or a large offset or without a
/// zone, with fractions of a second or without seconds, a date alone, or a number of seconds or milliseconds.
/// Days and months in another order have no certain meaning.
pub(in crate::document) fn time(text: &str) -> Option<MeantTime> {
    let text = text.trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number: i64 = text.parse().ok()?;
        return match text.len() {
            10 => Some(MeantTime { seconds: number, has_zone: true, has_fraction: false }),
            13 => {
                Some(MeantTime { seconds: number / 1000, has_zone: true, has_fraction: number % 1000 != 0 })
            }
            _ => None,
        };
    }
    let (date, rest) = text.split_at_checked("2026-12-01".len())?;
    let rest = rest.trim_start_matches(['T', 't', ' ', '_']);
    let length = rest.find(|c: char| !(c.is_ascii_digit() || c == ':')).unwrap_or(rest.len());
    let (clock, rest) = rest.split_at(length);
    let (fraction, rest) = match rest.strip_prefix(['.', ',']) {
        Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())),
        None => ("", rest),
    };
    let zone = rest.trim().to_ascii_uppercase();
    let offset = match zone.as_str() {
        "" | "Z" | "UTC" | "GMT" => 0,
        offset => offset_seconds(offset)?,
    };
    let midnight = seconds(&format!("{date}T00:00:00Z")).ok()?;
    Some(MeantTime {
        seconds: midnight + clock_seconds(clock)? - offset,
        has_zone: !zone.is_empty(),
        has_fraction: fraction.bytes().any(|digit| digit != b'0'),
    })
}

/// Returns the seconds from midnight to a time such as `09:00`, up to `24:00:00`, the end of the day.
fn clock_seconds(clock: &str) -> Option<i64> {
    let parts = clock.split(':').filter(|_| !clock.is_empty()).map(|part| match part.len() {
        2 => part.parse().ok(),
        _ => None,
    });
    let (hour, minute, second) = match parts.collect::<Option<Vec<i64>>>()?[..] {
        [] => (0, 0, 0),
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let total = hour * 3600 + minute * 60 + second;
    // A leap second is the beginning of the next minute, as to the service.
    (minute < 60 && second <= 60 && total <= 86_400).then_some(total)
}

/// Returns the seconds of an offset such as `+01:00`, `-0530` or `+01`, also with U+2212 as its minus sign.
fn offset_seconds(offset: &str) -> Option<i64> {
    const MINUS: [char; 2] = ['-', '\u{2212}'];
    let digits = offset.strip_prefix('+').or_else(|| offset.strip_prefix(MINUS))?.replace(':', "");
    let is_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: i64 = digits.parse().ok().filter(|_| is_digits)?;
    let seconds = match digits.len() {
        2 => number * 3600,
        4 if number % 100 < 60 => number / 100 * 3600 + number % 100 * 60,
        _ => return None,
    };
    Some(if offset.starts_with(MINUS) { -seconds } else { seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `before`, users of the rest of that second change sides.
    #[test]
    fn a_help_says_that_it_drops_a_fraction() {
        for (text, is_dropped) in [
            ("2026-01-01T00:00:00.999Z", true),
            ("2026-01-01T00:00:00,5", true),
            ("1700000000123", true),
            ("2026-01-01T00:00:00.000Z", false),
            ("1700000000000", false),
            ("2026-01-01T00:00:00Z", false),
        ] {
            let help = time(text).unwrap().help("+00:00");
            assert_eq!(help.contains("drops the fraction"), is_dropped, "{text}: {help}");
            assert!(!(is_dropped && help.contains("the same time")), "{text}: {help}");
        }
    }

    #[test]
    fn a_time_in_another_notation_is_recognized() {
        for (text, expected, has_zone) in [
            ("2026-12-01T09:00:00Z", "2026-12-01T09:00:00Z", true),
            ("2026-12-01t09:00:00z", "2026-12-01T09:00:00Z", true),
            ("2026-12-01T09:00:00.123Z", "2026-12-01T09:00:00Z", true),
            ("2026-12-01 09:00:00 UTC", "2026-12-01T09:00:00Z", true),
            ("2026-12-01T09:00:00-05:00", "2026-12-01T14:00:00Z", true),
            ("2026-12-01T09:00:00+05:30", "2026-12-01T03:30:00Z", true),
            ("2026-12-01T09:00:00\u{2212}01:00", "2026-12-01T10:00:00Z", true),
            ("2026-12-01T09:00:00+0100", "2026-12-01T08:00:00Z", true),
            ("2026-12-01T09:00:00 +01", "2026-12-01T08:00:00Z", true),
            ("2026-12-01T09:00Z", "2026-12-01T09:00:00Z", true),
            ("1764579600", "2025-12-01T09:00:00Z", true),
            ("1764579600123", "2025-12-01T09:00:00Z", true),
            ("2026-12-01T09:00:00", "2026-12-01T09:00:00Z", false),
            ("2026-12-01 09:00", "2026-12-01T09:00:00Z", false),
            ("2026-12-01", "2026-12-01T00:00:00Z", false),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z", true),
            ("9999-12-31 23:59:59.999", "9999-12-31T23:59:59Z", false),
            ("1969-06-15T10:00:00Z", "1969-06-15T10:00:00Z", true),
            ("2026-12-31T24:00:00Z", "2027-01-01T00:00:00Z", true),
            ("2026-12-31T23:59:60Z", "2027-01-01T00:00:00Z", true),
            ("2026-12-01T09:00:00+24:00", "2026-11-30T09:00:00Z", true),
        ] {
            let found = time(text).map(|time| (rfc3339(time.seconds), time.has_zone));
            assert_eq!(found, Some((expected.to_owned(), has_zone)), "{text}");
        }
        for text in [
            "",
            "tomorrow",
            "01.12.2026",
            "12/01/2026",
            "2026-13-01",
            "2026-02-30",
            "2026-12-01T25:00:00Z",
            "2026-12-01T09:00:00 CET",
            "2026-12-01T9",
            "1764",
            "ä2026-12-01",
            "2026-12-0ä",
            "2026-12-01Tä",
            "2026-12-01T09:00:00ä1:00",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
