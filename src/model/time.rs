//! Times and durations as text.

use std::time::Duration;

use jiff::SignedDuration;
use jiff::civil::{DateTime, date};
use jiff::fmt::temporal::Pieces;

/// 1970-01-01 in UTC. A `Timestamp` of `jiff` would end a day before the year 9999 does, which authors write for
/// "always".
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

/// Returns a time in RFC 3339 form in UTC, such as `2026-01-02T03:04:05Z`, from seconds since 1970-01-01 UTC.
///
/// Returns the number itself if it is not a time in the years -9999 to 9999.
pub(crate) fn rfc3339(seconds: i64) -> String {
    let time = EPOCH.checked_add(SignedDuration::from_secs(seconds));
    time.map_or_else(|_| seconds.to_string(), |time| format!("{time}Z"))
}

/// Parses a time with a zone, such as `2026-01-02T03:04:05Z`, as seconds since 1970-01-01 UTC.
pub(crate) fn seconds(text: &str) -> Result<i64, String> {
    let seconds = Pieces::parse(text).ok().and_then(|pieces| {
        // The parser accepts larger ones, which the service refuses in conditions.
        let offset = pieces.to_numeric_offset().filter(|offset| offset.seconds().abs() < 86_400)?;
        let time = pieces.date().to_datetime(pieces.time()?);
        // The parser reads a second 60 as 59. In conditions, it is the next minute.
        let is_leap = text.get(16..19) == Some(":60");
        let time = time.duration_since(EPOCH).as_secs() + i64::from(is_leap);
        Some(time - i64::from(offset.seconds()))
    });
    seconds.ok_or_else(|| format!("`{text}` is not a time: {}", time_help(text)))
}

/// Returns what to write instead of a text that is not a time with a zone.
pub(crate) fn time_help(text: &str) -> &'static str {
    const LENGTH: usize = "2024-12-31T23:59:59".len();
    let has_shape = |text: &str, shape: &str| {
        text.len() == shape.len()
            && text.bytes().zip(shape.bytes()).all(|(byte, wanted)| match wanted {
                b'd' => byte.is_ascii_digit(),
                b'T' => matches!(byte, b'T' | b't' | b' '),
                wanted => byte == wanted,
            })
    };
    let whole = text.split_at_checked(LENGTH).filter(|(time, _)| has_shape(time, "dddd-dd-ddTdd:dd:dd"));
    let zone = whole
        .map(|(_, rest)| rest.trim_start_matches(|c: char| matches!(c, '.' | ',') || c.is_ascii_digit()));
    let is_zone = |zone: &str| {
        let offset = zone.strip_prefix(['+', '-']).unwrap_or_default();
        zone.eq_ignore_ascii_case("z") || ["dd", "dddd", "dd:dd"].iter().any(|shape| has_shape(offset, shape))
    };
    match zone {
        Some("") => "write it with a zone, such as `2024-12-31T23:59:59Z`",
        Some(zone) if is_zone(zone) => {
            "write a day, an hour and an offset that exist, such as `2024-12-31T23:59:59Z`"
        }
        _ => "write it as `YYYY-MM-DDTHH:MM:SS` with a zone, such as `2024-12-31T23:59:59Z`",
    }
}

/// Parses a duration: whole numbers with the units `d`, `h`, `m`, `s` and `ms`, each at most once and the
/// longest first.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("`{text}` needs a unit: write `{text}s`, `{text}m` or `{text}h`"));
    }
    parts(text).ok_or_else(|| format!("`{text}` is not a duration: write `500ms`, `30s`, `5m` or `1h30m`"))
}

fn parts(mut text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut shortest = u64::MAX;
    while !text.is_empty() || shortest == u64::MAX {
        let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = text[..unit_at].parse().ok()?;
        let rest = &text[unit_at..];
        let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let unit = milliseconds(&rest[..end]).filter(|unit| *unit < shortest)?;
        total = total.checked_add(Duration::from_millis(number.checked_mul(unit)?))?;
        shortest = unit;
        text = &rest[end..];
    }
    Some(total)
}

fn milliseconds(unit: &str) -> Option<u64> {
    match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    }
}

