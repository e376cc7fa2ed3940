//! Text for people: counting, listing, shortening, and the causes of errors.

use super::escaped;

/// Returns `1 document` or `2 documents`; `publish` becomes `publishes`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let ending = if noun.ends_with("sh") { "es" } else { "s" };
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}{ending}"),
    }
}

/// Returns `a, b and c`.
pub(crate) fn listed(items: &[String]) -> String {
    match items.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Returns the end of a message about an unknown name: the similar names, if there are any.
pub(crate) fn similar_names(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", escaped(name))).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!("; similar names: {}", names.join(", ")),
    }
}

/// Cuts `text` to `max_chars` Unicode scalar values, the last of which is an ellipsis if anything was
/// removed.
pub(crate) fn cut(text: &str, max_chars: usize) -> String {
    if text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    let kept = text.chars().take(max_chars.saturating_sub(1));
    kept.chain((max_chars > 0).then_some('…')).collect()
}

/// Returns `text` for HTML, in elements and quoted attributes, with harmful characters escaped.
pub(crate) fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in escaped(text).to_string().chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// Returns the bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns an error and its causes on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    plain(&causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}")))
}

/// Returns the text of an error without what only its library needs: ` (os error 2)` of the standard library,
/// its words for a failed lookup of a host, and the temporary file that `tempfile` names.
pub(crate) fn plain(text: &str) -> String {
    let text = text.replace("failed to lookup address information: ", "");
    let text = without(&text, " (os error ", ")", |number| number.bytes().all(|byte| byte.is_ascii_digit()));
    without(&text, " at path \"", "\"", |_| true)
}

/// Removes each part of `text` between `begin` and `end`, both included, whose inner text is `removed`.
fn without(text: &str, begin: &str, end: &str, removed: impl Fn(&str) -> bool) -> String {
    let mut parts = text.split(begin);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(end) {
            Some((inner, rest)) if removed(inner) => kept.push_str(rest),
            _ => kept.extend([begin, part]),
        }
    }
    kept
}

/// Whether to use terminal colors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Color {
    /// With escape sequences, for a terminal.
    Always,
    /// Without, for a file or a pipe.
    Never,
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn the_additions_of_libraries_to_an_error_are_left_out() {
        for (text, plain) in [
            ("Permission denied (os error 13)", "Permission denied"),
            ("a: No such file (os error 2): b (os error 28)", "a: No such file: b"),
            ("an (os error x) stays", "an (os error x) stays"),
            ("No such file or directory at path \"/proc/.tmpQ\"", "No such file or directory"),
            ("failed to lookup address information: Name or service not known", "Name or service not known"),
            ("cut (os error 1", "cut (os error 1"),
        ] {
            assert_eq!(super::plain(text), plain);
        }
        let error = io::Error::from_raw_os_error(28);
        assert!(!chain(&error).contains("os error"));
    }

    #[test]
    fn one_is_singular_and_every_other_number_is_plural() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "file")), ["0 files", "1 file", "2 files"]);
        assert_eq!(counted(2, "publish"), "2 publishes");
    }

    #[test]
    fn a_list_has_commas_and_one_and() {
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([0, 1, 2, 3].map(|count| listed(&items[..count])), ["", "a", "a and b", "a, b and c"]);
    }

    #[test]
    fn a_cut_text_ends_in_an_ellipsis_within_the_limit() {
        for (limit, expected) in [(0, ""), (1, "…"), (4, "naï…"), (5, "naïve"), (6, "naïve")] {
            assert_eq!(cut("naïve", limit), expected, "{limit}");
        }
    }

    #[test]
    fn html_has_no_markup_of_the_text() {
        assert_eq!(html("<a title='\"&\n"), "&lt;a title=&#39;&quot;&amp;\\n");
    }
}
