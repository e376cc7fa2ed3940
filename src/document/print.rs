//! Prints documents in the canonical layout: a file with its comments for `fmt`, and targeting, which has
//! none.
//!
//! Scalars stay as they are written, and comments stay at the part of the document that they belong to. A
//! blank line between two parts stays; several become one. The layout has one fact per line, so that a diff
//! is readable.
//!
//! Invariant of `format`: the result is read as the same payload with the same findings, has the same
//! comments, and is its own result. Each result is checked before it is returned, so a construct that this
//! module does not know leaves the file as it is.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::node::{Node, NodeKind, quoted};
use super::resolve::has_optional_subject;
use super::syntax::{self, Syntax, is_block};
use super::{Diagnostic, Document, LARGEST_DOCUMENT, read, text};
use crate::model::{
    Between, Blob, Condition, Content, Prerequisite, Rule, Serve, ServiceKind, Targeting, Variation, percent,
};

/// The result of formatting one document.
#[derive(Clone, Debug)]
pub(crate) enum Formatting {
    /// The document has the canonical layout.
    Canonical,
    /// The text of the document in the canonical layout.
    Changed(String),
    /// The document is invalid, with its findings.
    Invalid(Vec<Diagnostic>),
    /// The document contains something that cannot be rewritten, as the text says.
    Unsupported(&'static str),
}

/// Returns `content` in the canonical layout. `path` is shown in messages.
pub(crate) fn format(path: &str, content: &Blob, kind: ServiceKind) -> Formatting {
    let before = read(path, content, kind);
    let (Some(_), Ok(source), Blob::Content(bytes)) = (&before.payload, text(path, content), content) else {
        return Formatting::Invalid(before.diagnostics);
    };
    let tree = syntax::parse(source);
    let Some(formatted) = printed(&tree) else {
        return Formatting::Unsupported(match source.lines().any(|line| line.starts_with('%')) {
            true => "it has a YAML directive: remove the line that begins with `%`",
            false => "it has a comment at an unusual place: move the comment to a line of its own",
        });
    };
    // A work tree may have the line breaks of Windows.
    let with_breaks = with_breaks_of(source, &formatted);
    if with_breaks.as_bytes() == bytes.as_slice() {
        return Formatting::Canonical;
    }
    let after = read(path, &Blob::Content(formatted.clone().into_bytes()), kind);
    let again = syntax::parse(&formatted);
    match () {
        () if formatted.len() > LARGEST_DOCUMENT => Formatting::Unsupported(
            "with one object per line, it would be over the limit of 1 MiB: split a long list into several rules or, better, \
             several attributes",
        ),
        () if !means_the_same(&before, &after) => {
            Formatting::Unsupported("it contains YAML that would get another meaning, or another finding")
        }
        () if !has_the_same_comments(&tree, &again) || hashes(source) != hashes(&formatted) => {
            Formatting::Unsupported("it has a comment that the new layout would lose")
        }
        () if printed(&again).as_ref() != Some(&formatted) => {
            Formatting::Unsupported("it has a comment that the new layout would move again")
        }
        () => Formatting::Changed(with_breaks),
    }
}

/// Returns `text` with the line breaks of Windows if `source` has no others.
pub(super) fn with_breaks_of(source: &str, text: &str) -> String {
    let breaks = source.matches('\n').count();
    match breaks > 0 && source.matches("\r\n").count() == breaks {
        true => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => text.to_owned(),
    }
}

/// Compares findings without their positions, which a new layout changes.
fn means_the_same(before: &Document, after: &Document) -> bool {
    let ids = |document: &Document| {
        let mut ids: Vec<_> = document.diagnostics.iter().map(|found| found.id).collect();
        ids.sort_unstable();
        ids
    };
    before.payload == after.payload && ids(before) == ids(after)
}

fn has_the_same_comments(before: &Syntax<'_>, after: &Syntax<'_>) -> bool {
    let sorted = |tree: &Syntax<'_>| {
        let mut comments: Vec<String> = tree.comments.iter().map(|one| one.text.to_owned()).collect();
        comments.sort_unstable();
        comments
    };
    sorted(before) == sorted(after)
}

/// Counts the characters that begin a comment. This finds a lost comment even if the parser did not recognize
/// it.
fn hashes(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'#').count()
}

