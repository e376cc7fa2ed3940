//! Text from elsewhere that must not act: in a terminal, in a log of CI, in JSON (src/model/README.md, "Text").

use std::{fmt, io};

/// Returns `text` with control, bidirectional and line-break characters escaped as `\u{…}`, `\n`, `\t` or
/// `\r`, and with a backslash in commands of CI systems such as `##[error]`.
///
/// A commit message or a service's error text must not move the cursor, hide other text or begin a line that
/// a CI system executes as a command (src/model/README.md, "Text").
pub(crate) fn escaped(text: &str) -> impl fmt::Display + '_ {
    Escaped { text, is_hidden: is_harmful }
}

/// Returns `text` as [`escaped`] does, with those characters escaped as well that a reader takes for a space or does
/// not see. For names, values and lines of documents, in which a reviewer must see each of them. In the message
/// of a commit they are a matter of style.
pub(crate) fn exact(text: &str) -> impl fmt::Display + '_ {
    Escaped { text, is_hidden: |c| is_harmful(c) || is_unseen(c) || is_variation_selector(c) }
}

struct Escaped<'a> {
    text: &'a str,
    is_hidden: fn(char) -> bool,
}

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.text;
        let is_unsafe = |text: &str, c| (self.is_hidden)(c) || (c == '#' && is_command(text));
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

/// Returns whether a reader takes `c` for a space or does not see it, beside what [`is_harmful`] names: the white
/// space of Unicode, fillers of Hangul, the empty pattern of Braille, and the joiner of graphemes. A reader sees
/// the width of the ideographic space, which is the usual one in Chinese and Japanese text.
pub(crate) fn is_unseen(c: char) -> bool {
    (c.is_whitespace() && !matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{3000}'))
        || matches!(
            c,
            '\u{034f}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{ffa0}'
        )
}

/// Returns whether `c` selects a form of the character before it, as in many emoji.
fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
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
    fn what_a_reader_does_not_see_is_shown_in_a_value() {
        for code in [
            0xa0, 0x34f, 0x115f, 0x1160, 0x1680, 0x17b4, 0x180b, 0x2000, 0x2003, 0x2007, 0x2009, 0x202f,
            0x205f, 0x2800, 0x3164, 0xfe0f, 0xffa0, 0xe0100, 0xad, 0x200b,
        ] {
            let text = format!("A{}", char::from_u32(code).unwrap());
            assert_eq!(exact(&text).to_string(), format!("A\\u{{{code:x}}}"));
        }
        for text in ["a b", "東京\u{3000}都", "naïve ☃ 日本", "e\u{301}"] {
            assert_eq!(exact(text).to_string(), text);
        }
        assert_eq!(escaped("« ⚡\u{fe0f}\u{a0}»").to_string(), "« ⚡\u{fe0f}\u{a0}»");
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
