//! Reads the tree of a document as a raw document, and checks keys and types.
//!
//! Reports all errors at once and continues with the rest.

use std::collections::HashMap;

use super::check;
use super::check::{CONDITIONS, Check, ROLLOUT, condition_example, example, needs_split, quoted};
use super::finding::{Finding, Spot, add, is_affordable, shown};
use super::foreign::{self, Misplaced, ReadVariations};
use super::meant;
use super::node::{Node, NodeKind, Span, Style, is_null, quoted as quoted_text};
use super::resolve::{
    RawCondition, RawContent, RawDocument, RawPrerequisite, RawRule, RawServe, RawSplit, RawVariation, Text,
};
use crate::model::{closest, is_one_edit, is_unseen, listed};

pub(super) const DOCUMENT: &[&str] = &["disabled", "content"];

/// Reads `root` as a document. Reports values that cannot be read and leaves them out.
pub(super) fn document(root: &Node, findings: &mut Vec<Finding>) -> RawDocument {
    let mut reader = ShapeReader::new(findings);
    if !is_a_document(root) {
        add(reader.findings, not_a_document(root));
        return RawDocument::default();
    }
    let Some(fields) = reader.fields(root, root.span, "a document", DOCUMENT) else {
        return RawDocument::default();
    };
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
                if matches!(text.as_str(), "comment" | "<<" | "variations" | "defaultServe" | "disabledServe") || closest(text, DOCUMENT.iter().copied()).is_some())
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
    .help(foreign::wrapped(root).unwrap_or_else(|| {
        "if documents are in a separate folder, set `--root` to it; files and folders whose names begin with `_` are never read"
            .to_owned()
    }))
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
    variations: ReadVariations,
}

/// Returns whether text may have a finding because of how it begins and ends ([`ShapeReader::text`]).
pub(super) fn has_odd_ends(text: &str) -> bool {
    !text.is_ascii() && text.contains(|c| is_quote(c) || is_hidden(c))
}

/// Returns whether `c` is a typographic quote, which YAML takes for text.
fn is_quote(c: char) -> bool {
    "“”„‟‘’‚‛«»‹›".contains(c)
}

/// Returns whether nobody sees `c` at the end of a text.
fn is_hidden(c: char) -> bool {
    is_unseen(c) || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// The known entries of one mapping, each key once.
pub(super) struct Fields<'n> {
    pub(super) owner: Span,
    what: &'static str,
    pub(super) entries: Vec<Field<'n>>,
    has_unknown: bool,
    /// The keys that an unknown one stands for, which are not missing as well.
    meant: Vec<&'static str>,
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
        Self { findings, variations: ReadVariations::default() }
    }
}

