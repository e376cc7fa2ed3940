//! The type of a toggle, and the values that fit it.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::conversion::is_big_decimal;

super::words! {
    /// The type of the values that a toggle returns, and that a prerequisite compares with.
    ReturnType {
        /// `true` or `false`.
        Boolean = "boolean",
        /// A JSON object.
        Json = "json",
        /// A decimal number.
        Number = "number",
        /// Any text.
        String = "string",
    }
}

impl ReturnType {
    /// Returns the type of a new toggle with these values (src/pass/README.md, "Reading before a publish").
    pub(crate) fn of(values: &[&str]) -> Self {
        let all = |test: &dyn Fn(&str) -> bool| !values.is_empty() && values.iter().all(|value| test(value));
        let fits = |return_type| move |value: &str| variation_fits(return_type, value).is_ok();
        match () {
            () if all(&|value| matches!(value, "true" | "false")) => Self::Boolean,
            () if all(&fits(Self::Number)) => Self::Number,
            () if all(&fits(Self::Json)) => Self::Json,
            () => Self::String,
        }
    }
}

impl<'de> Deserialize<'de> for ReturnType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        word.parse().map_err(Error::custom)
    }
}

/// Checks that FeatureProbe can deliver the variation `value` of a toggle of this type
/// (src/service/featureprobe.md, "What breaks silently").
pub(crate) fn variation_fits(return_type: ReturnType, value: &str) -> Result<(), String> {
    let reason = match return_type {
        // The service delivers every other text as `false`.
        ReturnType::Boolean if !["true", "false"].iter().any(|word| value.eq_ignore_ascii_case(word)) => {
            "is neither `true` nor `false`"
        }
        ReturnType::Number if !is_big_decimal(value) => "is not a decimal number",
        // The SDKs read a number as a 64-bit float.
        ReturnType::Number if !value.parse().is_ok_and(f64::is_finite) => "is too large for a number",
        ReturnType::Json if serde_json::from_str::<Map<String, Value>>(value).is_err() => {
            "is not a JSON object"
        }
        _ => return Ok(()),
    };
    Err(format!("{reason}, but the toggle's type is `{}`", return_type.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_toggle_has_the_narrowest_type_of_all_its_variations() {
        for (values, expected) in [
            (&["true", "false"][..], ReturnType::Boolean),
            (&["true", "False"], ReturnType::String),
            (&["1", "-2.5"], ReturnType::Number),
            (&["1", "NaN"], ReturnType::String),
            (&["{}", "{\"a\":1}"], ReturnType::Json),
            (&["{}", "[]"], ReturnType::String),
            (&["1", "true"], ReturnType::String),
            (&[], ReturnType::String),
        ] {
            assert_eq!(ReturnType::of(values), expected, "{values:?}");
        }
    }

    #[test]
    fn a_variation_fits_the_type_that_the_service_parses_it_as() {
        for (return_type, good, bad) in [
            (ReturnType::Boolean, &["true", "False", "TRUE"][..], &["", "yes", " true", "1"][..]),
            (
                ReturnType::Number,
                &["0", "-1", "+1.50", ".5", "5.", "1e3", "1E-3", "007"],
                &["", ".", "-", "1e", "1e+", "NaN", "inf", "0x1F", " 1", "1_0", "1.2.3", "1e999", "one"],
            ),
            (
                ReturnType::Json,
                &["{}", r#" {"a":[1,null]} "#],
                &["", "[]", "1", "null", "{", "{} x", r#"{"a":1e999}"#],
            ),
            (ReturnType::String, &["", "any"], &[]),
        ] {
            for value in good {
                assert_eq!(variation_fits(return_type, value), Ok(()), "{return_type:?} {value}");
            }
            for value in bad {
                assert!(variation_fits(return_type, value).is_err(), "{return_type:?} {value}");
            }
        }
        insta::assert_snapshot!(
            variation_fits(ReturnType::Json, "[]").unwrap_err(),
            @"is not a JSON object, but the toggle's type is `json`"
        );
    }
}
