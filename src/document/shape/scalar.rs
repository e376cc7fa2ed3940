//! Scalars: texts, booleans and indices, and what is wrong with a value of another type.

use super::{Field, ShapeReader};
use crate::document::check::{self, Check, ROLLOUT, condition_example};
use crate::document::finding::{Finding, shown};
use crate::document::foreign;
use crate::document::meant;
use crate::document::node::{Node, NodeKind, Span, Style, is_hidden, is_null, quoted};
use crate::model::is_harmful;

impl ShapeReader<'_> {
    pub(in crate::document) fn scalar<T>(
        &mut self,
        field: &Field<'_>,
        read: fn(&str, &NodeKind) -> Result<T, Option<Problem>>,
    ) -> Option<T> {
        read(field.name, &field.node.kind).map_err(|problem| self.problem(field, problem)).ok()
    }

    pub(in crate::document) fn text(&mut self, field: &Field<'_>) -> Option<String> {
        let text = self.scalar(field, text)?;
        if let NodeKind::Scalar(_, style) = &field.node.kind {
            self.appearance(field, &text, *style);
        }
        Some(text)
    }

    /// Returns a text which is not any text. `help` is the one on a null, which no quotes make right.
    pub(in crate::document) fn text_or(&mut self, field: &Field<'_>, help: &str) -> Option<String> {
        if !field.node.is_null() {
            return self.text(field);
        }
        let problem = text(field.name, &field.node.kind).err().flatten();
        self.problem(field, problem.map(|problem| problem.help(help.to_owned())));
        None
    }

    /// Warns about a text that begins or ends with typographic quotes or with a character that nobody sees, or that has
    /// one that hides or reorders text.
    fn appearance(&mut self, field: &Field<'_>, text: &str, style: Style) {
        let (Some(first), Some(last)) = (text.chars().next(), text.chars().next_back()) else { return };
        if text.is_ascii() {
            return;
        }
        // No SDK reads a description, so its ends may be any.
        let is_read = field.name != "description";
        let inner = text.strip_prefix(is_quote).and_then(|text| text.strip_suffix(is_quote));
        if let (Some(inner), Style::Plain, true) = (inner, style, is_read) {
            let message = format!("the quotes `{first}` and `{last}` are a part of this text");
            let help = format!(
                "write `{}`; if they are meant, put the whole text in single quotes",
                quoted(&shown(inner))
            );
            self.add(Finding::at(&check::TYPOGRAPHIC_QUOTES, field.span(), message).help(help));
        }
        // With an escape in the file, it is longer than the text, and a reader sees it.
        let Span { start, end } = field.node.span;
        let quotes = if style == Style::Quoted { 2 } else { 0 };
        let is_verbatim = start.line == end.line
            && usize::try_from(end.column.saturating_sub(start.column)).ok()
                == Some(text.chars().count() + quotes);
        if !is_verbatim {
            return;
        }
        let at_end = [first, last].into_iter().find(|c| is_read && is_hidden(*c));
        if let Some(hidden) = at_end.or_else(|| text.chars().find(|c| is_deceptive(*c))) {
            let message =
                format!("the invisible character U+{:04X} is a part of this text", u32::from(hidden));
            let visible = text.trim_matches(is_hidden).replace(is_deceptive, "");
            let help = match visible.contains(is_harmful) {
                true => "remove it".to_owned(),
                false => format!("write `{}`", quoted(&shown(&visible))),
            };
            self.add(Finding::at(&check::HIDDEN_CHARACTER, field.span(), message).help(help));
        }
    }

    /// Reports that the value of a field is not `wanted`, with a help that depends on the value.
    pub(in crate::document) fn wrong_value(&mut self, field: &Field<'_>, wanted: &str, help: String) {
        let problem = wrong_type(field.name, &field.node.kind, wanted, None);
        self.problem(field, problem.map(|problem| problem.help(help)));
    }

    pub(in crate::document) fn wrong_type(
        &mut self,
        field: &Field<'_>,
        wanted: &str,
        help: Option<&'static str>,
    ) {
        let problem = wrong_type(field.name, &field.node.kind, wanted, help);
        self.problem(field, problem);
    }

    pub(in crate::document) fn problem(&mut self, field: &Field<'_>, problem: Option<Problem>) {
        if let Some(Problem { check, message, help }) = problem {
            self.add(Finding::at(check, field.span(), message).maybe_help(help));
        }
    }
}

/// Returns whether text may have a finding because of its quotes and of what nobody sees ([`ShapeReader::text`]).
pub(in crate::document) fn may_deceive(text: &str) -> bool {
    !text.is_ascii() && text.contains(|c| is_quote(c) || is_hidden(c) || is_deceptive(c))
}

/// Returns whether `c` is a typographic quote, which YAML takes for text.
fn is_quote(c: char) -> bool {
    "“”„‟‘’‚‛«»‹›".contains(c)
}

