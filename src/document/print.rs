//! Prints targeting as canonical YAML, one fact per line.

use std::fmt::Write;

use crate::model::{Condition, Rule, Serve, Targeting, Variation, escaped};

/// Returns `targeting` as the text of a document, which parses to the same targeting.
///
/// Uses block style, so that a diff is readable, and quotes text unless it is a plain word.
#[must_use]
pub fn print(targeting: &Targeting) -> String {
    let Targeting { disabled, content } = targeting;
    let mut out = format!("disabled: {disabled}\ncontent:\n");
    list(&mut out, "  variations", &content.variations, variation);
    list(&mut out, "  rules", &content.rules, rule);
    serve(&mut out, "  disabledServe", content.disabled_serve);
    serve(&mut out, "  defaultServe", content.default_serve);
    out
}

fn list<T>(out: &mut String, name: &str, items: &[T], item: fn(&mut String, &T)) {
    out.push_str(name);
    if items.is_empty() {
        out.push_str(": []\n");
        return;
    }
    out.push_str(":\n");
    for one in items {
        item(out, one);
    }
}

fn variation(out: &mut String, variation: &Variation) {
    let Variation {
        value,
        name,
        description,
    } = variation;
    line(out, "    - name", name);
    line(out, "      value", value);
    line(out, "      description", description);
}

fn rule(out: &mut String, rule: &Rule) {
    let Rule {
        name,
        serve: served,
        conditions,
    } = rule;
    line(out, "    - name", name);
    list(out, "      conditions", conditions, condition);
    serve(out, "      serve", *served);
}

fn condition(out: &mut String, condition: &Condition) {
    let Condition {
        kind,
        subject,
        predicate,
        objects,
    } = condition;
    line(out, "        - type", kind);
    line(out, "          subject", subject);
    line(out, "          predicate", predicate);
    list(out, "          objects", objects, |out, object| {
        let _ = writeln!(out, "            - {}", scalar(object));
    });
}

fn serve(out: &mut String, name: &str, serve: Serve) {
    let Serve { select } = serve;
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{name}: {{ select: {select} }}");
}

fn line(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "{name}: {}", scalar(text));
}

fn scalar(text: &str) -> String {
    if is_plain_word(text) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// Returns whether all YAML parsers, old ones included, read an unquoted `text` as that text.
fn is_plain_word(text: &str) -> bool {
    // Text that begins with a letter is never a number, a date or an indicator.
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.len() <= 128
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/'));
    // Parsers of YAML 1.1 read these words as booleans, null or numbers.
    let is_reserved = [
        "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf",
    ]
    .iter()
    .any(|word| text.eq_ignore_ascii_case(word));
    is_word && !is_reserved
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if needs_escape(c) => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns whether YAML does not allow `c` unescaped, or a reviewer could not see it.
fn needs_escape(c: char) -> bool {
    let mut buffer = [0; 4];
    let text: &str = c.encode_utf8(&mut buffer);
    let is_noncharacter = u32::from(c) & 0xfffe == 0xfffe || ('\u{fdd0}'..='\u{fdef}').contains(&c);
    // YAML allows a no-break space, but a reviewer cannot distinguish it from a space.
    is_noncharacter || c == '\u{a0}' || escaped(text).to_string() != text
}
