//! Change windows: when the toggles of a scope may be published (src/plan/README.md, "Order and windows").
//! The time comes in as a value.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, Time, Weekday};
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde::Deserialize;

use crate::model::{Scope, ToggleId, escaped, unmatchable_advice};

/// The change windows of a configuration.
#[derive(Clone, Debug, Default)]
pub struct Windows(Vec<Window>);

/// Why a toggle may not be published at a time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Closed {
    /// The window that forbids it, as text.
    pub by: String,
    /// The time at which it may be published, in seconds since 1970-01-01 UTC; none if no window opens again.
    pub opens: Option<i64>,
    /// That time on the clock of the window's zone.
    pub opens_there: Option<String>,
}

#[derive(Clone, Debug)]
struct Window {
    is_deny: bool,
    scope: Scope,
    schedule: Schedule,
    zone: TimeZone,
    /// As it was written.
    text: String,
    zone_name: String,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Schedule {
    /// From a moment of a day to one of another day.
    Dates((Date, Moment), (Date, Moment)),
    /// On each of these days, from one moment to another.
    Weekly(Vec<Weekday>, Moment, Moment),
}

/// The minutes since the midnight at which a day began; 1440 and more are on a later day.
type Moment = i64;

const DAY: Moment = 24 * 60;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    deny: Option<String>,
    allow: Option<String>,
    at: String,
    zone: String,
}

impl Windows {
    /// Returns whether a toggle may be published at `now`, in seconds since 1970-01-01 UTC, or why not.
    pub fn closed(&self, id: &ToggleId, now: i64) -> Option<Closed> {
        let windows: Vec<&Window> = self.0.iter().filter(|window| window.scope.contains(id)).collect();
        let now = Timestamp::from_second(now).ok()?;
        let by = closed_by(&windows, now)?;
        let opens = opening(&windows, now);
        Some(Closed {
            by: by.to_string(),
            opens: opens.map(Timestamp::as_second),
            opens_there: opens.map(|at| {
                let there = at.to_zoned(by.zone.clone()).strftime("%a %Y-%m-%d %H:%M").to_string();
                format!("{there} {}", escaped(&by.zone_name))
            }),
        })
    }

    /// Returns the scope of each window, with the window as text.
    pub(super) fn scopes(&self) -> impl Iterator<Item = (String, &Scope)> {
        self.0.iter().map(|window| (window.to_string(), &window.scope))
    }

    /// Returns the text of all windows, for the digest of a policy.
    pub(super) fn digest(&self) -> String {
        format!("{:?}", self.0.iter().map(ToString::to_string).collect::<Vec<_>>())
    }
}

/// Returns the window that forbids a publish at `now`. A window that denies wins.
fn closed_by<'a>(windows: &[&'a Window], now: Timestamp) -> Option<&'a Window> {
    let mut denies = windows.iter().filter(|window| window.is_deny);
    let allows = || windows.iter().filter(|window| !window.is_deny);
    denies
        .find(|window| window.is_in_force(now))
        .or_else(|| allows().next().filter(|_| !allows().any(|window| window.is_in_force(now))))
        .copied()
}

/// Returns the first time after `now` at which no window forbids a publish.
fn opening(windows: &[&Window], now: Timestamp) -> Option<Timestamp> {
    /// More than two years of a window that opens and closes each day.
    const MOST: usize = 2_000;
    let mut at = now;
    for _ in 0..MOST {
        at = windows.iter().filter_map(|window| window.next_change(at)).min()?;
        if closed_by(windows, at).is_none() {
            return Some(at);
        }
    }
    None
}

impl Window {
    fn is_in_force(&self, now: Timestamp) -> bool {
        let mut spans = self.spans(now).into_iter();
        spans.any(|(from, to)| from <= now && now < to)
    }

    /// Returns the next time after `now` at which the window starts or ends.
    fn next_change(&self, now: Timestamp) -> Option<Timestamp> {
        let ends = self.spans(now).into_iter().flat_map(|(from, to)| [from, to]);
        ends.filter(|end| *end > now).min()
    }

