//! Reads the parts of a document from nodes: content, rules, conditions, serves, variations and prerequisites.

use std::collections::HashMap;

use super::check;
use super::finding::Finding;
use super::help::{ROLLOUT, SERVE_FORMS};
use super::node::{Node, NodeKind, Span};
use super::raw::{
    RawCondition, RawContent, RawPrerequisite, RawRule, RawServe, RawSplit, RawVariation, Text,
};
use super::scalar;
use super::shape::{DOCUMENT, Field, Fields, ShapeReader, first_line_of};

pub(super) const CONTENT: &[&str] =
    &["rules", "disabledServe", "defaultServe", "variations", "prerequisites"];
pub(super) const RULE: &[&str] = &["name", "serve", "conditions"];
pub(super) const CONDITION: &[&str] =
    &["type", "subject", "predicate", "objects", "leftPredicate", "rightPredicate", "rightObjects"];
const SERVE: &[&str] = &["select", "variation", "split"];
pub(super) const VARIATION: &[&str] = &["value", "name", "description"];
pub(super) const PREREQUISITE: &[&str] = &["key", "value", "type"];

/// Returns whether a key occurs anywhere in a document.
pub(super) fn is_known_key(name: &str) -> bool {
    [DOCUMENT, CONTENT, RULE, CONDITION, SERVE, VARIATION, PREREQUISITE]
        .iter()
        .any(|keys| keys.contains(&name))
}

