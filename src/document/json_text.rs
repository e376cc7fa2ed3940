//! Documents as JSON, which is YAML as well: those that are JSON stay so if they are rewritten.

use serde::de::IgnoredAny;

use super::node::{Node, NodeKind, Style, scalar};

/// Returns whether a text is JSON.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// How JSON is laid out.
pub(super) struct JsonLayout<'a> {
    /// The white space before a member of the outermost mapping; none if everything is in one line.
    indent: Option<&'a str>,
    /// What follows the outermost mapping.
    end: &'a str,
}

impl<'a> JsonLayout<'a> {
    /// Returns the layout of a document that is JSON.
    pub(super) fn of(text: &'a str) -> Self {
        let second = text.trim_start().lines().nth(1);
        let indent = second.map(|line| &line[..line.len() - line.trim_start().len()]);
        Self { indent, end: &text[text.trim_end().len()..] }
    }

    /// Returns a tree as JSON.
    pub(super) fn text(&self, root: &Node) -> String {
        let mut out = String::new();
        self.write(&mut out, root, 0, false);
        out + self.end
    }

    /// Writes a value. Its scalars without quotes are numbers or booleans only if `is_literal`, which depends on the key:
    /// elsewhere, documents have texts.
    fn write(&self, out: &mut String, node: &Node, depth: usize, is_literal: bool) {
        match &node.kind {
            NodeKind::Mapping(entries) => {
                self.collection(out, ['{', '}'], entries, depth, |out, (key, value)| {
                    let name = scalar(key).unwrap_or_default();
                    out.push_str(&text(name));
                    out.push_str(if self.indent.is_some() { ": " } else { ":" });
                    let is_literal = is_literal || matches!(name, "disabled" | "select" | "split");
                    self.write(out, value, depth + 1, is_literal);
                });
            }
            NodeKind::Sequence(items) => self.collection(out, ['[', ']'], items, depth, |out, item| {
                self.write(out, item, depth + 1, is_literal);
            }),
            NodeKind::Scalar(literal, Style::Plain) if is_literal && is_json(literal) => {
                out.push_str(literal);
            }
            NodeKind::Scalar(value, _) => out.push_str(&text(value)),
            NodeKind::Refused => out.push_str("null"),
        }
    }

    /// Writes the members of a mapping or the items of a list, between these brackets.
    fn collection<T>(
        &self,
        out: &mut String,
        [open, close]: [char; 2],
        all: &[T],
        depth: usize,
        mut write: impl FnMut(&mut String, &T),
    ) {
        let line = |out: &mut String, depth: usize| {
            if let Some(indent) = self.indent.filter(|_| !all.is_empty()) {
                out.push('\n');
                out.push_str(&indent.repeat(depth));
            }
        };
        out.push(open);
        for (index, one) in all.iter().enumerate() {
            out.push_str(if index > 0 { "," } else { "" });
            line(out, depth + 1);
            write(out, one);
        }
        line(out, depth);
        out.push(close);
    }
}

fn text(value: &str) -> String {
    serde_json::to_string(value).expect("a text is JSON")
}
