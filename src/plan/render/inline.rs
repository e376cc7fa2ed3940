//! Foreign text as inline Markdown that cannot act as markup.

use crate::model::escaped;

/// Returns `text`, escaped, as a code span that it cannot close.
#[must_use]
pub fn code(text: &str) -> String {
    let text = escaped(text).to_string();
    let ticks = "`".repeat(longest_run(&text) + 1);
    // CommonMark strips one space on each side, so that the text may begin or end with a backtick.
    format!("{ticks} {text} {ticks}")
}

/// Returns one line of text with its parts in backticks as code spans. A text with anything but plain words outside of
/// them becomes one code span.
///
/// A forge turns more into links and mentions than CommonMark does (`@name`, `#1`, `www.example.com`, `:smile:`), and
/// does so after it has removed backslashes. Only a code span protects a text.
#[must_use]
pub(super) fn inline(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let is_quoted = |(at, part): (usize, &&str)| match at % 2 {
        0 => is_plain(part),
        _ => !part.is_empty(),
    };
    if parts.len().is_multiple_of(2) || !parts.iter().enumerate().all(is_quoted) {
        return code(text);
    }
    let parts = parts.iter().enumerate();
    parts
        .map(|(at, part)| match at % 2 {
            0 => (*part).to_owned(),
            _ => format!("`{}`", spaced(&escaped(part).to_string())),
        })
        .collect()
}

/// Returns the content of a code span with the spaces that CommonMark would strip.
fn spaced(text: &str) -> String {
    match text.starts_with(' ') && text.ends_with(' ') {
        true => format!(" {text} "),
        false => text.to_owned(),
    }
}

/// Returns whether the text has only words, short numbers, operators and punctuation between them.
fn is_plain(text: &str) -> bool {
    const OPERATORS: [&str; 10] = [">", ">=", "<", "<=", "=", "!=", "→", "·", "…", "%"];
    text.split(' ').all(|word| {
        let inner = word
            .trim_start_matches('(')
            .trim_end_matches([',', '.', ';', ':', ')']);
        let is_number = inner
            .trim_end_matches('%')
            .split(',')
            .all(|part| (1..=6).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit()));
        let is_word = inner
            .split(['-', '\''])
            .all(|part| part.chars().all(char::is_alphabetic) && !is_commit_like(part));
        // `-` alone could begin a list.
        OPERATORS.contains(&inner) || is_number || (is_word && !inner.starts_with('-'))
    })
}

/// Returns whether the word contains seven hexadecimal digits in a row, which a forge could take for the id of a commit.
fn is_commit_like(word: &str) -> bool {
    word.split(|c: char| !c.is_ascii_hexdigit())
        .any(|digits| digits.len() >= 7)
}

pub(super) fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_and_quoted_texts_stay_outside_of_one_code_span() {
        for text in [
            "rule `adults` serves: `off` → split `on` 25%, `off` 75%",
            "condition added: `age` >= `18` (number)",
            "3 changes are more than `max_change_count: 2` allows; if this is intended, pass `--allow-mass-change`",
            "nothing is applied here yet: the service's default",
            "a `<b>@you #1 https://example.com</b>` b",
        ] {
            assert_eq!(inline(text), text);
        }
        for text in [
            "see @you",
            "fixes #1",
            "https://example.com",
            "www.example.com",
            "a:b",
            ":smile:",
            "<b>",
            "*x*",
            "a_b_c",
            "[x](y)",
            "JIRA-1",
            "GH-1",
            "~label",
            "deadbeef",
            "deadbeef's",
            "deadbeefé",
            "deadbeefword",
            "a-deadbeef",
            "1234567",
            "a\u{202e}b",
            "a ` b",
            "a `` b",
            "!12",
            "&amp;",
            "\\",
            "| a | b |",
            "me@example.com",
        ] {
            assert_eq!(inline(text), code(text), "{text}");
        }
        assert_eq!(inline("` x ` is padded"), "`  x  ` is padded");
    }

    #[test]
    fn a_code_span_has_a_longer_fence_than_its_text() {
        assert_eq!(code("a"), "` a `");
        assert_eq!(code("`a``"), "``` `a`` ```");
    }
}
