//! Reads the expectations of `NAME.test.yaml`, which `gitoggle test` compares with what `NAME.yaml` serves,
//! and the lines of the serves in a document, for reports about them.

use std::collections::BTreeMap;

use super::finding::{Diagnostic, Finding, Spot, did_you_mean, shown};
use super::foreign::{self, ReadVariations};
use super::keys::EXPECTATION;
use super::node::{Node, NodeKind, PathStep, Span, scalar};
use super::shape::{Field, ShapeReader, first_line_of};
use super::{Severity, check, conflict_marker, evident, finding, is_empty, meant, shape, syntax, text};
use crate::model::{Blob, Variation, seconds, time_help};

/// What a toggle must serve to a user.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Expectation {
    /// The name, unique in its file.
    pub name: String,
    /// The line, from 1.
    pub line: u32,
    /// The user's attributes, as they are written.
    pub given: BTreeMap<String, String>,
    /// The user's key.
    pub key: Option<String>,
    /// The time of evaluation, in seconds since 1970-01-01 UTC.
    pub at: Option<i64>,
    /// The name of the variation.
    pub serves: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Expectations {
    /// The expectations in the order of the file; `None` exactly if `diagnostics` is not empty.
    pub list: Option<Vec<Expectation>>,
    /// The findings, all of them errors, sorted by position.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads one file of expectations. `path` is shown in messages. `variations` are those of the toggle, if it
/// has a valid document.
///
/// Takes bounded time and memory for any content.
pub(crate) fn expectations(path: &str, content: &Blob, variations: Option<&[Variation]>) -> Expectations {
    let text = match text(path, content) {
        Ok(text) => text,
        Err(diagnostic) => {
            return Expectations { list: None, diagnostics: vec![*diagnostic] };
        }
    };
    let loaded = syntax::parse(text);
    let mut findings = loaded.findings;
    let mut list = Vec::new();
    match &loaded.root {
        Some(root) if !is_empty(root) && !is_list_of_none(root) => {
            let read = variations.map(ReadVariations::of_toggle).unwrap_or_default();
            let mut reader = ShapeReader::new(&mut findings);
            reader.variations = read;
            let joined = evident::expectations(root, reader.findings);
            list = reader.expectations(joined.as_ref().unwrap_or(root), variations);
        }
        _ if findings.is_empty() => findings.push(
            Finding::new(&check::EMPTY_DOCUMENT, Spot::WholeFile, "this file contains no expectation")
                .help(EXAMPLE),
        ),
        _ => {}
    }
    finding::merge_ends(&mut findings, loaded.root.as_ref());
    findings.retain(|finding| finding.check.severity == Severity::Error);
    // The markers cause the other findings.
    if let Some(conflict) = conflict_marker(text).filter(|_| !findings.is_empty()) {
        findings = vec![conflict];
    }
    for finding in findings.iter_mut().filter(|finding| finding.check.id == check::SEVERAL_DOCUMENTS.id) {
        finding.help = Some(
            "remove the line with the three dashes: all expectations of a toggle are in one list".to_owned(),
        );
    }
    Expectations {
        list: findings.is_empty().then_some(list),
        diagnostics: finding::diagnose(path, text, loaded.root.as_ref(), findings),
    }
}

/// Parses the time of an evaluation as seconds since 1970-01-01 UTC. The error is what to write instead.
pub(crate) fn evaluation_time(text: &str) -> Result<i64, String> {
    seconds(text).map_err(|_| match meant::time(text) {
        Some(time) => time.help(""),
        None => time_help(text).to_owned(),
    })
}

const EXAMPLE: &str = "write a list, such as `- { name: adults, given: { age: 20 }, serves: \"on\" }`";

fn is_list_of_none(root: &Node) -> bool {
    matches!(&root.kind, NodeKind::Sequence(items) if items.is_empty())
}

impl ShapeReader<'_> {
    fn expectations(&mut self, root: &Node, variations: Option<&[Variation]>) -> Vec<Expectation> {
        let field = Field { name: "expectations", key: root.span, node: root };
        let NodeKind::Sequence(items) = &root.kind else {
            let span = first_line_of(root);
            let finding = Finding::at(&check::WRONG_TYPE, span, "this file is a list of expectations");
            self.add(finding.help(match &root.kind {
                NodeKind::Mapping(entries) => match entries.as_slice() {
                    [
                        (
                            Node { kind: NodeKind::Scalar(key, _), .. },
                            Node { kind: NodeKind::Sequence(_), .. },
                        ),
                    ] => {
                        format!("remove `{}:`: the list is the whole file", shown(key))
                    }
                    _ => EXAMPLE.to_owned(),
                },
                _ => EXAMPLE.to_owned(),
            }));
            return Vec::new();
        };
        let mut names: BTreeMap<String, Span> = BTreeMap::new();
        let mut list = Vec::new();
        for node in items {
            let span = first_line_of(node);
            let item = Field { node, key: span, ..field };
            let Some((expectation, name)) = self.expectation(&item, variations) else {
                continue;
            };
            if let Some(first) = names.insert(expectation.name.clone(), name) {
                let message = format!("two expectations are named `{}`", shown(&expectation.name));
                let finding = Finding::at(&check::DUPLICATE_TEST, name, message)
                    .help("rename one of them, so that a report names the one that failed")
                    .related(Spot::Span(first), "first here");
                self.add(finding);
            }
            list.push(expectation);
        }
        list
    }

    /// Reads one expectation. Returns it with the position of its name.
    fn expectation(
        &mut self,
        item: &Field<'_>,
        variations: Option<&[Variation]>,
    ) -> Option<(Expectation, Span)> {
        let Some(fields) = self.fields(item.node, item.key, "an expectation", EXPECTATION) else {
            let help = "write its parts, such as `{ name: adults, given: { age: 20 }, serves: \"on\" }`";
            self.wrong_type(item, "a list of mappings", Some(help));
            return None;
        };
        let name = self.required_as(&fields, "name", "add a name, such as `name: adults`");
        let given = fields.optional("given").map(|field| self.given(&field));
        let key = fields
            .optional("key")
            .and_then(|field| self.text_or(&field, "write the user's key, or remove it"));
        let at = fields.optional("at").and_then(|field| self.time(&field));
        let serves = self.required(&fields, "serves");
        let variation = serves.and_then(|field| Some((self.served(&field)?, field)));
        if let (Some((variation, field)), Some(variations)) = (&variation, variations) {
            self.is_variation(variation, field, variations);
        }
        let name = name.and_then(|field| Some((self.text(&field)?, field.span())));
        let ((name, span), (serves, _)) = name.zip(variation)?;
        let expectation = Expectation {
            name,
            line: item.key.start.line,
            given: given.unwrap_or_default(),
            key,
            at,
            serves,
        };
        Some((expectation, span))
    }

    /// Reads the attributes of a user. Numbers and booleans stay as they are written, because the SDKs
    /// compare text.
    fn given(&mut self, field: &Field<'_>) -> BTreeMap<String, String> {
        let NodeKind::Mapping(entries) = &field.node.kind else {
            let such_as = match field.node.is_null() {
                true => "remove it for a user without attributes",
                false => "write the attributes of the user, such as `given: { age: 20 }`",
            };
            let help = foreign::attributes(&field.node.kind).unwrap_or_else(|| such_as.to_owned());
            self.wrong_value(field, "a mapping of attributes", help);
            return BTreeMap::new();
        };
        if let Some((key, node, help)) = foreign::nested_user(entries) {
            let name = scalar(key).unwrap_or_default();
            self.wrong_value(&Field { name, key: key.span, node }, "text", help);
            return BTreeMap::new();
        }
        let mut given: BTreeMap<String, (String, Span)> = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            let (key, node) = entry;
            let before = at.checked_sub(1).and_then(|before| entries.get(before));
            let is_key = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
            if let Some(cut) = meant::cut_at_comma(before, entry, is_key) {
                self.add(Finding::at(&check::WRONG_TYPE, key.span, cut.message()).help(cut.help));
                continue;
            }
            if let Some((finding, help)) = shape::without_blank(entry, is_key) {
                self.add(finding.help(help));
                continue;
            }
            let name = match shape::text("attribute", &key.kind) {
                Ok(name) => name,
                Err(problem) => {
                    self.problem(field, problem);
                    continue;
                }
            };
            let attribute = Field { name: &name, key: key.span, node };
            let absent =
                format!("remove it for a user without it, or write `{}: \"\"` for empty text", shown(&name));
            if matches!(&node.kind, NodeKind::Mapping(entries) if foreign::is_compared(entries)) {
                let help = format!("write the one value that this user has: `{}: …`", shown(&name));
                self.wrong_value(&attribute, "text", help);
                continue;
            }
            let Some(value) = self.text_or(&attribute, &absent) else {
                continue;
            };
            if let Some((_, first)) = given.get(&name) {
                self.duplicate_key(&name, key.span, *first);
            }
            given.insert(name, (value, key.span));
        }
        let values = given.into_iter();
        values.map(|(name, (value, _))| (name, value)).collect()
    }

    fn time(&mut self, field: &Field<'_>) -> Option<i64> {
        let text = self.text_or(field, "write a time, such as `2024-12-31T23:59:59Z`, or remove it")?;
        let help = match evaluation_time(&text) {
            Ok(time) => return Some(time),
            Err(help) => help,
        };
        let message = format!("`{}` is not a time", shown(&text));
        self.add(Finding::at(&check::BAD_DATETIME, field.span(), message).help(help));
        None
    }

    /// Reads the name of the variation that is served.
    fn served(&mut self, field: &Field<'_>) -> Option<String> {
        let Some(help) = self.variations.served_in(&field.node.kind) else {
            return self.text_or(field, "name the variation that is served");
        };
        self.wrong_value(field, "text", help);
        None
    }

    fn is_variation(&mut self, name: &str, field: &Field<'_>, variations: &[Variation]) {
        let names = || variations.iter().map(|variation| variation.name.as_str());
        if names().any(|known| known == name) {
            return;
        }
        let message = format!("the toggle has no variation `{}`", shown(name));
        let meant = self.variations.served_by(name).or_else(|| did_you_mean(name, names()));
        let help = meant.unwrap_or_else(|| {
            let quoted: Vec<String> = names().take(10).map(|name| format!("`{}`", shown(name))).collect();
            format!("it has {}", crate::model::listed(&quoted))
        });
        self.add(Finding::at(&check::UNKNOWN_VARIATION, field.span(), message).help(help));
    }
}

/// The lines of the serves of a document, from 1.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ServeLines {
    /// The first line of each rule.
    pub rules: Vec<u32>,
    /// The line of `defaultServe`.
    pub default_serve: u32,
    /// The line of `disabledServe`.
    pub disabled_serve: u32,
}

/// Returns the lines of the serves of a document with `rules` rules; `None` if the parser with positions
/// cannot read it.
pub(crate) fn serve_lines(content: &Blob, rules: usize) -> Option<ServeLines> {
    let text = text("", content).ok()?;
    let root = syntax::parse(text).root?;
    let content = PathStep::Key("content");
    let rule = |index| line(&root, &[content, PathStep::Key("rules"), PathStep::Item(index)]);
    Some(ServeLines {
        rules: (0..rules).map(rule).collect(),
        default_serve: line(&root, &[content, PathStep::Key("defaultServe")]),
        disabled_serve: line(&root, &[content, PathStep::Key("disabledServe")]),
    })
}

fn line(root: &Node, path: &[PathStep]) -> u32 {
    let located = root.locate(path);
    located.key.unwrap_or(located.value).start.line
}
