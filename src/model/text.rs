//! Text for people: escaping, shortening, listing, and times.

use std::time::Duration;
use std::{fmt, io};

/// Returns `1 document` or `2 documents`; `publish` becomes `publishes`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let ending = if noun.ends_with("sh") { "es" } else { "s" };
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}{ending}"),
    }
}

/// Returns `a, b and c`.
pub(crate) fn listed(items: &[String]) -> String {
    match items.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Returns the end of a message about an unknown name: the similar names, if there are any.
pub(crate) fn similar_names(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", escaped(name))).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!("; similar names: {}", names.join(", ")),
    }
}

/// Cuts `text` to `max_chars` Unicode scalar values, the last of which is an ellipsis if anything was
/// removed.
pub(crate) fn cut(text: &str, max_chars: usize) -> String {
    if text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    let kept = text.chars().take(max_chars.saturating_sub(1));
    kept.chain((max_chars > 0).then_some('…')).collect()
}

/// Returns `text` for HTML, in elements and quoted attributes, with harmful characters escaped.
pub(crate) fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in escaped(text).to_string().chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// Returns the bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns an error and its causes on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    plain(&causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}")))
}

/// Returns the text of an error without what only its library needs: ` (os error 2)` of the standard library,
/// its words for a failed lookup of a host, and the temporary file that `tempfile` names.
pub(crate) fn plain(text: &str) -> String {
    let text = text.replace("failed to lookup address information: ", "");
    let text = without(&text, " (os error ", ")", |number| number.bytes().all(|byte| byte.is_ascii_digit()));
    without(&text, " at path \"", "\"", |_| true)
}

/// Removes each part of `text` between `begin` and `end`, both included, whose inner text is `removed`.
fn without(text: &str, begin: &str, end: &str, removed: impl Fn(&str) -> bool) -> String {
    let mut parts = text.split(begin);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(end) {
            Some((inner, rest)) if removed(inner) => kept.push_str(rest),
            _ => kept.extend([begin, part]),
        }
    }
    kept
}

/// Whether to use terminal colors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Color {
    /// With escape sequences, for a terminal.
    Always,
    /// Without, for a file or a pipe.
    Never,
}

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

/// Declares such an enum with its names in display order.
macro_rules! words {
    ($($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+ })+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[allow(unreachable_pub, reason = "some modules are private to the crate")]
        pub enum $name { $($(#[$variant_meta])* $variant,)+ }

        #[allow(dead_code, unreachable_pub, reason = "not every enum needs all of it, nor outside of the crate")]
        impl $name {
            pub const ALL: [Self; [$($word,)+].len()] = [$(Self::$variant,)+];
            /// The names of all variants.
            pub const WORDS: &[&str] = &[$($word,)+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::model::not_a_word(word, Self::WORDS)),
                }
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    )+ };
}
pub(crate) use words;

pub(crate) fn not_a_word(word: &str, words: &[&str]) -> String {
    format!("`{word}` is none of `{}`", words.join("`, `"))
}

/// Returns a time in RFC 3339 form in UTC, such as `2026-01-02T03:04:05Z`, from seconds since 1970-01-01 UTC.
///
/// Returns the number itself if it is not a time in the years -9999 to 9999.
pub(crate) fn rfc3339(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |time| time.to_string())
}

/// Parses a time with a zone, such as `2026-01-02T03:04:05Z`, as seconds since 1970-01-01 UTC.
pub(crate) fn seconds(text: &str) -> Result<i64, String> {
    let time = text.parse::<jiff::Timestamp>();
    time.map(jiff::Timestamp::as_second)
        .map_err(|_| format!("`{text}` is not a time: write it with a zone, such as `2024-12-31T23:59:59Z`"))
}

/// Parses a duration: whole numbers with the units `d`, `h`, `m`, `s` and `ms`, each at most once and the
/// longest first.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("`{text}` needs a unit: write `{text}s`, `{text}m` or `{text}h`"));
    }
    parts(text).ok_or_else(|| format!("`{text}` is not a duration: write `500ms`, `30s`, `5m` or `1h30m`"))
}

