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
    /// `.` or a negated class in a pattern with characters beyond U+FFFF.
    AstralItem,
    /// `(?>`
    AtomicGroup,
    Backreference,
    /// `\a`
    Bell,
    BlankCount,
    Border,
    /// `\x{41}`
    BracedCode,
    /// `[\1]`
    ClassReference,
    Digit,
    /// `.` in a pattern with line breaks other than `\n`.
    Dot,
    /// `&&` without a class on both sides.
    EmptyIntersection,
    End,
    FirstBracket,
    Flags,
    /// A letter beyond ASCII after a flag that ignores the case.
    FoldedCase,
    /// `i` after such a flag.
    FoldedI,
    /// `k` or `s` after such a flag, which stand for U+212A and U+017F as well.
    FoldedKOrS,
    /// A reference to a group that is open or begins later.
    ForwardReference,
    /// A name with `_`.
    GroupName,
    /// A name with characters beyond ASCII.
    GroupNameBeyondAscii,
    Intersection,
    LateFlags,
    /// `$` in a pattern with line breaks.
    LineEnd,
    LineFlags,
    /// `\U00000041`
    LongCode,
    LongCount,
    LookAround,
    /// A look-behind with a repeated group of several texts.
    LookBehindOfGroup,
    /// A reference to a group that there is not.
    MissingReference,
    /// `(?m)`
    MultiLine,
    NamedClass,
    NamedGroup,
    NamedGroupP,
    /// `\k<name>`
    NamedReference,
    /// `(?P=name)`
    NamedReferenceP,
    NegativeFlags,
    Nested,
    NotDigit,
    NotSpace,
    NotWord,
    /// A count with a zero before it.
    PaddedCount,
    Possessive,
    /// `\p{Lu}`
    PropertyOfCategory,
    /// `\p{IsGreek}`
    PropertyOfJava,
    /// `\p{Alpha}`
    PropertyOfPosix,
    /// `\p{Alphabetic}`
    PropertyOfRust,
    /// `\p{Greek}`
    PropertyOfScript,
    RareFlags,
    RepeatedPosition,
    /// `\u{41}`
    RustCode,
    /// `--`
    SetDifference,
    /// `~~`
    SetOperation,
    /// `\u0041`
    ShortCode,
    Space,
    Start,
    Unknown,
    UnknownNamedClass,
    /// A reference to a group that may take no part in a match.
    UnsureReference,
    /// A look-behind whose text has no fixed length.
    VariableLookBehind,
    Verbose,
    /// A class with white space after `(?x)`.
    VerboseClass,
    /// `\v`
    VerticalTab,
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
    let mut groups = Groups::default();
    let mut texts = Texts::default();
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
            look_behind(&rest[length..]).for_each(&mut add);
        }
        let name = group_name(&rest[..length]).unwrap_or_default();
        match name.chars().find(|c| !c.is_ascii_alphanumeric()) {
            _ if !name.is_ascii() => add(Construct::GroupNameBeyondAscii),
            Some('_') => add(Construct::GroupName),
            Some(_) => add(Construct::Unknown),
            None => {}
        }
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

/// Returns the name of a group that has one, at its beginning.
fn group_name(start: &str) -> Option<&str> {
    let name = start.strip_prefix("(?P<").or_else(|| start.strip_prefix("(?<"))?;
    name.strip_suffix('>')
}

