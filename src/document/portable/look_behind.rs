//! Look-behinds, of which some SDKs read only those of one width.

use super::construct::Construct;
use super::part::{class, count, escape, group, look_around};

/// Reads the look-behinds of a pattern.
#[derive(Default)]
pub(super) struct LookBehinds {
    /// Where those end that the current place is in, from the outermost one.
    ends: Vec<usize>,
}

impl LookBehinds {
    /// Returns what is not portable about a look-behind, beside that it is one: nothing if it is in many others,
    /// because each is read with all that is in it. It begins at `at` in `pattern` with what it looks for.
    pub(super) fn next(&mut self, pattern: &str, at: usize) -> impl Iterator<Item = Construct> {
        const DEEPEST: usize = 8;
        self.ends.retain(|end| *end > at);
        let is_read = self.ends.len() < DEEPEST;
        let mut width =
            Width { rest: &pattern[at..], depth: 0, has_alternative: false, repeats_group: false };
        let fixed = if is_read { width.alternatives() } else { Some(0) };
        if is_read {
            self.ends.push(pattern.len() - width.rest.len());
        }
        let variable = fixed.is_none().then_some(Construct::VariableLookBehind);
        let of_group = width.repeats_group.then_some(Construct::LookBehindOfGroup);
        [variable, of_group].into_iter().flatten()
    }
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