/// The place of a mapping, or of the mappings in a list, in a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Section {
    Condition,
    Content,
    /// A scalar, or a list of them.
    Other,
    Prerequisite,
    Root,
    Rule,
    Serve,
    Variation,
}

impl Section {
    /// Returns the place of the value of `key`.
    pub(super) fn of_value(self, key: &str) -> Self {
        match (self, key) {
            (Self::Root, "content") => Self::Content,
            (Self::Content, "variations") => Self::Variation,
            (Self::Content, "prerequisites") => Self::Prerequisite,
            (Self::Content, "rules") => Self::Rule,
            (Self::Content, "disabledServe" | "defaultServe") | (Self::Rule, "serve") => Self::Serve,
            (Self::Rule, "conditions") => Self::Condition,
            _ => Self::Other,
        }
    }

    /// Returns the order of the keys.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Root => &["disabled", "content"],
            Self::Content => &["variations", "prerequisites", "rules", "disabledServe", "defaultServe"],
            Self::Variation => &["name", "value", "description"],
            Self::Prerequisite => &["key", "value", "type"],
            Self::Rule => &["name", "conditions", "serve"],
            Self::Condition => &[
                "type",
                "subject",
                "predicate",
                "leftPredicate",
                "objects",
                "rightPredicate",
                "rightObjects",
            ],
            Self::Other | Self::Serve => &[],
        }
    }
}

/// Returns `entries` in the canonical order. Keys without a place in it stay in their order, after the
/// others.
fn sorted(entries: &[(Node, Node)], section: Section) -> Vec<&(Node, Node)> {
    let keys = section.keys();
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_by_key(|(key, _)| keys.iter().position(|known| *known == name(key)).unwrap_or(keys.len()));
    entries
}

/// Returns a key as text.
pub(super) fn name(key: &Node) -> &str {
    match &key.kind {
        NodeKind::Scalar(text, _) => text,
        _ => "",
    }
}

/// Prints a tree in the canonical layout.
pub(super) fn printed(tree: &Syntax<'_>) -> Option<String> {
    let root = tree.root.as_ref().filter(|_| tree.is_printable)?;
    let mut printer = Printer { tree, out: String::new(), is_start: true };
    let notes = tree.notes(root);
    printer.lines(&notes.above, 0);
    // A valid document is a mapping.
    if let NodeKind::Mapping(entries) = &root.kind {
        printer.entries(entries, Section::Root, 0);
    }
    let beside: Vec<&str> = notes.beside.into_iter().collect();
    printer.lines(&beside, 0);
    printer.lines(&notes.below, 0);
    Some(printer.out)
}

struct Printer<'a> {
    tree: &'a Syntax<'a>,
    out: String,
    /// Whether a blank line would be the first one of a collection.
    is_start: bool,
}

/// A key with its value, ready to print: the comments above it and the one beside it.
struct Entry<'a> {
    key: &'a Node,
    value: &'a Node,
    above: Vec<&'a str>,
    beside: Option<&'a str>,
}

impl<'a> Printer<'a> {
    /// Prints comments and blank lines.
    fn lines(&mut self, lines: &[&str], indent: usize) {
        for line in lines {
            let is_repeated = line.is_empty() && self.out.ends_with("\n\n");
            if is_repeated || (line.is_empty() && self.is_start) {
                continue;
            }
            if !line.is_empty() {
                self.pad(indent);
                self.out.push_str(line);
            }
            self.out.push('\n');
            self.is_start = false;
        }
    }

