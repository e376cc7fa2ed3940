//! Compares the value of a toggle with the value that a prerequisite expects.

use serde_json::{Map, Value};

use super::condition::{Doubt, Truth};
use crate::model::{Prerequisite, ReturnType};

/// Returns whether a toggle that serves `value` meets `prerequisite`. The prerequisite's type is taken for the type of the
/// toggle, because a document does not have one.
pub(super) fn meets(prerequisite: &Prerequisite, value: &str) -> Truth {
    let expected = prerequisite.value.as_str();
    let is_equal = match prerequisite.kind {
        ReturnType::String => value == expected,
        // The service reads every text but `true` as false.
        ReturnType::Boolean => value.eq_ignore_ascii_case("true") == expected.eq_ignore_ascii_case("true"),
        ReturnType::Number => match (value.parse::<f64>(), expected.parse::<f64>()) {
            _ if value == expected => true,
            // The SDK compares `1` and `1.0` as different, and the service decides how it writes them.
            (Ok(a), Ok(b)) if a == b => return Truth::Unknown(Doubt::UnsureEquality),
            (Ok(_), Ok(_)) => false,
            _ => return Truth::Unknown(Doubt::UnknownPrerequisite),
        },
        ReturnType::Json => {
            let object = |text: &str| serde_json::from_str::<Map<String, Value>>(text);
            match (object(value), object(expected)) {
                (Ok(a), Ok(b)) => a == b,
                _ => return Truth::Unknown(Doubt::UnknownPrerequisite),
            }
        }
    };
    is_equal.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prerequisite_compares_values_of_its_type() {
        let equality = Truth::Unknown(Doubt::UnsureEquality);
        let unknown = Truth::Unknown(Doubt::UnknownPrerequisite);
        for (kind, expected, value, truth) in [
            (ReturnType::String, "a", "a", Truth::True),
            (ReturnType::String, "a", "A", Truth::False),
            (ReturnType::Boolean, "true", "TRUE", Truth::True),
            (ReturnType::Boolean, "false", "no", Truth::True),
            (ReturnType::Boolean, "true", "false", Truth::False),
            (ReturnType::Number, "1", "1", Truth::True),
            (ReturnType::Number, "1", "1.0", equality),
            (ReturnType::Number, "1", "2", Truth::False),
            (ReturnType::Number, "1", "one", unknown),
            (ReturnType::Json, r#"{"a":1,"b":2}"#, r#"{"b": 2, "a": 1}"#, Truth::True),
            (ReturnType::Json, r#"{"a":1}"#, r#"{"a":2}"#, Truth::False),
            (ReturnType::Json, "[]", "[]", unknown),
        ] {
            let prerequisite = Prerequisite { key: "other".into(), value: expected.into(), kind };
            assert_eq!(meets(&prerequisite, value), truth, "{kind:?} {expected} {value}");
        }
    }
}
