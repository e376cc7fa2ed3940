//! The formats of objects in conditions.

use crate::model::datetime_numbers;

/// Returns whether `text` is a decimal number: optional sign, digits, fraction, exponent; no hexadecimal digits,
/// no `_`, no NaN, no infinity.
pub(super) fn is_decimal(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    is_digits(whole)
        && fraction.is_none_or(is_digits)
        && exponent.is_none_or(|exponent| is_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}

/// Returns whether FeatureProbe can parse `text` as a time that exists: `YYYY-MM-DDThh:mm:ss+hh:mm` with a `+` offset,
/// whose minutes are at most 19 (`featureprobe-behaviour.md`, 5.3).
pub(super) fn is_datetime(text: &str) -> bool {
    // The service rejects `Z`, negative offsets and fractions of a second.
    datetime_numbers(text).is_some_and(
        |[year, month, day, hour, minute, second, offset_hours, offset_minutes]| {
            // The service accepts days that do not exist, and rolls them over to another date.
            (1..=12).contains(&month)
                && (1..=days(year, month)).contains(&day)
                && hour < 24
                && minute < 60
                && second < 60
                && offset_hours < 24
                && offset_minutes < 20
        },
    )
}

fn days(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 31,
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_number_has_sign_digits_fraction_and_exponent() {
        for good in ["0", "18", "-1", "+1", "1.10", "007", "1e3", "1E-3", "-0.5e+10"] {
            assert!(is_decimal(good), "{good}");
        }
        for bad in
            ["", "-", ".5", "5.", "1e", "0x1F", "1_000", "NaN", "inf", ".inf", " 1", "1 ", "1d", "١", "1.2.3"]
        {
            assert!(!is_decimal(bad), "{bad}");
        }
    }

    #[test]
    fn a_time_is_what_the_service_reads_as_one() {
        for good in ["2024-02-29T23:59:59+00:00", "2023-01-01T00:00:00+08:00"] {
            assert!(is_datetime(good), "{good}");
        }
        for bad in [
            "2023-02-29T00:00:00+00:00",
            "2023-19-01T00:00:00+00:00",
            "2023-01-01T00:00:00Z",
            "2023-01-01T00:00:00-01:00",
            "2023-01-01T00:00:00+05:30",
            "2023-01-01T00:00:00.5+00:00",
            "2023-01-01",
            "",
        ] {
            assert!(!is_datetime(bad), "{bad}");
        }
    }
}
