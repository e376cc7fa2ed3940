//! The groups of a pattern, and the references to them.

use super::construct::Construct;
use super::part::group_name;

/// Follows the groups of a pattern, which references name by their numbers.
#[derive(Default)]
pub(super) struct Groups {
    /// Whether each group has ended, and takes part in every match so far.
    states: Vec<GroupState>,
    /// Those that have ended and are sure, in the order of their ends.
    sure: Vec<usize>,
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
    pub(super) fn next(&mut self, part: &str, is_flags: bool, rest: &str) {
        let is_group =
            !(part.starts_with("(?P=") || part.starts_with("(?#") || is_flags && part.ends_with(')'));
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
                    self.sure.push(open.before);
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

    /// Groups after so many have ended, and may have taken no part. A group ends after those in it, so these groups
    /// ended last.
    fn doubt(&mut self, before: usize) {
        while let Some(group) = self.sure.pop_if(|group| *group >= before) {
            self.states[group] = GroupState::Unsure;
        }
    }

    /// Returns the length of a reference, and what it is. `place` is its place in the list of findings.
    pub(super) fn reference(&mut self, rest: &str, place: usize) -> Option<(usize, Construct)> {
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
    pub(super) fn resolve(&self, found: &mut [(Construct, &str)]) {
        for (place, number) in &self.later {
            if *number <= self.states.len() {
                found[*place].0 = Construct::ForwardReference;
            }
        }
    }
}
