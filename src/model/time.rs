//! Times as people and machines read them.

/// Returns a time in RFC 3339 form in UTC, such as `2026-01-02T03:04:05Z`, from seconds since 1970-01-01 UTC.
///
/// A number that is not a time in the years -9999 to 9999 is returned as it is.
#[must_use]
pub fn rfc3339(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_date_and_a_zone() {
        assert_eq!(rfc3339(1_767_323_045), "2026-01-02T03:04:05Z");
        assert_eq!(rfc3339(i64::MAX), i64::MAX.to_string());
    }
}
