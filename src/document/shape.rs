//! Converts parsed nodes to a raw document and checks keys and types.
//!
//! Reports all errors at once and continues with the rest. Used only for JSON and for files with findings.

use super::check;
use super::finding::{Finding, Spot, add, did_you_mean, shown};
use super::help::{example, quoted};
use super::node::{Node, NodeKind, Span};
use super::raw::RawDocument;
use super::scalar::{self, Problem};
use crate::model::{closest, listed};

pub(super) const DOCUMENT: &[&str] = &["disabled", "content"];

/// Reads `root` as a document. Reports values that cannot be read and leaves them out.
pub(super) fn document(root: &Node, findings: &mut Vec<Finding>) -> RawDocument {
    let mut reader = ShapeReader { findings };
    if !is_a_document(root) {
        add(reader.findings, not_a_document(root));
        return RawDocument::default();
    }
    let Some(fields) = reader.fields(root, root.span, "a document", DOCUMENT) else {
        return RawDocument::default();
    };
    RawDocument {
        disabled: reader
            .required(&fields, "disabled")
            .and_then(|field| reader.scalar(&field, scalar::boolean)),
        content: reader.required(&fields, "content").and_then(|field| reader.content(&field)),
    }
}

/// Returns whether a key of `root` is, or is similar to, a key of a document.
fn is_a_document(root: &Node) -> bool {
    match &root.kind {
        // A document has two keys; a mapping without one of them among the first hundred is not a document.
        NodeKind::Mapping(entries) => entries.iter().take(100).any(|(key, _)| {
            // `comment` and `<<` have errors that explain more than "not a document".
            matches!(&key.kind, NodeKind::Scalar(text, _)
                if matches!(text.as_str(), "comment" | "<<") || closest(text, DOCUMENT.iter().copied()).is_some())
        }),
        // An alias was reported already.
        NodeKind::Refused => true,
        NodeKind::Scalar(..) | NodeKind::Sequence(_) => false,
    }
}

fn not_a_document(root: &Node) -> Finding {
    Finding::at(
        &check::NOT_A_DOCUMENT,
        first_line_of(root),
        "not a document: it has neither `disabled` nor `content`",
    )
    .help(
        "if documents are in a separate folder, set `--root` to it; files and folders whose names begin with `_` are never read",
    )
}

/// Returns the span of a scalar, or of the first key or item of a collection.
pub(super) fn first_line_of(node: &Node) -> Span {
    // The span of a whole collection can be the rest of the file.
    match &node.kind {
        NodeKind::Mapping(entries) => entries.first().map_or(node.span, |(key, _)| key.span),
        NodeKind::Sequence(items) => items.first().map_or(node.span, first_line_of),
        NodeKind::Refused | NodeKind::Scalar(..) => node.span,
    }
}

/// Reads one document and collects findings.
pub(super) struct ShapeReader<'a> {
    pub(super) findings: &'a mut Vec<Finding>,
}

/// The known entries of one mapping, each key once.
pub(super) struct Fields<'n> {
    pub(super) owner: Span,
    what: &'static str,
    pub(super) entries: Vec<Field<'n>>,
}

/// One entry of a mapping.
#[derive(Clone, Copy)]
pub(super) struct Field<'n> {
    pub(super) name: &'n str,
    /// The position in findings if the value is empty.
    pub(super) key: Span,
    pub(super) node: &'n Node,
}

impl Field<'_> {
    pub(super) fn span(&self) -> Span {
        match &self.node.kind {
            // A collection would be underlined as a whole, and an empty value has nothing to underline.
            NodeKind::Scalar(..) | NodeKind::Refused if !self.node.span.is_empty() => self.node.span,
            _ => self.key,
        }
    }
}

