//! Reads one part of a pattern: its length, and what is not portable about it.

use std::ops::Range;

use regex::Regex;

use super::construct::Construct;

/// Returns the length of an escape and what is not portable about it.
pub(super) fn escape(rest: &str) -> (usize, Option<Construct>) {
    let Some(c) = rest[1..].chars().next() else { return (1, None) };
    let length = 1 + c.len_utf8();
    let inner = rest[length..].strip_prefix('{');
    let until =
        |count: usize| rest[length..].char_indices().nth(count).map_or(rest.len(), |(at, _)| length + at);
    let has_word = inner.is_some_and(|inner| inner.starts_with(|c: char| c.is_ascii_alphabetic()));
    let found = match c {
        // Word boundaries of the `regex` crate.
        'b' if has_word => Construct::Unknown,
        'w' => return (length, Some(Construct::Word)),
        'W' => return (length, Some(Construct::NotWord)),
        'd' => return (length, Some(Construct::Digit)),
        'D' => return (length, Some(Construct::NotDigit)),
        'b' | 'B' => return (length, Some(Construct::Border)),
        's' => return (length, Some(Construct::Space)),
        'S' => return (length, Some(Construct::NotSpace)),
        'p' | 'P' => match inner.and_then(|inner| Some(&inner[..end(inner, b'}')?])) {
            Some(name) => property(name),
            None => return (until(1), Some(property(&rest[length..until(1)]))),
        },
        'A' => return (length, Some(Construct::Start)),
        'z' => return (length, Some(Construct::End)),
        '0' => return octal(&rest[length..]),
        'c' if rest[length..].starts_with(|c: char| c.is_ascii_uppercase()) => {
            return (length + 1, Some(Construct::ControlCode));
        }
        'e' | 'h' | 'H' => return (length, Some(Construct::JavaEscape)),
        'Q' => {
            let end = rest.find("\\E").map_or(rest.len(), |end| end + 2);
            return (end, Some(Construct::QuotedText));
        }
        'Z' => return (length, Some(Construct::TextEnd)),
        'x' if has_hex_digits(&rest[length..], 2) => return (length + 2, None),
        'u' | 'U' if inner.is_some() => Construct::RustCode,
        'u' => return (until(4), Some(Construct::ShortCode)),
        'U' => return (until(8), Some(Construct::LongCode)),
        'x' => Construct::BracedCode,
        'f' | 'n' | 'r' | 't' | ' ' => return (length, None),
        'a' => return (length, Some(Construct::Bell)),
        'v' => return (length, Some(Construct::VerticalTab)),
        'k' => {
            let name = rest[length..].strip_prefix('<').and_then(|name| end(name, b'>'));
            return match name {
                Some(end) => (length + end + 2, Some(Construct::NamedReference)),
                None => (length, Some(Construct::Unknown)),
            };
        }
        // Elsewhere than in a class, its group decides.
        '1'..='9' => return (length, Some(Construct::ClassReference)),
        // Word boundaries of the `regex` crate.
        '<' | '>' => return (length, Some(Construct::Unknown)),
        c if c.is_ascii_punctuation() => return (length, None),
        _ => return (length, Some(Construct::Unknown)),
    };
    let length = match inner.and_then(|inner| end(inner, b'}')) {
        Some(end) => length + end + 2,
        None => length,
    };
    (length, Some(found))
}

/// Returns the length of a character by its octal number, whose digits follow `\0`, and what is not portable about it.
fn octal(digits: &str) -> (usize, Option<Construct>) {
    let count = digits.bytes().take_while(|digit| matches!(digit, b'0'..=b'7')).count();
    // Java reads three digits up to `\0377`.
    let (length, construct) = match count {
        0 => (0, Construct::NullCode),
        1 | 2 => (count, Construct::OctalCode),
        _ if digits.starts_with(['0', '1', '2', '3']) => (3, Construct::LongOctalCode),
        _ => (2, Construct::OctalCode),
    };
    ("\\0".len() + length, Some(construct))
}

