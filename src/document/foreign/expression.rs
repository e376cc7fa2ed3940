//! Conditions as an expression: a text such as `country NOT IN ('AT')`, or JsonLogic, `{ in: [{ var: country }, [AT]] }`.
//!
//! Only what has one meaning is written as a condition. An example in its place could say the opposite.

use super::condition::{is_plain, takes};
use super::names::{SEGMENTS, own_of, plain};
use crate::document::dialects;
use crate::document::finding::shown;
use crate::document::meant;
use crate::document::node::{Node, NodeKind, Style, field, is_null, quoted, scalar};

/// A condition that nobody can apply by mistake.
const ANY: &str = "{ type: …, subject: …, predicate: …, objects: […] }";

/// An attribute, a comparison and values.
struct Expression<'a> {
    is_denied: bool,
    subject: &'a str,
    operator: &'a str,
    /// The type, if the operator has one.
    kind: Option<&'static str>,
    values: Vec<Value>,
}

/// A value, and whether it was in quotes.
struct Value {
    text: String,
    is_quoted: bool,
}

/// Returns the condition in braces that a text or a list means, or one with `…`; none if it is one word, which compares
/// nothing, or a mapping.
pub(in crate::document) fn condition_of(node: &Node) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let expression = match &node.kind {
        NodeKind::Scalar(text, _) if !node.is_null() && !text.chars().all(is_part) => {
            Expression::of_text(text)
        }
        NodeKind::Sequence(items) if !items.is_empty() => Expression::of_list(items),
        _ => return None,
    };
    Some(expression.and_then(|one| one.condition()).unwrap_or_else(|| ANY.to_owned()))
}

/// Returns the help on a key of JsonLogic: an operator, whose list begins with a variable.
pub(super) fn logic(operator: &str, value: &Node) -> Option<String> {
    let is_sign = !operator.contains(char::is_alphanumeric);
    if !is_sign && !has_attribute(value) {
        return None;
    }
    let condition = Expression::of_logic(operator, value).and_then(|one| one.condition());
    Some(match condition {
        Some(condition) => format!("write `{}`", without_braces(&condition)),
        None => format!("write a condition that says the same: `{ANY}`"),
    })
}

/// Returns the condition that a key with a comparison and its value mean: `age >=`, `country not in`, `age__gte`, `!country`.
pub(super) fn compared_key(name: &str, value: &Node) -> Option<String> {
    Some(without_braces(&Expression::of_key(name, value)?.condition()?).to_owned())
}

/// Returns the entries of a condition, which stand in the braces of the author's.
fn without_braces(condition: &str) -> &str {
    condition.trim_start_matches("{ ").trim_end_matches(" }")
}

/// Returns the attribute that a mapping names in place of a text: `{ var: country }`.
pub(in crate::document) fn variable(entries: &[(Node, Node)]) -> Option<&str> {
    let [(key, value)] = entries else { return None };
    let key = plain(scalar(key)?);
    let is_name = key == "var"
        || matches!(key.as_str(), "value" | "id")
        || own_of("a condition", &key) == Some(&"subject");
    // A second item is a default.
    scalar(value.alone()).filter(|name| is_name && !is_null(name))
}

/// Returns the attribute of an item of JsonLogic.
fn attribute(item: &Node) -> Option<&str> {
    match &item.kind {
        NodeKind::Mapping(entries) => variable(entries).filter(|_| field(entries, "var").is_some()),
        _ => None,
    }
}

/// Returns whether an operand, or one of an operand, is a variable.
fn has_attribute(value: &Node) -> bool {
    let is_operation = |item: &Node| match &item.kind {
        NodeKind::Mapping(entries) => matches!(entries.as_slice(), [(_, operands)]
            if items(operands).iter().any(|operand| attribute(operand).is_some())),
        _ => false,
    };
    items(value).iter().any(|item| attribute(item).is_some() || is_operation(item))
}

/// Returns the items of a list; any other node is the only one.
pub(super) fn items(value: &Node) -> &[Node] {
    match &value.kind {
        NodeKind::Sequence(items) => items,
        _ => std::slice::from_ref(value),
    }
}