/// Returns year, month, day, hour, minute, second, offset hours and offset minutes of
/// `YYYY-MM-DDThh:mm:ss+hh:mm`, the form of times in conditions. Numbers beyond their range are accepted.
pub(crate) fn datetime_numbers(text: &str) -> Option<[u32; 8]> {
    const PATTERN: &[u8] = b"dddd-dd-ddTdd:dd:dd+dd:dd";
    let bytes = text.as_bytes();
    let fits = bytes.len() == PATTERN.len()
        && PATTERN.iter().zip(bytes).all(|(wanted, byte)| match wanted {
            b'd' => byte.is_ascii_digit(),
            wanted => wanted == byte,
        });
    fits.then(|| {
        [0..4, 5..7, 8..10, 11..13, 14..16, 17..19, 20..22, 23..25].map(|digits| {
            let digits = bytes[digits].iter();
            digits.fold(0, |sum, byte| sum * 10 + u32::from(byte - b'0'))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_on_a_time_names_what_is_wrong_with_it() {
        for (text, help) in [
            ("2026-02-30T08:00:00Z", "write a day, an hour and an offset that exist"),
            ("2026-01-01T25:00:00+01:00", "write a day, an hour and an offset that exist"),
            ("2026-01-01 00:00:00.5+99:00", "write a day, an hour and an offset that exist"),
            ("2026-01-01T00:00:01", "write it with a zone"),
            ("2026-1-1T0:0:1Z", "write it as `YYYY-MM-DDTHH:MM:SS` with a zone"),
            ("2026-W01-4T00:00:01Z", "write it as `YYYY-MM-DDTHH:MM:SS` with a zone"),
            ("2026-001T00:00:01Z", "write it as `YYYY-MM-DDTHH:MM:SS` with a zone"),
            ("+2026-01-01T00:00:01Z", "write it as `YYYY-MM-DDTHH:MM:SS` with a zone"),
            ("10000-01-01T00:00:00Z", "write it as `YYYY-MM-DDTHH:MM:SS` with a zone"),
            ("20260101T000001Z", "write it as `YYYY-MM-DDTHH:MM:SS` with a zone"),
            ("2026-01-01T00:00:01 CET", "write it as `YYYY-MM-DDTHH:MM:SS` with a zone"),
            ("2026-01-01T00:00:01\u{2212}99:00", "write it as `YYYY-MM-DDTHH:MM:SS` with a zone"),
            ("tomorrow", "write it as `YYYY-MM-DDTHH:MM:SS` with a zone"),
            ("\u{ff12}026-01-01T00:00:01Z", "write it as `YYYY-MM-DDTHH:MM:SS` with a zone"),
        ] {
            assert!(time_help(text).starts_with(help), "{text}: {}", time_help(text));
        }
    }

    #[test]
    fn a_duration_has_whole_numbers_with_units_the_longest_first() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("1d1ms", 86_400_001),
            ("0s", 0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in [
            "",
            "30",
            "s",
            "30 s",
            "1d 2h",
            "1.5h",
            "-1s",
            "30S",
            "30m1h",
            "1s1s",
            "1w",
            "2y",
            "15min",
            "２h",
            "99999999999999999999s",
            "18446744073709551615d",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(duration("30").unwrap_err(), "`30` needs a unit: write `30s`, `30m` or `30h`");
    }

    #[test]
    fn a_time_has_a_date_and_a_zone() {
        assert_eq!(seconds("2026-01-02T03:04:05Z"), Ok(1_767_323_045));
        assert_eq!(seconds("2026-01-02T04:04:05+01:00"), Ok(1_767_323_045));
        for bad in ["", "2026-01-02", "2026-01-02T03:04:05", "2026-13-02T03:04:05Z", "now", "1767323045"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        assert_eq!(seconds("2026-01-02T03:04:05+23:59"), Ok(1_767_323_045 - 86_340));
        assert_eq!(seconds("2026-12-31T23:59:60Z"), seconds("2027-01-01T00:00:00Z"));
        for (bad, is_complete) in [
            ("2026-02-30T00:00:00Z", true),
            ("2026-01-01T24:00:00Z", true),
            ("2026-01-01T00:00:00+99:00", true),
            ("2026-01-01T00:00:00+24:00", true),
            ("2026-01-01T00:00:00-24:00", true),
            ("2026-13-02 03:04:05-01:00", true),
            ("2026-02-30T00:00:00", false),
            ("2026-02-30", false),
            ("noT+", false),
        ] {
            let said = seconds(bad).unwrap_err();
            assert_eq!(said.contains("that exist"), is_complete, "{said}");
            assert_ne!(said.contains("with a zone"), is_complete, "{said}");
        }
        assert_eq!(rfc3339(1_767_323_045), "2026-01-02T03:04:05Z");
        assert_eq!(rfc3339(i64::MAX), i64::MAX.to_string());
        for text in ["9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "1969-12-31T23:59:59Z"] {
            assert_eq!(rfc3339(seconds(text).unwrap()), text);
        }
    }
}
