//! The parts of pages that show text from elsewhere, commands, differences and times.

use maud::{Markup, html};

use crate::model::{escaped, rfc3339};

/// Returns text from elsewhere with its control, bidirectional and line-break characters escaped. The
/// templates escape what HTML would interpret.
pub(crate) fn safe(text: &str) -> String {
    escaped(text).to_string()
}

/// Renders text from elsewhere, with the parts between backticks as code.
pub(crate) fn prose(text: &str) -> Markup {
    let safe = safe(text);
    let parts: Vec<_> = safe.split('`').collect();
    // A backtick without a second one is only a character.
    let is_paired = parts.len() % 2 == 1;
    html! {
        @for (position, part) in parts.iter().enumerate() {
            @if !is_paired { @if position > 0 { "`" } (part) }
            @else if position % 2 == 1 { code { (part) } }
            @else { (part) }
        }
    }
}

/// Renders a command with a button that copies it. Lines stay as they are.
pub(crate) fn command(text: &str) -> Markup {
    let lines: Vec<_> = text.lines().map(safe).collect();
    html! {
        div.command {
            code tabindex="0" { (lines.join("\n")) }
            button.copy type="button" data-copy { "Copy" }
        }
    }
}

/// Renders the lines of a unified diff, each with its sign. `label` names the diff for screen readers.
pub(crate) fn diff(label: &str, lines: &[String]) -> Markup {
    let class = |line: &str| match line.as_bytes().first() {
        Some(b'+') => "add",
        Some(b'-') => "del",
        Some(b'@') => "hunk",
        _ => "same",
    };
    html! {
        // It scrolls, so the keyboard must reach it.
        pre.diff tabindex="0" role="region" aria-label=(safe(label)) {
            @for line in lines { span class=(class(line)) { (safe(line)) "\n" } }
        }
    }
}

/// Renders a time in seconds since 1970-01-01 UTC, relative to `now`. The script keeps it up to date.
pub(crate) fn time(seconds: i64, now: i64) -> Markup {
    let exact = rfc3339(seconds);
    html! { time datetime=(exact) title=(exact) { (relative(seconds, now)) } }
}

/// Returns a time relative to `now` in words, such as `5 min ago` or `in 20 s`. The script's `relative` is
/// the same.
fn relative(seconds: i64, now: i64) -> String {
    let distance = now.saturating_sub(seconds);
    let amount = match distance.unsigned_abs() {
        0..2 => return "now".to_owned(),
        seconds @ 2..100 => format!("{seconds} s"),
        seconds @ 100..5_400 => format!("{} min", (seconds + 30) / 60),
        seconds @ 5_400..172_800 => format!("{} h", (seconds + 1_800) / 3_600),
        seconds => format!("{} days", (seconds + 43_200) / 86_400),
    };
    if distance > 0 { format!("{amount} ago") } else { format!("in {amount}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_relative_in_the_largest_unit_that_is_precise_enough() {
        for (distance, words) in [
            (0, "now"),
            (1, "now"),
            (-20, "in 20 s"),
            (99, "99 s ago"),
            (100, "2 min ago"),
            (5_399, "90 min ago"),
            (5_400, "2 h ago"),
            (172_799, "48 h ago"),
            (172_800, "2 days ago"),
            (i64::MAX, "106751991167301 days ago"),
        ] {
            assert_eq!(relative(0, distance), words, "{distance}");
        }
    }

    #[test]
    fn paired_backticks_are_code() {
        for (text, shown) in [
            ("pass `--a` or `b`", "pass <code>--a</code> or <code>b</code>"),
            ("one ` <i>", "one ` &lt;i&gt;"),
            ("`<i>`", "<code>&lt;i&gt;</code>"),
            ("", ""),
        ] {
            assert_eq!(prose(text).into_string(), shown);
        }
    }

    #[test]
    fn text_from_elsewhere_is_escaped() {
        let lines = ["-<b>\u{202e}".to_owned(), "+\"".to_owned()];
        let shown = diff("\"<", &lines).into_string();
        assert!(shown.contains("<span class=\"del\">-&lt;b&gt;\\u{202e}\n</span>"), "{shown}");
        assert!(shown.contains("aria-label=\"&quot;&lt;\""), "{shown}");
        let shown = command("a <b>\n\u{7}").into_string();
        assert!(shown.contains("a &lt;b&gt;\n\\u{7}</code>"), "{shown}");
    }
}