impl<'a> Expression<'a> {
    fn of_text(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let (text, is_denied) = match without_denial(text) {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let text = in_brackets(text, '(', ')').unwrap_or(text);
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let end = text.find(|c| !is_part(c))?;
        let (subject, rest) = text.split_at(end);
        let subject = Some(subject).filter(|subject| subject.starts_with(char::is_alphabetic))?;
        let (operator, rest) = operator(rest.trim_start())?;
        Some(Self { is_denied, subject, operator, kind: None, values: values(rest.trim(), operator)? })
    }

    fn of_logic(operator: &'a str, value: &'a Node) -> Option<Self> {
        if operator == "!" {
            let [Node { kind: NodeKind::Mapping(entries), .. }] = items(value) else { return None };
            let [(key, value)] = entries.as_slice() else { return None };
            let inner = Self::of_logic(scalar(key)?, value).filter(|inner| !inner.is_denied)?;
            return Some(Self { is_denied: true, ..inner });
        }
        let (operator, kind, subject, value) = match items(value) {
            // `in` with a text looks for a part of it.
            [_, text] if operator == "in" && scalar(text).is_some() => return None,
            [subject, value] => (operator, None, subject, value),
            [subject, own, value] if plain(operator) == "semver" => {
                (scalar(own)?, Some("semver"), subject, value)
            }
            _ => return None,
        };
        Some(Self { is_denied: false, subject: attribute(subject)?, operator, kind, values: read(value)? })
    }

    fn of_key(name: &'a str, value: &'a Node) -> Option<Self> {
        let is_subject = |subject: &str| {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
            subject.starts_with(char::is_alphabetic) && subject.chars().all(is_part)
        };
        let (subject, operator) = match name.strip_prefix('!').or_else(|| name.strip_prefix("not ")) {
            Some(subject) => (subject.trim(), "is not"),
            None => {
                let (subject, operator) = name.split_once("__").or_else(|| {
                    name.split_at_checked(
                        name.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'))?,
                    )
                })?;
                let operator = operator.trim();
                let is_operator = !operator.starts_with(['.', ':', '[']) && is_named(operator);
                (subject, Some(operator).filter(|_| is_operator)?)
            }
        };
        let values = read(value).filter(|_| is_subject(subject))?;
        Some(Self { is_denied: false, subject, operator, kind: None, values })
    }

    /// Reads `[country, in, [AT]]`.
    fn of_list(items: &'a [Node]) -> Option<Self> {
        let [subject, operator, value] = items else { return None };
        Some(Self {
            is_denied: false,
            subject: scalar(subject)?,
            operator: scalar(operator)?,
            kind: None,
            values: read(value)?,
        })
    }

    /// Returns the condition in braces; none if no predicate, or more than one, says the same.
    fn condition(&self) -> Option<String> {
        let texts: Vec<String> = self.values.iter().map(|value| value.text.clone()).collect();
        let (kind, predicate) = self.comparison().filter(|_| !texts.is_empty())?;
        if SEGMENTS.contains(&plain(self.subject).as_str()) {
            return self.segment(predicate);
        }
        // A share of users is no attribute.
        if dialects::is_rollout(self.subject) {
            return None;
        }
        let predicate = match self.is_denied {
            true => dialects::opposite(predicate, texts.len() == 1)?,
            false => predicate,
        };
        let predicate = meant::in_braces(predicate);
        let (subject, objects) = (quoted(&shown(self.subject)), meant::list(&texts)?);
        Some(format!("{{ type: {kind}, subject: {subject}, predicate: {predicate}, objects: [{objects}] }}"))
    }

    /// Returns the condition on segments that says the same as a predicate of texts.
    fn segment(&self, predicate: &str) -> Option<String> {
        let is_in = match predicate {
            "is one of" | "=" => !self.is_denied,
            "is not any of" | "!=" => self.is_denied,
            _ => return None,
        };
        let predicate = if is_in { "is in" } else { "is not in" };
        let texts: Vec<String> = self.values.iter().map(|value| value.text.clone()).collect();
        Some(format!("{{ type: segment, predicate: {predicate}, objects: [{}] }}", meant::list(&texts)?))
    }

    /// Returns the type and the predicate.
    fn comparison(&self) -> Option<(&'static str, &'static str)> {
        // What the patterns of `LIKE` mean, their signs say.
        if plain(self.operator).contains("like") {
            return None;
        }
        let named = dialects::other_types("", self.operator);
        let takes_all = |kind: &str| self.values.iter().all(|value| takes(kind, &value.text));
        let are_numbers = takes_all("number") && self.values.iter().all(|value| !value.is_quoted);
        let of = |wanted: &str| named.iter().find(|(kind, _)| *kind == wanted).copied();
        let (kind, predicate) = match of("string") {
            _ if self.kind.is_some() => self.kind.filter(|kind| takes_all(kind)).and_then(of),
            // `in`, `==`
            Some((_, "is one of" | "is not any of")) if are_numbers => of("number"),
            Some(of_text) => Some(of_text),
            None => {
                let kinds = ["number", "semver", "datetime"];
                kinds.into_iter().filter(|kind| takes_all(kind)).find_map(of)
            }
        }?;
        let is_certain = match (kind, predicate) {
            (_, "between") => false,
            // `after` is `>=`, and `before` is `<`.
            ("datetime", _) => matches!(self.operator, ">=" | "<" | "after" | "before"),
            ("string", _) if predicate.contains("regex") => {
                matches!(self.values.as_slice(), [one] if !one.text.starts_with('/'))
            }
            ("string", _) => self.values.iter().all(|value| is_plain(&value.text)),
            // With several values, any of them is enough.
            (_, "=" | "!=") => true,
            _ => self.values.len() == 1,
        };
        is_certain.then_some((kind, predicate))
    }
}

/// Returns the values of a node: one, or a list.
fn read(value: &Node) -> Option<Vec<Value>> {
    let one = |item: &Node| match &item.kind {
        NodeKind::Scalar(text, style) if !item.is_null() => {
            Some(Value { text: text.clone(), is_quoted: *style == Style::Quoted })
        }
        _ => None,
    };
    items(value).iter().map(one).collect()
}

/// Returns what a text denies: `NOT a = b`, `!(a == b)`. Without brackets, `!` may deny the attribute.
fn without_denial(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('!') {
        return Some(rest.trim_start()).filter(|rest| rest.starts_with('('));
    }
    let (word, rest) = text.split_at_checked("not".len())?;
    let is_word = word.eq_ignore_ascii_case("not") && rest.starts_with([' ', '(']);
    is_word.then(|| rest.trim_start())
}

/// Returns whether a word compares, here or in another tool.
fn is_named(word: &str) -> bool {
    !dialects::other_types("", word).is_empty()
}

/// Returns what stands between two brackets; none if a text does not begin and end with them.
fn in_brackets(text: &str, open: char, close: char) -> Option<&str> {
    text.strip_prefix(open)?.strip_suffix(close).map(str::trim)
}

/// Returns the operator that a text begins with, and the rest.
fn operator(text: &str) -> Option<(&str, &str)> {
    let is_sign = |c: char| "=!<>~≠≤≥⩾⩽".contains(c);
    let signs = text.find(|c| !is_sign(c)).unwrap_or(text.len());
    if signs > 0 {
        let (sign, rest) = text.split_at(signs);
        return is_named(sign).then_some((sign, rest));
    }
    // The longest one first: `is not`, not `is`.
    const LONGEST: usize = 40;
    let begins_value = |c: char| c.is_whitespace() || matches!(c, '(' | '[' | '{' | '"' | '\'');
    let ends = text.char_indices().take(LONGEST).filter(|(_, c)| begins_value(*c)).map(|(at, _)| at);
    let ends: Vec<usize> = ends.collect();
    let split = ends.into_iter().rev().map(|end| text.split_at(end));
    split.into_iter().find(|(word, rest)| is_named(word) && !rest.trim().is_empty())
}

/// Returns the values that a text lists.
fn values(text: &str, operator: &str) -> Option<Vec<Value>> {
    let lists = [('(', ')'), ('[', ']'), ('{', '}')];
    match lists.into_iter().find_map(|(open, close)| in_brackets(text, open, close)) {
        Some(inner) => inner.split(',').map(|item| value(item.trim())).collect(),
        None => {
            let value = value(text)?;
            // `admin in roles` has the attribute on the right.
            let is_in = plain(operator).trim_start_matches("not").trim_start() == "in";
            (!is_in || value.is_quoted).then(|| vec![value])
        }
    }
}

/// Returns the value of a text in quotes, or of one word; none if the word stands for a missing value.
fn value(text: &str) -> Option<Value> {
    let inner =
        |quote: char| text.strip_prefix(quote)?.strip_suffix(quote).filter(|inner| !inner.contains(quote));
    if let Some(inner) = inner('"').or_else(|| inner('\'')) {
        return Some(Value { text: inner.to_owned(), is_quoted: true });
    }
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | ':' | '@');
    let nothing = ["null", "nil", "none", "undefined", "empty", "present", "missing", "set", "not"];
    let is_value = !text.is_empty() && text.chars().all(is_part) && !nothing.contains(&plain(text).as_str());
    is_value.then(|| Value { text: text.to_owned(), is_quoted: false })
}
