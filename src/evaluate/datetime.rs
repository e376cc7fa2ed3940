//! Times in conditions.

use crate::model::datetime_numbers;

/// Returns the seconds since 1970-01-01 UTC of a time that the service accepts: `YYYY-MM-DDThh:mm:ss+hh:mm` with offset
/// minutes below 20 (`featureprobe-behaviour.md`, section 5.3). Days, hours and months beyond their range roll over, as
/// the service does it. Returns `None` for any other text.
pub(super) fn seconds(text: &str) -> Option<i64> {
    let [
        year,
        month,
        day,
        hour,
        minute,
        second,
        offset_hours,
        offset_minutes,
    ] = datetime_numbers(text)?.map(i64::from);
    if offset_minutes >= 20 {
        return None;
    }
    let day = days(year, month - 1) + day - 1;
    let time = hour * 3600 + minute * 60 + second;
    Some(day * 86_400 + time - offset_hours * 3600 - offset_minutes * 60)
}

/// Returns the days from 1970-01-01 to the first day of a month, from 0, which may be beyond the year.
fn days(year: i64, month: i64) -> i64 {
    // The count begins in March, so that the leap day is the last day of a year.
    let months = year * 12 + month - 2;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12));
    let before_month = (153 * month + 2) / 5;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    year * 365 + leap_days + before_month - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_seconds_and_rolls_over() {
        for (text, expected) in [
            ("1970-01-01T00:00:00+00:00", Some(0)),
            ("2000-02-29T00:00:00+00:00", Some(951_782_400)),
            ("2024-12-31T23:59:59+00:00", Some(1_735_689_599)),
            ("2024-12-31T23:59:59+08:00", Some(1_735_660_799)),
            ("2024-12-31T23:59:59+05:19", Some(1_735_670_459)),
            ("2024-02-30T00:00:00+00:00", Some(1_709_251_200)),
            ("2023-19-01T00:00:00+00:00", Some(1_719_792_000)),
            ("2024-00-01T00:00:00+00:00", Some(1_701_388_800)),
            ("1969-12-31T23:59:59+00:00", Some(-1)),
            ("2024-12-31T23:59:59+05:30", None),
            ("2024-12-31T23:59:59-08:00", None),
            ("2024-12-31T23:59:59Z", None),
            ("2024-12-31", None),
            ("", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }

    #[test]
    fn every_real_day_agrees_with_the_calendar() {
        for year in [1, 1600, 1900, 1970, 2000, 2023, 2024, 2100, 9999] {
            for month in 1..=12 {
                let date = jiff::civil::date(year, month, 1);
                let expected = date.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
                let text = format!("{year:04}-{month:02}-01T00:00:00+00:00");
                assert_eq!(seconds(&text), Some(expected.as_second()), "{text}");
            }
        }
    }
}