/// Follows the groups of a pattern, which references name by their numbers.
#[derive(Default)]
struct Groups {
    /// Whether each group has ended, and takes part in every match so far.
    states: Vec<GroupState>,
    open: Vec<OpenGroup>,
    /// The places in the list of findings, and the numbers, of references to groups that have not begun.
    later: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum GroupState {
    Open,
    Sure,
    Unsure,
}

struct OpenGroup {
    /// The number of groups before it.
    before: usize,
    is_numbered: bool,
    has_alternative: bool,
    is_negative: bool,
}

impl Groups {
    /// Takes the next part of a pattern, and what follows it.
    fn next(&mut self, part: &str, is_flags: bool, rest: &str) {
        let is_group = !(part.starts_with("(?P=") || is_flags && part.ends_with(')'));
        match part.chars().next() {
            Some('(') if is_group => {
                let is_numbered = part == "(" || group_name(part).is_some();
                let is_negative = part.starts_with("(?!") || part.starts_with("(?<!");
                let before = self.states.len();
                if is_numbered {
                    self.states.push(GroupState::Open);
                }
                self.open.push(OpenGroup { before, is_numbered, has_alternative: false, is_negative });
            }
            Some('|') => {
                let before = self.open.last_mut().map_or(0, |open| {
                    open.has_alternative = true;
                    open.before + usize::from(open.is_numbered)
                });
                self.doubt(before);
            }
            Some(')') => {
                let Some(open) = self.open.pop() else { return };
                if open.is_numbered {
                    self.states[open.before] = GroupState::Sure;
                }
                let is_optional =
                    ["?", "*", "{0,", "{0}"].into_iter().any(|repetition| rest.starts_with(repetition));
                if is_optional || open.is_negative {
                    self.doubt(open.before);
                } else if open.has_alternative {
                    self.doubt(open.before + usize::from(open.is_numbered));
                }
            }
            _ => {}
        }
    }

    /// Groups after so many have ended, and may have taken no part.
    fn doubt(&mut self, before: usize) {
        for state in &mut self.states[before..] {
            *state = GroupState::Unsure;
        }
    }

    /// Returns the length of a reference, and what it is. `place` is its place in the list of findings.
    fn reference(&mut self, rest: &str, place: usize) -> Option<(usize, Construct)> {
        let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).take(3).count();
        let number: usize = rest[1..=digits].parse().ok()?;
        if rest[1..].starts_with('0') {
            return None;
        }
        let construct = match self.states.get(number - 1) {
            Some(GroupState::Open) => Construct::ForwardReference,
            Some(GroupState::Sure) => Construct::Backreference,
            Some(GroupState::Unsure) => Construct::UnsureReference,
            None => {
                self.later.push((place, number));
                Construct::MissingReference
            }
        };
        Some((1 + digits, construct))
    }

    /// Decides about the references to groups that had not begun.
    fn resolve(&self, found: &mut [(Construct, &str)]) {
        for (place, number) in &self.later {
            if *number <= self.states.len() {
                found[*place].0 = Construct::ForwardReference;
            }
        }
    }
}

/// Finds what a pattern itself says about the texts that it is for: that they have line breaks, or characters beyond
/// U+FFFF. Then, `$`, `.` and negated classes are not the same in all SDKs.
#[derive(Default)]
struct Texts<'a> {
    has_line_break: bool,
    /// Whether there is one that is not `\n`.
    has_other_break: bool,
    has_astral: bool,
    /// Whether `.` is any character, and whether `$` is the end of any line.
    flags: (bool, bool),
    /// Whether the last part matches everything that is left.
    takes_all: bool,
    end: Option<&'a str>,
    dot: Option<&'a str>,
    /// The first `.` or negated class that is not repeated without end.
    single: Option<&'a str>,
}

impl<'a> Texts<'a> {
    /// Takes the next part of a pattern, with the flags that it sets, and what follows it.
    fn next(&mut self, part: &'a str, flags: &str, rest: &str) {
        let is_endless = rest.starts_with(['*', '+'])
            || rest
                .strip_prefix('{')
                .and_then(|count| count.split_once('}'))
                .is_some_and(|(count, _)| count.ends_with(','));
        self.flags.0 |= flags.contains('s');
        self.flags.1 |= flags.contains('m');
        let (breaks, others) = line_breaks(part);
        self.has_line_break |= breaks && !is_endless;
        self.has_other_break |= others;
        self.has_astral |= part.contains(is_astral);
        match part {
            "$" if self.flags.1 || (self.flags.0 && !self.has_line_break && self.takes_all) => {}
            "$" => self.end = self.end.or(Some(part)),
            "." if !self.flags.0 => self.dot = self.dot.or(Some(part)),
            _ => {}
        }
        let is_item = part == "." || (part.starts_with("[^") && !part.contains(is_astral));
        if is_item && !is_endless {
            self.single = self.single.or(Some(part));
        }
        if !part.starts_with(['*', '+', '?', '{']) {
            self.takes_all = part == "." && is_endless;
        }
    }

