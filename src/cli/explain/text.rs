//! An explanation for a terminal.

use std::fmt::Write as _;

use super::explanation::{ExplainedResult, ExplainedServe, Explanation, MatchResult};
use crate::model::escaped;
use crate::plan::wording::quoted;

/// Returns an explanation as lines of text.
pub(crate) fn text(explanation: &Explanation) -> String {
    let mut out = String::new();
    let user = match &explanation.key {
        Some(key) => format!("the user {}", quoted(key)),
        None => "a user without a key".to_owned(),
    };
    let _ = writeln!(
        out,
        "{} for {user}\n  {}",
        explanation.toggle,
        escaped(&explanation.file)
    );
    trace(&mut out, explanation);
    let by = explanation
        .served_by
        .as_ref()
        .map_or_else(String::new, |by| format!(" by {by}"));
    let _ = writeln!(out, "\n{}{by}", sentence(&explanation.result));
    out
}

fn trace(out: &mut String, explanation: &Explanation) {
    if explanation.disabled {
        let _ = writeln!(out, "  the toggle is disabled");
    }
    for prerequisite in &explanation.prerequisites {
        let reason = after(prerequisite.reason.as_deref());
        let _ = writeln!(
            out,
            "  prerequisite {}: {}{reason}",
            prerequisite.label,
            met(prerequisite.matches)
        );
    }
    for rule in &explanation.rules {
        let _ = writeln!(out, "  {}: {}", rule.label, rule.matches.in_words());
        if rule.matches != MatchResult::NotReached && rule.conditions.is_empty() {
            let _ = writeln!(out, "    it has no conditions, so it matches everyone");
        }
        for condition in &rule.conditions {
            let reason = after(condition.reason.as_deref());
            let _ = writeln!(
                out,
                "    {}: {}{reason}",
                condition.condition,
                condition.matches.in_words()
            );
        }
    }
    for serve in &explanation.serves {
        serves(out, serve);
    }
}

fn met(matches: MatchResult) -> &'static str {
    match matches {
        MatchResult::Matches => "met",
        MatchResult::Differs => "not met",
        MatchResult::CannotSay => "cannot say",
        MatchResult::NotReached => "not reached",
    }
}

fn after(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!("; {reason}"))
}

/// Writes a serve with the ranges of a split.
fn serves(out: &mut String, serve: &ExplainedServe) {
    let _ = write!(out, "  {} serves ", serve.label);
    let _ = match &serve.result.variation {
        Some(variation) => writeln!(out, "{}", quoted(&variation.name)),
        None => writeln!(out, "{}", serve.result.short()),
    };
    if serve.ranges.is_empty() {
        return;
    }
    let bucket = serve
        .bucket
        .map_or_else(|| "random bucket".to_owned(), |bucket| format!("bucket {bucket}"));
    let ranges: Vec<String> = serve
        .ranges
        .iter()
        .map(|range| {
            format!(
                "{} has {} to {}",
                quoted(&range.variation),
                range.from,
                range.to - 1
            )
        })
        .collect();
    let _ = writeln!(out, "    {bucket}: {}", ranges.join(", "));
}

fn sentence(result: &ExplainedResult) -> String {
    match &result.variation {
        Some(variation) => format!(
            "served: {} (value {})",
            quoted(&variation.name),
            quoted(&variation.value)
        ),
        None if result.reason.is_some() => result.short(),
        None => format!("served: {}", result.short()),
    }
}
