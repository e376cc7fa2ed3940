//! Counts that are in each other.

use super::construct::Construct;
use super::part::LARGEST;

/// Follows how often the counts of a pattern repeat a part of it.
#[derive(Default)]
pub(super) struct Counts {
    /// For each open group, how often its part that is repeated most is.
    open: Vec<u64>,
    /// The same of what a count would repeat.
    last: u64,
}

impl Counts {
    /// Takes the next part of a pattern. Returns that it repeats what is repeated already, too often together.
    pub(super) fn next(&mut self, part: &str) -> Option<Construct> {
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