/// Returns where a name or a count ends with this bracket. One that is far away is not of the same part, and would be
/// searched for from each of many.
fn end(text: &str, bracket: u8) -> Option<usize> {
    const FARTHEST: usize = 100;
    text.bytes().take(FARTHEST).position(|byte| byte == bracket)
}

/// Returns which SDKs know the name in `\p{name}`.
fn property(name: &str) -> Construct {
    const CATEGORIES: &[(char, &str)] = &[
        ('C', "cfnos"),
        ('L', "lmotuC"),
        ('M', "cen"),
        ('N', "dlo"),
        ('P', "cdefios"),
        ('S', "ckmo"),
        ('Z', "lps"),
    ];
    const POSIX: &[&str] = &[
        "ASCII", "Alnum", "Alpha", "Blank", "Cntrl", "Digit", "Graph", "Lower", "Print", "Punct", "Space",
        "Upper", "XDigit",
    ];
    const KEYS: &[&str] = &["blk", "block", "gc", "general_category", "sc", "script"];
    let is_category = CATEGORIES.iter().any(|(group, kinds)| {
        name.strip_prefix(*group)
            .is_some_and(|kind| kind.len() <= 1 && (kind.is_empty() || kinds.contains(kind)))
    });
    let is = |key: &str| Regex::new(&format!("\\p{{{key}={name}}}")).is_ok();
    match name.split_once('=') {
        _ if is_category => Construct::PropertyOfCategory,
        None if POSIX.contains(&name) => Construct::PropertyOfPosix,
        Some((key, _)) if KEYS.contains(&key.to_lowercase().as_str()) => Construct::PropertyOfJava,
        None if name.starts_with("Is") => Construct::PropertyOfJava,
        None if name.to_lowercase().starts_with("is") => Construct::PropertyOfRust,
        None if is("script") || is("general_category") => Construct::PropertyOfScript,
        _ => Construct::PropertyOfRust,
    }
}

fn has_hex_digits(text: &str, count: usize) -> bool {
    text.len() >= count && text.bytes().take(count).all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the length of the beginning of a group with `(?`, and what is not portable about it.
/// `is_start` says that there are only flags before it.
pub(super) fn group(rest: &str, is_start: bool) -> (usize, Option<Construct>) {
    if rest.starts_with("(?:") {
        return (3, None);
    }
    if let Some(start) = look_around(rest) {
        return (start.len(), Some(Construct::LookAround));
    }
    if rest.starts_with("(?>") {
        return (3, Some(Construct::AtomicGroup));
    }
    if rest.starts_with("(?#")
        && let Some(end) = rest.find(')')
    {
        return (end + 1, Some(Construct::Comment));
    }
    if rest.starts_with("(?P=") {
        let end = rest.find(')').map_or(rest.len(), |end| end + 1);
        return (end, Some(Construct::NamedReferenceP));
    }
    let end = rest.find([')', ':', '>']).map_or(rest.len(), |end| end + 1);
    let flags = rest[2..end].trim_end_matches([')', ':']);
    let is_usual = flags.chars().all(|flag| matches!(flag, 'i' | 's' | 'm' | '-'));
    let construct = match () {
        () if rest.starts_with("(?P<") => Construct::NamedGroupP,
        () if rest.starts_with("(?<") => Construct::NamedGroup,
        () if flags.contains('x') => Construct::Verbose,
        // Python knows it for a group only.
        () if is_usual && flags.contains('-') && rest[..end].ends_with(')') => Construct::NegativeFlags,
        () if is_usual && !is_start && rest[..end].ends_with(')') => Construct::LateFlags,
        () if is_usual && flags.split('-').next().is_some_and(|set| set.contains('m')) => {
            Construct::MultiLine
        }
        () if is_usual && flags != "i" => Construct::LineFlags,
        () if is_usual => Construct::Flags,
        () => Construct::RareFlags,
    };
    (end, Some(construct))
}

/// Returns the name of a group that has one, at its beginning.
pub(super) fn group_name(start: &str) -> Option<&str> {
    let name = start.strip_prefix("(?P<").or_else(|| start.strip_prefix("(?<"))?;
    name.strip_suffix('>')
}

/// Returns how a look-ahead or look-behind begins, if `rest` begins with one.
pub(super) fn look_around(rest: &str) -> Option<&'static str> {
    ["(?=", "(?!", "(?<=", "(?<!"].into_iter().find(|start| rest.starts_with(start))
}

