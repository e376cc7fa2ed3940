//! The strict check of a request body against `service-api.md`, "Targeting payload".

use serde::{Deserialize, Serialize};

use crate::model::{Content, Rule, Serve};

/// The largest request body, in bytes. A document has at most 1 MiB, and JSON may need more for the same.
pub(super) const LARGEST_BODY: usize = 4 * 1024 * 1024;

/// A request body: exactly these members.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Accepted {
    pub(super) comment: String,
    pub(super) disabled: bool,
    pub(super) content: Content,
}

/// Checks a body. The error is the reason for a refusal.
pub(super) fn check(body: &[u8]) -> Result<Accepted, String> {
    let accepted: Accepted = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    documented(&accepted.content)?;
    Ok(accepted)
}

/// Refuses what the documented API does not have, although it is part of the targeting.
pub(super) fn documented(content: &Content) -> Result<(), String> {
    let Content { rules, disabled_serve, default_serve, variations, prerequisites } = content;
    if prerequisites.is_some() {
        return Err("content: unknown field `prerequisites`".to_owned());
    }
    let check = |place: &str, serve: &Serve| match serve {
        Serve::Select(select) if (*select as usize) < variations.len() => Ok(()),
        Serve::Select(select) => Err(format!(
            "{place}: select {select} is out of range, there are {} variations",
            variations.len()
        )),
        Serve::Split(_) => Err(format!("{place}: unknown field `split`")),
        Serve::Nothing => Err(format!("{place}: missing field `select`")),
    };
    check("content.disabledServe", disabled_serve)?;
    check("content.defaultServe", default_serve)?;
    for (index, Rule { serve, conditions, .. }) in rules.iter().enumerate() {
        check(&format!("content.rules[{index}].serve"), serve)?;
        if conditions.iter().any(|condition| condition.between.is_some()) {
            return Err(format!("content.rules[{index}]: unknown field `leftPredicate`"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"comment":"c","disabled":false,"content":{"rules":[{"name":"r","serve":{"select":0},"conditions":[{"type":"number","subject":"age","predicate":">","objects":["18"]}]}],"disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[{"value":"v","name":"n","description":""}]}}"#;

    #[test]
    fn the_contracts_example_is_accepted() {
        let accepted = check(GOOD.as_bytes()).unwrap();
        assert_eq!(accepted.comment, "c");
        assert_eq!(accepted.content.rules.len(), 1);
    }

    /// The example with the first text replaced by the second is refused for the reason.
    fn refused(cases: &[(&str, &str, &str)]) {
        for (from, to, reason) in cases {
            let error = check(GOOD.replacen(from, to, 1).as_bytes()).err().unwrap();
            assert!(error.contains(reason), "{to}: {error}");
        }
    }

    #[test]
    fn a_missing_unknown_or_repeated_field_is_refused() {
        refused(&[
            (r#""comment":"c","#, "", "missing field `comment`"),
            (r#""disabled":false,"#, "", "missing field `disabled`"),
            (r#""comment":"c""#, r#""comment":"c","comment":"d""#, "duplicate field `comment`"),
            (r#""comment":"c""#, r#""comment":"c","baseVersion":1"#, "unknown field `baseVersion`"),
            (r#""name":"r","#, "", "missing field `name`"),
            (r#""name":"r","#, r#""name":"r","title":"","#, "unknown field `title`"),
            (r#","description":"""#, "", "missing field `description`"),
            (r#""defaultServe":{"select":0}"#, r#""defaultServe":{}"#, "missing field `select`"),
            (
                r#""defaultServe":{"select":0}"#,
                r#""defaultServe":{"split":[10000]}"#,
                "unknown field `split`",
            ),
            (r#""variations":"#, r#""prerequisites":[],"variations":"#, "unknown field `prerequisites`"),
            (
                r#""objects":["18"]"#,
                r#""objects":["18"],"leftPredicate":">","rightPredicate":"<","rightObjects":["65"]"#,
                "unknown field `leftPredicate`",
            ),
        ]);
    }

    #[test]
    fn another_value_or_another_text_is_refused() {
        refused(&[
            (r#""disabled":false"#, r#""disabled":"false""#, "expected a boolean"),
            (r#""disabled":false"#, r#""disabled":null"#, "expected a boolean"),
            (r#"["18"]"#, "[18]", "expected a string"),
            (r#""defaultServe":{"select":0}"#, r#""defaultServe":{"select":1}"#, "select 1 is out of range"),
            (r#""defaultServe":{"select":0}"#, r#""defaultServe":{"select":-1}"#, "invalid value"),
            (r#""defaultServe":{"select":0}"#, r#""defaultServe":{"select":0.0}"#, "expected u32"),
            ("}}", "}} x", "trailing characters"),
        ]);
        assert!(check(b"").is_err());
        assert!(check(b"[]").is_err());
    }
}
