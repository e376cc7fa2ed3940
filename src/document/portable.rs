//! Finds what not all SDKs read alike in a regular expression that the `regex` crate accepts.
//!
//! What remains is portable: literal text, `^ $ . | ( ) (?: )`, classes and their ranges, `* + ? {n,m}` and
//! their lazy forms, and the escapes of ASCII punctuation and of `\n`, `\r`, `\t`.

use std::ops::Range;

use regex::Regex;

/// A part of a pattern that is not portable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Construct {
    Astral,
    Backreference,
    BlankCount,
    Border,
    /// `\x{41}`
    BracedCode,
    Digit,
    End,
    FirstBracket,
    Flags,
    /// A letter beyond ASCII after a flag that ignores the case.
    FoldedCase,
    LateFlags,
    LineFlags,
    /// `\U00000041`
    LongCode,
    LongCount,
    LookAround,
    NamedClass,
    NamedGroup,
    NamedGroupP,
    NegativeFlags,
    Nested,
    NotDigit,
    NotSpace,
    NotWord,
    Possessive,
    /// `\p{Lu}`
    PropertyOfCategory,
    /// `\p{IsGreek}`
    PropertyOfJava,
    /// `\p{Alphabetic}`
    PropertyOfRust,
    /// `\p{Greek}`
    PropertyOfScript,
    RareFlags,
    RepeatedPosition,
    /// `\u{41}`
    RustCode,
    SetOperation,
    /// `\u0041`
    ShortCode,
    Space,
    Start,
    Unknown,
    Verbose,
    Word,
}

/// What a repetition would repeat.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Before {
    /// The beginning of a pattern, a group or an alternative.
    Nothing,
    /// A character beyond U+FFFF, which is two in UTF-16.
    Astral,
    /// A character, a class or a group.
    Item,
    /// A position such as `^`.
    Position,
    Repetition,
    /// A repetition with `?`.
    Lazy,
}

/// Returns all parts that are not portable, with their texts, in their order.
pub(super) fn not_portable(pattern: &str) -> Vec<(Construct, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut before = Before::Nothing;
    let mut counts = Counts::default();
    // Whether there are only flags so far, and where one begins that ignores the case.
    let (mut is_start, mut folds) = (true, None);
    while let Some(c) = pattern[at..].chars().next() {
        let rest = &pattern[at..];
        let (length, construct) = match c {
            '\\' => escape(rest),
            '(' if rest.starts_with("(?") => group(rest, is_start),
            '[' => {
                let (length, parts) = class(rest);
                found.extend(parts.into_iter().map(|(construct, part)| (construct, &rest[part])));
                (length, None)
            }
            '{' => count(rest),
            _ => (c.len_utf8(), None),
        };
        let flags = rest[..length].strip_prefix("(?").filter(|_| construct.is_some_and(Construct::is_flags));
        if flags.and_then(|flags| flags.split('-').next()).is_some_and(|set| set.contains('i')) {
            folds.get_or_insert(at);
        }
        is_start &= flags.is_some_and(|flags| flags.ends_with(')'));
        let construct = construct.or(counts.next(&rest[..length]));
        let mut add = |construct| found.push((construct, &rest[..length]));
        construct.into_iter().for_each(&mut add);
        let is_lazy = c == '?' && before == Before::Repetition;
        let repeats = matches!(c, '*' | '+' | '?' | '{');
        before = match (c, before) {
            _ if is_lazy => Before::Lazy,
            (_, Before::Repetition | Before::Lazy) if repeats => {
                add(Construct::Possessive);
                Before::Repetition
            }
            (_, Before::Position) if repeats => {
                add(Construct::RepeatedPosition);
                Before::Repetition
            }
            (_, Before::Astral) if repeats => {
                add(Construct::Astral);
                Before::Repetition
            }
            _ if repeats => Before::Repetition,
            ('(' | '|', _) => Before::Nothing,
            ('^' | '$', _) => Before::Position,
            (c, _) if is_astral(c) => Before::Astral,
            ('\\', _) if rest[1..].starts_with(['b', 'B', 'A', 'z', '<', '>']) => Before::Position,
            _ => Before::Item,
        };
        at += length;
    }
    let folded = folds.and_then(|from| {
        let is_cased = |c: char| !c.is_ascii() && c.to_lowercase().ne(c.to_uppercase());
        let (begin, letter) = pattern[from..].char_indices().find(|(_, c)| is_cased(*c))?;
        Some((Construct::FoldedCase, &pattern[from + begin..from + begin + letter.len_utf8()]))
    });
    found.extend(folded);
    found
}

impl Construct {
    fn is_flags(self) -> bool {
        matches!(
            self,
            Self::Flags
                | Self::LateFlags
                | Self::LineFlags
                | Self::NegativeFlags
                | Self::RareFlags
                | Self::Verbose
        )
    }
}

