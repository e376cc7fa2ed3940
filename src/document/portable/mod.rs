//! Finds what not all SDKs read alike in a regular expression that the `regex` crate accepts.
//!
//! What remains is portable: literal text, `^ $ . | ( ) (?: )`, classes and their ranges, `* + ? {n,m}` and
//! their lazy forms, and the escapes of ASCII punctuation and of `\n`, `\r`, `\t`.

mod construct;
mod counts;
mod groups;
mod look_behind;
mod part;
mod texts;

pub(super) use construct::Construct;
use counts::Counts;
use groups::Groups;
use look_behind::LookBehinds;
use part::{class, count, escape, group, group_name, is_astral};
use texts::Texts;

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

impl Before {
    /// Returns what a part is that begins with `c`, as what a repetition behind it would repeat.
    fn of(c: char, part: &str) -> Self {
        match c {
            '*' | '+' | '?' | '{' => Self::Repetition,
            '(' | '|' => Self::Nothing,
            '^' | '$' => Self::Position,
            c if is_astral(c) => Self::Astral,
            '\\' if part[1..].starts_with(['b', 'B', 'A', 'z', 'Z', '<', '>']) => Self::Position,
            _ => Self::Item,
        }
    }

    /// Returns what is not portable if this is repeated.
    fn repeated(self) -> Option<Construct> {
        match self {
            Self::Repetition | Self::Lazy => Some(Construct::Possessive),
            Self::Position => Some(Construct::RepeatedPosition),
            Self::Astral => Some(Construct::Astral),
            Self::Nothing | Self::Item => None,
        }
    }
}

/// Returns all parts that are not portable, with their texts, in their order.
pub(super) fn not_portable(pattern: &str) -> Vec<(Construct, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut before = Before::Nothing;
    let mut counts = Counts::default();
    let mut groups = Groups::default();
    let mut texts = Texts::default();
    let mut look_behinds = LookBehinds::default();
    // Whether there are only flags so far, and where one begins that ignores the case.
    let (mut is_start, mut folds) = (true, None);
    let mut is_verbose = false;
    while let Some(c) = pattern[at..].chars().next() {
        let rest = &pattern[at..];
        let (length, construct) = match c {
            '\\' => match groups.reference(rest, found.len()) {
                Some((length, construct)) => (length, Some(construct)),
                None => escape(rest),
            },
            '(' if rest.starts_with("(?") => group(rest, is_start),
            '[' => {
                let (length, parts) = class(rest);
                found.extend(parts.into_iter().map(|(construct, part)| (construct, &rest[part])));
                let is_skipped = |c: char| c.is_whitespace() || c == '#';
                let skipped = is_verbose && rest[..length].contains(is_skipped);
                (length, skipped.then_some(Construct::VerboseClass))
            }
            '{' => count(rest),
            _ => (c.len_utf8(), None),
        };
        let flags = rest[..length].strip_prefix("(?").filter(|_| construct.is_some_and(Construct::is_flags));
        let set = flags.and_then(|flags| flags.split('-').next()).unwrap_or_default();
        if set.contains('i') {
            folds.get_or_insert(at);
        }
        is_verbose |= set.contains('x');
        groups.next(&rest[..length], flags.is_some(), &rest[length..]);
        texts.next(&rest[..length], set, &rest[length..]);
        is_start &= flags.is_some_and(|flags| flags.ends_with(')'));
        let construct = construct.or(counts.next(&rest[..length]));
        let mut add = |construct| found.push((construct, &rest[..length]));
        construct.into_iter().for_each(&mut add);
        if construct == Some(Construct::LookAround) && rest.starts_with("(?<") {
            look_behinds.next(pattern, at + length).for_each(&mut add);
        }
        let name = group_name(&rest[..length]).unwrap_or_default();
        match name.chars().find(|c| !c.is_ascii_alphanumeric()) {
            _ if !name.is_ascii() => add(Construct::GroupNameBeyondAscii),
            Some('_') => add(Construct::GroupName),
            Some(_) => add(Construct::Unknown),
            None => {}
        }
        let is_lazy = c == '?' && before == Before::Repetition;
        if matches!(c, '*' | '+' | '?' | '{') && !is_lazy {
            before.repeated().into_iter().for_each(&mut add);
        }
        before = if is_lazy { Before::Lazy } else { Before::of(c, rest) };
        at += length;
    }
    let folded = folds.and_then(|from| {
        let is_cased = |c: char| !c.is_ascii() && c.to_lowercase().ne(c.to_uppercase());
        let (begin, letter) = pattern[from..].char_indices().find(|(_, c)| is_cased(*c))?;
        Some((Construct::FoldedCase, &pattern[from + begin..from + begin + letter.len_utf8()]))
    });
    found.extend(folded);
    found.extend(folds.into_iter().flat_map(|from| folded_ascii(&pattern[from..])));
    groups.resolve(&mut found);
    found.extend(texts.found());
    found
}

