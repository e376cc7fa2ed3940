//! Prints parts as YAML in the layout of `document::print`.

use super::order::{Section, sorted};
use super::parts::{PartId, PartKind, SourcePart, SourceTree};
use crate::document::print::quoted;

pub(super) fn print(tree: &SourceTree<'_>) -> String {
    let mut printer = Printer { tree, out: String::new(), is_start: true };
    let root = &tree.parts[tree.root];
    printer.lines(&root.above, 0);
    match &root.kind {
        PartKind::Mapping(entries) => printer.entries(entries, Section::Root, 0),
        // A valid document is a mapping.
        PartKind::Scalar(_) | PartKind::Sequence(_) => {}
    }
    let beside: Vec<&str> = root.beside.into_iter().collect();
    printer.lines(&beside, 0);
    printer.lines(&root.below, 0);
    printer.out
}

struct Printer<'a> {
    tree: &'a SourceTree<'a>,
    out: String,
    /// Whether a blank line would be the first one of a collection.
    is_start: bool,
}

/// A key with its value, ready to print: the comments above it and the one beside it.
struct Entry<'a> {
    key: PartId,
    value: PartId,
    above: Vec<&'a str>,
    beside: Option<&'a str>,
}

impl<'a> Printer<'a> {
    fn part(&self, id: PartId) -> &'a SourcePart<'a> {
        &self.tree.parts[id]
    }

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

    fn entries(&mut self, entries: &[(PartId, PartId)], shape: Section, indent: usize) {
        for (key, value) in sorted(self.tree, entries, shape) {
            let entry = self.entry(key, value);
            self.lines(&entry.above, indent);
            self.pad(indent);
            self.print_entry(&entry, shape, indent);
        }
    }

    /// Collects the comments of an entry. Only one can be beside it; the others go above.
    fn entry(&self, key: PartId, value: PartId) -> Entry<'a> {
        let (first, second) = (self.part(key), self.part(value));
        let mut above = first.above.clone();
        above.extend(&second.above);
        let mut beside: Vec<&str> = [first.beside, second.beside].into_iter().flatten().collect();
        let last = beside.pop();
        above.extend(beside);
        if second.is_empty_collection() {
            above.extend(&second.below);
        }
        // A comment behind a block scalar would be part of it.
        let is_block = matches!(&second.kind, PartKind::Scalar(raw) if raw.starts_with(['|', '>']));
        let beside = match is_block {
            false => last,
            true => {
                above.extend(last);
                None
            }
        };
        Entry { key, value, above, beside }
    }

    /// Prints an entry without the indentation of its first line.
    fn print_entry(&mut self, entry: &Entry<'_>, shape: Section, indent: usize) {
        self.is_start = false;
        let Entry { key, value, beside, .. } = *entry;
        if let PartKind::Scalar(raw) = &self.part(key).kind {
            self.scalar(raw, indent);
        }
        self.out.push(':');
        let shape = shape.of_value(self.tree.name(key));
        let part = self.part(value);
        let is_inline = part.is_empty_collection() || (shape == Section::Serve && self.fits_in_line(value));
        match &part.kind {
            PartKind::Scalar(raw) if raw.is_empty() => self.end_line(beside),
            PartKind::Scalar(raw) => {
                self.out.push(' ');
                self.scalar(raw, indent + 2);
                self.end_line(beside);
            }
            _ if is_inline => {
                self.out.push(' ');
                self.inline(value);
                self.end_line(beside);
            }
            PartKind::Mapping(entries) => {
                self.end_line(beside);
                self.is_start = true;
                self.entries(entries, shape, indent + 2);
                self.lines(&part.below, indent + 2);
            }
            PartKind::Sequence(items) => {
                self.end_line(beside);
                self.is_start = true;
                for item in items {
                    self.item(*item, shape, indent + 2);
                }
                self.lines(&part.below, indent + 2);
            }
        }
    }

    fn item(&mut self, id: PartId, shape: Section, indent: usize) {
        let part = self.part(id);
        self.lines(&part.above, indent);
        match &part.kind {
            PartKind::Mapping(entries) if !entries.is_empty() => {
                let entries = sorted(self.tree, entries, shape);
                let mut first = self.entry(entries[0].0, entries[0].1);
                match (part.beside, first.beside) {
                    (Some(beside), None) => first.beside = Some(beside),
                    (beside, _) => first.above.extend(beside),
                }
                self.lines(&first.above, indent);
                self.pad(indent);
                self.out.push_str("- ");
                self.print_entry(&first, shape, indent + 2);
                self.entries(&entries[1..], shape, indent + 2);
                self.lines(&part.below, indent + 2);
            }
            PartKind::Scalar(raw) => {
                let is_block = raw.starts_with(['|', '>']);
                let above: Vec<&str> = part.beside.filter(|_| is_block).into_iter().collect();
                self.lines(&above, indent);
                self.pad(indent);
                self.out.push_str("- ");
                self.scalar(raw, indent + 2);
                self.end_line(part.beside.filter(|_| !is_block));
            }
            PartKind::Mapping(_) | PartKind::Sequence(_) => {
                self.pad(indent);
                self.out.push_str("- ");
                self.inline(id);
                self.end_line(part.beside);
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
    fn scalar(&mut self, raw: &str, indent: usize) {
        if !raw.contains('\n') {
            return self.out.push_str(raw);
        }
        let is_block = raw.starts_with(['|', '>']);
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
    fn fits_in_line(&self, id: PartId) -> bool {
        let inner = |id: &PartId| !self.part(*id).has_comments() && self.fits_in_line(*id);
        let part = self.part(id);
        part.below.iter().all(|line| line.is_empty())
            && match &part.kind {
                PartKind::Mapping(entries) => entries.iter().all(|(key, value)| inner(key) && inner(value)),
                PartKind::Scalar(raw) => {
                    !raw.is_empty() && !raw.contains(['\n', '\r']) && !raw.starts_with(['|', '>'])
                }
                PartKind::Sequence(items) => items.iter().all(inner),
            }
    }

    /// Prints a part in flow style.
    fn inline(&mut self, id: PartId) {
        match &self.part(id).kind {
            // In flow style, these would end a plain scalar.
            PartKind::Scalar(raw)
                if !raw.starts_with(['"', '\'']) && raw.contains([',', '[', ']', '{', '}']) =>
            {
                self.out.push_str(&quoted(raw));
            }
            PartKind::Scalar(raw) => self.out.push_str(raw),
            PartKind::Mapping(entries) if entries.is_empty() => self.out.push_str("{}"),
            PartKind::Mapping(entries) => {
                self.out.push_str("{ ");
                for (at, (key, value)) in entries.iter().enumerate() {
                    self.out.push_str(if at == 0 { "" } else { ", " });
                    self.inline(*key);
                    self.out.push_str(": ");
                    self.inline(*value);
                }
                self.out.push_str(" }");
            }
            PartKind::Sequence(items) => {
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    self.out.push_str(if at == 0 { "" } else { ", " });
                    self.inline(*item);
                }
                self.out.push(']');
            }
        }
    }
}
