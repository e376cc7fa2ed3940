//! Reads the tree of a document as a raw document, and checks keys and types.
//!
//! Reports all errors at once and continues with the rest. This file has the parts of a document, [`fields`] what all
//! mappings and lists share, and [`mod@scalar`] what all texts and numbers do.

mod fields;
mod scalar;
mod serve;

pub(super) use fields::{first_line_of, without_blank};
pub(super) use scalar::{boolean, may_deceive, text};

use self::fields::Fields;
use self::scalar::{TEMPLATE, template};
use super::check::{self, condition_example};
use super::dialects;
use super::finding::{Finding, add, is_affordable, shown};
use super::foreign::{self, ReadVariations};
use super::keys::{CONDITION, CONTENT, DOCUMENT, PREREQUISITE, RULE, VARIATION};
use super::node::{Node, NodeKind, Span, Style, field, is_null, quoted, scalar};
use super::resolve::{RawCondition, RawContent, RawDocument, RawPrerequisite, RawRule, RawVariation, Text};
use crate::model::{ConditionType, closest};

/// Reads `root`, the content of the file `path`, as a document. Reports values that cannot be read and leaves them out.
pub(super) fn document(path: &str, root: &Node, findings: &mut Vec<Finding>) -> RawDocument {
    let mut reader = ShapeReader::new(findings);
    if !is_a_document(root) {
        add(reader.findings, not_a_document(path, root));
        return RawDocument::default();
    }
    reader.around(root);
    let Some(fields) = reader.fields(root, root.span, "a document", DOCUMENT) else {
        return RawDocument::default();
    };
    reader.above.clone_from(&fields.meant);
    RawDocument {
        disabled: reader.required(&fields, "disabled").and_then(|field| reader.scalar(&field, boolean)),
        content: reader.required(&fields, "content").and_then(|field| reader.content(&field)),
    }
}

/// Returns whether a key of `root` is, or is similar to, a key of a document.
fn is_a_document(root: &Node) -> bool {
    match &root.kind {
        // A document has two keys; a mapping without one of them among the first hundred is not a document.
        NodeKind::Mapping(entries) => entries.iter().take(100).any(|(key, _)| {
            // These have errors that explain more than "not a document".
            matches!(&key.kind, NodeKind::Scalar(text, _)
                if matches!(text.as_str(), "comment" | "<<" | "variations" | "variants" | "strategies" | "defaultServe" | "disabledServe") || closest(text, DOCUMENT.iter().copied()).is_some())
        }),
        // An alias was reported already.
        NodeKind::Refused => true,
        NodeKind::Scalar(..) | NodeKind::Sequence(_) => false,
    }
}

fn not_a_document(path: &str, root: &Node) -> Finding {
    Finding::at(
        &check::NOT_A_DOCUMENT,
        first_line_of(root),
        "not a document: it has neither `disabled` nor `content`",
    )
    .help(foreign::wrapped(root).or_else(|| foreign::expectations(path, root)).unwrap_or_else(|| {
        "if documents are in a separate folder, set `--root` to it; files and folders whose names begin with `_` are never read"
            .to_owned()
    }))
}

/// Reads one document and collects findings.
pub(super) struct ShapeReader<'a> {
    pub(super) findings: &'a mut Vec<Finding>,
    pub(super) variations: ReadVariations,
    /// The value of `disabled` of the document.
    disabled: Option<Node>,
    /// The parts of `content` that are above it, which are reported there.
    above: Vec<&'static str>,
    /// The parts of `content` that it has.
    parts: Vec<&'static str>,
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

impl<'a> ShapeReader<'a> {
    pub(super) fn new(findings: &'a mut Vec<Finding>) -> Self {
        let variations = ReadVariations::default();
        Self { findings, variations, disabled: None, above: Vec::new(), parts: Vec::new() }
    }
}

