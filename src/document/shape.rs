//! From positions to a raw document: which keys there are and what kind of value each has.
//!
//! Reports everything at once and goes on with what is left; used only where something is wrong with a file, or
//! where its format is JSON.

use super::check::{self, Check};
use super::finding::{Finding, Spot, add, did_you_mean, shown, suggestion};
use super::hint::{example, listed, reserved_key};
use super::node::{Kind, Node, Span, Style, is_null};
use super::raw::{RawCondition, RawContent, RawDocument, RawRule, RawServe, RawVariation, Text};

const DOCUMENT: &[&str] = &["disabled", "content"];
const CONTENT: &[&str] = &["rules", "disabledServe", "defaultServe", "variations"];
const RULE: &[&str] = &["name", "serve", "conditions"];
const CONDITION: &[&str] = &["type", "subject", "predicate", "objects"];
const SERVE: &[&str] = &["select", "variation"];
const VARIATION: &[&str] = &["value", "name", "description"];

/// Reads `root` as a document; what cannot be read is missing from it and reported.
pub(super) fn document(root: &Node, findings: &mut Vec<Finding>) -> RawDocument {
    let mut shape = Shape { findings };
    if !is_a_document(root) {
        add(shape.findings, not_a_document(root));
        return RawDocument::default();
    }
    let Some(fields) = shape.fields(root, root.span, "a document", DOCUMENT) else {
        return RawDocument::default();
    };
    RawDocument {
        disabled: shape
            .required(&fields, "disabled")
            .and_then(|field| shape.boolean(&field)),
        content: shape
            .required(&fields, "content")
            .and_then(|field| shape.content(&field)),
    }
}

/// Whether at least one key of `root` is, or was meant to be, one of a document's.
fn is_a_document(root: &Node) -> bool {
    match &root.kind {
        // A document has two keys; whoever has more than a hundred before one of them has none.
        Kind::Mapping(entries) => entries.iter().take(100).any(|(key, _)| {
            matches!(&key.kind, Kind::Scalar(text, _)
                if matches!(text.as_str(), "comment" | "<<") || suggestion(text, DOCUMENT.iter().copied()).is_some())
        }),
        Kind::Refused => true,
        Kind::Scalar(..) | Kind::Sequence(_) => false,
    }
}

fn not_a_document(root: &Node) -> Finding {
    Finding::at(
        &check::NOT_A_DOCUMENT,
        first_line_of(root),
        "this is no toggle's document: it has neither `disabled` nor `content`",
    )
    .help(
        "where documents are in a folder of their own, name it with `--root`; a file or folder whose name begins with `_` is never read",
    )
}

/// Whether `node` is a mapping with that key.
fn has_key(node: &Node, name: &str) -> bool {
    let is_it = |key: &Node| matches!(&key.kind, Kind::Scalar(text, _) if text == name);
    matches!(&node.kind, Kind::Mapping(entries) if entries.iter().any(|(key, _)| is_it(key)))
}

/// Marks a collection by its first key or item: all of it would be too much.
fn first_line_of(node: &Node) -> Span {
    match &node.kind {
        Kind::Mapping(entries) => entries.first().map_or(node.span, |(key, _)| key.span),
        Kind::Sequence(items) => items.first().map_or(node.span, first_line_of),
        Kind::Refused | Kind::Scalar(..) => node.span,
    }
}

/// What was found so far while a document is taken apart.
pub(super) struct Shape<'a> {
    findings: &'a mut Vec<Finding>,
}

/// The entries of one mapping, each key once.
struct Fields<'n> {
    owner: Span,
    what: &'static str,
    entries: Vec<Field<'n>>,
}

/// One entry: what stands at a key.
#[derive(Clone, Copy)]
pub(super) struct Field<'n> {
    pub(super) name: &'n str,
    /// Where to point if the value itself takes no room.
    key: Span,
    pub(super) node: &'n Node,
}

impl Field<'_> {
    pub(super) fn span(&self) -> Span {
        match &self.node.kind {
            Kind::Scalar(..) | Kind::Refused if !self.node.span.is_empty() => self.node.span,
            _ => self.key,
        }
    }
}

