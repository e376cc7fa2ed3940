//! Text from elsewhere that must not act: in a terminal, in a log of CI, in JSON (src/model/README.md, "Text").

use std::{fmt, io};

/// Returns `text` with control, bidirectional and line-break characters escaped as `\u{…}`, `\n`, `\t` or
/// `\r`, and with a backslash in commands of CI systems such as `##[error]`.
///
/// A commit message or a service's error text must not move the cursor, hide other text or begin a line that
/// a CI system executes as a command (src/model/README.md, "Text").
pub(crate) fn escaped(text: &str) -> impl fmt::Display + '_ {
    Escaped(text)
}

struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        let is_unsafe = |text: &str, c| is_harmful(c) || (c == '#' && is_command(text));
        let next = |text: &str| text.char_indices().find(|(at, c)| is_unsafe(&text[*at..], *c));
        while let Some((at, character)) = next(rest) {
            f.write_str(&rest[..at])?;
            match character {
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '#' => f.write_str("#\\")?,
                c => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            }
            rest = &rest[at + character.len_utf8()..];
        }
        f.write_str(rest)
    }
}

/// Returns whether `text` begins with a command that CI systems execute anywhere in a line: `##[…]` (GitHub,
/// Gitea, Azure), `##vso[…]` (Azure), or `##teamcity[…]`.
fn is_command(text: &str) -> bool {
    let name = text.strip_prefix("##").unwrap_or_default();
    name.trim_start_matches(|c: char| c.is_ascii_alphabetic()).starts_with('[')
}

/// Returns serialized JSON with everything escaped that could move, hide or reorder text on a terminal, or
/// that a CI system executes. The parsed values stay the same.
pub(crate) fn harmless_json(json: &str) -> impl fmt::Display + '_ {
    HarmlessJson(json)
}

/// Writes serialized JSON as [`harmless_json`] returns it. Each write has whole characters, as those of
/// `serde_json`.
#[derive(Debug)]
pub(crate) struct HarmlessJsonWriter<W>(pub(crate) W);

impl<W: io::Write> io::Write for HarmlessJsonWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Most writes are plain text, whose characters need no check.
        if bytes.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'#') {
            return self.0.write_all(bytes).map(|()| bytes.len());
        }
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        write!(self.0, "{}", harmless_json(text))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

struct HarmlessJson<'a>(&'a str);

impl fmt::Display for HarmlessJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut done = 0;
        for (at, character) in self.0.char_indices() {
            // Only strings contain `#`, and a line break is layout, because those in strings are escaped
            // already.
            let is_mark = character == '#' && self.0[..at].ends_with('#');
            if (!is_harmful(character) || character == '\n') && !is_mark {
                continue;
            }
            f.write_str(&self.0[done..at])?;
            // JSON escapes a character outside the basic plane as two UTF-16 units (RFC 8259, section 7).
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(f, "\\u{unit:04x}")?;
            }
            done = at + character.len_utf8();
        }
        f.write_str(&self.0[done..])
    }
}

/// Returns whether `c` is a control character, a Unicode line break, or one that reorders or hides text.
pub(crate) fn is_harmful(c: char) -> bool {
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
            ("a ##[error]b ###[x]", "a #\\#[error]b ##\\#[x]"),
            ("##vso[task.complete]##teamcity[x]", "#\\#vso[task.complete]#\\#teamcity[x]"),
            ("## a [link] ##2[x] ##", "## a [link] ##2[x] ##"),
        ] {
            assert_eq!(escaped(text).to_string(), shown);
        }
    }

    #[test]
    fn json_keeps_its_values_and_loses_its_commands() {
        let text = "a\n##[error]\u{1b}\u{202e}\u{e0001}#";
        let json = serde_json::json!([text]);
        let shown = harmless_json(&format!("{json:#}")).to_string();
        assert_eq!(shown, "[\n  \"a\\n#\\u0023[error]\\u001b\\u202e\\udb40\\udc01#\"\n]");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), json);
    }
}