impl ShapeReader<'_> {
    pub(super) fn add(&mut self, finding: Finding) {
        add(self.findings, finding);
    }

    pub(super) fn wrong_type(&mut self, field: &Field<'_>, wanted: &str, help: Option<&'static str>) {
        let problem = wrong_type(field.name, &field.node.kind, wanted, help);
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
        let text = self.scalar(field, text)?;
        if let NodeKind::Scalar(_, style) = &field.node.kind {
            self.ends(field, &text, *style);
        }
        Some(text)
    }

    /// Warns about a text that begins or ends with typographic quotes or with a character that nobody sees.
    fn ends(&mut self, field: &Field<'_>, text: &str, style: Style) {
        // No SDK reads a description.
        let (Some(first), Some(last)) = (text.chars().next(), text.chars().next_back()) else { return };
        if (first.is_ascii() && last.is_ascii()) || field.name == "description" {
            return;
        }
        let inner = text.strip_prefix(is_quote).and_then(|text| text.strip_suffix(is_quote));
        if let (Some(inner), Style::Plain) = (inner, style) {
            let message = format!("the quotes `{first}` and `{last}` are a part of this text");
            let help = format!(
                "write `{}`; if they are meant, put the whole text in single quotes",
                quoted_text(&shown(inner))
            );
            self.add(Finding::at(&check::TYPOGRAPHIC_QUOTES, field.span(), message).help(help));
        }
        // With an escape in the file, it is longer than the text, and a reader sees it.
        let Span { start, end } = field.node.span;
        let quotes = if style == Style::Quoted { 2 } else { 0 };
        let is_verbatim = start.line == end.line
            && usize::try_from(end.column.saturating_sub(start.column)).ok()
                == Some(text.chars().count() + quotes);
        if let Some(hidden) = [first, last].into_iter().find(|c| is_verbatim && is_hidden(*c)) {
            let message =
                format!("the invisible character U+{:04X} is a part of this text", u32::from(hidden));
            let visible = text.trim_matches(is_hidden);
            let help = format!("write `{}`", quoted_text(&shown(visible)));
            self.add(Finding::at(&check::HIDDEN_CHARACTER, field.span(), message).help(help));
        }
    }

    /// Returns a text which is not any text. `help` is the one on a null, which no quotes make right.
    pub(super) fn text_or(&mut self, field: &Field<'_>, help: &str) -> Option<String> {
        if !field.node.is_null() {
            return self.text(field);
        }
        let problem = text(field.name, &field.node.kind).err().flatten();
        self.problem(field, problem.map(|problem| problem.help(help.to_owned())));
        None
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
        let (mut has_unknown, mut meant) = (false, Vec::new());
        let mut misplaced = Misplaced::of(what, all).map(|misplaced| (misplaced, false));
        for (at, (key, value)) in all.iter().enumerate() {
            let NodeKind::Scalar(name, _) = &key.kind else {
                let message = "a key must be a word, not a collection";
                let is_template = matches!(&key.kind, NodeKind::Mapping(inner) if matches!(inner.as_slice(), [(_, nothing)] if nothing.is_null()));
                let help =
                    if is_template { TEMPLATE } else { "remove this entry, or write a word as its key" };
                self.add(Finding::at(&check::WRONG_TYPE, first_line_of(key), message).help(help));
                continue;
            };
            if !known.contains(&name.as_str()) {
                if let Some((misplaced, is_reported)) = misplaced.as_mut().filter(|(own, _)| own.has(name)) {
                    if !*is_reported {
                        let message = format!("{what} has no `{}`", shown(name));
                        let finding = Finding::at(&check::UNKNOWN_KEY, key.span, message);
                        self.add(finding.help(misplaced.help.as_str()));
                    }
                    *is_reported = true;
                    meant.extend_from_slice(misplaced.stands_for);
                    continue;
                }
                let before = at.checked_sub(1).and_then(|before| all.get(before));
                match meant::cut_at_comma(before, &all[at], |key| known.contains(&key)) {
                    Some(cut) => {
                        self.add(Finding::at(&check::UNKNOWN_KEY, key.span, cut.message()).help(cut.help));
                    }
                    None => {
                        has_unknown = true;
                        meant.extend(self.unknown_key((name, key.span), value, what, known, all));
                    }
                }
                continue;
            }
            if let Some(first) = entries.iter().find(|field| field.name == name) {
                let first = first.key;
                self.duplicate_key(name, key.span, first);
                continue;
            }
            entries.push(Field { name, key: key.span, node: value });
        }
        Some(Fields { owner, what, entries, has_unknown, meant })
    }

    pub(super) fn duplicate_key(&mut self, name: &str, span: Span, first: Span) {
        let message = format!("duplicate key `{}`", shown(name));
        let finding = Finding::at(&check::DUPLICATE_KEY, span, message).help("keep one of the two");
        self.add(finding.related(Spot::Span(first), "first here"));
    }

    /// Reports an unknown key of `all`. Returns the keys that it stands for.
    fn unknown_key(
        &mut self,
        (name, span): (&str, Span),
        value: &Node,
        what: &str,
        known: &[&'static str],
        all: &[(Node, Node)],
    ) -> Vec<&'static str> {
        // A hostile document can have any number of keys and of variations.
        if !is_affordable(self.findings) {
            self.add(Finding::at(&check::UNKNOWN_KEY, span, format!("{what} has no `{}`", shown(name))));
            return Vec::new();
        }
        let split = if what == "a serve" { meant::split(value, &self.variations.names) } else { None };
        let mut stands_for = Vec::new();
        let finding = if name == "<<" {
            // What a reviewer reads must be what is applied (src/document/README.md, "Text").
            Finding::at(&check::MERGE_KEY, span, "a merge key (`<<`) is not allowed")
                .help("write the content out where it is used, so that a reviewer sees it")
        } else if name == "comment" && what == "a document" {
            // The service's request body has a `comment`, so a copied body gets an explanation, not just an
            // unknown key.
            let message =
                "a document has no `comment`: the message of the commit that changes it is the comment";
            Finding::at(&check::COMMENT_KEY, span, message)
                .help("remove it, and write the reason into the commit message")
        } else if let Some(foreign) = foreign::key(what, name, value, all, &self.variations) {
            stands_for.extend_from_slice(foreign.stands_for);
            let message = format!("{what} has no `{}`", shown(name));
            Finding::at(&check::UNKNOWN_KEY, span, message).help(foreign.help)
        } else if what == "a serve" && (ROLLOUTS.contains(&name) || split.is_some()) {
            let message = format!("a serve has no `{}`", shown(name));
            let is_known = |(key, _): &(Node, Node)| matches!(&key.kind, NodeKind::Scalar(own, _) if known.contains(&own.as_str()));
            let both = if all.iter().any(is_known) { "one `split` says both: " } else { "" };
            Finding::at(&check::UNKNOWN_KEY, span, message).help(format!("{both}{}", rollout(split)))
        } else {
            let cut = name.split_once(' ').filter(|(key, rest)| known.contains(key) && !rest.is_empty());
            let (spaced, without_colon) =
                (meant::without_blank(name, |key| known.contains(&key)), cut.filter(|_| value.is_null()));
            let is_there = |key: &str| {
                all.iter().any(|(own, _)| matches!(&own.kind, NodeKind::Scalar(own, _) if own == key))
            };
            let similar = || {
                // A short word is a misspelling of a key that is missing, and of nothing else.
                let mut missing = known.iter().copied().filter(|key| !is_there(key));
                closest(name, known.iter().copied()).or_else(|| missing.find(|key| is_one_edit(name, key)))
            };
            let meant =
                spaced.as_ref().map(|(key, _)| *key).or(without_colon.map(|(key, _)| key)).or_else(similar);
            let help = match (spaced, without_colon, meant) {
                (Some((_, help)), ..) => help,
                (_, Some((key, rest)), _) => {
                    format!("write a colon after the key: `{key}: {}`", shown(&meant::in_braces(rest.trim())))
                }
                (.., Some(similar)) if is_there(similar) => {
                    format!("keep one of the two: it is similar to `{similar}`, which is here as well")
                }
                (.., Some(similar)) => format!("did you mean `{similar}`?"),
                (..) => format!("{what} has {}", listed(&quoted(known))),
            };
            // What is misspelled is not missing as well.
            stands_for.extend(known.iter().copied().find(|key| Some(*key) == meant));
            Finding::at(&check::UNKNOWN_KEY, span, format!("{what} has no `{}`", shown(name))).help(help)
        };
        self.add(finding);
        stands_for
    }

    pub(super) fn required<'n>(&mut self, fields: &Fields<'n>, name: &'static str) -> Option<Field<'n>> {
        self.required_as(fields, name, example(name))
    }

    pub(super) fn required_as<'n>(
        &mut self,
        fields: &Fields<'n>,
        name: &'static str,
        help: &str,
    ) -> Option<Field<'n>> {
        let found = fields.optional(name);
        if found.is_none() && !fields.meant.contains(&name) && !fields.has_below(name) {
            // The unknown key may stand for them, and without them, the rule matches everyone.
            let help = match name {
                "conditions" if fields.has_unknown => CONDITIONS,
                _ => help,
            };
            let (check, message) = match (fields.what, name) {
                ("a rule", "serve") => (&check::RULE_WITHOUT_SERVE, "this rule has no serve".to_owned()),
                (what, name) => (&check::MISSING_FIELD, format!("{what} needs `{name}`")),
            };
            self.add(Finding::at(check, fields.owner, message).help(help));
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
            if let ("objects" | "rightObjects", NodeKind::Scalar(text, _)) = (field.name, &field.node.kind)
                && let Some(mut problem) = wrong_type(field.name, &field.node.kind, "a list", None)
                && let Some(list) = objects_in(text)
            {
                problem.help = Some(format!("write `{}: [{list}]`", field.name));
                self.problem(field, Some(problem));
                return None;
            }
            if let ("objects" | "rightObjects", NodeKind::Mapping(entries)) = (field.name, &field.node.kind)
                && let Some(list) = foreign::values(entries)
                && let Some(problem) = wrong_type(field.name, &field.node.kind, "a list", None)
            {
                self.problem(field, Some(problem.help(format!("write `{}: [{list}]`", field.name))));
                return None;
            }
            if let Some(help) = foreign::list_of(field.name, field.node)
                .or_else(|| foreign::not_a_list(field.name, field.node))
                && let Some(mut problem) = wrong_type(field.name, &field.node.kind, "a list", None)
            {
                problem.help = Some(help);
                self.problem(field, Some(problem));
                return None;
            }
            let help = match (field.name, &field.node.kind) {
                // A rule without conditions matches everyone, so that this is not a usual remedy.
                ("conditions", value) if !is_nothing(value) => Some(CONDITIONS),
                ("conditions", _) => Some(example("conditions")),
                ("rules" | "prerequisites", NodeKind::Mapping(entries)) if !entries.is_empty() => {
                    Some("write `- ` before each item, or `[]` for none")
                }
                ("rules" | "prerequisites", _) => Some("write `[]` for none"),
                (_, NodeKind::Scalar(..)) => {
                    Some("write a list in square brackets, such as `[\"a\", \"b\"]`")
                }
                ("objects" | "rightObjects", _) => Some(condition_example(None, "objects")),
                _ => None,
            };
            self.wrong_type(field, "a list", help);
            return None;
        };
        if let Some(help) = foreign::list_of(field.name, field.node)
            && let [first, ..] = items.as_slice()
            && let Some(problem) = wrong_type(field.name, &first.kind, "a list of mappings", None)
        {
            let first = Field { key: first_line_of(first), node: first, ..*field };
            self.problem(&first, Some(problem.help(help)));
            return None;
        }
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
    /// Returns whether a part is one level too deep, which is reported there.
    fn has_below(&self, name: &str) -> bool {
        let lists: &[&str] = match self.what {
            "a document" => &["content"],
            "`content`" => &["prerequisites", "rules", "variations"],
            "a rule" if name == "serve" => &["conditions"],
            _ => &[],
        };
        lists.iter().filter_map(|list| self.optional(list)).any(|list| foreign::is_in_items(list.node, name))
    }

    pub(super) fn optional(&self, name: &str) -> Option<Field<'n>> {
        self.entries.iter().find(|field| field.name == name).copied()
    }
}

