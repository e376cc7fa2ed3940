//! A regular expression in the notation of JavaScript.

use crate::document::dialects::in_both_cases;
use crate::document::node::quoted;
use crate::model::escaped;

/// A regular expression in the notation of JavaScript: `/^a$/i`.
pub(in crate::document) struct RegexLiteral<'a> {
    inner: &'a str,
    flags: &'a str,
}

impl<'a> RegexLiteral<'a> {
    /// Reads an object that is certainly not a path: it has flags, or the signs of a whole text.
    pub(in crate::document) fn of(object: &'a str) -> Option<Self> {
        /// More letters are a word of a path.
        const MOST_FLAGS: usize = 2;
        let (inner, flags) = object.strip_prefix('/')?.rsplit_once('/')?;
        let is_flags = flags.chars().all(|flag| "gimsuy".contains(flag));
        let is_anchored = inner.starts_with('^') || inner.ends_with('$');
        let is_literal =
            is_flags && !inner.is_empty() && (is_anchored || (1..=MOST_FLAGS).contains(&flags.len()));
        is_literal.then_some(Self { inner, flags })
    }

    pub(in crate::document) fn help(&self) -> String {
        let Self { inner, flags } = self;
        let inner = inner.replace("\\/", "/");
        let is_simple = !inner.contains(['[', '\\']) && !inner.contains("(?");
        let ignores_case = flags.contains('i');
        let written = match ignores_case && is_simple {
            true => inner
                .chars()
                .map(|c| if c.is_alphabetic() { in_both_cases(c) } else { c.to_string() })
                .collect(),
            false => inner,
        };
        let lost: String = flags.chars().filter(|flag| "msu".contains(*flag)).collect();
        let mut help = format!("write `{}`", escaped(&quoted(&written)));
        if ignores_case && !is_simple {
            help.push_str(", and both cases of each letter as a class, such as `[Aa]`");
        }
        if !lost.is_empty() {
            help.push_str(&format!("; no notation for the flags `{lost}` is the same in all SDKs"));
        }
        help
    }
}