    fn pad(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    fn entries(&mut self, entries: &'a [(Node, Node)], section: Section, indent: usize) {
        self.sorted_entries(&sorted(entries, section), section, indent);
    }

    fn sorted_entries(&mut self, entries: &[&'a (Node, Node)], section: Section, indent: usize) {
        for (key, value) in entries {
            let entry = self.entry(key, value);
            self.lines(&entry.above, indent);
            self.pad(indent);
            self.print_entry(&entry, section, indent);
        }
    }

    /// Collects the comments of an entry. Only one can be beside it; the others go above.
    fn entry(&self, key: &'a Node, value: &'a Node) -> Entry<'a> {
        let (first, second) = (self.tree.notes(key), self.tree.notes(value));
        let mut above = first.above.clone();
        above.extend(&second.above);
        let mut beside: Vec<&str> = [first.beside, second.beside].into_iter().flatten().collect();
        let last = beside.pop();
        above.extend(beside);
        if is_empty_collection(value) {
            above.extend(&second.below);
        }
        // A comment behind a block scalar would be part of it.
        let beside = match self.is_block(value) {
            false => last,
            true => {
                above.extend(last);
                None
            }
        };
        Entry { key, value, above, beside }
    }

    /// Prints an entry without the indentation of its first line.
    fn print_entry(&mut self, entry: &Entry<'a>, section: Section, indent: usize) {
        self.is_start = false;
        let Entry { key, value, beside, .. } = *entry;
        self.scalar(key, indent);
        self.out.push(':');
        let section = section.of_value(name(key));
        let notes = self.tree.notes(value);
        let is_inline = is_empty_collection(value) || (section == Section::Serve && self.fits_in_line(value));
        match &value.kind {
            NodeKind::Scalar(..) if value.raw.is_empty() => self.end_line(beside),
            NodeKind::Refused | NodeKind::Scalar(..) => {
                self.out.push(' ');
                self.scalar(value, indent + 2);
                self.end_line(beside);
            }
            _ if is_inline => {
                self.out.push(' ');
                self.inline(value);
                self.end_line(beside);
            }
            NodeKind::Mapping(entries) => {
                self.end_line(beside);
                self.is_start = true;
                self.entries(entries, section, indent + 2);
                self.lines(&notes.below, indent + 2);
            }
            NodeKind::Sequence(items) => {
                self.end_line(beside);
                self.is_start = true;
                for item in items {
                    self.item(item, section, indent + 2);
                }
                self.lines(&notes.below, indent + 2);
            }
        }
    }

    fn item(&mut self, item: &'a Node, section: Section, indent: usize) {
        let notes = self.tree.notes(item);
        self.lines(&notes.above, indent);
        match &item.kind {
            NodeKind::Mapping(entries) if !entries.is_empty() => {
                let entries = sorted(entries, section);
                let mut first = self.entry(&entries[0].0, &entries[0].1);
                match (notes.beside, first.beside) {
                    (Some(beside), None) => first.beside = Some(beside),
                    (beside, _) => first.above.extend(beside),
                }
                self.lines(&first.above, indent);
                self.pad(indent);
                self.out.push_str("- ");
                self.print_entry(&first, section, indent + 2);
                self.sorted_entries(&entries[1..], section, indent + 2);
                self.lines(&notes.below, indent + 2);
            }
            NodeKind::Refused | NodeKind::Scalar(..) => {
                let is_block = self.is_block(item);
                let above: Vec<&str> = notes.beside.filter(|_| is_block).into_iter().collect();
                self.lines(&above, indent);
                self.pad(indent);
                self.out.push_str("- ");
                self.scalar(item, indent + 2);
                self.end_line(notes.beside.filter(|_| !is_block));
            }
            NodeKind::Mapping(_) | NodeKind::Sequence(_) => {
                self.pad(indent);
                self.out.push_str("- ");
                self.inline(item);
                self.end_line(notes.beside);
            }
        }
        self.is_start = false;
    }

    fn end_line(&mut self, beside: Option<&str>) {
        if let Some(comment) = beside {
            self.out.push(' ');
            self.out.push_str(comment);
        }
        self.out.push('\n');
    }

    /// Prints a scalar as it is written. Its later lines get the indentation `indent`.
    fn scalar(&mut self, scalar: &Node, indent: usize) {
        let raw = self.tree.raw(scalar);
        if !raw.contains('\n') {
            return self.out.push_str(&raw);
        }
        let is_block = is_block(&raw);
        let mut lines = raw.lines();
        self.out.push_str(lines.next().unwrap_or_default().trim_end_matches('\r'));
        // Other white space, such as a no-break space, is text.
        const WHITE: [char; 3] = [' ', '\t', '\r'];
        let is_blank = |line: &str| line.trim_matches(WHITE).is_empty();
        let common = lines.clone().filter(|line| !is_blank(line));
        let common = common.map(|line| line.len() - line.trim_start_matches(' ').len()).min();
        for line in lines {
            self.out.push('\n');
            let text = match is_block {
                // The first line that is not blank defines the indentation, and no other has less.
                true => line.get(common.unwrap_or(0)..).unwrap_or_default(),
                // The spaces around a line break have no meaning.
                false => line.trim_start_matches(WHITE),
            };
            if !text.is_empty() {
                self.pad(indent);
                self.out.push_str(text);
            }
        }
    }

    /// Returns whether the part has neither comments nor several lines.
    fn fits_in_line(&self, part: &Node) -> bool {
        let inner = |part: &Node| !self.has_comments(part) && self.fits_in_line(part);
        self.tree.notes(part).below.iter().all(|line| line.is_empty())
            && match &part.kind {
                NodeKind::Mapping(entries) => entries.iter().all(|(key, value)| inner(key) && inner(value)),
                NodeKind::Refused | NodeKind::Scalar(..) => {
                    let raw = self.tree.raw(part);
                    !raw.is_empty() && !raw.contains(['\n', '\r']) && !is_block(&raw)
                }
                NodeKind::Sequence(items) => items.iter().all(inner),
            }
    }

    fn has_comments(&self, part: &Node) -> bool {
        let notes = self.tree.notes(part);
        notes.beside.is_some() || notes.above.iter().chain(&notes.below).any(|one| !one.is_empty())
    }

    fn is_block(&self, part: &Node) -> bool {
        matches!(part.kind, NodeKind::Scalar(..)) && is_block(&self.tree.raw(part))
    }

    /// Prints a part in flow style.
    fn inline(&mut self, part: &Node) {
        match &part.kind {
            NodeKind::Refused | NodeKind::Scalar(..) => {
                let raw = self.tree.raw(part);
                // In flow style, these would end a plain scalar.
                let is_cut = !raw.starts_with(['"', '\'']) && raw.contains([',', '[', ']', '{', '}']);
                self.out.push_str(&if is_cut { quoted(&raw).into() } else { raw });
            }
            NodeKind::Mapping(entries) if entries.is_empty() => self.out.push_str("{}"),
            NodeKind::Mapping(entries) => {
                self.out.push_str("{ ");
                for (at, (key, value)) in entries.iter().enumerate() {
                    self.out.push_str(if at == 0 { "" } else { ", " });
                    self.inline(key);
                    self.out.push_str(": ");
                    self.inline(value);
                }
                self.out.push_str(" }");
            }
            NodeKind::Sequence(items) => {
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    self.out.push_str(if at == 0 { "" } else { ", " });
                    self.inline(item);
                }
                self.out.push(']');
            }
        }
    }
}