    fn found(self) -> impl Iterator<Item = (Construct, &'a str)> {
        let Self { has_line_break, has_other_break, has_astral, flags, end, dot, single, .. } = self;
        let end = end.filter(|_| has_line_break || flags.0);
        let (dot, single) = (dot.filter(|_| has_other_break), single.filter(|_| has_astral));
        [(Construct::LineEnd, end), (Construct::Dot, dot), (Construct::AstralItem, single)]
            .into_iter()
            .filter_map(|(construct, part)| Some((construct, part?)))
    }
}

/// Returns whether a part of a pattern is a line break, or a class of line breaks, and whether it has others than `\n`.
fn line_breaks(part: &str) -> (bool, bool) {
    const BREAKS: &[char] = &['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];
    const ESCAPES: &[(&str, char)] =
        &[("\\n", '\n'), ("\\r", '\r'), ("\\x0a", '\n'), ("\\x0d", '\r'), ("\\x85", '\u{85}')];
    let (mut left, is_class) = match part.strip_prefix('[').and_then(|class| class.strip_suffix(']')) {
        Some(class) => (class, true),
        None => (part, false),
    };
    let (mut is_break, mut has_others) = (!left.is_empty(), false);
    while let Some(c) = left.chars().next().filter(|_| is_break) {
        let escaped = ESCAPES.iter().find(|(escape, _)| {
            left.get(..escape.len()).is_some_and(|start| start.eq_ignore_ascii_case(escape))
                // `\N` and `\R` are no line breaks.
                && left.as_bytes()[1].is_ascii_lowercase()
        });
        let (length, meant) = escaped.map_or((c.len_utf8(), c), |(escape, meant)| (escape.len(), *meant));
        is_break = BREAKS.contains(&meant) && (is_class || length == part.len());
        has_others |= meant != '\n';
        left = &left[length..];
    }
    (is_break, is_break && has_others)
}

/// Returns what is not portable about a look-behind, beside that it is one. `rest` begins with what it looks for.
fn look_behind(rest: &str) -> impl Iterator<Item = Construct> {
    let mut width = Width { rest, depth: 0, has_alternative: false, repeats_group: false };
    let fixed = width.alternatives();
    let variable = fixed.is_none().then_some(Construct::VariableLookBehind);
    let of_group = width.repeats_group.then_some(Construct::LookBehindOfGroup);
    [variable, of_group].into_iter().flatten()
}

/// Reads how many characters a part of a pattern matches.
struct Width<'a> {
    rest: &'a str,
    depth: usize,
    has_alternative: bool,
    /// Whether a group of several texts is repeated.
    repeats_group: bool,
}

