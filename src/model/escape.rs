//! Escapes foreign text for terminals, logs and CI systems.

use std::fmt;

/// Whether to use terminal colors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Color {
    /// With escape sequences, for a terminal.
    Always,
    /// Without, for a file or a pipe.
    Never,
}

/// Returns `text` with control, bidirectional and line-break characters escaped as `\u{…}`, `\n`, `\t` or `\r`.
///
/// A commit message or a service's error text must not move the cursor, hide other text or begin a line that a CI
/// system executes as a command (DESIGN: text from a repository or the service never starts a line).
#[must_use]
pub fn escaped(text: &str) -> impl fmt::Display + '_ {
    Escaped(text)
}

struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((at, character)) = rest.char_indices().find(|(_, c)| is_harmful(*c)) {
            f.write_str(&rest[..at])?;
            match character {
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                c => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            }
            rest = &rest[at + character.len_utf8()..];
        }
        f.write_str(rest)
    }
}

/// Returns whether `c` is a control character, a Unicode line break, or one that reorders or hides text.
#[must_use]
pub fn is_harmful(c: char) -> bool {
    // Nearly all text is printable ASCII, which needs none of the tests below.
    if matches!(c, ' '..='~') {
        return false;
    }
    c.is_control()
        || matches!(
            c,
            '\u{00ad}'
                | '\u{061c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_move_hide_or_command_is_escaped_and_the_rest_is_not() {
        for (text, shown) in [
            ("plain – naïve ☃ 日本", "plain – naïve ☃ 日本"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("\u{202e}gnp.exe", "\\u{202e}gnp.exe"),
            ("a\u{2028}::error::", "a\\u{2028}::error::"),
            ("\u{9b}2J", "\\u{9b}2J"),
        ] {
            assert_eq!(escaped(text).to_string(), shown);
        }
    }
}
