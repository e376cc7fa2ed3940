//! A few names, to be looked up for each of very many: does this file claim a toggle that differs?

/// Names of files without their extensions, in whatever case.
pub(crate) struct Names {
    /// In lower case, each read backwards, sorted: the names of one folder differ soonest at their ends.
    sorted: Vec<Vec<u8>>,
    /// Whether a name ends in this letter; most look-ups end here.
    last: [bool; 256],
}

impl Names {
    pub(crate) fn new(mut names: Vec<Vec<u8>>) -> Self {
        let mut last = [false; 256];
        for name in &mut names {
            name.make_ascii_lowercase();
            name.reverse();
            if let Some(letter) = name.first() {
                last[usize::from(*letter)] = true;
            }
        }
        names.sort_unstable();
        Self { sorted: names, last }
    }

    /// Returns whether `name` is one of them, but for its case.
    pub(crate) fn contains(&self, name: &[u8]) -> bool {
        let backwards = || name.iter().rev().map(u8::to_ascii_lowercase);
        backwards()
            .next()
            .is_some_and(|letter| self.last[usize::from(letter)])
            && self
                .sorted
                .binary_search_by(|one| one.iter().copied().cmp(backwards()))
                .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_whatever_their_case() {
        let names = Names::new(vec![b"Banner".to_vec(), b"new-payment".to_vec(), b"a".to_vec()]);
        for (name, found) in [
            ("banner", true),
            ("BANNER", true),
            ("New-Payment", true),
            ("A", true),
            ("anner", false),
            ("xbanner", false),
            ("payment", false),
            ("", false),
        ] {
            assert_eq!(names.contains(name.as_bytes()), found, "{name}");
        }
        assert!(!Names::new(Vec::new()).contains(b"a"));
    }
}
