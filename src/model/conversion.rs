//! The conversions that FeatureProbe makes of texts on their way to its SDKs: the values of variations and
//! prerequisites, and the times of conditions. Checks, evaluation and sandbox share them, so that they cannot
//! disagree.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

use super::{ReturnType, datetime_numbers};

/// Returns the value that SDKs get for a text; none if the service cannot convert it, and so does not deliver
/// the toggle.
pub(crate) fn delivered_value(kind: ReturnType, text: &str) -> Option<Value> {
    match kind {
        ReturnType::String => Some(text.into()),
        // Every other text is delivered as false.
        ReturnType::Boolean => Some(text.eq_ignore_ascii_case("true").into()),
        ReturnType::Number => number(text).map(Value::Number),
        ReturnType::Json => {
            let value: Value = serde_json::from_str(text).ok().filter(Value::is_object)?;
            Some(without_nulls(value))
        }
    }
}

/// Returns whether the Rust SDK takes two values for the same; none if one cannot be delivered, or if other
/// SDKs take the two numbers for the same.
pub(crate) fn is_same_value(kind: ReturnType, one: &str, other: &str) -> Option<bool> {
    let (a, b) = (delivered_value(kind, one)?, delivered_value(kind, other)?);
    if a == b {
        return Some(true);
    }
    // The SDK compares `1` and `1.0` as different.
    let is_same_number = a.is_number() && a.as_f64() == b.as_f64() && a.is_f64() != b.is_f64();
    (!is_same_number).then_some(false)
}

/// Returns whether two JSON values are the same if all of their numbers are read as floats, as Go does.
pub(crate) fn is_same_json_in_floats(one: &str, other: &str) -> bool {
    let value = |text| delivered_value(ReturnType::Json, text).map(as_floats);
    value(one).is_some_and(|one| value(other) == Some(one))
}

/// Returns JSON whose numbers are all floats.
fn as_floats(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Array(items) => items.into_iter().map(as_floats).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, as_floats(value))).collect(),
        other => other,
    }
}

/// Returns whether two JSON values that are the same have their members in the same order, which Python compares.
/// None if a text is not JSON, or has a member twice.
pub(crate) fn has_same_order(one: &str, other: &str) -> Option<bool> {
    let order = |text| serde_json::from_str::<Order>(text).ok();
    Some(order(one)? == order(other)?)
}

/// The names of the members of a JSON value in their order. Those that are null are not delivered.
#[derive(Eq, PartialEq)]
enum Order {
    Items(Vec<Order>),
    Members(Vec<(String, Order)>),
    Null,
    Scalar,
}

impl<'de> Deserialize<'de> for Order {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrderVisitor)
    }
}

struct OrderVisitor;

