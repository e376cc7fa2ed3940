//! How the service reads JSON: it drops unknown and null members and converts scalars instead of refusing them.

use serde_json::{Map, Value};

/// The form of a JSON value, with members in the order in which the service writes them.
pub(super) enum Shape {
    Bool,
    /// 32 bits.
    Integer,
    List(&'static Shape),
    /// 64 bits.
    Long,
    Object(&'static [(&'static str, Shape)]),
    Text,
}

/// A value that does not fit its shape, which the service answers with 400.
#[derive(Debug)]
pub(super) struct Misshapen;

impl Shape {
    /// Returns the members of `value` that the service keeps. Elements of lists may be null.
    pub(super) fn read(&self, value: Value) -> Result<Value, Misshapen> {
        match (self, value) {
            (_, Value::Null) => Ok(Value::Null),
            (Self::Object(members), Value::Object(given)) => object(members, given).map(Value::Object),
            (Self::List(element), Value::Array(given)) => {
                given.into_iter().map(|one| element.read(one)).collect()
            }
            (Self::Text, Value::String(text)) => Ok(Value::String(text)),
            (Self::Text, value @ (Value::Bool(_) | Value::Number(_))) => Ok(Value::String(value.to_string())),
            (Self::Bool, value) => boolean(&value),
            (Self::Integer, value) => integer(&value, i64::from(i32::MIN)..=i64::from(i32::MAX)),
            (Self::Long, value) => integer(&value, i64::MIN..=i64::MAX),
            _ => Err(Misshapen),
        }
    }

    /// Writes `value` with its members in the order of the shape.
    pub(super) fn write(&self, value: &Value) -> String {
        match (self, value) {
            (Self::Object(members), Value::Object(given)) => {
                let present = members.iter().filter_map(|(name, shape)| {
                    let value = given.get(*name)?;
                    Some(format!("\"{name}\":{}", shape.write(value)))
                });
                format!("{{{}}}", present.collect::<Vec<_>>().join(","))
            }
            (Self::List(element), Value::Array(given)) => {
                let written: Vec<_> = given.iter().map(|one| element.write(one)).collect();
                format!("[{}]", written.join(","))
            }
            _ => value.to_string(),
        }
    }
}

fn object(
    members: &[(&'static str, Shape)],
    mut given: Map<String, Value>,
) -> Result<Map<String, Value>, Misshapen> {
    let mut kept = Map::new();
    for (name, shape) in members {
        let value = given.remove(*name).unwrap_or_default();
        match shape.read(value)? {
            Value::Null => {}
            value => drop(kept.insert((*name).to_owned(), value)),
        }
    }
    Ok(kept)
}

fn boolean(value: &Value) -> Result<Value, Misshapen> {
    match value {
        Value::Bool(value) => Ok((*value).into()),
        Value::Number(number) => Ok((number.as_i64().ok_or(Misshapen)? != 0).into()),
        Value::String(text) => match text.trim() {
            "" => Ok(Value::Null),
            "true" | "True" | "TRUE" => Ok(true.into()),
            "false" | "False" | "FALSE" => Ok(false.into()),
            _ => Err(Misshapen),
        },
        _ => Err(Misshapen),
    }
}

fn integer(value: &Value, range: std::ops::RangeInclusive<i64>) -> Result<Value, Misshapen> {
    let number = match value {
        Value::Number(number) => number.as_i64().or_else(|| truncated(number.as_f64()?)),
        Value::String(text) if text.trim().is_empty() => return Ok(Value::Null),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number
        .filter(|number| range.contains(number))
        .map(Value::from)
        .ok_or(Misshapen)
}

/// Drops the fraction, as the service does.
fn truncated(number: f64) -> Option<i64> {
    format!("{:.0}", number.trunc()).parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SHAPE: Shape = Shape::Object(&[
        ("text", Shape::Text),
        ("flag", Shape::Bool),
        ("count", Shape::Integer),
        ("list", Shape::List(&Shape::Text)),
    ]);

    #[test]
    fn unknown_and_null_members_are_dropped_and_scalars_converted() {
        for (given, kept) in [
            (json!({"text": "a", "other": 1}), json!({"text": "a"})),
            (json!({"text": null, "list": null}), json!({})),
            (
                json!({"text": 1.5, "flag": "true", "count": "7"}),
                json!({"text": "1.5", "flag": true, "count": 7}),
            ),
            (
                json!({"text": true, "flag": 0, "count": 1.9}),
                json!({"text": "true", "flag": false, "count": 1}),
            ),
            (json!({"count": "", "flag": ""}), json!({})),
            (json!({"list": ["a", null, 1]}), json!({"list": ["a", null, "1"]})),
        ] {
            assert_eq!(SHAPE.read(given).unwrap(), kept);
        }
    }

    #[test]
    fn other_values_are_refused() {
        for given in [
            json!([]),
            json!("text"),
            json!({"text": {}}),
            json!({"text": []}),
            json!({"flag": "yes"}),
            json!({"count": "many"}),
            json!({"count": 3_000_000_000_i64}),
            json!({"list": "a"}),
        ] {
            assert!(SHAPE.read(given.clone()).is_err(), "{given}");
        }
    }

    #[test]
    fn values_are_written_in_the_order_of_the_shape() {
        let value = json!({"list": ["b", "a"], "count": 1, "text": "x"});
        assert_eq!(SHAPE.write(&value), r#"{"text":"x","count":1,"list":["b","a"]}"#);
    }
}