    /// Returns the times around `now` at which the window is in force.
    fn spans(&self, now: Timestamp) -> Vec<(Timestamp, Timestamp)> {
        let in_zone = |day: Date, moment: Moment| {
            let at = day.to_datetime(Time::midnight()).checked_add(moment.minutes()).ok()?;
            // A time that daylight saving skips is as much later; of one that occurs twice, the first counts.
            self.zone.to_ambiguous_zoned(at).compatible().ok().map(|at| at.timestamp())
        };
        let span = |first, from, last, to| Some((in_zone(first, from)?, in_zone(last, to)?));
        match &self.schedule {
            Schedule::Dates((first, from), (last, to)) => {
                span(*first, *from, *last, *to).into_iter().collect()
            }
            Schedule::Weekly(weekdays, from, to) => {
                let today = now.to_zoned(self.zone.clone()).date();
                (-8_i64..=8)
                    .filter_map(|days| today.checked_add(days.days()).ok())
                    .filter(|day| weekdays.contains(&day.weekday()))
                    .filter_map(|day| span(day, *from, day, *to))
                    .collect()
            }
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (effect, scope) = (if self.is_deny { "deny" } else { "allow" }, self.scope.globs().join(" "));
        write!(f, "{effect} `{}` at `{}`, {}", escaped(&scope), escaped(&self.text), escaped(&self.zone_name))
    }
}

impl FromStr for Windows {
    type Err = String;

    /// Parses the entries from a JSON array, which the reader of the configuration file makes of them.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let entries: Vec<Entry> = serde_json::from_str(text).map_err(|error| {
            // Its position is one in the array, not in the file.
            let why = error.to_string();
            let why = why.split(" at line ").next().unwrap_or_default();
            format!("{why}; write a list of `{{ deny: SCOPE, at: SCHEDULE, zone: NAME }}`")
        })?;
        entries.into_iter().map(Window::try_from).collect::<Result<_, _>>().map(Self)
    }
}

impl TryFrom<Entry> for Window {
    type Error = String;