impl Width<'_> {
    /// Reads up to the end of a group. Returns its width; none if it is not fixed.
    fn alternatives(&mut self) -> Option<usize> {
        let mut all = self.items();
        while self.rest.starts_with('|') {
            self.has_alternative = true;
            self.rest = &self.rest[1..];
            let next = self.items();
            all = all.filter(|all| next == Some(*all));
        }
        all
    }

    fn items(&mut self) -> Option<usize> {
        let mut sum = Some(0_usize);
        while let Some(c) = self.rest.chars().next().filter(|c| !matches!(c, '|' | ')')) {
            let had_alternative = std::mem::take(&mut self.has_alternative);
            let (length, width) = match c {
                '\\' => self.escape(),
                '[' => (class(self.rest).0, Some(1)),
                '^' | '$' => (1, Some(0)),
                '(' => (0, self.group()),
                c => (c.len_utf8(), Some(1)),
            };
            self.rest = &self.rest[length..];
            let is_repeated = c == '(' && self.rest.starts_with(['*', '+', '{']);
            self.repeats_group |= is_repeated && (self.has_alternative || width.is_none());
            self.has_alternative |= had_alternative;
            let times = self.times();
            let part = times.filter(|times| *times != usize::MAX).zip(width);
            sum = sum.zip(part).map(|(sum, (times, width))| sum.saturating_add(width.saturating_mul(times)));
        }
        sum
    }

    fn escape(&self) -> (usize, Option<usize>) {
        let length = escape(self.rest).0;
        match self.rest[1..].chars().next() {
            Some('b' | 'B' | 'A' | 'z' | '<' | '>') => (length, Some(0)),
            Some('1'..='9' | 'k') => (length, None),
            _ => (length, Some(1)),
        }
    }

    /// Reads a group with its end.
    fn group(&mut self) -> Option<usize> {
        /// No SDK reads a pattern that is deeper.
        const DEEPEST: usize = 250;
        let is_position = look_around(self.rest).is_some();
        let length = match self.rest.starts_with("(?") {
            true => group(self.rest, false).0,
            false => 1,
        };
        let is_flags = self.rest[..length].ends_with(')');
        self.rest = &self.rest[length..];
        if is_flags || self.depth == DEEPEST {
            return Some(0);
        }
        self.depth += 1;
        let width = self.alternatives();
        self.depth -= 1;
        self.rest = self.rest.strip_prefix(')').unwrap_or_default();
        if is_position { Some(0) } else { width }
    }

    /// Reads a repetition. Returns how often; none if that is not fixed.
    fn times(&mut self) -> Option<usize> {
        let (length, times) = match self.rest.chars().next() {
            Some('*' | '+' | '?') => (1, None),
            Some('{') => {
                let length = count(self.rest).0;
                let numbers = self.rest[1..length].trim_end_matches('}');
                let (least, most) = numbers.split_once(',').unwrap_or((numbers, numbers));
                let [least, most] = [least, most].map(|number| number.trim().parse::<usize>().ok());
                (length, least.filter(|_| least == most))
            }
            _ => return Some(1),
        };
        self.rest = &self.rest[length..];
        if self.rest.starts_with(['?', '+']) {
            self.rest = &self.rest[1..];
        }
        times
    }
}

impl Construct {
    fn is_flags(self) -> bool {
        matches!(
            self,
            Self::Flags
                | Self::LateFlags
                | Self::LineFlags
                | Self::MultiLine
                | Self::NegativeFlags
                | Self::RareFlags
                | Self::Verbose
        )
    }

    /// Returns whether Rust does not know it, and another SDK does.
    fn is_beyond_rust(self) -> bool {
        matches!(
            self,
            Self::AtomicGroup
                | Self::Backreference
                | Self::ClassReference
                | Self::ForwardReference
                | Self::LookAround
                | Self::LookBehindOfGroup
                | Self::MissingReference
                | Self::NamedReference
                | Self::NamedReferenceP
                | Self::UnsureReference
                | Self::VariableLookBehind
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
        'a' => return (length, Some(Construct::Bell)),
        'v' => return (length, Some(Construct::VerticalTab)),
        'k' => {
            let name = rest[length..].strip_prefix('<').and_then(|name| name.find('>'));
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
fn group(rest: &str, is_start: bool) -> (usize, Option<Construct>) {
    if rest.starts_with("(?:") {
        return (3, None);
    }
    if let Some(start) = look_around(rest) {
        return (start.len(), Some(Construct::LookAround));
    }
    if rest.starts_with("(?>") {
        return (3, Some(Construct::AtomicGroup));
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

/// Returns how a look-ahead or look-behind begins, if `rest` begins with one.
fn look_around(rest: &str) -> Option<&'static str> {
    ["(?=", "(?!", "(?<=", "(?<!"].into_iter().find(|start| rest.starts_with(start))
}

/// Returns a pattern in which each look-around and reference is a group or a letter, if it has any: the rest
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
        let is_group = matches!(construct, Construct::AtomicGroup | Construct::LookAround);
        out.push_str(if is_group { "(?:" } else { "a" });
        rest = after;
    }
    Some(out + rest)
}

/// Returns what a pattern has that Rust does not know.
pub(super) fn beyond_rust(pattern: &str) -> Vec<Construct> {
    not_portable(pattern).into_iter().map(|(one, _)| one).filter(|one| one.is_beyond_rust()).collect()
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
        () if inner.split(',').any(|number| number.len() > 1 && number.starts_with('0')) => {
            Some(Construct::PaddedCount)
        }
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
    }
}
