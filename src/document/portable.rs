//! Finds what not all SDKs read alike in a regular expression that the `regex` crate accepts.
//!
//! What remains is portable: literal text, `^ $ . | ( ) (?: )`, classes and their ranges, `* + ? {n,m}` and
//! their lazy forms, and the escapes of ASCII punctuation and of `\n`, `\r`, `\t`.

/// A part of a pattern that is not portable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Construct {
    Codes,
    End,
    Flags,
    LongCount,
    NamedClass,
    NamedGroup,
    NamedGroupP,
    Nested,
    Possessive,
    Properties,
    RareFlags,
    SetOperation,
    Spaces,
    Start,
    Unknown,
    Verbose,
    Words,
}

/// Returns the first part that is not portable, with its text.
pub(super) fn first_not_portable(pattern: &str) -> Option<(Construct, &str)> {
    let mut at = 0;
    let mut is_repeated = false;
    while let Some(c) = pattern[at..].chars().next() {
        let rest = &pattern[at..];
        let (length, found) = match c {
            '\\' => escape(rest),
            '(' if rest.starts_with("(?") => group(rest),
            '[' => class(rest),
            '{' => count(rest),
            _ => (c.len_utf8(), None),
        };
        if let Some(construct) = found {
            return Some((construct, &rest[..length]));
        }
        let repeats = matches!(c, '*' | '+' | '{') || c == '?' && !is_repeated;
        if is_repeated && repeats {
            return Some((Construct::Possessive, &rest[..length]));
        }
        is_repeated = repeats;
        at += length;
    }
    None
}

/// Returns the length of an escape and what is not portable about it.
fn escape(rest: &str) -> (usize, Option<Construct>) {
    let Some(c) = rest[1..].chars().next() else { return (1, None) };
    let length = 1 + c.len_utf8();
    let found = match c {
        'w' | 'W' | 'd' | 'D' | 'b' | 'B' => Construct::Words,
        's' | 'S' => Construct::Spaces,
        'p' | 'P' => Construct::Properties,
        'A' => Construct::Start,
        'z' => Construct::End,
        'x' if has_hex_digits(&rest[length..], 2) => return (length + 2, None),
        'x' | 'u' | 'U' => Construct::Codes,
        'n' | 'r' | 't' => return (length, None),
        // Word boundaries of the `regex` crate.
        '<' | '>' => Construct::Unknown,
        c if c.is_ascii_punctuation() => return (length, None),
        _ => Construct::Unknown,
    };
    let braces = &rest[length..];
    let length = match braces.strip_prefix('{').and_then(|inner| inner.find('}')) {
        Some(end) => length + end + 2,
        None => length,
    };
    (length, Some(found))
}

