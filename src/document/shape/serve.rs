//! Serves: an index, a name or a split.

use std::collections::HashMap;

use super::fields::{Fields, first_line_of, without_blank};
use super::scalar::{Problem, index, text};
use super::{Field, ShapeReader};
use crate::document::check::{self, needs_split};
use crate::document::finding::{Finding, is_affordable, shown};
use crate::document::foreign::{self, ReadVariations};
use crate::document::keys::SERVE;
use crate::document::meant;
use crate::document::node::{Node, NodeKind, Span, quoted, scalar};
use crate::document::resolve::{RawServe, RawSplit, Text};

impl ShapeReader<'_> {
    pub(super) fn required_serve(&mut self, fields: &Fields<'_>, name: &'static str) -> Option<RawServe> {
        let field = self.required(fields, name)?;
        self.serve(&field)
    }

    pub(in crate::document) fn serve(&mut self, field: &Field<'_>) -> Option<RawServe> {
        if self.is_distribution(field.node) {
            return None;
        }
        if is_affordable(self.findings)
            && let Some((first, split)) = foreign::bare_split(field.node, &self.variations)
        {
            let name = if let NodeKind::Scalar(name, _) = &first.kind { shown(name) } else { String::new() };
            let finding = Finding::at(&check::UNKNOWN_KEY, first.span, format!("a serve has no `{name}`"));
            self.add(finding.help(self.rollout(split)));
            return None;
        }
        let Some(fields) = self.fields(field.node, field.key, "a serve", SERVE) else {
            // A hostile document can have any number of serves and of variations.
            let none = ReadVariations::default();
            let variations = if is_affordable(self.findings) { &self.variations } else { &none };
            let help = foreign::not_a_serve(field.name, field.node, variations);
            self.wrong_value(field, "a mapping", help);
            return None;
        };
        let serve = RawServe {
            select: fields.optional("select").and_then(|field| self.select(&field)),
            variation: fields.optional("variation").and_then(|field| self.variation_name(&field)),
            split: fields.optional("split").and_then(|field| self.split(&field)),
        };
        let RawServe { select, variation, split } = &serve;
        let read = [select.is_some(), variation.is_some(), split.is_some()];
        let is_complete = read.into_iter().filter(|is_read| *is_read).count() == entries(field.node);
        // A field that is unknown, repeated or cannot be read was reported already.
        is_complete.then_some(serve)
    }

    /// Returns the help on a split in another notation, which is `split` in that of documents.
    pub(super) fn rollout(&self, split: Option<String>) -> String {
        match split {
            Some(split) => format!("write `split: {split}`{}", needs_split()),
            None => self.variations.any_split(),
        }
    }

    /// Reports the form in which SDKs get a split. Returns whether `node` has it.
    fn is_distribution(&mut self, node: &Node) -> bool {
        let NodeKind::Mapping(entries) = &node.kind else { return false };
        let found = entries.iter().find(|(key, value)| {
            matches!(&key.kind, NodeKind::Scalar(name, _) if name == "distribution")
                && matches!(value.kind, NodeKind::Sequence(_))
        });
        let Some((key, ranges)) = found else { return false };
        let message = "`distribution` is the form of a split for SDKs, and a document has weights";
        self.add(
            Finding::at(&check::UNKNOWN_KEY, key.span, message)
                .help(self.rollout(meant::split(ranges, &self.variations.names))),
        );
        true
    }

    /// Reads the index of a variation.
    fn select(&mut self, field: &Field<'_>) -> Option<u32> {
        let read = index(field.name, &field.node.kind);
        let problem = match read {
            Ok(index) => return Some(index),
            Err(problem) => problem?,
        };
        // A hostile document can have any number of serves and of variations.
        let help = match is_affordable(self.findings) {
            true => foreign::select(field.node, &self.variations),
            false => None,
        };
        let is_rollout = problem.help.as_deref() == Some(check::ROLLOUT.as_str());
        let help = help.or_else(|| is_rollout.then(|| self.variations.rollout(field.node, None)));
        self.problem(field, Some(Problem { help: help.or(problem.help), ..problem }));
        None
    }

    /// Reads the name of a variation.
    fn variation_name(&mut self, field: &Field<'_>) -> Option<String> {
        let problem = match text(field.name, &field.node.kind) {
            Ok(name) => return Some(name),
            Err(problem) => problem?,
        };
        let help = if is_affordable(self.findings) {
            foreign::variation(field.node, &self.variations.names)
        } else {
            None
        };
        self.problem(field, Some(Problem { help: help.or(problem.help), ..problem }));
        None
    }

    /// Reads the shares of a split. Nothing is returned if one of them cannot be read, because the others
    /// would not add up.
    fn split(&mut self, field: &Field<'_>) -> Option<RawSplit> {
        let is_plain = match &field.node.kind {
            NodeKind::Mapping(entries) => entries.iter().all(|(_, share)| is_scalar(share)),
            NodeKind::Sequence(items) => items.iter().all(is_scalar),
            _ => true,
        };
        if matches!(field.node.kind, NodeKind::Mapping(_)) && self.is_distribution(field.node) {
            return None;
        }
        if !is_plain && let Some(split) = meant::split(field.node, &self.variations.names) {
            let message = "`split` has percentages by name, or a list of weights";
            let finding = Finding::at(&check::WRONG_TYPE, field.key, message);
            self.add(finding.help(self.rollout(Some(split))));
            return None;
        }
        match &field.node.kind {
            NodeKind::Mapping(entries) => {
                let mut first: HashMap<&str, Span> = HashMap::new();
                let mut shares = Vec::new();
                for (at, entry) in entries.iter().enumerate() {
                    let (key, node) = entry;
                    let before = at.checked_sub(1).and_then(|before| entries.get(before));
                    let is_key = |name: &str| self.variations.names.iter().any(|known| known == name);
                    if let Some(cut) = meant::cut_at_comma(before, entry, is_key) {
                        self.add(Finding::at(&check::WRONG_TYPE, key.span, cut.message()).help(cut.help));
                        continue;
                    }
                    if let Some((finding, help)) = without_blank(entry, is_key) {
                        self.add(finding.help(help));
                        continue;
                    }
                    let name = self.share_name(field, key);
                    let share = self.share(key.span, node, rest(entries, key));
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
                    items.iter().filter_map(|node| self.share(field.key, node, None)).collect();
                (weights.len() == items.len()).then_some(RawSplit::ByIndex(weights))
            }
            _ => {
                let wanted = "percentages by name, or a list of weights";
                let help = self.variations.rollout(field.node, None);
                self.wrong_value(field, wanted, help);
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

    /// Reads a share. `rest` is the help on one that is missing.
    fn share(&mut self, key: Span, node: &Node, rest: Option<String>) -> Option<Text> {
        let field = Field { name: "split", key, node };
        match &node.kind {
            NodeKind::Scalar(text, _) if !node.is_null() => Some(Text(text.clone())),
            _ => {
                let help = rest.unwrap_or_else(|| self.variations.any_split());
                self.wrong_value(&field, "made of numbers", help);
                None
            }
        }
    }
}

/// Returns the help on the only share of a split that is missing: the others leave the rest.
fn rest(entries: &[(Node, Node)], key: &Node) -> Option<String> {
    // A hostile split can have any number.
    const MOST_READ: usize = 100;
    let is_missing = |(_, share): &&(Node, Node)| share.is_null();
    if entries.len() > MOST_READ || entries.iter().filter(is_missing).count() != 1 {
        return None;
    }
    let others = entries.iter().filter(|(_, share)| !share.is_null());
    let sum: f64 = others.map(|(_, share)| meant::percentage(scalar(share)?)).sum::<Option<f64>>()?;
    let rest = ((100.0 - sum) * 100.0).round() / 100.0;
    let name = quoted(&shown(scalar(key)?));
    (rest >= 0.0).then(|| format!("write `{name}: {rest}` if this variation has the rest"))
}

fn is_scalar(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Scalar(..) | NodeKind::Refused)
}

/// Returns the number of entries of a mapping.
fn entries(node: &Node) -> usize {
    match &node.kind {
        NodeKind::Mapping(entries) => entries.len(),
        _ => 0,
    }
}