/// Returns whether `c` hides or reorders text wherever it is. Words of some languages have joiners and marks of
/// direction, and emoji have joiners and tags.
fn is_deceptive(c: char) -> bool {
    is_harmful(c) && !c.is_control() && !matches!(c, '\u{200c}'..='\u{200f}' | '\u{e0000}'..='\u{e007f}')
}

/// A value that cannot be read.
pub(in crate::document) struct Problem {
    pub(in crate::document) check: &'static Check,
    pub(in crate::document) message: String,
    pub(in crate::document) help: Option<String>,
}

impl Problem {
    pub(in crate::document) fn help(self, help: String) -> Self {
        Self { help: Some(help), ..self }
    }
}

/// A value; without one, the problem, or `None` if it was reported already.
type Read<T> = Result<T, Option<Problem>>;

/// Returns the problem that the value of `name` is not `wanted`.
pub(super) fn wrong_type(
    name: &str,
    value: &NodeKind,
    wanted: &str,
    help: Option<&'static str>,
) -> Option<Problem> {
    let found = match value {
        NodeKind::Mapping(_) if template(value).is_some() => "a template".to_owned(),
        NodeKind::Mapping(_) => "a mapping".to_owned(),
        NodeKind::Scalar(text, Style::Plain) if is_null(text) => "null".to_owned(),
        NodeKind::Scalar(text, Style::Plain) => format!("`{}`", shown(text)),
        NodeKind::Scalar(text, Style::Quoted) if text.is_empty() => "the empty text".to_owned(),
        NodeKind::Scalar(text, Style::Quoted) => format!("the text `{}`", shown(text)),
        NodeKind::Sequence(_) => "a list".to_owned(),
        NodeKind::Refused => return None,
    };
    Some(Problem {
        check: &check::WRONG_TYPE,
        message: format!("`{}` is {wanted}, not {found}", shown(name)),
        help: help.map(str::to_owned),
    })
}

/// Reads a text verbatim.
pub(in crate::document) fn text(name: &str, value: &NodeKind) -> Read<String> {
    match value {
        // A null where text is expected is an error (src/document/README.md, "Text"), because YAML parsers
        // disagree on what it means.
        NodeKind::Scalar(text, Style::Plain) if is_null(text) => {
            let name = shown(name);
            let (message, help) = match text.as_str() {
                "" if is_never_empty(&name) => {
                    (format!("`{name}` has no value"), condition_example(None, &name).to_owned())
                }
                "" => (format!("`{name}` has no value"), format!("write `{name}: \"\"` for empty text")),
                _ if matches!(name.as_str(), "type" | "predicate") => {
                    (format!("`{name}` is text, and this is null"), condition_example(None, &name).to_owned())
                }
                text => (
                    format!("`{name}` is text, and this is null"),
                    format!("write `\"{text}\"` if the text is meant"),
                ),
            };
            Err(Some(Problem { check: &check::NULL_TEXT, message, help: Some(help) }))
        }
        // A plain scalar is text as well: `1.10` must stay `1.10` (src/document/README.md, "Text").
        NodeKind::Scalar(text, _) => Ok(text.clone()),
        _ => Err(wrong_type(name, value, "text", None).map(|problem| problem.help(as_text(name, value)))),
    }
}

/// Returns whether the text of a field is never empty.
fn is_never_empty(name: &str) -> bool {
    matches!(name, "type" | "predicate" | "subject" | "key")
}

/// Returns the help on a collection in place of a text.
fn as_text(name: &str, value: &NodeKind) -> String {
    if let Some(template) = template(value) {
        return format!("write `{}` if this text is meant; otherwise, {TEMPLATE}", quoted(&shown(&template)));
    }
    match (name, value) {
        ("value", _) => match meant::json(value) {
            Some(json) => format!("write JSON as text: `value: {json}`"),
            None => "write JSON as text, in single quotes".to_owned(),
        },
        ("objects" | "rightObjects", NodeKind::Sequence(_)) => {
            format!("remove the inner list: `{name}` has texts")
        }
        ("objects" | "rightObjects", NodeKind::Mapping(entries)) => match foreign::object(entries) {
            Some(object) => format!("write `{}`", quoted(&shown(&object))),
            None => "if it is text, put it in quotes".to_owned(),
        },
        ("subject", NodeKind::Mapping(entries)) => match foreign::variable(entries) {
            Some(attribute) => format!("write `subject: {}`", quoted(&shown(attribute))),
            None => "write the name of the attribute alone: `subject: …`".to_owned(),
        },
        (_, NodeKind::Mapping(entries)) => match entries.as_slice() {
            [(Node { kind: NodeKind::Scalar(key, _), .. }, Node { kind: NodeKind::Scalar(text, _), .. })]
                if matches!(key.as_str(), "value" | "name" | "key" | "id" | "variation")
                    && !is_null(text) =>
            {
                format!("write `{}: {}`", shown(name), quoted(&shown(text)))
            }
            _ => "if it is text, put it in quotes".to_owned(),
        },
        (name, NodeKind::Sequence(items)) => match items.as_slice() {
            [Node { kind: NodeKind::Scalar(text, _), .. }] if !is_null(text) => {
                format!("write `{}: {}`", shown(name), quoted(&shown(text)))
            }
            _ => "if it is text, put it in quotes".to_owned(),
        },
        _ => "if it is text, put it in quotes".to_owned(),
    }
}