/// Returns the first letters of ASCII that stand for others, too, if their case is ignored.
fn folded_ascii(text: &str) -> impl Iterator<Item = (Construct, &str)> {
    let has = |from: char, to: char, letter: char| {
        (from..=to).contains(&letter) || (from..=to).contains(&letter.to_ascii_uppercase())
    };
    let is_letter = |c: char| c.is_ascii_alphanumeric();
    let mut found = [(Construct::FoldedKOrS, None), (Construct::FoldedI, None)];
    let mut last = [None; 2];
    // The flags themselves are no text.
    let begin = text.find([')', ':']).map_or(text.len(), |end| end + 1);
    let mut skipped = 0;
    for (at, c) in text[begin..].char_indices().map(|(at, c)| (begin + at, c)) {
        // Flags, names of groups and names of properties are no text.
        let rest = &text[at..];
        let ends: &[char] = match rest {
            _ if at < skipped => continue,
            _ if rest.starts_with("(?") => &[')', ':', '>', '=', '!'],
            _ if rest.starts_with("\\p{") || rest.starts_with("\\P{") => &['}'],
            _ => &[],
        };
        if !ends.is_empty() {
            skipped = at + rest.find(ends).map_or(rest.len(), |end| end + 1);
            last = [None; 2];
            continue;
        }
        let (from, start) = match last {
            [Some((start, from)), Some((_, '-'))] if is_letter(from) && is_letter(c) => (from, start),
            _ => (c, at),
        };
        let is_escape = matches!(last[1], Some((_, '\\')));
        let part = &text[start..at + c.len_utf8()];
        if !is_escape && is_letter(c) {
            let [(_, k_or_s), (_, i)] = &mut found;
            if has(from, c, 'k') || has(from, c, 's') {
                k_or_s.get_or_insert(part);
            }
            if has(from, c, 'i') {
                i.get_or_insert(part);
            }
        }
        last = [last[1], Some((at, c))];
    }
    found.into_iter().filter_map(|(construct, part)| Some((construct, part?)))
}

/// Returns a pattern in which each part that Rust does not know is a group or a letter, if it has any: the rest
/// of the pattern is as valid as it is in the SDKs that know them.
pub(super) fn without_references(pattern: &str) -> Option<String> {
    let found = not_portable(pattern).into_iter().filter(|(one, _)| one.is_beyond_rust());
    // What more there is to say of a look-behind has the same place.
    let is_more = |one| matches!(one, Construct::LookBehindOfGroup | Construct::VariableLookBehind);
    let found: Vec<_> = found.filter(|(one, _)| !is_more(*one)).collect();
    if found.is_empty() {
        return None;
    }
    let (mut out, mut rest) = (String::new(), pattern);
    for (construct, part) in found {
        let (before, after) = rest.split_once(part)?;
        out.push_str(before);
        out.push_str(match construct {
            Construct::AtomicGroup | Construct::LookAround => "(?:",
            Construct::Comment => "",
            _ => "a",
        });
        rest = after;
    }
    Some(out + rest)
}

/// Returns what a pattern has that Rust does not know.
pub(super) fn beyond_rust(pattern: &str) -> Vec<Construct> {
    not_portable(pattern).into_iter().map(|(one, _)| one).filter(|one| one.is_beyond_rust()).collect()
}