impl Shape<'_> {
    pub(super) fn report(
        &mut self,
        check: &'static Check,
        span: Span,
        message: String,
        help: Option<String>,
    ) {
        add(self.findings, Finding::at(check, span, message).maybe_help(help));
    }

    pub(super) fn wrong_type(&mut self, field: &Field<'_>, wanted: &str, help: Option<String>) {
        let found = match &field.node.kind {
            Kind::Mapping(_) => "a mapping".to_owned(),
            Kind::Scalar(text, Style::Plain) if is_null(text) => "null".to_owned(),
            Kind::Scalar(text, Style::Plain) => format!("`{}`", shown(text)),
            Kind::Scalar(text, Style::Quoted) => format!("the text `{}`", shown(text)),
            Kind::Sequence(_) => "a list".to_owned(),
            // Reported already, as what it is.
            Kind::Refused => return,
        };
        let message = format!("`{}` is {wanted}, not {found}", shown(field.name));
        self.report(&check::WRONG_TYPE, field.span(), message, help);
    }

    /// Takes a mapping apart, reporting unknown and repeated keys.
    fn fields<'n>(
        &mut self,
        node: &'n Node,
        owner: Span,
        what: &'static str,
        known: &[&'static str],
    ) -> Option<Fields<'n>> {
        let Kind::Mapping(all) = &node.kind else {
            return None;
        };
        let mut entries: Vec<Field<'n>> = Vec::new();
        for (key, value) in all {
            let Kind::Scalar(name, _) = &key.kind else {
                self.report(
                    &check::WRONG_TYPE,
                    first_line_of(key),
                    "a key is a word, not a collection".to_owned(),
                    None,
                );
                continue;
            };
            if !known.contains(&name.as_str()) {
                self.unknown_key(name, key.span, what, known);
                continue;
            }
            if let Some(first) = entries.iter().find(|field| field.name == name) {
                let finding = Finding::at(
                    &check::DUPLICATE_KEY,
                    key.span,
                    format!("`{}` is here twice", shown(name)),
                )
                .help("keep one of the two")
                .related(Spot::Span(first.key), "first here");
                add(self.findings, finding);
                continue;
            }
            entries.push(Field {
                name,
                key: key.span,
                node: value,
            });
        }
        Some(Fields { owner, what, entries })
    }

    fn unknown_key(&mut self, name: &str, span: Span, what: &str, known: &[&'static str]) {
        if name == "<<" {
            let help = "write the content out where it is used: a reviewer reads what is applied";
            self.report(
                &check::MERGE_KEY,
                span,
                "a merge key (`<<`) is not allowed".to_owned(),
                Some(help.to_owned()),
            );
        } else if name == "comment" && what == "a document" {
            let message =
                "a document has no `comment`: the message of the commit that changes it is the comment";
            self.report(
                &check::COMMENT_KEY,
                span,
                message.to_owned(),
                Some("remove it, and say why in the commit message".to_owned()),
            );
        } else {
            let help = reserved_key(what, name)
                .map(str::to_owned)
                .or_else(|| did_you_mean(name, known.iter().copied()))
                .unwrap_or_else(|| format!("{what} has {}", listed(known)));
            self.report(
                &check::UNKNOWN_KEY,
                span,
                format!("{what} has no `{}`", shown(name)),
                Some(help),
            );
        }
    }

    fn required<'n>(&mut self, fields: &Fields<'n>, name: &'static str) -> Option<Field<'n>> {
        let found = fields.optional(name);
        if found.is_none() {
            let (check, message) = match (fields.what, name) {
                ("a rule", "serve") => (
                    &check::RULE_WITHOUT_SERVE,
                    "this rule does not say what it serves".to_owned(),
                ),
                (what, name) => (&check::MISSING_FIELD, format!("{what} needs `{name}`")),
            };
            self.report(check, fields.owner, message, Some(example(name).to_owned()));
        }
        found
    }

    fn content(&mut self, field: &Field<'_>) -> Option<RawContent> {
        let Some(fields) = self.fields(field.node, field.key, "`content`", CONTENT) else {
            self.wrong_type(field, "a mapping", None);
            return None;
        };
        Some(RawContent {
            rules: self.list(&fields, "rules", Self::rule),
            disabled_serve: self
                .required(&fields, "disabledServe")
                .and_then(|field| self.serve(&field)),
            default_serve: self
                .required(&fields, "defaultServe")
                .and_then(|field| self.serve(&field)),
            variations: self.list(&fields, "variations", Self::variation),
        })
    }

    /// Reads a list; an item that cannot be read is a default one, so that the others keep their places.
    fn list<T: Default>(
        &mut self,
        fields: &Fields<'_>,
        name: &'static str,
        item: fn(&mut Self, &Field<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let field = self.required(fields, name)?;
        let Kind::Sequence(items) = &field.node.kind else {
            let help = format!("write `{name}: []` for none");
            let help = matches!(name, "rules" | "conditions").then_some(help);
            self.wrong_type(&field, "a list", help);
            return None;
        };
        let read = |node| {
            let key = match first_line_of(node) {
                span if span.is_empty() => field.key,
                span => span,
            };
            item(self, &Field { name, key, node }).unwrap_or_default()
        };
        Some(items.iter().map(read).collect())
    }

    fn rule(&mut self, field: &Field<'_>) -> Option<RawRule> {
        let Some(fields) = self.fields(field.node, field.key, "a rule", RULE) else {
            self.wrong_type(field, "a list of mappings", None);
            return None;
        };
        Some(RawRule {
            name: self.required(&fields, "name").and_then(|field| self.text(&field)),
            serve: self
                .required(&fields, "serve")
                .and_then(|field| self.serve(&field)),
            conditions: self.list(&fields, "conditions", Self::condition),
        })
    }

    fn condition(&mut self, field: &Field<'_>) -> Option<RawCondition> {
        let Some(fields) = self.fields(field.node, field.key, "a condition", CONDITION) else {
            self.wrong_type(field, "a list of mappings", None);
            return None;
        };
        Some(RawCondition {
            kind: self.required(&fields, "type").and_then(|field| self.text(&field)),
            subject: self
                .required(&fields, "subject")
                .and_then(|field| self.text(&field)),
            predicate: self
                .required(&fields, "predicate")
                .and_then(|field| self.text(&field)),
            objects: self.list(&fields, "objects", Self::object),
        })
    }

    fn object(&mut self, field: &Field<'_>) -> Option<Text> {
        self.text(field).map(Text)
    }

    fn serve(&mut self, field: &Field<'_>) -> Option<RawServe> {
        let Some(fields) = self.fields(field.node, field.key, "a serve", SERVE) else {
            let help = "write `{ select: 0 }` or `{ variation: \"name\" }`";
            self.wrong_type(field, "a mapping", Some(help.to_owned()));
            return None;
        };
        if fields.entries.is_empty() && has_key(field.node, "split") {
            return None;
        }
        if fields.entries.len() != 1 {
            let message = match fields.entries.len() {
                0 => "a serve needs `select` or `variation`",
                _ => "a serve has `select` or `variation`, not both",
            };
            let help = "write `{ select: 0 }` or `{ variation: \"name\" }`";
            self.report(
                &check::SERVE_CHOICE,
                fields.owner,
                message.to_owned(),
                Some(help.to_owned()),
            );
            return None;
        }
        let serve = RawServe {
            select: fields.optional("select").and_then(|field| self.index(&field)),
            variation: fields.optional("variation").and_then(|field| self.text(&field)),
        };
        // A serve of which nothing could be read was reported already.
        (serve != RawServe::default()).then_some(serve)
    }

    fn variation(&mut self, field: &Field<'_>) -> Option<RawVariation> {
        let Some(fields) = self.fields(field.node, field.key, "a variation", VARIATION) else {
            self.wrong_type(field, "a list of mappings", None);
            return None;
        };
        Some(RawVariation {
            value: self
                .required(&fields, "value")
                .and_then(|field| self.text(&field)),
            name: self.required(&fields, "name").and_then(|field| self.text(&field)),
            description: fields.optional("description").and_then(|field| self.text(&field)),
        })
    }
}

impl<'n> Fields<'n> {
    fn optional(&self, name: &str) -> Option<Field<'n>> {
        self.entries.iter().find(|field| field.name == name).copied()
    }
}