impl ShapeReader<'_> {
    pub(super) fn add(&mut self, finding: Finding) {
        add(self.findings, finding);
    }

    pub(super) fn wrong_type(&mut self, field: &Field<'_>, wanted: &str, help: Option<&'static str>) {
        let problem = scalar::wrong_type(field.name, &field.node.kind, wanted, help);
        self.problem(field, problem);
    }

    pub(super) fn problem(&mut self, field: &Field<'_>, problem: Option<Problem>) {
        if let Some(Problem { check, message, help }) = problem {
            self.add(Finding::at(check, field.span(), message).maybe_help(help));
        }
    }

    pub(super) fn scalar<T>(
        &mut self,
        field: &Field<'_>,
        read: fn(&str, &NodeKind) -> Result<T, Option<Problem>>,
    ) -> Option<T> {
        read(field.name, &field.node.kind).map_err(|problem| self.problem(field, problem)).ok()
    }

    pub(super) fn text(&mut self, field: &Field<'_>) -> Option<String> {
        self.scalar(field, scalar::text)
    }

    /// Returns the entries of a mapping. Reports unknown and repeated keys.
    pub(super) fn fields<'n>(
        &mut self,
        node: &'n Node,
        owner: Span,
        what: &'static str,
        known: &[&'static str],
    ) -> Option<Fields<'n>> {
        let NodeKind::Mapping(all) = &node.kind else {
            return None;
        };
        let mut entries: Vec<Field<'n>> = Vec::new();
        for (key, value) in all {
            let NodeKind::Scalar(name, _) = &key.kind else {
                let message = "a key must be a word, not a collection";
                self.add(Finding::at(&check::WRONG_TYPE, first_line_of(key), message));
                continue;
            };
            if !known.contains(&name.as_str()) {
                self.unknown_key(name, key.span, what, known);
                continue;
            }
            if let Some(first) = entries.iter().find(|field| field.name == name) {
                let first = first.key;
                self.duplicate_key(name, key.span, first);
                continue;
            }
            entries.push(Field { name, key: key.span, node: value });
        }
        Some(Fields { owner, what, entries })
    }

    pub(super) fn duplicate_key(&mut self, name: &str, span: Span, first: Span) {
        let message = format!("duplicate key `{}`", shown(name));
        let finding = Finding::at(&check::DUPLICATE_KEY, span, message).help("keep one of the two");
        self.add(finding.related(Spot::Span(first), "first here"));
    }

    fn unknown_key(&mut self, name: &str, span: Span, what: &str, known: &[&'static str]) {
        let finding = if name == "<<" {
            // What a reviewer reads must be what is applied (DESIGN, section 2).
            Finding::at(&check::MERGE_KEY, span, "a merge key (`<<`) is not allowed")
                .help("write the content out where it is used, so that a reviewer sees it")
        } else if name == "comment" && what == "a document" {
            // The service's request body has a `comment`, so a copied body gets an explanation, not just an unknown
            // key.
            let message =
                "a document has no `comment`: the message of the commit that changes it is the comment";
            Finding::at(&check::COMMENT_KEY, span, message)
                .help("remove it, and write the reason into the commit message")
        } else {
            let spaced = name.split_once(':').filter(|(key, value)| known.contains(key) && !value.is_empty());
            let spaced = spaced
                .map(|(key, value)| format!("write a space after the colon: `{key}: {}`", shown(value)));
            let help = spaced
                .or_else(|| did_you_mean(name, known.iter().copied()))
                .unwrap_or_else(|| format!("{what} has {}", listed(&quoted(known))));
            Finding::at(&check::UNKNOWN_KEY, span, format!("{what} has no `{}`", shown(name))).help(help)
        };
        self.add(finding);
    }

    pub(super) fn required<'n>(&mut self, fields: &Fields<'n>, name: &'static str) -> Option<Field<'n>> {
        let found = fields.optional(name);
        if found.is_none() {
            let (check, message) = match (fields.what, name) {
                ("a rule", "serve") => (&check::RULE_WITHOUT_SERVE, "this rule has no serve".to_owned()),
                (what, name) => (&check::MISSING_FIELD, format!("{what} needs `{name}`")),
            };
            self.add(Finding::at(check, fields.owner, message).help(example(name)));
        }
        found
    }

    /// Reads a required list. Replaces an item that cannot be read by the default.
    pub(super) fn list<T: Default>(
        &mut self,
        fields: &Fields<'_>,
        name: &'static str,
        item: fn(&mut Self, &Field<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let field = self.required(fields, name)?;
        self.items(&field, item)
    }

    /// Reads the items of a list.
    pub(super) fn items<T: Default>(
        &mut self,
        field: &Field<'_>,
        item: fn(&mut Self, &Field<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let NodeKind::Sequence(items) = &field.node.kind else {
            let help = match (field.name, &field.node.kind) {
                ("rules" | "conditions" | "prerequisites", NodeKind::Mapping(..)) => {
                    Some("write `- ` before each item, or `[]` for none")
                }
                ("rules" | "conditions" | "prerequisites", _) => Some("write `[]` for none"),
                (_, NodeKind::Scalar(..)) => {
                    Some("write a list in square brackets, such as `[\"a\", \"b\"]`")
                }
                _ => None,
            };
            self.wrong_type(field, "a list", help);
            return None;
        };
        let read = |node| {
            let key = match first_line_of(node) {
                span if span.is_empty() => field.key,
                span => span,
            };
            // An unreadable item keeps its place, so that the items after it keep their indices.
            item(self, &Field { name: field.name, key, node }).unwrap_or_default()
        };
        Some(items.iter().map(read).collect())
    }
}

impl<'n> Fields<'n> {
    pub(super) fn optional(&self, name: &str) -> Option<Field<'n>> {
        self.entries.iter().find(|field| field.name == name).copied()
    }
}