fn is_astral(c: char) -> bool {
    c.len_utf16() > 1
}

/// Returns the length of an escape and what is not portable about it.
fn escape(rest: &str) -> (usize, Option<Construct>) {
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
        'p' | 'P' => match inner.and_then(|inner| inner.split_once('}')) {
            Some((name, _)) => property(name),
            None => return (until(1), Some(property(&rest[length..until(1)]))),
        },
        'A' => return (length, Some(Construct::Start)),
        'z' => return (length, Some(Construct::End)),
        'x' if has_hex_digits(&rest[length..], 2) => return (length + 2, None),
        'u' | 'U' if inner.is_some() => Construct::RustCode,
        'u' => return (until(4), Some(Construct::ShortCode)),
        'U' => return (until(8), Some(Construct::LongCode)),
        'x' => Construct::BracedCode,
        'f' | 'n' | 'r' | 't' | ' ' => return (length, None),
        '1'..='9' => return (length, Some(Construct::Backreference)),
        // Word boundaries of the `regex` crate.
        '<' | '>' => return (length, Some(Construct::Unknown)),
        c if c.is_ascii_punctuation() => return (length, None),
        _ => return (length, Some(Construct::Unknown)),
    };
    let length = match inner.and_then(|inner| inner.find('}')) {
        Some(end) => length + end + 2,
        None => length,
    };
    (length, Some(found))
}

