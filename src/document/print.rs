//! Prints targeting as canonical YAML, one fact per line.

use std::collections::HashSet;
use std::fmt::Write;

use super::resolve::has_optional_subject;
use crate::model::{
    Between, Condition, Content, Prerequisite, Rule, Serve, ServiceKind, Targeting, Variation, escaped,
    percent,
};

/// Returns `targeting` as the text of a document, which parses to the same targeting for this kind of service.
///
/// Uses block style, so that a diff is readable, and quotes text unless it is a plain word. Leaves out empty text that
/// may be absent, and serves variations by name where the names can stand for them.
pub fn print(targeting: &Targeting, kind: ServiceKind) -> String {
    let Targeting { disabled, content } = targeting;
    let mut out = format!("disabled: {disabled}\ncontent:\n");
    let Content { rules, disabled_serve, default_serve, variations, prerequisites } = content;
    list(&mut out, "  variations", variations, variation);
    let variations = &Variations::new(variations);
    if let Some(prerequisites) = prerequisites.as_deref().filter(|all| !all.is_empty()) {
        list(&mut out, "  prerequisites", prerequisites, prerequisite);
    }
    list(&mut out, "  rules", rules, |out, one| {
        rule(out, one, variations, kind);
    });
    serve(&mut out, "  disabledServe", disabled_serve, variations);
    serve(&mut out, "  defaultServe", default_serve, variations);
    out
}

fn list<T>(out: &mut String, name: &str, items: &[T], item: impl Fn(&mut String, &T)) {
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
    let Variation { value, name, description } = variation;
    line(out, "    - name", name);
    line(out, "      value", value);
    // A missing description means the empty text (DESIGN, section 2).
    if !description.is_empty() {
        line(out, "      description", description);
    }
}

fn prerequisite(out: &mut String, prerequisite: &Prerequisite) {
    let Prerequisite { key, value, kind } = prerequisite;
    line(out, "    - key", key);
    line(out, "      value", value);
    line(out, "      type", kind.as_str());
}

fn rule(out: &mut String, rule: &Rule, variations: &Variations<'_>, service: ServiceKind) {
    let Rule { name, serve: served, conditions } = rule;
    line(out, "    - name", name);
    list(out, "      conditions", conditions, |out, one| {
        condition(out, one, service);
    });
    serve(out, "      serve", served, variations);
}

fn condition(out: &mut String, condition: &Condition, service: ServiceKind) {
    let Condition { kind, subject, predicate, objects, between } = condition;
    line(out, "        - type", kind);
    if !(subject.is_empty() && has_optional_subject(kind, service)) {
        line(out, "          subject", subject);
    }
    line(out, "          predicate", predicate);
    let object = |out: &mut String, object: &String| {
        let _ = writeln!(out, "            - {}", scalar(object));
    };
    let Some(between) = between.as_deref() else {
        return list(out, "          objects", objects, object);
    };
    let Between { left_predicate, right_predicate, right_objects } = between;
    line(out, "          leftPredicate", left_predicate);
    list(out, "          objects", objects, object);
    line(out, "          rightPredicate", right_predicate);
    list(out, "          rightObjects", right_objects, object);
}

/// The variations that serves refer to.
struct Variations<'a> {
    list: &'a [Variation],
    /// Whether each has a unique name.
    are_named: bool,
}

impl<'a> Variations<'a> {
    fn new(list: &'a [Variation]) -> Self {
        let names: HashSet<&str> = list.iter().map(|variation| variation.name.as_str()).collect();
        Self { list, are_named: names.len() == list.len() && !names.contains("") }
    }

    /// Returns the name of a variation, if the names can stand for the variations.
    fn name(&self, index: u32) -> Option<&'a str> {
        let variation = self.list.get(usize::try_from(index).ok()?)?;
        self.are_named.then_some(variation.name.as_str())
    }
}

fn serve(out: &mut String, name: &str, serve: &Serve, variations: &Variations<'_>) {
    // Writing to a string cannot fail.
    let _ = match serve {
        Serve::Select(index) => match variations.name(*index) {
            Some(variation) => writeln!(out, "{name}: {{ variation: {} }}", scalar(variation)),
            None => writeln!(out, "{name}: {{ select: {index} }}"),
        },
        Serve::Split(weights) => writeln!(out, "{name}: {{ split: {} }}", split(weights, variations.list)),
        Serve::Nothing => writeln!(out, "{name}: {{}}"),
    };
}

/// Returns a split by the names of the variations, or as a list of weights if the names cannot stand for them.
fn split(weights: &[u32], variations: &[Variation]) -> String {
    // YAML allows a key of at most 1024 characters, escapes included.
    const LONGEST_KEY: usize = 1000;
    let names: Vec<String> = variations.iter().map(|variation| scalar(&variation.name)).collect();
    let unique: HashSet<&String> = names.iter().collect();
    let are_keys = unique.len() == names.len() && names.iter().all(|name| name.len() <= LONGEST_KEY);
    if !are_keys || weights.len() != names.len() {
        let weights: Vec<String> = weights.iter().map(u32::to_string).collect();
        return format!("[{}]", weights.join(", "));
    }
    let shares = names.iter().zip(weights).filter(|(_, weight)| **weight > 0);
    let shares: Vec<String> = shares.map(|(name, weight)| format!("{name}: {}", percent(*weight))).collect();
    format!("{{ {} }}", shares.join(", "))
}

fn line(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "{name}: {}", scalar(text));
}

fn scalar(text: &str) -> String {
    if is_plain_word(text) { text.to_owned() } else { quoted(text) }
}

/// Returns whether all YAML parsers, old ones included, read an unquoted `text` as that text.
fn is_plain_word(text: &str) -> bool {
    // Text that begins with a letter is never a number, a date or an indicator.
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.len() <= 128
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/'));
    // Parsers of YAML 1.1 read these words as booleans, null or numbers.
    let is_reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word));
    is_word && !is_reserved
}

pub(super) fn quoted(text: &str) -> String {
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