impl ShapeReader<'_> {
    pub(super) fn content(&mut self, field: &Field<'_>) -> Option<RawContent> {
        let Some(fields) = self.fields(field.node, field.key, "`content`", CONTENT) else {
            self.wrong_type(field, "a mapping", None);
            return None;
        };
        Some(RawContent {
            rules: self.list(&fields, "rules", Self::rule),
            disabled_serve: self.required_serve(&fields, "disabledServe"),
            default_serve: self.required_serve(&fields, "defaultServe"),
            variations: self.list(&fields, "variations", Self::variation),
            prerequisites: fields
                .optional("prerequisites")
                .and_then(|field| self.items(&field, Self::prerequisite)),
        })
    }

    fn rule(&mut self, field: &Field<'_>) -> Option<RawRule> {
        let fields = self.item(field, "a rule", RULE)?;
        Some(RawRule {
            name: self.required_text(&fields, "name"),
            serve: self.required_serve(&fields, "serve"),
            conditions: self.list(&fields, "conditions", Self::condition),
        })
    }

    fn condition(&mut self, field: &Field<'_>) -> Option<RawCondition> {
        let fields = self.item(field, "a condition", CONDITION)?;
        let kind = self.required_text(&fields, "type");
        let subject = match kind.as_deref() {
            // Whether it needs one depends on the kind of service. The default is not a second report.
            Some("segment") => fields.optional("subject").map(|field| self.text(&field).unwrap_or_default()),
            _ => self.required_text(&fields, "subject"),
        };
        Some(RawCondition {
            kind,
            subject,
            predicate: self.required_text(&fields, "predicate"),
            objects: self.list(&fields, "objects", Self::object),
            left_predicate: self.optional_text(&fields, "leftPredicate"),
            right_predicate: self.optional_text(&fields, "rightPredicate"),
            right_objects: fields.optional("rightObjects").and_then(|field| self.items(&field, Self::object)),
        })
    }

    /// Returns the fields of an item of a list, which is a mapping.
    fn item<'n>(
        &mut self,
        field: &Field<'n>,
        what: &'static str,
        known: &[&'static str],
    ) -> Option<Fields<'n>> {
        let fields = self.fields(field.node, field.key, what, known);
        if fields.is_none() {
            self.wrong_type(field, "a list of mappings", None);
        }
        fields
    }

    fn required_text(&mut self, fields: &Fields<'_>, name: &'static str) -> Option<String> {
        let field = self.required(fields, name)?;
        self.text(&field)
    }

    fn optional_text(&mut self, fields: &Fields<'_>, name: &'static str) -> Option<String> {
        let field = fields.optional(name)?;
        self.text(&field)
    }

    fn required_serve(&mut self, fields: &Fields<'_>, name: &'static str) -> Option<RawServe> {
        let field = self.required(fields, name)?;
        self.serve(&field)
    }

    fn object(&mut self, field: &Field<'_>) -> Option<Text> {
        self.text(field).map(Text)
    }

    fn serve(&mut self, field: &Field<'_>) -> Option<RawServe> {
        let Some(fields) = self.fields(field.node, field.key, "a serve", SERVE) else {
            self.wrong_type(field, "a mapping", Some(SERVE_FORMS));
            return None;
        };
        let serve = RawServe {
            select: fields.optional("select").and_then(|field| self.scalar(&field, scalar::index)),
            variation: self.optional_text(&fields, "variation"),
            split: fields.optional("split").and_then(|field| self.split(&field)),
        };
        let RawServe { select, variation, split } = &serve;
        let read = [select.is_some(), variation.is_some(), split.is_some()];
        let is_complete = read.into_iter().filter(|is_read| *is_read).count() == entries(field.node);
        // A field that is unknown, repeated or cannot be read was reported already.
        is_complete.then_some(serve)
    }

    /// Reads the shares of a split. Nothing is returned if one of them cannot be read, because the others would not add
    /// up.
    fn split(&mut self, field: &Field<'_>) -> Option<RawSplit> {
        match &field.node.kind {
            NodeKind::Mapping(entries) => {
                let mut first: HashMap<&str, Span> = HashMap::new();
                let mut shares = Vec::new();
                for (key, node) in entries {
                    let name = self.share_name(field, key);
                    let share = self.share(key.span, node);
                    let (Some(name), Some(share)) = (name, share) else {
                        continue;
                    };
                    if let Some(first) = first.insert(name, key.span) {
                        self.duplicate_key(name, key.span, first);
                        continue;
                    }
                    shares.push((name.to_owned(), share));
                }
                (shares.len() == entries.len()).then_some(RawSplit::ByName(shares))
            }
            NodeKind::Sequence(items) => {
                let weights: Vec<Text> =
                    items.iter().filter_map(|node| self.share(field.key, node)).collect();
                (weights.len() == items.len()).then_some(RawSplit::ByIndex(weights))
            }
            _ => {
                self.wrong_type(field, "percentages by name, or a list of weights", Some(ROLLOUT));
                None
            }
        }
    }

    fn share_name<'n>(&mut self, field: &Field<'_>, key: &'n Node) -> Option<&'n str> {
        match &key.kind {
            NodeKind::Scalar(name, _) if !key.is_null() => Some(name),
            NodeKind::Refused => None,
            _ => {
                let span = if key.span.is_empty() { field.key } else { first_line_of(key) };
                let message = "a key of a split is the name of a variation";
                let finding = Finding::at(&check::NULL_TEXT, span, message);
                self.add(finding.help("quote the name, such as `\"null\"`"));
                None
            }
        }
    }

    fn share(&mut self, key: Span, node: &Node) -> Option<Text> {
        let field = Field { name: "split", key, node };
        match &node.kind {
            NodeKind::Scalar(text, _) if !node.is_null() => Some(Text(text.clone())),
            _ => {
                self.wrong_type(&field, "made of numbers", None);
                None
            }
        }
    }

    fn prerequisite(&mut self, field: &Field<'_>) -> Option<RawPrerequisite> {
        let fields = self.item(field, "a prerequisite", PREREQUISITE)?;
        Some(RawPrerequisite {
            key: self.required_text(&fields, "key"),
            value: self.required_text(&fields, "value"),
            kind: self.required_text(&fields, "type"),
        })
    }

    fn variation(&mut self, field: &Field<'_>) -> Option<RawVariation> {
        let fields = self.item(field, "a variation", VARIATION)?;
        Some(RawVariation {
            value: self.required_text(&fields, "value"),
            name: self.required_text(&fields, "name"),
            description: self.optional_text(&fields, "description"),
        })
    }
}

/// Returns the number of entries of a mapping.
fn entries(node: &Node) -> usize {
    match &node.kind {
        NodeKind::Mapping(entries) => entries.len(),
        _ => 0,
    }
}