fn parts(mut text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut shortest = u64::MAX;
    while !text.is_empty() || shortest == u64::MAX {
        let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = text[..unit_at].parse().ok()?;
        let rest = &text[unit_at..];
        let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let unit = milliseconds(&rest[..end]).filter(|unit| *unit < shortest)?;
        total = total.checked_add(Duration::from_millis(number.checked_mul(unit)?))?;
        shortest = unit;
        text = &rest[end..];
    }
    Some(total)
}

fn milliseconds(unit: &str) -> Option<u64> {
    match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    }
}

/// Returns year, month, day, hour, minute, second, offset hours and offset minutes of
/// `YYYY-MM-DDThh:mm:ss+hh:mm`, the form of times in conditions. Numbers beyond their range are accepted.
pub(crate) fn datetime_numbers(text: &str) -> Option<[u32; 8]> {
    const PATTERN: &[u8] = b"dddd-dd-ddTdd:dd:dd+dd:dd";
    let bytes = text.as_bytes();
    let fits = bytes.len() == PATTERN.len()
        && PATTERN.iter().zip(bytes).all(|(wanted, byte)| match wanted {
            b'd' => byte.is_ascii_digit(),
            wanted => wanted == byte,
        });
    fits.then(|| {
        [0..4, 5..7, 8..10, 11..13, 14..16, 17..19, 20..22, 23..25].map(|digits| {
            let digits = bytes[digits].iter();
            digits.fold(0, |sum, byte| sum * 10 + u32::from(byte - b'0'))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_additions_of_libraries_to_an_error_are_left_out() {
        for (text, plain) in [
            ("Permission denied (os error 13)", "Permission denied"),
            ("a: No such file (os error 2): b (os error 28)", "a: No such file: b"),
            ("an (os error x) stays", "an (os error x) stays"),
            ("No such file or directory at path \"/proc/.tmpQ\"", "No such file or directory"),
            ("failed to lookup address information: Name or service not known", "Name or service not known"),
            ("cut (os error 1", "cut (os error 1"),
        ] {
            assert_eq!(super::plain(text), plain);
        }
        let error = io::Error::from_raw_os_error(28);
        assert!(!chain(&error).contains("os error"));
    }

    #[test]
    fn one_is_singular_and_every_other_number_is_plural() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "file")), ["0 files", "1 file", "2 files"]);
        assert_eq!(counted(2, "publish"), "2 publishes");
    }

    #[test]
    fn a_list_has_commas_and_one_and() {
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([0, 1, 2, 3].map(|count| listed(&items[..count])), ["", "a", "a and b", "a, b and c"]);
    }

    #[test]
    fn a_cut_text_ends_in_an_ellipsis_within_the_limit() {
        for (limit, expected) in [(0, ""), (1, "…"), (4, "naï…"), (5, "naïve"), (6, "naïve")] {
            assert_eq!(cut("naïve", limit), expected, "{limit}");
        }
    }

    #[test]
    fn html_has_no_markup_of_the_text() {
        assert_eq!(html("<a title='\"&\n"), "&lt;a title=&#39;&quot;&amp;\\n");
    }

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

    #[test]
    fn a_duration_has_whole_numbers_with_units_the_longest_first() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("1d1ms", 86_400_001),
            ("0s", 0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in [
            "",
            "30",
            "s",
            "30 s",
            "1d 2h",
            "1.5h",
            "-1s",
            "30S",
            "30m1h",
            "1s1s",
            "1w",
            "2y",
            "15min",
            "２h",
            "99999999999999999999s",
            "18446744073709551615d",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(duration("30").unwrap_err(), "`30` needs a unit: write `30s`, `30m` or `30h`");
    }

    #[test]
    fn a_time_has_a_date_and_a_zone() {
        assert_eq!(seconds("2026-01-02T03:04:05Z"), Ok(1_767_323_045));
        assert_eq!(seconds("2026-01-02T04:04:05+01:00"), Ok(1_767_323_045));
        for bad in ["", "2026-01-02", "2026-01-02T03:04:05", "2026-13-02T03:04:05Z", "now", "1767323045"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        assert_eq!(rfc3339(1_767_323_045), "2026-01-02T03:04:05Z");
        assert_eq!(rfc3339(i64::MAX), i64::MAX.to_string());
    }
}
