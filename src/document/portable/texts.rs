//! The texts that a pattern is for, as far as it says so itself.

use super::construct::Construct;
use super::part::{count, is_astral};

/// Finds what a pattern itself says about the texts that it is for: that they have line breaks, or characters beyond
/// U+FFFF. Then, `$`, `.` and negated classes are not the same in all SDKs.
#[derive(Default)]
pub(super) struct Texts<'a> {
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
    pub(super) fn next(&mut self, part: &'a str, flags: &str, rest: &str) {
        let is_endless =
            rest.starts_with(['*', '+']) || rest.starts_with('{') && rest[..count(rest).0].ends_with(",}");
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

    pub(super) fn found(self) -> impl Iterator<Item = (Construct, &'a str)> {
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
