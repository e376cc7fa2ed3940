//! Checks regular expressions as FeatureProbe's SDKs compile them.

use regex::{Error, RegexBuilder};

/// How much one document may cost to check: its patterns are compiled with growing limits until one suffices, and each
/// attempt costs the limit, in units of 16 KiB. A thousand simple patterns are far below.
const MOST_UNITS: usize = 8192;

const UNIT: usize = 16 * 1024;

/// Compiles the patterns of one document.
pub(super) struct PatternChecker {
    units: usize,
}

impl Default for PatternChecker {
    fn default() -> Self {
        Self { units: MOST_UNITS }
    }
}

impl PatternChecker {
    /// Checks that the `regex` crate compiles `pattern` with its default limits, as the Rust SDK does.
    ///
    /// # Errors
    /// The reason in one line, without the pattern.
    pub(super) fn check(&mut self, pattern: &str) -> Result<(), String> {
        // The limit of the crate itself, to which the SDK keeps.
        const LARGEST: usize = 10 * 1024 * 1024;
        for limit in [UNIT, 16 * UNIT, LARGEST] {
            let left = self.units.checked_sub(limit / UNIT);
            let Some(left) = left else {
                return Err("the regular expressions of this document are too large to be checked".to_owned());
            };
            self.units = left;
            match RegexBuilder::new(pattern).size_limit(limit).build() {
                Ok(_) => return Ok(()),
                Err(Error::CompiledTooBig(_)) => {}
                // The last line has the reason; the others repeat the pattern and point into it.
                Err(error) => {
                    let text = error.to_string();
                    let reason = text.lines().last().unwrap_or_default();
                    return Err(reason.strip_prefix("error: ").unwrap_or(reason).to_owned());
                }
            }
        }
        Err("compiled, it is larger than 10 MiB".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str) -> Result<(), String> {
        PatternChecker::default().check(pattern)
    }

    #[test]
    fn a_pattern_is_one_of_the_regex_crate() {
        for good in ["", "^a+$", r"\w{2,}@example\.com", "(?i)paris", r"\p{Greek}", "(a|b)*"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, reason) in [
            ("(", "unclosed group"),
            ("[a", "unclosed character class"),
            ("*", "repetition operator missing expression"),
            (r"(a)\1", "backreferences are not supported"),
            ("(?=a)", "look-around, including look-ahead and look-behind, is not supported"),
            (r"\w{1000}{1000}", "compiled, it is larger than 10 MiB"),
        ] {
            assert_eq!(check(bad), Err(reason.to_owned()), "{bad}");
        }
    }

    #[test]
    fn the_patterns_of_a_document_are_checked_in_bounded_time() {
        let mut checker = PatternChecker::default();
        assert!((0..1000).all(|_| checker.check("^a+$").is_ok()));
        let error = (0..1000).find_map(|_| checker.check(r"\w{40}").err());
        assert!(error.is_some_and(|reason| reason.contains("too large to be checked")));
    }
}