impl ShapeReader<'_> {
    pub(super) fn add(&mut self, finding: Finding) {
        add(self.findings, finding);
    }

    /// Reads the parts of a document that the help on a key elsewhere in it names.
    fn around(&mut self, root: &Node) {
        let NodeKind::Mapping(entries) = &root.kind else { return };
        self.disabled = field(entries, "disabled").cloned();
        self.variations = field(entries, "content").map(ReadVariations::of).unwrap_or_default();
        if self.variations.names.is_empty() {
            self.variations = ReadVariations::of(root);
        }
    }

    pub(super) fn content(&mut self, field: &Field<'_>) -> Option<RawContent> {
        let variations = ReadVariations::of(field.node);
        if !variations.names.is_empty() {
            self.variations = variations;
        }
        let Some(mut fields) = self.fields(field.node, field.key, "`content`", CONTENT) else {
            let help = "write what the toggle serves below it: `variations`, `rules`, `disabledServe` and `defaultServe`";
            self.wrong_type(field, "a mapping", Some(help));
            return None;
        };
        fields.meant.extend(&self.above);
        self.parts = CONTENT.iter().filter(|name| fields.optional(name).is_some()).copied().collect();
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
            name: self
                .required_as(&fields, "name", "add a name that no other rule has, such as `name: adults`")
                .and_then(|field| self.text(&field)),
            serve: self.required_serve(&fields, "serve"),
            conditions: self.list(&fields, "conditions", Self::condition),
        })
    }

    fn condition(&mut self, field: &Field<'_>) -> Option<RawCondition> {
        if let Some((kind, help)) = foreign::share(field.node, &self.variations) {
            let name = shown(scalar(kind).unwrap_or_default());
            let message = format!("a condition compares an attribute, and `{name}` is a share of users");
            self.add(Finding::at(&check::WRONG_TYPE, kind.span, message).help(help));
            return None;
        }
        let fields = self.item(field, "a condition", CONDITION)?;
        let found = self.findings.len();
        let kind = self.condition_type(&fields);
        let (kind, meant) = match kind {
            Ok(kind) => (kind.clone(), kind.as_deref().and_then(known_type).map(str::to_owned)),
            Err(meant) => (None, meant.map(str::to_owned)),
        };
        let subject = match meant.as_deref() {
            // Whether it needs one depends on the kind of service. The default is not a second report.
            Some("segment") => fields.optional("subject").map(|field| self.text(&field).unwrap_or_default()),
            _ => {
                self.condition_field(&fields, meant.as_deref(), "subject").and_then(|field| self.text(&field))
            }
        };
        let is_between =
            ["leftPredicate", "rightPredicate"].iter().any(|name| fields.optional(name).is_some());
        let predicate = match is_between {
            true => self.required_as(&fields, "predicate", "write `predicate: between`, which has two sides"),
            false => self.condition_field(&fields, meant.as_deref(), "predicate"),
        };
        // An unknown key that stands for it has the help on both.
        let predicate = predicate.filter(|_| !fields.meant.contains(&"predicate"));
        let predicate = predicate.and_then(|field| self.text(&field));
        let objects = self.condition_field(&fields, meant.as_deref(), "objects");
        let object = match kind.as_deref().or(meant.as_deref()) {
            Some("datetime" | "number" | "semver") => Self::object_of_order,
            _ if predicate.as_deref().is_some_and(|predicate| predicate.contains("regex")) => Self::pattern,
            _ => Self::object,
        };
        let objects = objects.and_then(|field| self.items(&field, object));
        Some(RawCondition {
            kind,
            subject,
            predicate,
            objects,
            left_predicate: self.optional_text(&fields, "leftPredicate"),
            right_predicate: self.optional_text(&fields, "rightPredicate"),
            right_objects: fields.optional("rightObjects").and_then(|field| self.items(&field, object)),
            has_unread: self.findings[found..].iter().any(|finding| *finding.check != check::MISSING_FIELD),
        })
    }

    /// Returns the type of a condition; without one, the only type that it can have.
    fn condition_type(&mut self, fields: &Fields<'_>) -> Result<Option<String>, Option<&'static str>> {
        if let Some(field) = fields.optional("type") {
            return Ok(self.text(&field));
        }
        let node = |name| fields.optional(name).map(|field| field.node);
        let types = foreign::types(node("predicate"), node("objects"));
        self.required_as(fields, "type", &foreign::missing_type(&types));
        Err(match types.as_slice() {
            [kind] => Some(*kind),
            _ => None,
        })
    }

    fn condition_field<'n>(
        &mut self,
        fields: &Fields<'n>,
        kind: Option<&str>,
        name: &'static str,
    ) -> Option<Field<'n>> {
        // The values may stand below another key.
        let kind = kind.filter(|_| name != "objects" || !fields.has_unexplained());
        self.required_as(fields, name, condition_example(kind, name))
    }

    fn object(&mut self, field: &Field<'_>) -> Option<Text> {
        self.text(field).map(Text)
    }

    /// Reads a regular expression. The brackets of one without quotes are those of a list.
    fn pattern(&mut self, field: &Field<'_>) -> Option<Text> {
        let one = match &field.node.kind {
            NodeKind::Sequence(items) => match items.as_slice() {
                [Node { kind: NodeKind::Scalar(text, Style::Plain), .. }] if !is_null(text) => text,
                _ => return self.object(field),
            },
            _ => return self.object(field),
        };
        let help = format!("put it in quotes: `{}`", quoted(&shown(&format!("[{one}]"))));
        self.wrong_value(field, "text", help);
        None
    }

    /// Reads a number, a version or a time.
    fn object_of_order(&mut self, field: &Field<'_>) -> Option<Text> {
        self.text_or(field, "write what is compared with, or remove it").map(Text)
    }

    fn prerequisite(&mut self, field: &Field<'_>) -> Option<RawPrerequisite> {
        let fields = self.item(field, "a prerequisite", PREREQUISITE)?;
        let value = fields.optional("value").map(|field| field.node);
        let help = foreign::missing_value(fields.optional("type").map(|field| field.node));
        let kind = self.required_as(&fields, "type", &foreign::missing_return_type(value));
        Some(RawPrerequisite {
            key: self.required_text(&fields, "key"),
            value: self.required_as(&fields, "value", help).and_then(|field| self.value(&field)),
            kind: kind.and_then(|field| self.text(&field)),
        })
    }

    /// Reads the value of a prerequisite, which is never a list.
    fn value(&mut self, field: &Field<'_>) -> Option<String> {
        let Some(help) = foreign::one_value(field.node) else { return self.text(field) };
        self.wrong_value(field, "text", help);
        None
    }

    fn variation(&mut self, field: &Field<'_>) -> Option<RawVariation> {
        let fields = self.item(field, "a variation", VARIATION)?;
        Some(RawVariation {
            value: self.part_of_variation(&fields, field.node, "value"),
            name: self.part_of_variation(&fields, field.node, "name"),
            description: self.optional_text(&fields, "description"),
        })
    }

    fn part_of_variation(&mut self, fields: &Fields<'_>, node: &Node, name: &'static str) -> Option<String> {
        // A hostile document can have any number of variations.
        let help = match fields.optional(name).is_none() && is_affordable(self.findings) {
            true => foreign::missing_in_variation(name, node, &self.variations),
            false => String::new(),
        };
        let field = self.required_as(fields, name, &help)?;
        self.text(&field)
    }

    /// Returns the fields of an item of a list, which is a mapping.
    fn item<'n>(
        &mut self,
        field: &Field<'n>,
        what: &'static str,
        known: &[&'static str],
    ) -> Option<Fields<'n>> {
        let fields = self.fields(field.node, field.key, what, known);
        let is_condition = what == "a condition";
        let written = is_condition.then(|| foreign::condition_of(field.node)).flatten();
        if let Some(condition) = written {
            self.wrong_value(field, "a list of mappings", says_the_same(&condition));
        } else if fields.is_none() {
            let help = match (what, template(&field.node.kind)) {
                (_, Some(_)) => Some(TEMPLATE),
                ("a condition", _) => Some(
                    "write what it compares, such as `{ type: string, subject: country, predicate: is one of, objects: \
                     [\"AT\"] }`",
                ),
                ("a rule", _) => Some(
                    "write its name, its conditions and its serve, such as `{ name: adults, conditions: [{ type: number, \
                     subject: age, predicate: \">=\", objects: [\"18\"] }], serve: { select: 0 } }`",
                ),
                ("a variation", _) => {
                    Some("write its name and its value, such as `{ name: \"on\", value: \"true\" }`")
                }
                ("a prerequisite", _) => Some(
                    "write the toggle and what it must serve, such as `{ key: new-checkout, type: boolean, value: \"true\" }`",
                ),
                ("objects" | "rightObjects", _) => Some(condition_example(None, "objects")),
                _ => None,
            };
            self.wrong_type(field, "a list of mappings", help);
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
}

/// Returns the type that a word is, or that another tool calls so.
fn known_type(word: &str) -> Option<&'static str> {
    ConditionType::find(word).map(|kind| kind.name).or_else(|| dialects::meant_type(word))
}

/// Returns the help on a text in place of a condition that means `condition`.
fn says_the_same(condition: &str) -> String {
    match condition.contains('…') {
        true => format!("write a condition that says the same: `{condition}`"),
        false => format!("write `{condition}`"),
    }
}