impl<'de> Visitor<'de> for OrderVisitor {
    type Value = Order;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Order, E> {
        Ok(Order::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Order, E> {
        Ok(Order::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Order, E> {
        Ok(Order::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Order, E> {
        Ok(Order::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<Order, E> {
        Ok(Order::Scalar)
    }

    fn visit_unit<E>(self) -> Result<Order, E> {
        Ok(Order::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Order, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Order::Items(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Order, A::Error> {
        let (mut names, mut all) = (BTreeSet::new(), Vec::new());
        while let Some((name, value)) = members.next_entry::<String, Order>()? {
            if !names.insert(name.clone()) {
                return Err(Error::custom("a member is there twice"));
            }
            all.push((name, value));
        }
        all.retain(|(_, value)| *value != Order::Null);
        Ok(Order::Members(all))
    }
}

/// Which SDKs take two numbers for the same.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NumberEquality {
    /// All, or none.
    Agreed,
    /// Those that read every number as a float: Go and Node.
    AsFloats,
    /// The same, and Rust, which reads what needs more than 64 bits as a float. Java and Python keep all digits.
    BeyondIntegers,
}

impl NumberEquality {
    pub(crate) fn of(one: &str, other: &str) -> Self {
        let (Some(a), Some(b)) = (number(one), number(other)) else { return Self::Agreed };
        let is_exact = match (whole_digits(one), whole_digits(other)) {
            (Some(one), Some(other)) => decimal(&one) == decimal(&other),
            (None, None) => true,
            _ => false,
        };
        match a.as_f64() == b.as_f64() {
            false => Self::Agreed,
            true if a != b => Self::AsFloats,
            true if is_exact => Self::Agreed,
            true => Self::BeyondIntegers,
        }
    }
}

/// Returns whether two decimal numbers are the same, in any notation and with any number of digits.
pub(crate) fn is_same_decimal(one: &str, other: &str) -> bool {
    decimal(one).is_some_and(|one| decimal(other) == Some(one))
}

/// Returns whether a decimal number is negative, its digits without zeros at both ends, and its exponent.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    if !is_big_decimal(text) {
        return None;
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", whole.trim_start_matches(['+', '-']));
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
    let decimals = i64::try_from(fraction.len()).ok()?;
    match significant {
        "" => Some((false, String::new(), 0)),
        _ => {
            let exponent = exponent.parse::<i64>().ok()?.checked_add(zeros)?.checked_sub(decimals)?;
            Some((whole.starts_with('-'), significant.to_owned(), exponent))
        }
    }
}

/// Returns the number of a Java `BigDecimal` as an SDK reads it: as an integer of 64 bits if Java writes it as
/// one and it fits, otherwise as a float.
fn number(text: &str) -> Option<Number> {
    if !is_big_decimal(text) {
        return None;
    }
    let whole = |digits: &str| {
        let unsigned = digits.parse::<u64>().map(Number::from);
        unsigned.or_else(|_| digits.parse::<i64>().map(Number::from)).ok()
    };
    whole_digits(text).and_then(|digits| whole(&digits)).or_else(|| Number::from_f64(text.parse().ok()?))
}

/// Returns the digits of a number that Java writes without a point and without an exponent: `150` for `1.50e2`,
/// and none for `1.0` and for `1e2`.
fn whole_digits(text: &str) -> Option<String> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: usize = exponent.parse().ok()?;
    (exponent == fraction.len()).then(|| format!("{whole}{fraction}"))
}

/// Returns whether Java's `BigDecimal` parses `text`: optional sign, digits with at most one point, exponent.
pub(crate) fn is_big_decimal(text: &str) -> bool {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) =
        text.split_once(['e', 'E']).map_or((text, None), |(mantissa, exponent)| (mantissa, Some(exponent)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !(whole.is_empty() && fraction.is_empty());
    let is_exponent = |text: &str| {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        !digits.is_empty() && is_digits(digits)
    };
    has_digits && is_digits(whole) && is_digits(fraction) && exponent.is_none_or(is_exponent)
}

/// Removes the members of objects that are null, at any depth. The service writes no null.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(members.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

/// Returns whether the service accepts a text as a time: each digit up to the one in its pattern, and a
/// positive offset whose minutes are below 20.
pub(crate) fn is_accepted_time(text: &str) -> bool {
    const LARGEST: &[u8] = b"9999-19-39T29:69:69+29:19";
    text.len() == LARGEST.len()
        && text.bytes().zip(LARGEST).all(|(byte, largest)| match largest {
            b'0'..=b'9' => byte.is_ascii_digit() && byte <= *largest,
            _ => byte == *largest,
        })
}

/// Returns the seconds since 1970-01-01 UTC that SDKs get for a time; none if the service refuses the text,
/// or accepts it and cannot convert it. Days, hours and months beyond their range roll over.
pub(crate) fn delivered_time(text: &str) -> Option<i64> {
    if !is_accepted_time(text) {
        return None;
    }
    let [year, month, day, hour, minute, second, offset_hours, offset_minutes] =
        datetime_numbers(text)?.map(i64::from);
    // The service's pattern allows larger offsets, which its parser refuses.
    if offset_hours >= 24 {
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
            ("2024-12-31T23:59:60+00:00", Some(1_735_689_600)),
            ("2024-12-31T23:59:59+08:00", Some(1_735_660_799)),
            ("2024-12-31T23:59:59+05:19", Some(1_735_670_459)),
            ("2024-12-31T23:59:59+23:19", Some(1_735_605_659)),
            ("2024-02-30T00:00:00+00:00", Some(1_709_251_200)),
            ("2023-19-01T00:00:00+00:00", Some(1_719_792_000)),
            ("2024-00-01T00:00:00+00:00", Some(1_701_388_800)),
            ("1969-12-31T23:59:59+00:00", Some(-1)),
            ("2024-12-31T23:59:59+24:00", None),
            ("2024-12-31T23:59:59+29:19", None),
            ("2024-12-31T23:59:59+05:30", None),
            ("2024-12-31T23:59:70+00:00", None),
            ("2024-12-31T30:00:00+00:00", None),
            ("2024-20-01T00:00:00+00:00", None),
            ("2024-12-31T23:59:59-08:00", None),
            ("2024-12-31T23:59:59Z", None),
            ("2024-12-31", None),
            ("", None),
        ] {
            assert_eq!(delivered_time(text), expected, "{text}");
        }
    }

    #[test]
    fn every_real_day_agrees_with_the_calendar() {
        for year in [1, 1600, 1900, 1970, 2000, 2023, 2024, 2100, 9999] {
            for month in 1..=12 {
                let date = jiff::civil::date(year, month, 1);
                let expected = date.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
                let text = format!("{year:04}-{month:02}-01T00:00:00+00:00");
                assert_eq!(delivered_time(&text), Some(expected.as_second()), "{text}");
            }
        }
    }

    #[test]
    fn a_value_is_what_sdks_get() {
        use serde_json::json;
        for (kind, text, expected) in [
            (ReturnType::Boolean, "TRUE", Some(json!(true))),
            (ReturnType::Boolean, "yes", Some(json!(false))),
            (ReturnType::Number, "+1", Some(json!(1))),
            (ReturnType::Number, "5.", Some(json!(5))),
            (ReturnType::Number, ".5", Some(json!(0.5))),
            (ReturnType::Number, "1e3", Some(json!(1000.0))),
            (ReturnType::Number, "+1e0", Some(json!(1))),
            (ReturnType::Number, "-1.50e+2", Some(json!(-150))),
            (ReturnType::Number, "10e-1", Some(json!(1.0))),
            (ReturnType::Number, "9223372036854775808", Some(json!(9_223_372_036_854_775_808_u64))),
            (ReturnType::Number, "36893488147419103232", Some(json!(36_893_488_147_419_103_232.0))),
            (ReturnType::Number, "1e999", None),
            (ReturnType::Number, "one", None),
            (ReturnType::Number, "inf", None),
            (
                ReturnType::Json,
                r#"{"a":null,"b":{"c":null},"d":[null,{"e":null}]}"#,
                Some(json!({"b":{},"d":[null,{}]})),
            ),
            (ReturnType::Json, "[1]", None),
            (ReturnType::String, "", Some(json!(""))),
        ] {
            assert_eq!(delivered_value(kind, text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_of_prerequisites_are_compared_as_each_sdk_does() {
        use NumberEquality::{Agreed, AsFloats, BeyondIntegers};
        // Node 2.2.0 and Python 2.2.1 were run on each of these.
        for (one, other, expected, is_same) in [
            ("1", "1", Agreed, true),
            ("1", "2", Agreed, false),
            ("1", "01", Agreed, true),
            ("1", "+1", Agreed, true),
            ("-0", "0", Agreed, true),
            ("1", "1.0", AsFloats, true),
            ("1.10", "1.1", Agreed, true),
            ("1", "1e0", Agreed, true),
            ("100", "1E+2", AsFloats, true),
            ("9007199254740992", "9007199254740993", AsFloats, false),
            ("18446744073709551615", "18446744073709551616", AsFloats, false),
            ("18446744073709551616", "18446744073709551617", BeyondIntegers, false),
            ("-9223372036854775809", "-9223372036854775810", BeyondIntegers, false),
            ("36893488147419103232", "+36893488147419103232", Agreed, true),
            ("36893488147419103232", "36893488147419103233", BeyondIntegers, false),
            ("36893488147419103232", "36893488147419103232.0", BeyondIntegers, true),
            ("36893488147419103232", "3.6893488147419103232E+19", Agreed, true),
            ("9007199254740992.5", "9007199254740992.25", Agreed, false),
            ("1", "one", Agreed, false),
        ] {
            assert_eq!(NumberEquality::of(one, other), expected, "{one} {other}");
            assert_eq!(NumberEquality::of(other, one), expected, "{other} {one}");
            assert_eq!(is_same_decimal(one, other), is_same, "{one} {other}");
        }
    }

    #[test]
    fn the_order_of_json_is_that_of_what_is_delivered() {
        for (one, other, expected) in [
            (r#"{"a":1,"b":2}"#, r#"{"a": 1, "b": 2.5e0}"#, Some(true)),
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, Some(false)),
            (r#"{"a":1,"n":null}"#, r#"{"n":null,"a":1}"#, Some(true)),
            (r#"{"a":[{"x":1,"y":true}]}"#, r#"{"a":[{"y":true,"x":1}]}"#, Some(false)),
            (r#"{"a":{"x":""},"b":{}}"#, r#"{"a":{"x":""},"b":{}}"#, Some(true)),
            (r#"{"a":1,"a":1}"#, r#"{"a":1}"#, None),
            ("{", "{}", None),
        ] {
            assert_eq!(has_same_order(one, other), expected, "{one} {other}");
            assert_eq!(has_same_order(other, one), expected, "{other} {one}");
        }
        assert!(is_same_json_in_floats(r#"{"a":[1]}"#, r#"{"a":[1.0]}"#));
        assert!(!is_same_json_in_floats(r#"{"a":[1]}"#, r#"{"a":[1.5]}"#));
    }

    #[test]
    fn values_are_compared_as_they_are_delivered() {
        for (kind, one, other, expected) in [
            (ReturnType::Number, "1", "1.0", None),
            (ReturnType::Number, "1.0", "1.00", Some(true)),
            (ReturnType::Number, "1", "1e0", Some(true)),
            (ReturnType::Number, "100", "1e2", None),
            (ReturnType::Number, "9007199254740992", "9007199254740993", Some(false)),
            (ReturnType::Number, "36893488147419103232", "36893488147419103233", Some(true)),
            (ReturnType::Json, r#"{"a":1,"b":null}"#, r#"{"a":1}"#, Some(true)),
            (ReturnType::Json, r#"{"a":{"b":null}}"#, r#"{"a":{}}"#, Some(true)),
            (ReturnType::Json, r#"{"a":[null]}"#, r#"{"a":[]}"#, Some(false)),
            (ReturnType::Boolean, "no", "false", Some(true)),
            (ReturnType::String, "a", "A", Some(false)),
        ] {
            assert_eq!(is_same_value(kind, one, other), expected, "{one} {other}");
            assert_eq!(is_same_value(kind, other, one), expected, "{other} {one}");
        }
    }
}
