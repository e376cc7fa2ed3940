//! Help texts about keys.

use super::check::{self, Check};

/// The help on a percentage rollout, in any notation.
pub(super) const ROLLOUT: &str =
    "percentage rollouts need `service_kind: featureprobe`: write `split: { \"on\": 25, \"off\": 75 }`";

pub(super) const SERVE_FORMS: &str = "write `{ select: 0 }` or `{ variation: \"name\" }`";

/// What callers see of content that FeatureProbe accepts and then does not deliver (`featureprobe-behaviour.md`,
/// section 5.6).
pub(super) const VANISHES: &str = "the service accepts this, but no longer delivers the toggle: callers get the default value in their code";

/// The same of content that the SDKs cannot decode.
pub(super) const STOPS: &str = "the service accepts this, but its SDKs cannot decode it: no toggle of the environment is updated anymore";

/// The same of content that the SDKs cannot evaluate.
const WRONG: &str = "the service accepts this, but callers get the default value in their code";

/// Returns what callers see if FeatureProbe gets a document that fails `check`, if the service accepts that.
pub(super) fn consequence(check: &Check) -> Option<&'static str> {
    let all = [
        (check::RULE_WITHOUT_SERVE, VANISHES),
        (check::PREREQUISITE_TYPE, VANISHES),
        (check::BETWEEN_FIELDS, STOPS),
        (check::SELECT_NEGATIVE, STOPS),
        (check::UNKNOWN_CONDITION_TYPE, STOPS),
        (check::UNKNOWN_PREDICATE, STOPS),
        (check::SELECT_OUT_OF_RANGE, WRONG),
        (check::SPLIT_SUM, WRONG),
    ];
    all.iter().find(|(one, _)| one == check).map(|(_, text)| *text)
}

/// Returns the help for a finding without more specific help.
pub(super) fn remedy(check: &Check) -> Option<&'static str> {
    let all = [
        (check::DUPLICATE_RULE_NAME, "give each rule its own name"),
        (check::TOO_MANY_FINDINGS, "fix these, then check the file again"),
        (
            check::UNREACHABLE_RULE,
            "move it before that rule, give that rule a condition, or remove one of them",
        ),
        (check::UNUSED_VARIATION, "serve it, or remove it"),
    ];
    all.iter().find(|(one, _)| one == check).map(|(_, text)| *text)
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
        "key" => "name the other toggle, such as `key: new-checkout`",
        "name" => "add a name, such as `name: \"on\"`",
        "objects" => "list the values to compare with, such as `objects: [\"18\"]`",
        "predicate" => "add the comparison, such as `predicate: \">\"`",
        "rules" => "write `rules: []` for none",
        "serve" => "add one, such as `serve: { select: 0 }`",
        "serves" => "name the variation that the user must get, such as `serves: \"on\"`",
        "subject" => "name the attribute to compare, such as `subject: age`",
        "type" => "name the type, such as `type: number`",
        "value" => "add the value to serve, such as `value: \"true\"`",
        "variations" => "list the values to serve, such as `variations: [{ name: \"on\", value: \"true\" }]`",
        _ => "every field is required, because the service does not define defaults",
    }
}

/// Returns the names in backticks.
pub(super) fn quoted(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}