    fn try_from(entry: Entry) -> Result<Self, String> {
        let Entry { deny, allow, at, zone } = entry;
        let (is_deny, scope) = match (deny, allow) {
            (Some(scope), None) => (true, scope),
            (None, Some(scope)) => (false, scope),
            _ => {
                return Err(
                    "a window needs either `deny` or `allow`, with a scope such as `shop/**`".to_owned()
                );
            }
        };
        let globs: Vec<&str> = scope.split_whitespace().collect();
        let scope = Scope::new(&globs).map_err(|error| error.to_string())?;
        if let Some(glob) = scope.unmatchable().next() {
            return Err(format!(
                "the scope `{}` of a window matches no toggle: {}",
                escaped(&glob),
                unmatchable_advice(&glob)
            ));
        }
        if scope.is_everything() {
            return Err("the scope of a window is empty; write `**` for everything".to_owned());
        }
        let time_zone = TimeZone::get(&zone).map_err(|_| {
            format!(
                "unknown time zone `{}`; use an IANA name such as `Europe/Berlin` or `UTC`",
                escaped(&zone)
            )
        })?;
        Ok(Self { is_deny, scope, schedule: at.parse()?, zone: time_zone, text: at, zone_name: zone })
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{}` is not a schedule; write `Fri 16:00 - Mon 08:00`, `Mon-Thu 09:00-16:00`, `2026-12-20 - 2027-01-02` or \
                 `2026-12-20 18:00 - 2027-01-02 08:00`",
                escaped(text)
            )
        };
        if let Some((from, to)) = text.split_once(" - ") {
            let (from, to) = (from.trim(), to.trim());
            // Without times, the first day and the last one count as a whole.
            if let (Some(from), Some(to)) = (date(from, 0), date(to, DAY)) {
                return (from < to).then_some(Self::Dates(from, to)).ok_or_else(wrong);
            }
            let at = |text: &str| {
                let (day, time) = text.split_once(' ')?;
                Some((weekday(day)?, clock(time.trim())?))
            };
            let week = at(from).zip(at(to)).filter(|(from, to)| from != to);
            let week = week.map(|((first, from), (last, to))| {
                let to = i64::from(last.since(first)) * DAY + to;
                Self::Weekly(vec![first], from, if to <= from { to + 7 * DAY } else { to })
            });
            return week.ok_or_else(wrong);
        }
        let parse = || {
            let (days, times) = text.trim().split_once(' ')?;
            let (first, last) = days.split_once('-').unwrap_or((days, days));
            let (first, last) = (weekday(first)?, weekday(last)?);
            let (from, to) = times.trim().split_once('-')?;
            let (from, to) = (clock(from.trim())?, clock(to.trim())?);
            let count = usize::try_from(last.since(first)).ok()? + 1;
            let days = first.cycle_forward().take(count).collect();
            let end = if to <= from { to + DAY } else { to };
            (from != to && from < DAY).then_some(Self::Weekly(days, from, end))
        };
        parse().ok_or_else(wrong)
    }
}

/// Parses `YYYY-MM-DD`, with a time or with this moment of the day.
fn date(text: &str, moment: Moment) -> Option<(Date, Moment)> {
    let (day, time) = text.split_once(' ').map_or((text, None), |(day, time)| (day, Some(time.trim())));
    // The parser takes the date of any text that has one, such as a date with a time.
    let date: Date = day.parse().ok().filter(|date: &Date| date.to_string() == day)?;
    Some((date, time.map_or(Some(moment), clock)?))
}

fn weekday(text: &str) -> Option<Weekday> {
    BrokenDownTime::parse("%a", text.trim()).ok()?.weekday()
}

/// Parses `HH:MM`, up to `24:00`.
fn clock(text: &str) -> Option<Moment> {
    let (hour, minute) = text.split_once(':')?;
    let is_number = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(hour) || !is_number(minute) {
        return None;
    }
    let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
    let at = hour * 60 + minute;
    (minute < 60 && at <= DAY).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(entries: &[(&str, &str, &str, &str)]) -> Windows {
        let entries = entries
            .iter()
            .map(|(effect, scope, at, zone)| serde_json::json!({ *effect: scope, "at": at, "zone": zone }));
        serde_json::Value::from_iter(entries).to_string().parse().unwrap()
    }

    /// Returns when a publish of `shop/prod/pay` may start, of one that is tried at `now`.
    fn opens(windows: &Windows, now: &str) -> String {
        let now: Timestamp = now.parse().unwrap();
        match windows.closed(&"shop/prod/pay".parse().unwrap(), now.as_second()) {
            None => "open".to_owned(),
            Some(Closed { opens: None, .. }) => "never".to_owned(),
            Some(Closed { opens: Some(at), .. }) => Timestamp::from_second(at).unwrap().to_string(),
        }
    }

    #[test]
    fn a_freeze_over_the_weekend_ends_on_monday_in_its_zone() {
        let freeze = windows(&[("deny", "shop/**", "Fri 16:00 - Mon 08:00", "Europe/Berlin")]);
        for (now, expected) in [
            ("2026-11-20T14:59:59Z", "open"),
            ("2026-11-20T15:00:00Z", "2026-11-23T07:00:00Z"),
            ("2026-11-23T06:59:59Z", "2026-11-23T07:00:00Z"),
            ("2026-11-23T07:00:00Z", "open"),
            // The clock goes forward in the night to 2026-03-29, and back in the night to 2026-10-25.
            ("2026-03-28T12:00:00Z", "2026-03-30T06:00:00Z"),
            ("2026-10-24T12:00:00Z", "2026-10-26T07:00:00Z"),
        ] {
            assert_eq!(opens(&freeze, now), expected, "{now}");
        }
        assert_eq!(freeze.closed(&"web/prod/pay".parse().unwrap(), 1_795_200_000), None);
    }

    #[test]
    fn publishing_hours_follow_daylight_saving_in_two_zones() {
        for (zone, now, expected) in [
            ("Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T07:00:00Z"),
            ("Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T08:00:00Z"),
            ("America/New_York", "2026-03-08T05:00:00Z", "2026-03-08T13:00:00Z"),
            ("America/New_York", "2026-11-01T05:00:00Z", "2026-11-01T14:00:00Z"),
            ("UTC", "2026-03-29T00:00:00Z", "2026-03-29T09:00:00Z"),
        ] {
            let hours = windows(&[("allow", "shop/**", "Mon-Sun 09:00-16:00", zone)]);
            assert_eq!(opens(&hours, now), expected, "{zone} {now}");
        }
        // 02:30 does not exist in Berlin on 2026-03-29, so the window is empty; it exists twice on
        // 2026-10-25.
        let night = windows(&[("deny", "**", "Sun 02:30-03:00", "Europe/Berlin")]);
        assert_eq!(opens(&night, "2026-03-29T01:15:00Z"), "open");
        assert_eq!(opens(&night, "2026-10-25T00:45:00Z"), "2026-10-25T02:00:00Z");
    }

    #[test]
    fn dates_are_inclusive_and_pass_the_end_of_a_year() {
        let freeze = windows(&[("deny", "**", "2026-12-20 - 2027-01-02", "Europe/Berlin")]);
        for (now, expected) in [
            ("2026-12-19T22:59:59Z", "open"),
            ("2026-12-31T23:30:00Z", "2027-01-02T23:00:00Z"),
            ("2027-01-02T23:00:00Z", "open"),
        ] {
            assert_eq!(opens(&freeze, now), expected, "{now}");
        }
    }

    #[test]
    fn dates_may_have_times() {
        for (at, now, expected) in [
            ("2026-11-28 22:00 - 2026-11-28 23:00", "2026-11-28T14:00:00Z", "open"),
            ("2026-11-28 22:00 - 2026-11-28 23:00", "2026-11-28T22:30:00Z", "2026-11-28T23:00:00Z"),
            ("2026-11-27 08:00 - 2026-11-28 10:00", "2026-11-28T10:00:00Z", "open"),
            ("2026-11-28  22:00 - 2026-11-29", "2026-11-28T21:59:59Z", "open"),
            ("2026-11-28 22:00 - 2026-11-29", "2026-11-29T23:59:59Z", "2026-11-30T00:00:00Z"),
            ("2026-11-27 - 2026-11-28 10:00", "2026-11-27T00:00:00Z", "2026-11-28T10:00:00Z"),
        ] {
            assert_eq!(opens(&windows(&[("deny", "**", at, "UTC")]), now), expected, "{at} {now}");
        }
    }

    #[test]
    fn windows_overlap_and_one_that_denies_wins() {
        let both = windows(&[
            ("allow", "shop/**", "Mon-Thu 09:00-16:00", "UTC"),
            ("allow", "shop/prod/*", "Sat 22:00-02:00", "UTC"),
            ("deny", "**", "2026-12-20 - 2027-01-02", "UTC"),
        ]);
        for (now, expected) in [
            ("2026-11-24T10:00:00Z", "open"),
            ("2026-11-24T16:00:00Z", "2026-11-25T09:00:00Z"),
            ("2026-11-28T23:00:00Z", "open"),
            ("2026-11-29T01:59:00Z", "open"),
            ("2026-11-29T02:00:00Z", "2026-11-30T09:00:00Z"),
            // The freeze ends on a Saturday night.
            ("2026-12-21T10:00:00Z", "2027-01-03T00:00:00Z"),
            // The clock jumped: each time is looked at by itself.
            ("2030-01-01T10:00:00Z", "open"),
            ("1999-01-01T10:00:00Z", "1999-01-02T22:00:00Z"),
        ] {
            assert_eq!(opens(&both, now), expected, "{now}");
        }
        let past = windows(&[("allow", "**", "2020-01-01 - 2020-01-02", "UTC")]);
        assert_eq!(opens(&past, "2026-01-01T00:00:00Z"), "never");
    }

    #[test]
    fn a_mistake_is_reported_with_what_to_write() {
        let parse = |entry: &str| format!("[{entry}]").parse::<Windows>().unwrap_err();
        let with = |at: &str, zone: &str| parse(&format!(r#"{{"deny":"**","at":"{at}","zone":"{zone}"}}"#));
        assert_eq!(
            with("Fri 16:00 - Mon 08:00", "Europe/Berln"),
            "unknown time zone `Europe/Berln`; use an IANA name such as `Europe/Berlin` or `UTC`"
        );
        for at in [
            "Fri",
            "Fri 16:00 - Fri 16:00",
            "Fri 24:01-08:00",
            "Foo 08:00-09:00",
            "Friday 08:00-09:00",
            "2027-01-02 - 2026-12-20",
            "2026-11-28 23:00 - 2026-11-28 22:00",
            "2026-11-28 22:00 - 2026-11-28 22:00",
            // Nothing of a text is left out.
            "2026-11-28T22:00 - 2026-11-28T23:00",
            "2026-11-28T22:00Z - 2026-11-29",
            "2026-11-28 22 - 2026-11-29",
            "2026-11-28 22:00:00 - 2026-11-29",
            "2026-11-28 22:00 UTC - 2026-11-29",
            "2026-11-28 xyz - 2026-11-29",
            "20261128 - 20261129",
            "2026-11-28[Europe/Berlin] - 2026-11-29",
            "2026-11-28 - 2026-11-29 - 2026-11-30",
            "Sat 2026-11-28 - Sun 2026-11-29",
            "Fri 16:00 - Mon 08:00 - Tue 08:00",
            "Fri 16:00 UTC - Mon 08:00",
            "Fri 4:00pm - Mon 08:00",
            "Mon-Thu 09:00-16:00-18:00",
            "Mon-Thu 09:00-16:00 and Fri",
            "Mon,Wed 09:00-16:00",
            "2026-11-28 09:00-16:00",
        ] {
            assert!(with(at, "UTC").contains("is not a schedule; write `Fri 16:00 - Mon 08:00`"), "{at}");
        }
        assert!(parse(r#"{"at":"Fri 16:00-17:00","zone":"UTC"}"#).contains("either `deny` or `allow`"));
        assert_eq!(
            parse(r#"{"deny":"shop/** shop/production","at":"Fri 16:00-17:00","zone":"UTC"}"#),
            "the scope `shop/production` of a window matches no toggle: globs are over `project/environment/toggle`; write \
             `shop/production/*`"
        );
        assert!(parse(r#"{"deny":"","at":"Fri 16:00-17:00","zone":"UTC"}"#).contains("write `**`"));
        assert!(parse(r#"{"deny":"**","at":"Fri 16:00-17:00"}"#).starts_with("missing field `zone`; write"));
        assert!(parse(r#"{"dney":"**"}"#).starts_with("unknown field `dney`"));
    }
}