#[cfg(test)]
mod tests {
    use regex::Regex;

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
            r"[\s\S]*",
            r"^[^\d\D]",
            // The texts may have line breaks, but these parts of the pattern do not say so.
            r"^a[ \t\r\n]*$",
            r"^a\n*$",
            r"^[^\r\n]+$",
            r".*\n.*",
            "😀.*[^x]+.{2,}",
            "^😀$",
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
            ("(?m)^a$", Construct::MultiLine, "(?m)"),
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
            ("(?i)k", Construct::Flags, "(?i)"),
            ("(?P<n>a)", Construct::NamedGroupP, "(?P<n>"),
            ("(?<n>a)", Construct::NamedGroup, "(?<n>"),
            (r"\Aa", Construct::Start, r"\A"),
            (r"a\z", Construct::End, r"\z"),
            (r"\x{41}", Construct::BracedCode, r"\x{41}"),
            (r"[\u0041a]", Construct::ShortCode, r"\u0041"),
            (r"\u{41}", Construct::RustCode, r"\u{41}"),
            (r"\U{41}", Construct::RustCode, r"\U{41}"),
            (r"\U000000411", Construct::LongCode, r"\U00000041"),
            ("[a-c&&b]", Construct::Intersection, "&&"),
            ("[a&&]", Construct::EmptyIntersection, "&&"),
            ("[^&&a]", Construct::EmptyIntersection, "&&"),
            ("[a--b]", Construct::SetDifference, "--"),
            ("[a~~b]", Construct::SetOperation, "~~"),
            (r"\a", Construct::Bell, r"\a"),
            (r"[\v]", Construct::VerticalTab, r"\v"),
            (r"\p{Digit}", Construct::PropertyOfPosix, r"\p{Digit}"),
            (r"\p{LC}", Construct::PropertyOfCategory, r"\p{LC}"),
            ("[[:^foo:]]", Construct::UnknownNamedClass, "[:^foo:]"),
            ("a{01}", Construct::PaddedCount, "{01}"),
            ("a{1,01}", Construct::PaddedCount, "{1,01}"),
            (r"\r\n$", Construct::LineEnd, "$"),
            (r"a[\r\n]?$", Construct::LineEnd, "$"),
            ("a\u{2028}b$", Construct::LineEnd, "$"),
            (r"\r.", Construct::Dot, "."),
            (".\u{85}", Construct::Dot, "."),
            ("^😀.$", Construct::AstralItem, "."),
            ("😀[^x]{2}", Construct::AstralItem, "[^x]"),
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
            ("(?i)a[j-l]-I", &["(?i)", "j-l", "I"]),
            ("(?s)a$", &["(?s)", "$"]),
            ("(?x)[a b]", &["(?x)", "[a b]"]),
            ("(?<a_b>x)", &["(?<a_b>", "(?<a_b>"]),
            ("(?P<é>x)", &["(?P<é>", "(?P<é>"]),
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
            (r"(a)\2", Construct::MissingReference, r"\2", "(a)a"),
            (r"(a)\10", Construct::MissingReference, r"\10", "(a)a"),
            (r"()()()()()()()()()(a)\10", Construct::Backreference, r"\10", "()()()()()()()()()(a)a"),
            (r"(a\1)", Construct::ForwardReference, r"\1", "(aa)"),
            (r"\1(?<n>a)", Construct::ForwardReference, r"\1", "a(?<n>a)"),
            (r"(?:a)\1", Construct::MissingReference, r"\1", "(?:a)a"),
            (r"(a)?\1", Construct::UnsureReference, r"\1", "(a)?a"),
            (r"(a)|\1", Construct::UnsureReference, r"\1", "(a)|a"),
            (r"(?:(a)|b)\1", Construct::UnsureReference, r"\1", "(?:(a)|b)a"),
            (r"(a|b)\1", Construct::Backreference, r"\1", "(a|b)a"),
            (r"(?:b|(a)\1)", Construct::Backreference, r"\1", "(?:b|(a)a)"),
            (r"(?:(a)b)*\1", Construct::UnsureReference, r"\1", "(?:(a)b)*a"),
            (r"[\1]", Construct::ClassReference, r"\1", "[a]"),
            ("(?>a)b", Construct::AtomicGroup, "(?>", "(?:a)b"),
            ("(?#c(d)a", Construct::Comment, "(?#c(d)", "a"),
            (r"\cA+", Construct::ControlCode, r"\cA", "a+"),
            (r"\h+", Construct::JavaEscape, r"\h", "a+"),
            (r"[\H]", Construct::JavaEscape, r"\H", "[a]"),
            (r"\0", Construct::NullCode, r"\0", "a"),
            (r"[\08]", Construct::NullCode, r"\0", "[a8]"),
            (r"\0128", Construct::OctalCode, r"\012", "a8"),
            (r"\0777", Construct::OctalCode, r"\077", "a7"),
            (r"\0123", Construct::LongOctalCode, r"\0123", "a"),
            (r"\Qa.(\E+", Construct::QuotedText, r"\Qa.(\E", "a+"),
            (r"\Q(", Construct::QuotedText, r"\Q(", "a"),
            (r"b\Z", Construct::TextEnd, r"\Z", "ba"),
            ("a(?=(", Construct::LookAround, "(?=", "a(?:("),
        ] {
            assert_eq!(not_portable(pattern).first(), Some(&(construct, part)), "{pattern}");
            assert!(Regex::new(pattern).is_err(), "{pattern}");
            assert_eq!(without_references(pattern).as_deref(), Some(rest));
        }
        for (pattern, expected) in [
            ("(?<=a|bc)d", &[Construct::LookAround, Construct::VariableLookBehind][..]),
            ("(?<=^|,)x", &[Construct::LookAround, Construct::VariableLookBehind]),
            ("(?<!ab?)c", &[Construct::LookAround, Construct::VariableLookBehind]),
            ("(?<=a{1,2})c", &[Construct::LookAround, Construct::VariableLookBehind]),
            ("(?<=ab|cd)x", &[Construct::LookAround]),
            (r"(?<=[ab]\d\b{0}(?i:x)y{3})x", &[Construct::LookAround]),
            ("(?<=(?:a|b){2})x", &[Construct::LookAround, Construct::LookBehindOfGroup]),
            ("(?<=((a)c){2})x", &[Construct::LookAround]),
            (r"(?<n>a)\k<n>", &[Construct::NamedReference]),
            ("(?P<n>a)(?P=n)", &[Construct::NamedReferenceP]),
        ] {
            assert_eq!(beyond_rust(pattern), expected, "{pattern}");
            assert!(Regex::new(pattern).is_err(), "{pattern}");
            assert!(Regex::new(&without_references(pattern).unwrap()).is_ok(), "{pattern}");
        }
        assert_eq!(without_references(r"(?:a)\w"), None);
        let deep = format!("(?<={}a{})b", "(".repeat(100_000), ")".repeat(100_000));
        assert!(without_references(&deep).is_some());
        // The innermost of several look-behinds has no fixed length; the ninth is not read.
        for (count, is_found) in [(4, true), (8, true), (9, false)] {
            let pattern = "(?<=".repeat(count) + "a|bc" + &")".repeat(count);
            assert_eq!(beyond_rust(&pattern).contains(&Construct::VariableLookBehind), is_found, "{count}");
        }
    }

    /// Where a part is read with all that follows it, some of these take an hour.
    #[test]
    fn a_pattern_of_many_equal_parts_is_read_in_linear_time() {
        let parts = r"(?<=a (?<=a) (?<!( (?=a| (a)| (a)? ((a)|b)* (a| (a)\1 \1(a) a{ { {1 a{1,2} [a-z]{2,} [[: [a&& [^
                      (?i (?i)k (?# (?#) \Q \Qa\E \0 (?P< (?P<a>b) \p{ \x{ \k< (?P= a** ^* 😀+ |";
        for part in parts.split_whitespace() {
            let pattern = part.repeat(500_000 / part.len());
            not_portable(&pattern);
            assert!(without_references(&pattern).is_none_or(|rest| rest.len() <= pattern.len()), "{part}");
        }
    }
}