pub(super) const CONTENT: &[&str] =
    &["rules", "disabledServe", "defaultServe", "variations", "prerequisites"];
pub(super) const RULE: &[&str] = &["name", "serve", "conditions"];
pub(super) const CONDITION: &[&str] =
    &["type", "subject", "predicate", "objects", "leftPredicate", "rightPredicate", "rightObjects"];
pub(super) const SERVE: &[&str] = &["select", "variation", "split"];
/// What other tools call a split.
const ROLLOUTS: &[&str] = &[
    "distribution",
    "fractional",
    "percent",
    "percentage",
    "percentages",
    "rollout",
    "rolloutPercentage",
    "variations",
    "weight",
    "weights",
];
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
        self.variations = ReadVariations::of(field.node);
        let Some(fields) = self.fields(field.node, field.key, "`content`", CONTENT) else {
            let help = "write what the toggle serves below it: `variations`, `rules`, `disabledServe` and `defaultServe`";
            self.wrong_type(field, "a mapping", Some(help));
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
            name: self
                .required_as(&fields, "name", "add a name that no other rule has, such as `name: adults`")
                .and_then(|field| self.text(&field)),
            serve: self.required_serve(&fields, "serve"),
            conditions: self.list(&fields, "conditions", Self::condition),
        })
    }

    fn condition(&mut self, field: &Field<'_>) -> Option<RawCondition> {
        let fields = self.item(field, "a condition", CONDITION)?;
        let found = self.findings.len();
        let kind = self.condition_type(&fields);
        let (kind, meant) = match kind {
            Ok(kind) => (kind.clone(), kind),
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
        self.required_as(fields, name, condition_example(kind, name))
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

    fn required_serve(&mut self, fields: &Fields<'_>, name: &'static str) -> Option<RawServe> {
        let field = self.required(fields, name)?;
        self.serve(&field)
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
        let help = format!("put it in quotes: `{}`", quoted_text(&shown(&format!("[{one}]"))));
        let problem = wrong_type(field.name, &field.node.kind, "text", None);
        self.problem(field, problem.map(|problem| problem.help(help)));
        None
    }

    /// Reads a number, a version or a time.
    fn object_of_order(&mut self, field: &Field<'_>) -> Option<Text> {
        self.text_or(field, "write what is compared with, or remove it").map(Text)
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
                .help(rollout(meant::split(ranges, &self.variations.names))),
        );
        true
    }

    pub(super) fn serve(&mut self, field: &Field<'_>) -> Option<RawServe> {
        if self.is_distribution(field.node) {
            return None;
        }
        if is_affordable(self.findings)
            && let Some((first, split)) = foreign::bare_split(field.node, &self.variations)
        {
            let name = if let NodeKind::Scalar(name, _) = &first.kind { shown(name) } else { String::new() };
            let finding = Finding::at(&check::UNKNOWN_KEY, first.span, format!("a serve has no `{name}`"));
            self.add(finding.help(rollout(split)));
            return None;
        }
        let Some(fields) = self.fields(field.node, field.key, "a serve", SERVE) else {
            let problem = wrong_type(field.name, &field.node.kind, "a mapping", None);
            // A hostile document can have any number of serves and of variations.
            let none = ReadVariations::default();
            let variations = if is_affordable(self.findings) { &self.variations } else { &none };
            let help = foreign::not_a_serve(field.name, field.node, variations);
            self.problem(field, problem.map(|problem| problem.help(help)));
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

    /// Reads the index of a variation.
    fn select(&mut self, field: &Field<'_>) -> Option<u32> {
        let read = index(field.name, &field.node.kind);
        let problem = match read {
            Ok(index) => return Some(index),
            Err(problem) => problem?,
        };
        // A hostile document can have any number of serves and of variations.
        let help =
            if is_affordable(self.findings) { foreign::select(field.node, &self.variations) } else { None };
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
            self.add(finding.help(rollout(Some(split))));
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
                self.wrong_type(field, "percentages by name, or a list of weights", Some(&ROLLOUT));
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
                self.wrong_type(&field, "made of numbers", Some(&ROLLOUT));
                None
            }
        }
    }

    fn prerequisite(&mut self, field: &Field<'_>) -> Option<RawPrerequisite> {
        let fields = self.item(field, "a prerequisite", PREREQUISITE)?;
        let value = fields.optional("value").map(|field| field.node);
        let help = foreign::missing_value(fields.optional("type").map(|field| field.node));
        let kind = self.required_as(&fields, "type", &foreign::missing_return_type(value));
        Some(RawPrerequisite {
            key: self.required_text(&fields, "key"),
            value: self.required_as(&fields, "value", help).and_then(|field| self.text(&field)),
            kind: kind.and_then(|field| self.text(&field)),
        })
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
}

fn is_nothing(value: &NodeKind) -> bool {
    match value {
        NodeKind::Mapping(entries) => entries.is_empty(),
        NodeKind::Scalar(text, _) => is_null(text),
        NodeKind::Refused | NodeKind::Sequence(_) => false,
    }
}

/// Returns the finding and the help on an entry in which no blank follows the colon.
pub(super) fn without_blank(
    (key, value): &(Node, Node),
    is_key: impl Fn(&str) -> bool,
) -> Option<(Finding, String)> {
    let NodeKind::Scalar(name, Style::Plain) = &key.kind else { return None };
    let (_, help) = meant::without_blank(name, is_key).filter(|_| value.is_null())?;
    let message = format!("`{}` has no value", shown(name));
    Some((Finding::at(&check::NULL_TEXT, key.span, message), help))
}

fn is_scalar(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Scalar(..) | NodeKind::Refused)
}