fn is_empty_collection(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Mapping(entries) => entries.is_empty(),
        NodeKind::Sequence(items) => items.is_empty(),
        NodeKind::Refused | NodeKind::Scalar(..) => false,
    }
}

/// Returns `targeting` as the text of a document in the canonical layout, which parses to the same targeting
/// for this kind of service.
///
/// Quotes text unless it is a plain word. Leaves out empty text that may be absent, and serves variations by
/// name where the names can stand for them.
pub(crate) fn print(targeting: &Targeting, kind: ServiceKind) -> String {
    let Targeting { disabled, content } = targeting;
    let Content { rules, disabled_serve, default_serve, variations, prerequisites } = content;
    let named = &Variations::new(variations);
    let prerequisites = match list(prerequisites.iter().flatten(), prerequisite).as_str() {
        "[]" => String::new(),
        list => format!("prerequisites: {list}, "),
    };
    // On one line, which the printer lays out like any other document.
    let text = format!(
        "{{ disabled: {disabled}, content: {{ variations: {}, {prerequisites}rules: {}, disabledServe: {}, defaultServe: {} }} }}",
        list(variations, variation),
        list(rules, |one| rule(one, named, kind)),
        serve(disabled_serve, named),
        serve(default_serve, named)
    );
    let printed = printed(&syntax::parse(&text));
    printed.unwrap_or(text)
}

fn list<T>(items: impl IntoIterator<Item = T>, item: impl Fn(T) -> String) -> String {
    format!("[{}]", items.into_iter().map(item).collect::<Vec<_>>().join(", "))
}

fn variation(variation: &Variation) -> String {
    let Variation { value, name, description } = variation;
    let text = format!("{{ name: {}, value: {}", scalar(name), scalar(value));
    match description.as_str() {
        // A missing description means the empty text (src/document/README.md, "Text").
        "" => format!("{text} }}"),
        description => format!("{text}, description: {} }}", scalar(description)),
    }
}