/// Returns which SDKs know the name in `\p{name}`.
fn property(name: &str) -> Construct {
    const CATEGORIES: &[(char, &str)] = &[
        ('C', "cfnos"),
        ('L', "lmotu"),
        ('M', "cen"),
        ('N', "dlo"),
        ('P', "cdefios"),
        ('S', "ckmo"),
        ('Z', "lps"),
    ];
    const KEYS: &[&str] = &["blk", "block", "gc", "general_category", "sc", "script"];
    let is_category = CATEGORIES.iter().any(|(group, kinds)| {
        name.strip_prefix(*group)
            .is_some_and(|kind| kind.len() <= 1 && (kind.is_empty() || kinds.contains(kind)))
    });
    let is = |key: &str| Regex::new(&format!("\\p{{{key}={name}}}")).is_ok();
    match name.split_once('=') {
        _ if is_category => Construct::PropertyOfCategory,
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
fn group(rest: &str, is_start: bool) -> (usize, Option<Construct>) {
    if rest.starts_with("(?:") {
        return (3, None);
    }
    if let Some(start) = look_around(rest) {
        return (start.len(), Some(Construct::LookAround));
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
        () if is_usual && flags != "i" => Construct::LineFlags,
        () if is_usual => Construct::Flags,
        () => Construct::RareFlags,
    };
    (end, Some(construct))
}

/// Returns how a look-ahead or look-behind begins, if `rest` begins with one.
fn look_around(rest: &str) -> Option<&'static str> {
    ["(?=", "(?!", "(?<=", "(?<!"].into_iter().find(|start| rest.starts_with(start))
}

/// Returns a pattern in which each look-around and back reference is a group or a letter, if it has any: the rest
/// of the pattern is as valid as it is in the SDKs that know them.
pub(super) fn without_references(pattern: &str) -> Option<String> {
    let is_reference = |one: Construct| matches!(one, Construct::LookAround | Construct::Backreference);
    let found: Vec<_> = not_portable(pattern).into_iter().filter(|(one, _)| is_reference(*one)).collect();
    if found.is_empty() {
        return None;
    }
    let (mut out, mut rest) = (String::new(), pattern);
    for (construct, part) in found {
        let (before, after) = rest.split_once(part)?;
        out.push_str(before);
        out.push_str(if construct == Construct::LookAround { "(?:" } else { "a" });
        rest = after;
    }
    Some(out + rest)
}

/// Returns the length of a class, and what is not portable about it, each with where it is.
fn class(rest: &str) -> (usize, Vec<(Construct, Range<usize>)>) {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(c) = rest[at..].chars().next() {
        let inner = &rest[at..];
        let start = at;
        match c {
            '[' if depth > 0 && inner.starts_with("[:") => {
                at += inner.find(":]").map_or(inner.len(), |end| end + 2);
                found.push((Construct::NamedClass, start..at));
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
                    return (at, found);
                }
            }
            '&' | '-' | '~' if inner[1..].starts_with(c) => {
                at += 2;
                found.push((Construct::SetOperation, start..at));
            }
            '\\' => {
                // A backspace in a class, except to the `regex` crate.
                let (length, construct) = escape(inner);
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

/// The largest count that Go accepts, also for all counts together that are in each other.
const LARGEST: u64 = 1000;

/// Follows how often the counts of a pattern repeat a part of it.
#[derive(Default)]
struct Counts {
    /// For each open group, how often its part that is repeated most is.
    open: Vec<u64>,
    /// The same of what a count would repeat.
    last: u64,
}

impl Counts {
    /// Takes the next part of a pattern. Returns that it repeats what is repeated already, too often together.
    fn next(&mut self, part: &str) -> Option<Construct> {
        match part.chars().next() {
            Some('(') => {
                // Flags have no end of their own.
                if !(part.starts_with("(?") && part.ends_with(')')) {
                    self.open.push(1);
                    self.last = 1;
                }
            }
            Some(')') => self.last = self.open.pop().unwrap_or(1),
            Some('{') if part.ends_with('}') => {
                let inner = self.last;
                let numbers = part[1..part.len() - 1].split(',');
                let most = numbers.filter_map(|number| number.trim().parse::<u64>().ok()).max();
                self.last = inner.saturating_mul(most.unwrap_or(1)).max(1);
                self.keep();
                return (inner > 1 && inner <= LARGEST && self.last > LARGEST)
                    .then_some(Construct::LongCount);
            }
            Some('*' | '+' | '?') => {}
            _ => self.last = 1,
        }
        self.keep();
        None
    }

    fn keep(&mut self) {
        if let Some(most) = self.open.last_mut() {
            *most = self.last.max(*most);
        }
    }
}

/// Returns the length of a count such as `{2,3}`, and what is not portable about it.
fn count(rest: &str) -> (usize, Option<Construct>) {
    let Some(end) = rest.find('}') else { return (1, None) };
    let inner = &rest[1..end];
    let mut numbers = inner.split(',').filter_map(|number| number.trim().parse::<u64>().ok());
    let construct = match () {
        () if inner.contains(char::is_whitespace) => Some(Construct::BlankCount),
        () if numbers.any(|number| number > LARGEST) => Some(Construct::LongCount),
        () => None,
    };
    (end + 1, construct)
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
            r"\n\t\f",
            "(?:^)*a",
            "^(a|^b)+?$",
            "日本(語)?",
            "[a-]",
            "(a{50}){20}",
            "((a{10}){10}){10}",
            "(a{50})(b{50}){20}",
            "(?:a{2}b{300}c){3}",
            "(a{500})*(b{3})+",
            r"\x41",
            r"a\ b",
        ] {
            assert_eq!(not_portable(pattern), [], "{pattern}");
            assert!(Regex::new(pattern).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn a_letter_beyond_ascii_whose_case_is_ignored_is_named() {
        for (pattern, letter) in [
            ("(?i)ä", Some("ä")),
            ("a(?is:[à-ü])", Some("à")),
            ("(?i)a", None),
            ("ä(?i)a", None),
            ("(?s)ä", None),
            ("(?-i)ä", None),
            ("(?i)日", None),
        ] {
            let found = not_portable(pattern);
            let found = found.iter().find(|(construct, _)| *construct == Construct::FoldedCase);
            assert_eq!(found.map(|(_, part)| *part), letter, "{pattern}");
        }
    }

    #[test]
    fn the_parts_that_are_not_portable_are_named() {
        for (pattern, construct, part) in [
            ("(?i)^abc$", Construct::Flags, "(?i)"),
            ("a(?i:b)", Construct::Flags, "(?i:"),
            ("(?x) a", Construct::Verbose, "(?x)"),
            ("(?-u)a", Construct::RareFlags, "(?-u)"),
            ("(?U)a+", Construct::RareFlags, "(?U)"),
            ("(?s).", Construct::LineFlags, "(?s)"),
            ("(?m)^a$", Construct::LineFlags, "(?m)"),
            ("(?is)a", Construct::LineFlags, "(?is)"),
            (r"^\w+$", Construct::Word, r"\w"),
            (r"^\W+$", Construct::NotWord, r"\W"),
            (r"[\d.]", Construct::Digit, r"\d"),
            (r"\D", Construct::NotDigit, r"\D"),
            (r"a\b", Construct::Border, r"\b"),
            (r"a\B", Construct::Border, r"\B"),
            (r"\s", Construct::Space, r"\s"),
            (r"\S", Construct::NotSpace, r"\S"),
            (r"\p{Lu}a", Construct::PropertyOfCategory, r"\p{Lu}"),
            (r"\P{Lu}a", Construct::PropertyOfCategory, r"\P{Lu}"),
            (r"\pLa", Construct::PropertyOfCategory, r"\pL"),
            (r"\p{Greek}a", Construct::PropertyOfScript, r"\p{Greek}"),
            (r"[\P{Old_Italic}a]", Construct::PropertyOfScript, r"\P{Old_Italic}"),
            (r"\p{Letter}", Construct::PropertyOfScript, r"\p{Letter}"),
            (r"\p{IsGreek}", Construct::PropertyOfJava, r"\p{IsGreek}"),
            (r"\p{Script=Greek}", Construct::PropertyOfJava, r"\p{Script=Greek}"),
            (r"\p{sc=Greek}", Construct::PropertyOfJava, r"\p{sc=Greek}"),
            (r"\p{Alphabetic}", Construct::PropertyOfRust, r"\p{Alphabetic}"),
            (r"\p{is_greek}", Construct::PropertyOfRust, r"\p{is_greek}"),
            ("[[:alpha:]]+", Construct::NamedClass, "[:alpha:]"),
            ("(a{50}){50}", Construct::LongCount, "{50}"),
            ("(?:b|a{101}){10}", Construct::LongCount, "{10}"),
            ("((a{2}){30}){20}", Construct::LongCount, "{20}"),
            ("(a{50}b){2}(c(d{2,}){501})", Construct::LongCount, "{501}"),
            ("(?P<n>a)", Construct::NamedGroupP, "(?P<n>"),
            ("(?<n>a)", Construct::NamedGroup, "(?<n>"),
            (r"\Aa", Construct::Start, r"\A"),
            (r"a\z", Construct::End, r"\z"),
            (r"\x{41}", Construct::BracedCode, r"\x{41}"),
            (r"[\u0041a]", Construct::ShortCode, r"\u0041"),
            (r"\u{41}", Construct::RustCode, r"\u{41}"),
            (r"\U{41}", Construct::RustCode, r"\U{41}"),
            (r"\U000000411", Construct::LongCode, r"\U00000041"),
            ("[a-c&&b]", Construct::SetOperation, "&&"),
            ("[a--b]", Construct::SetOperation, "--"),
            ("[a[bc]]", Construct::Nested, "["),
            ("[^]a]", Construct::FirstBracket, "[^]"),
            ("a(?i)b", Construct::LateFlags, "(?i)"),
            ("((?s)a)b", Construct::LateFlags, "(?s)"),
            ("a|(?i)b", Construct::LateFlags, "(?i)"),
            ("a**", Construct::Possessive, "*"),
            ("a++", Construct::Possessive, "+"),
            ("a{2}{3}", Construct::Possessive, "{3}"),
            ("a{1001}", Construct::LongCount, "{1001}"),
            (r"\<a", Construct::Unknown, r"\<"),
            (r"\b{start}a", Construct::Unknown, r"\b{start}"),
            ("(?-i)a", Construct::NegativeFlags, "(?-i)"),
            ("(?-i:a)", Construct::LineFlags, "(?-i:"),
            ("a???", Construct::Possessive, "?"),
            ("a+?+", Construct::Possessive, "+"),
            ("a{2}?*", Construct::Possessive, "*"),
            ("^*a", Construct::RepeatedPosition, "*"),
            ("a$+", Construct::RepeatedPosition, "+"),
            ("a|^{2}", Construct::RepeatedPosition, "{2}"),
            ("a{ 2 , 3 }", Construct::BlankCount, "{ 2 , 3 }"),
        ] {
            assert_eq!(not_portable(pattern).first(), Some(&(construct, part)), "{pattern}");
            assert!(Regex::new(pattern).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn every_part_that_is_not_portable_is_found() {
        for (pattern, parts) in [
            (r"(?i)\w+", &["(?i)", r"\w"][..]),
            (r"(?P<n>a)\p{L}", &["(?P<n>", r"\p{L}"]),
            (r"\d{2}{3}\s*+", &[r"\d", "{3}", r"\s", "+"]),
            (r"[\w&&[^\d]][[:alpha:]]\z", &[r"\w", "&&", "[^", r"\d", "[:alpha:]", r"\z"]),
            (r"\b*", &[r"\b", "*"]),
        ] {
            let found: Vec<&str> = not_portable(pattern).into_iter().map(|(_, part)| part).collect();
            assert_eq!(found, parts, "{pattern}");
            assert!(Regex::new(pattern).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn what_rust_does_not_know_is_named_and_the_rest_of_the_pattern_is_checked() {
        for (pattern, construct, part, rest) in [
            ("^(?=a)", Construct::LookAround, "(?=", "^(?:a)"),
            ("a(?<!b)", Construct::LookAround, "(?<!", "a(?:b)"),
            (r"(a)\1", Construct::Backreference, r"\1", "(a)a"),
            ("a(?=(", Construct::LookAround, "(?=", "a(?:("),
        ] {
            assert_eq!(not_portable(pattern).first(), Some(&(construct, part)), "{pattern}");
            assert!(Regex::new(pattern).is_err(), "{pattern}");
            assert_eq!(without_references(pattern).as_deref(), Some(rest));
        }
        assert_eq!(without_references(r"(?:a)\w"), None);
    }
}