fn has_hex_digits(text: &str, count: usize) -> bool {
    text.len() >= count && text.bytes().take(count).all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the length of the beginning of a group with `(?`, and what is not portable about it.
fn group(rest: &str) -> (usize, Option<Construct>) {
    if rest.starts_with("(?:") {
        return (3, None);
    }
    let end = rest.find([')', ':', '>']).map_or(rest.len(), |end| end + 1);
    let flags = rest[2..end].trim_end_matches([')', ':']);
    let construct = match () {
        () if rest.starts_with("(?P<") => Construct::NamedGroupP,
        () if rest.starts_with("(?<") => Construct::NamedGroup,
        () if flags.contains('x') => Construct::Verbose,
        () if flags.chars().all(|flag| matches!(flag, 'i' | 's' | 'm')) => Construct::Flags,
        () => Construct::RareFlags,
    };
    (end, Some(construct))
}

/// Returns the length of a class, or that of the beginning that is not portable.
fn class(rest: &str) -> (usize, Option<Construct>) {
    let mut at = 1 + usize::from(rest[1..].starts_with('^'));
    if rest[at..].starts_with(']') {
        return (at + 1, Some(Construct::Nested));
    }
    while let Some(c) = rest[at..].chars().next() {
        let inner = &rest[at..];
        match c {
            ']' => return (at + 1, None),
            '[' if inner.starts_with("[:") => {
                let end = inner.find(":]").map_or(inner.len(), |end| end + 2);
                return (at + end, Some(Construct::NamedClass));
            }
            '[' => return (at + 1, Some(Construct::Nested)),
            '&' | '-' | '~' if inner[1..].starts_with(c) => return (at + 2, Some(Construct::SetOperation)),
            '\\' => match escape(inner) {
                // A backspace in a class, except to the `regex` crate.
                (length, Some(construct)) => return (at + length, Some(construct)),
                (length, None) => at += length,
            },
            c => at += c.len_utf8(),
        }
    }
    (rest.len(), None)
}

/// Returns the length of a count such as `{2,3}`, and whether it is too large for Go.
fn count(rest: &str) -> (usize, Option<Construct>) {
    const LARGEST: u64 = 1000;
    let Some(end) = rest.find('}') else { return (1, None) };
    let numbers = rest[1..end].split(',').map(|number| number.trim().parse::<u64>());
    let is_large = numbers.flatten().any(|number| number > LARGEST);
    (end + 1, is_large.then_some(Construct::LongCount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_portable_subset_is_not_reported() {
        for pattern in [
            "",
            "^a+$",
            "a.c|(b|c)?",
            "(?:ab)*",
            "[a-z]{2,3}",
            "[^x]+?",
            r"\.\-\\\[",
            r"^[A-Za-z0-9_]+@example\.com$",
            r"[\]\-a]",
            "x{2}?",
            r"\n\t",
            "日本(語)?",
            "[a-]",
            r"\x41",
        ] {
            assert_eq!(first_not_portable(pattern), None, "{pattern}");
            assert!(regex::Regex::new(pattern).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn the_first_part_that_is_not_portable_is_named() {
        for (pattern, construct, part) in [
            ("(?i)^abc$", Construct::Flags, "(?i)"),
            ("a(?i:b)", Construct::Flags, "(?i:"),
            ("(?x) a", Construct::Verbose, "(?x)"),
            ("(?-u)a", Construct::RareFlags, "(?-u)"),
            ("(?U)a+", Construct::RareFlags, "(?U)"),
            (r"^\w+$", Construct::Words, r"\w"),
            (r"[\d.]", Construct::Words, r"[\d"),
            (r"a\b", Construct::Words, r"\b"),
            (r"\s", Construct::Spaces, r"\s"),
            (r"\p{Lu}a", Construct::Properties, r"\p{Lu}"),
            (r"\pL", Construct::Properties, r"\p"),
            ("[[:alpha:]]+", Construct::NamedClass, "[[:alpha:]"),
            ("(?P<n>a)", Construct::NamedGroupP, "(?P<n>"),
            ("(?<n>a)", Construct::NamedGroup, "(?<n>"),
            (r"\Aa", Construct::Start, r"\A"),
            (r"a\z", Construct::End, r"\z"),
            (r"\x{41}", Construct::Codes, r"\x{41}"),
            (r"\u0041", Construct::Codes, r"\u"),
            ("[a-c&&b]", Construct::SetOperation, "[a-c&&"),
            ("[a--b]", Construct::SetOperation, "[a--"),
            ("[a[bc]]", Construct::Nested, "[a["),
            ("[^]a]", Construct::Nested, "[^]"),
            ("a**", Construct::Possessive, "*"),
            ("a++", Construct::Possessive, "+"),
            ("a{2}{3}", Construct::Possessive, "{3}"),
            ("a{1001}", Construct::LongCount, "{1001}"),
            (r"\<a", Construct::Unknown, r"\<"),
        ] {
            assert_eq!(first_not_portable(pattern), Some((construct, part)), "{pattern}");
            assert!(regex::Regex::new(pattern).is_ok(), "{pattern}");
        }
    }
}