/// Returns the length of a class, and what is not portable about it, each with where it is.
pub(super) fn class(rest: &str) -> (usize, Vec<(Construct, Range<usize>)>) {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(c) = rest[at..].chars().next() {
        let inner = &rest[at..];
        let start = at;
        match c {
            '[' if depth > 0 && inner.starts_with("[:") => {
                at += inner.find(":]").map_or(inner.len(), |end| end + 2);
                let name = rest[start..at].trim_matches(['[', ']', ':', '^']);
                let is_known = POSIX_CLASSES.contains(&name);
                let construct = if is_known { Construct::NamedClass } else { Construct::UnknownNamedClass };
                found.push((construct, start..at));
            }
            '[' => {
                depth += 1;
                at += 1 + usize::from(inner[1..].starts_with('^'));
                if depth > 1 {
                    found.push((Construct::Nested, start..at));
                }
                // A first bracket is a character.
                if rest[at..].starts_with(']') {
                    at += 1;
                    found.push((Construct::FirstBracket, start..at));
                }
            }
            ']' => {
                depth -= 1;
                at += 1;
                if depth == 0 {
                    // `[\s\S]` is any character, to all SDKs.
                    for (one, other) in ANY {
                        if [one, other].iter().all(|half| found.iter().any(|(found, _)| found == *half)) {
                            found.retain(|(found, _)| found != one && found != other);
                        }
                    }
                    return (at, found);
                }
            }
            '&' | '-' | '~' if inner[1..].starts_with(c) => {
                at += 2;
                let before = rest[..start].trim_end_matches('^');
                let is_half = before.ends_with('[') || rest[at..].starts_with(']');
                found.push((
                    match c {
                        '&' if is_half => Construct::EmptyIntersection,
                        '&' => Construct::Intersection,
                        '-' => Construct::SetDifference,
                        _ => Construct::SetOperation,
                    },
                    start..at,
                ));
            }
            '\\' => {
                // A backspace in a class, except to the `regex` crate.
                let (length, construct) = match escape(inner) {
                    (_, Some(Construct::QuotedText | Construct::TextEnd)) => (2, Some(Construct::Unknown)),
                    read => read,
                };
                at += length;
                found.extend(construct.map(|construct| (construct, start..at)));
            }
            c => {
                at += c.len_utf8();
                found.extend(is_astral(c).then_some((Construct::Astral, start..at)));
            }
        }
    }
    (rest.len(), found)
}

/// The names of classes such as `[:alpha:]`.
const POSIX_CLASSES: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// What is any character together.
const ANY: &[(Construct, Construct)] = &[
    (Construct::Digit, Construct::NotDigit),
    (Construct::Space, Construct::NotSpace),
    (Construct::Word, Construct::NotWord),
];

/// Returns the length of a count such as `{2,3}`, and what is not portable about it.
pub(super) fn count(rest: &str) -> (usize, Option<Construct>) {
    let Some(end) = end(rest, b'}') else { return (1, None) };
    let inner = &rest[1..end];
    let mut numbers = inner.split(',').filter_map(|number| number.trim().parse::<u64>().ok());
    let construct = match () {
        () if inner.contains(char::is_whitespace) => Some(Construct::BlankCount),
        () if numbers.any(|number| number > LARGEST) => Some(Construct::LongCount),
        () if inner.split(',').any(|number| number.len() > 1 && number.starts_with('0')) => {
            Some(Construct::PaddedCount)
        }
        () => None,
    };
    (end + 1, construct)
}

/// The largest count that Go accepts, also for all counts together that are in each other.
pub(super) const LARGEST: u64 = 1000;

pub(super) fn is_astral(c: char) -> bool {
    c.len_utf16() > 1
}
