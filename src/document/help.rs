//! Help texts about keys.

/// The help on a percentage rollout, in any notation.
pub(super) const ROLLOUT: &str = "percentage rollouts need `service_kind: featureprobe`, and this version of gitoggle \
                                  does not send them yet: serve one variation, such as `{ select: 0 }`";

/// Returns the help on a key that is reserved for a later version.
pub(super) fn reserved_key(what: &str, name: &str) -> Option<&'static str> {
    match (what, name) {
        ("a serve", "split") => Some(ROLLOUT),
        ("`content`", "prerequisites") => Some(
            "prerequisites need `service_kind: featureprobe`, and this version of gitoggle does not send them yet: \
             remove the key",
        ),
        _ => None,
    }
}

/// Returns the help on a missing field.
pub(super) fn example(name: &str) -> &'static str {
    match name {
        "conditions" => "write `conditions: []` for a rule that matches everyone",
        "content" => "every document has `disabled` and `content`",
        "defaultServe" => {
            "add the variation to serve when no rule matches, such as `defaultServe: { select: 0 }`"
        }
        "disabled" => "write `disabled: false` or `disabled: true`",
        "disabledServe" => {
            "add the variation to serve while the toggle is disabled, such as `disabledServe: { select: 0 }`"
        }
        "name" => "add a name, such as `name: \"on\"`",
        "objects" => "list the values to compare with, such as `objects: [\"18\"]`",
        "predicate" => "add the comparison, such as `predicate: \">\"`",
        "rules" => "write `rules: []` for none",
        "serve" => "add one, such as `serve: { select: 0 }`",
        "subject" => "name the attribute to compare, such as `subject: age`",
        "type" => "name the kind of condition, such as `type: number`",
        "value" => "add the value to serve, such as `value: \"true\"`",
        "variations" => "list the values to serve, such as `variations: [{ name: \"on\", value: \"true\" }]`",
        _ => "every field is required, because the service does not define defaults",
    }
}

/// Returns the names in backticks.
pub(super) fn quoted(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}