fn prerequisite(prerequisite: &Prerequisite) -> String {
    let Prerequisite { key, value, kind } = prerequisite;
    format!("{{ key: {}, value: {}, type: {} }}", scalar(key), scalar(value), kind.as_str())
}

fn rule(rule: &Rule, variations: &Variations<'_>, service: ServiceKind) -> String {
    let Rule { name, serve: served, conditions } = rule;
    let conditions = list(conditions, |one| condition(one, service));
    format!("{{ name: {}, conditions: {conditions}, serve: {} }}", scalar(name), serve(served, variations))
}

fn condition(condition: &Condition, service: ServiceKind) -> String {
    let Condition { kind, subject, predicate, objects, between } = condition;
    let texts = |texts| list(texts, |text: &String| scalar(text));
    let mut text =
        format!("{{ type: {}, predicate: {}, objects: {}", scalar(kind), scalar(predicate), texts(objects));
    // Writing to a string cannot fail.
    if !(subject.is_empty() && has_optional_subject(kind, service)) {
        let _ = write!(text, ", subject: {}", scalar(subject));
    }
    if let Some(Between { left_predicate, right_predicate, right_objects }) = between.as_deref() {
        let (left, right) = (scalar(left_predicate), scalar(right_predicate));
        let _ = write!(text, ", leftPredicate: {left}, rightPredicate: {right}");
        let _ = write!(text, ", rightObjects: {}", texts(right_objects));
    }
    text + " }"
}

/// The variations that serves refer to.
struct Variations<'a> {
    list: &'a [Variation],
    /// Whether each has a unique name.
    are_named: bool,
}

impl<'a> Variations<'a> {
    fn new(list: &'a [Variation]) -> Self {
        let names: HashSet<&str> = list.iter().map(|variation| variation.name.as_str()).collect();
        Self { list, are_named: names.len() == list.len() && !names.contains("") }
    }

    /// Returns the name of a variation, if the names can stand for the variations.
    fn name(&self, index: u32) -> Option<&'a str> {
        let variation = self.list.get(usize::try_from(index).ok()?)?;
        self.are_named.then_some(variation.name.as_str())
    }
}

fn serve(serve: &Serve, variations: &Variations<'_>) -> String {
    match serve {
        Serve::Select(index) => match variations.name(*index) {
            Some(name) => format!("{{ variation: {} }}", scalar(name)),
            None => format!("{{ select: {index} }}"),
        },
        Serve::Split(weights) => format!("{{ split: {} }}", split(weights, variations.list)),
        Serve::Nothing => "{}".to_owned(),
    }
}

/// Returns a split by the names of the variations, or as a list of weights if the names cannot stand for
/// them.
fn split(weights: &[u32], variations: &[Variation]) -> String {
    // YAML allows a key of at most 1024 characters, escapes included.
    const LONGEST_KEY: usize = 1000;
    let names: Vec<String> = variations.iter().map(|variation| scalar(&variation.name)).collect();
    let unique: HashSet<&String> = names.iter().collect();
    let are_keys = unique.len() == names.len() && names.iter().all(|name| name.len() <= LONGEST_KEY);
    if !are_keys || weights.len() != names.len() {
        let weights: Vec<String> = weights.iter().map(u32::to_string).collect();
        return format!("[{}]", weights.join(", "));
    }
    let shares = names.iter().zip(weights).filter(|(_, weight)| **weight > 0);
    let shares: Vec<String> = shares.map(|(name, weight)| format!("{name}: {}", percent(*weight))).collect();
    format!("{{ {} }}", shares.join(", "))
}

fn scalar(text: &str) -> String {
    let in_quotes = quoted(text);
    match () {
        () if is_plain_word(text) => text.to_owned(),
        // Escapes of nothing but quotes make JSON unreadable.
        () if text.starts_with(['{', '[']) && in_quotes.replace("\\\"", "\"").len() == text.len() + 2 => {
            format!("'{}'", text.replace('\'', "''"))
        }
        () => in_quotes,
    }
}

/// Returns whether all YAML parsers, old ones included, read an unquoted `text` as that text.
fn is_plain_word(text: &str) -> bool {
    // Text that begins with a letter is never a number, a date or an indicator.
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.len() <= 128
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/'));
    // Parsers of YAML 1.1 read these words as booleans, null or numbers.
    let is_reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word));
    is_word && !is_reserved
}
