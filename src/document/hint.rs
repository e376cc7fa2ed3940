//! Small readings and wordings that the shape of a document needs.

/// What a plain scalar is as an index.
pub(super) enum Integer {
    Index(u32),
    Negative,
    No,
    TooLarge,
}

/// Reads a plain scalar by the core schema of YAML 1.2: decimal with an optional sign, `0x` or `0o`. Leading zeros are
/// refused, because other readers of YAML take them for octal.
pub(super) fn integer(text: &str) -> Integer {
    let is_negative = text.starts_with('-');
    let (digits, radix) = [("0x", 16), ("0o", 8)]
        .into_iter()
        .find_map(|(prefix, radix)| Some((text.strip_prefix(prefix)?, radix)))
        .unwrap_or((text.strip_prefix(['+', '-']).unwrap_or(text), 10));
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Integer::No;
    }
    if radix == 10 && digits.len() > 1 && digits.starts_with('0') {
        return Integer::No;
    }
    if is_negative {
        return Integer::Negative;
    }
    u32::from_str_radix(digits, radix).map_or(Integer::TooLarge, Integer::Index)
}

/// What to do about a percentage rollout, in whatever way it is written.
pub(super) const ROLLOUT: &str = "percentage rollouts need `service_kind: featureprobe`, and this version of gitoggle \
                                  does not send them yet: serve one variation, such as `{ select: 0 }`";

/// Returns what to do about a key that is known, but not in this place or not yet.
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

/// Lists names as a sentence does.
pub(super) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// What to write for a field that is missing.
pub(super) fn example(name: &str) -> &'static str {
    match name {
        "conditions" => "write `conditions: []` for a rule that matches everyone",
        "content" => "every document states `disabled` and `content`",
        "defaultServe" => "say what is served when no rule matches, such as `defaultServe: { select: 0 }`",
        "disabled" => "write `disabled: false` or `disabled: true`",
        "disabledServe" => {
            "say what is served while the toggle is disabled, such as `disabledServe: { select: 0 }`"
        }
        "name" => "give it a name, such as `name: \"on\"`",
        "objects" => "say what to compare with, such as `objects: [\"18\"]`",
        "predicate" => "say how to compare, such as `predicate: \">\"`",
        "rules" => "write `rules: []` for none",
        "serve" => "add one, such as `serve: { select: 0 }`",
        "subject" => "name the attribute to examine, such as `subject: age`",
        "type" => "name the kind of condition, such as `type: number`",
        "value" => "say what is served, such as `value: \"true\"`",
        "variations" => "list what can be served, such as `variations: [{ name: \"on\", value: \"true\" }]`",
        _ => "every field is stated, because the service does not say what a missing one means",
    }
}