/// Returns the help on a split in another notation, which is `split` in that of documents.
fn rollout(split: Option<String>) -> String {
    match split {
        Some(split) => format!("write `split: {split}`{}", needs_split()),
        None => ROLLOUT.clone(),
    }
}

/// Returns the number of entries of a mapping.
fn entries(node: &Node) -> usize {
    match &node.kind {
        NodeKind::Mapping(entries) => entries.len(),
        _ => 0,
    }
}

/// A value that cannot be read.
pub(super) struct Problem {
    pub(super) check: &'static Check,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl Problem {
    pub(super) fn help(self, help: String) -> Self {
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

/// The help on a template.
const TEMPLATE: &str = "render the template, and commit the result";

/// Returns a template such as `{{ name }}`, which is a mapping in YAML.
fn template(value: &NodeKind) -> Option<String> {
    let NodeKind::Mapping(outer) = value else { return None };
    let [(Node { kind: NodeKind::Mapping(inner), .. }, nothing)] = outer.as_slice() else { return None };
    match inner.as_slice() {
        [(Node { kind: NodeKind::Scalar(name, _), .. }, none)] if nothing.is_null() && none.is_null() => {
            Some(format!("{{{{ {name} }}}}"))
        }
        _ => None,
    }
}

/// Returns whether the text of a field is never empty.
fn is_never_empty(name: &str) -> bool {
    matches!(name, "type" | "predicate" | "subject" | "key")
}

/// Reads a text verbatim.
pub(super) fn text(name: &str, value: &NodeKind) -> Read<String> {
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

/// Returns the help on a collection in place of a text.
fn as_text(name: &str, value: &NodeKind) -> String {
    if let Some(template) = template(value) {
        return format!(
            "write `{}` if this text is meant; otherwise, {TEMPLATE}",
            quoted_text(&shown(&template))
        );
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
            Some(object) => format!("write `{}`", quoted_text(&shown(&object))),
            None => "if it is text, put it in quotes".to_owned(),
        },
        (_, NodeKind::Mapping(entries)) => match entries.as_slice() {
            [(Node { kind: NodeKind::Scalar(key, _), .. }, Node { kind: NodeKind::Scalar(text, _), .. })]
                if matches!(key.as_str(), "value" | "name" | "key" | "id" | "variation")
                    && !is_null(text) =>
            {
                format!("write `{}: {}`", shown(name), quoted_text(&shown(text)))
            }
            _ => "if it is text, put it in quotes".to_owned(),
        },
        (name, NodeKind::Sequence(items)) => match items.as_slice() {
            [Node { kind: NodeKind::Scalar(text, _), .. }] if !is_null(text) => {
                format!("write `{}: {}`", shown(name), quoted_text(&shown(text)))
            }
            _ => "if it is text, put it in quotes".to_owned(),
        },
        _ => "if it is text, put it in quotes".to_owned(),
    }
}

/// Returns the objects that an author wrote as one text: the items of a list, or one.
fn objects_in(text: &str) -> Option<String> {
    let is_list = text.contains(['[', '(', '\n', ',']) || text.trim_start().starts_with("- ");
    let one = || (!is_list && !is_null(text)).then(|| vec![text.to_owned()]);
    let by_comma = || {
        let items = text.trim_matches(['(', ')']).split(',').map(|item| item.trim_matches([' ', '"', '\'']));
        let items: Vec<String> = items.map(str::to_owned).collect();
        (items.len() > 1 && items.iter().all(|item| !item.is_empty())).then_some(items)
    };
    meant::list(&meant::items(text).or_else(by_comma).or_else(one)?)
}

/// Reads a boolean of YAML's core schema.
pub(super) fn boolean(name: &str, value: &NodeKind) -> Read<bool> {
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

pub(super) fn index(name: &str, value: &NodeKind) -> Read<u32> {
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