/// The help on a template.
pub(super) const TEMPLATE: &str = "render the template, and commit the result";

/// Returns a template such as `{{ name }}`, which is a mapping in YAML.
pub(super) fn template(value: &NodeKind) -> Option<String> {
    let NodeKind::Mapping(outer) = value else { return None };
    let [(Node { kind: NodeKind::Mapping(inner), .. }, nothing)] = outer.as_slice() else { return None };
    match inner.as_slice() {
        [(Node { kind: NodeKind::Scalar(name, _), .. }, none)] if nothing.is_null() && none.is_null() => {
            Some(format!("{{{{ {name} }}}}"))
        }
        _ => None,
    }
}

/// Reads a boolean of YAML's core schema.
pub(in crate::document) fn boolean(name: &str, value: &NodeKind) -> Read<bool> {
    if let NodeKind::Scalar(text, Style::Plain) = value {
        match text.as_str() {
            "true" | "True" | "TRUE" => return Ok(true),
            "false" | "False" | "FALSE" => return Ok(false),
            _ => {}
        }
    }
    let help = match value {
        NodeKind::Scalar(text, _) => match text.to_ascii_lowercase().as_str() {
            // YAML 1.1 reads these words as booleans, so authors write them.
            "true" | "yes" | "on" | "y" => "write `true`, without quotes",
            "false" | "no" | "off" | "n" => "write `false`, without quotes",
            text if text.ends_with(',') => "remove the comma: outside of brackets, a line ends without one",
            text if text.contains("//") => "begin comments with `# `, not with `//`",
            _ => "write `true` or `false`, without quotes",
        },
        value if template(value).is_some() => TEMPLATE,
        _ => "write `true` or `false`",
    };
    Err(wrong_type(name, value, "`true` or `false`", Some(help)))
}

pub(in crate::document) fn index(name: &str, value: &NodeKind) -> Read<u32> {
    let not_whole = |help| Err(wrong_type(name, value, "a whole number", help));
    let text = match value {
        // A percent sign is an attempt at a percentage rollout, so the help explains that.
        NodeKind::Scalar(text, _) if text.ends_with('%') => return not_whole(Some(&ROLLOUT)),
        NodeKind::Scalar(text, Style::Plain) => text,
        NodeKind::Scalar(..) => {
            return not_whole(Some("write it without quotes, or write `variation` to name a variation"));
        }
        value if template(value).is_some() => return not_whole(Some(TEMPLATE)),
        _ => return not_whole(Some(&ROLLOUT)),
    };
    match integer(text) {
        Integer::Index(index) => Ok(index),
        Integer::Negative => Err(Some(Problem {
            check: &check::SELECT_NEGATIVE,
            message: format!("`select` is `{}`, below zero", shown(text)),
            help: Some("the first variation is 0".to_owned()),
        })),
        Integer::TooLarge => Err(Some(Problem {
            check: &check::SELECT_OUT_OF_RANGE,
            message: format!("`select` is `{}`, and no toggle has that many variations", shown(text)),
            help: Some("the first variation is 0".to_owned()),
        })),
        Integer::No if is_null(text) => not_whole(Some("write the index of a variation, from 0")),
        Integer::No if text.starts_with(|c: char| c.is_ascii_digit()) => {
            not_whole(Some("write it in decimal digits without leading zeros"))
        }
        Integer::No => not_whole(Some("write `variation` instead of `select` to name a variation")),
    }
}

/// A plain scalar as an index.
enum Integer {
    Index(u32),
    Negative,
    No,
    TooLarge,
}

/// Reads a plain scalar by the core schema of YAML 1.2: decimal with an optional sign, `0x` or `0o`. Refuses
/// leading zeros.
fn integer(text: &str) -> Integer {
    let is_negative = text.starts_with('-');
    // The core schema allows a sign only before decimal digits, so the prefixes are tried on the text with
    // its sign.
    let (digits, radix) = [("0x", 16), ("0o", 8)]
        .into_iter()
        .find_map(|(prefix, radix)| Some((text.strip_prefix(prefix)?, radix)))
        .unwrap_or((text.strip_prefix(['+', '-']).unwrap_or(text), 10));
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Integer::No;
    }
    // Other YAML parsers read a leading zero as octal, so the value would depend on the parser.
    if radix == 10 && digits.len() > 1 && digits.starts_with('0') {
        return Integer::No;
    }
    if is_negative {
        return Integer::Negative;
    }
    u32::from_str_radix(digits, radix).map_or(Integer::TooLarge, Integer::Index)
}
