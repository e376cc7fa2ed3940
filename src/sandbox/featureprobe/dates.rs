//! Dates as the service keeps and writes them.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

/// Returns the date with milliseconds and the service's time zone.
pub(super) fn written(at: Timestamp) -> String {
    at.to_zoned(TimeZone::fixed(Offset::constant(8)))
        .strftime("%Y-%m-%dT%H:%M:%S%.3f%:z")
        .to_string()
}

/// Returns the date as its column keeps it: whole seconds.
pub(super) fn kept(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).expect("a second of a valid time is valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_milliseconds_and_the_services_offset() {
        let at: Timestamp = "2026-11-21T15:25:57.7979Z".parse().unwrap();
        assert_eq!(written(at), "2026-11-21T23:25:57.797+08:00");
        assert_eq!(written(kept(at)), "2026-11-21T23:25:57.000+08:00");
    }
}
