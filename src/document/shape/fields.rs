//! The entries of a mapping and the items of a list: unknown, repeated and missing keys.

use super::scalar::{Problem, TEMPLATE, wrong_type};
use super::{Field, ShapeReader};
use crate::document::check::{self, CONDITIONS, condition_example, example, quoted};
use crate::document::finding::{Finding, Spot, is_affordable, shown};
use crate::document::foreign::{self, ForeignKey, Misplaced};
use crate::document::keys::CONTENT;
use crate::document::meant;
use crate::document::node::{Node, NodeKind, Span, Style, field, is_null};
use crate::model::{closest, is_one_edit, listed};

/// The known entries of one mapping, each key once.
pub(in crate::document) struct Fields<'n> {
    pub(in crate::document) owner: Span,
    what: &'static str,
    pub(in crate::document) entries: Vec<Field<'n>>,
    has_unknown: bool,
    /// The unknown keys whose help does not say all that they mean: one of them may stand for what is missing.
    unexplained: Vec<&'n str>,
    /// The keys that an unknown one stands for, which are not missing as well.
    pub(super) meant: Vec<&'static str>,
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
        lists.iter().filter_map(|list| self.optional(list)).any(|list| {
            foreign::is_in_items(list.name, list.node, name)
                || name == "disabled" && foreign::has_switch(list.node)
        })
    }

    pub(super) fn has_unexplained(&self) -> bool {
        !self.unexplained.is_empty()
    }

    pub(in crate::document) fn optional(&self, name: &str) -> Option<Field<'n>> {
        self.entries.iter().find(|field| field.name == name).copied()
    }
}

impl ShapeReader<'_> {
    /// Returns the entries of a mapping. Reports unknown and repeated keys.
    pub(in crate::document) fn fields<'n>(
        &mut self,
        node: &'n Node,
        owner: Span,
        what: &'static str,
        known: &[&'static str],
    ) -> Option<Fields<'n>> {
        let NodeKind::Mapping(all) = &node.kind else {
            return None;
        };
        let (entries, unexplained, meant) = (Vec::new(), Vec::new(), Vec::new());
        let mut fields = Fields { owner, what, entries, has_unknown: false, unexplained, meant };
        let mut misplaced = Misplaced::of(what, all).map(|misplaced| (misplaced, false));
        for (at, (key, value)) in all.iter().enumerate() {
            let NodeKind::Scalar(name, _) = &key.kind else {
                self.key_is_collection(key);
                continue;
            };
            if known.contains(&name.as_str()) {
                match fields.optional(name).map(|first| first.key) {
                    Some(first) => self.duplicate_key(name, key.span, first),
                    None => fields.entries.push(Field { name, key: key.span, node: value }),
                }
                continue;
            }
            match misplaced.as_mut().filter(|(own, _)| own.has(name)) {
                Some((misplaced, is_reported)) => {
                    if !std::mem::replace(is_reported, true) {
                        let message = format!("{what} has no `{}`", shown(name));
                        let finding = Finding::at(&check::UNKNOWN_KEY, key.span, message);
                        self.add(finding.help(misplaced.help.as_str()));
                    }
                    fields.meant.extend_from_slice(misplaced.stands_for);
                }
                None => self.unknown_entry(&mut fields, known, all, at),
            }
        }
        // A part of `content` is below it, and where it is not there, the help on the part names it.
        if what == "a document" && fields.meant.iter().any(|name| CONTENT.contains(name)) {
            fields.meant.push("content");
        }
        // An item with nothing else is another form of the whole.
        let is_item = !matches!(what, "a document" | "`content`");
        if is_item && all.len() == 1 && fields.has_unexplained() {
            fields.meant.extend(known);
        }
        Some(fields)
    }

    fn key_is_collection(&mut self, key: &Node) {
        let message = "a key must be a word, not a collection";
        let is_template = matches!(&key.kind, NodeKind::Mapping(inner)
            if matches!(inner.as_slice(), [(_, nothing)] if nothing.is_null()));
        let help = if is_template { TEMPLATE } else { "remove this entry, or write a word as its key" };
        self.add(Finding::at(&check::WRONG_TYPE, first_line_of(key), message).help(help));
    }

    /// Reports the entry at an index of `all`, whose key is none of `known`.
    fn unknown_entry<'n>(
        &mut self,
        fields: &mut Fields<'n>,
        known: &[&'static str],
        all: &'n [(Node, Node)],
        at: usize,
    ) {
        let (key, value) = &all[at];
        let NodeKind::Scalar(name, _) = &key.kind else { return };
        let before = at.checked_sub(1).and_then(|before| all.get(before));
        if let Some(cut) = meant::cut_at_comma(before, &all[at], |key| known.contains(&key)) {
            self.add(Finding::at(&check::UNKNOWN_KEY, key.span, cut.message()).help(cut.help));
            return;
        }
        fields.has_unknown = true;
        let unknown = self.unknown_key((name, key.span), value, fields.what, known, all);
        fields.meant.extend(unknown.stands_for);
        if !unknown.is_explained {
            fields.unexplained.push(name);
        }
    }

    pub(in crate::document) fn duplicate_key(&mut self, name: &str, span: Span, first: Span) {
        let message = format!("duplicate key `{}`", shown(name));
        let finding = Finding::at(&check::DUPLICATE_KEY, span, message).help("keep one of the two");
        self.add(finding.related(Spot::Span(first), "first here"));
    }

    /// Reports an unknown key of `all`.
    fn unknown_key(
        &mut self,
        (name, span): (&str, Span),
        value: &Node,
        what: &str,
        known: &[&'static str],
        all: &[(Node, Node)],
    ) -> Unknown {
        let unknown = || Finding::at(&check::UNKNOWN_KEY, span, format!("{what} has no `{}`", shown(name)));
        // A hostile document can have any number of keys and of variations.
        if !is_affordable(self.findings) {
            self.add(unknown());
            return Unknown { stands_for: Vec::new(), is_explained: false };
        }
        let split = if what == "a serve" { meant::split(value, &self.variations.names) } else { None };
        let mut stands_for = Vec::new();
        let mut is_explained = true;
        let finding = if name == "<<" {
            is_explained = false;
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
        } else if let Some(foreign) = self
            .foreign_in_place(what, name, value, all)
            .or_else(|| foreign::key(what, name, value, all, &self.variations))
        {
            stands_for.extend_from_slice(foreign.stands_for);
            is_explained = foreign.is_certain() && (what != "a rule" || foreign::is_named(what, name));
            if foreign.help.is_empty() {
                return Unknown { stands_for, is_explained };
            }
            unknown().help(foreign.help)
        } else if let Some(split) = split {
            let is_beside = known.iter().any(|key| field(all, key).is_some());
            let both = if is_beside { "one `split` says both: " } else { "" };
            unknown().help(format!("{both}{}", self.rollout(Some(split))))
        } else if let Some((help, meant)) = misspelled(name, value, known, all) {
            // What is misspelled is not missing as well.
            stands_for.extend(meant);
            unknown().help(help)
        } else {
            // What decides nothing stands for nothing.
            is_explained = foreign::is_note(what, name);
            unknown().help(format!("{what} has {}{}", listed(&quoted(known)), foreign::loss(what, name)))
        };
        self.add(finding);
        Unknown { stands_for, is_explained }
    }

    /// Returns the help on a key of a part that is elsewhere as well, or belongs there.
    fn foreign_in_place(
        &self,
        what: &str,
        name: &str,
        value: &Node,
        all: &[(Node, Node)],
    ) -> Option<ForeignKey> {
        if what == "`content`" {
            return foreign::in_content(name, value, all, self.disabled.as_ref(), &self.variations);
        }
        foreign::repeated_part(what, name, all, &self.parts)
    }

    pub(in crate::document) fn required<'n>(
        &mut self,
        fields: &Fields<'n>,
        name: &'static str,
    ) -> Option<Field<'n>> {
        self.required_as(fields, name, example(name))
    }

    pub(in crate::document) fn required_as<'n>(
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
            let help = foreign::missing_beside(name, help, &fields.unexplained);
            let (check, message) = match (fields.what, name) {
                ("a rule", "serve") => (&check::RULE_WITHOUT_SERVE, "this rule has no serve".to_owned()),
                (what, name) => (&check::MISSING_FIELD, format!("{what} needs `{name}`")),
            };
            self.add(Finding::at(check, fields.owner, message).help(help));
        }
        found
    }

    /// Reads a required list. Replaces an item that cannot be read by the default.
    pub(in crate::document) fn list<T: Default>(
        &mut self,
        fields: &Fields<'_>,
        name: &'static str,
        item: fn(&mut Self, &Field<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let field = self.required(fields, name)?;
        self.items(&field, item)
    }

    /// Reads the items of a list.
    pub(in crate::document) fn items<T: Default>(
        &mut self,
        field: &Field<'_>,
        item: fn(&mut Self, &Field<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let NodeKind::Sequence(items) = &field.node.kind else {
            let problem = wrong_type(field.name, &field.node.kind, "a list", None);
            self.problem(field, problem.map(|problem| Problem { help: not_a_list(field), ..problem }));
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

/// What is known of an unknown key that is reported.
struct Unknown {
    /// The keys that it stands for.
    stands_for: Vec<&'static str>,
    /// Whether its help says all that it means.
    is_explained: bool,
}

/// Returns the help on a key that is one of `known` with a mistake, and this one.
fn misspelled(
    name: &str,
    value: &Node,
    known: &[&'static str],
    all: &[(Node, Node)],
) -> Option<(String, Option<&'static str>)> {
    let own = |key: &str| known.iter().copied().find(|own| *own == key);
    if let Some((key, help)) = meant::without_blank(name, |key| known.contains(&key)) {
        return Some((help, own(key)));
    }
    let cut = meant::without_colon(name, |key| known.contains(&key)).filter(|_| value.is_null());
    if let Some((key, rest)) = cut {
        let value = shown(&meant::in_braces(rest));
        return Some((format!("write a colon after the key: `{key}: {value}`"), own(key)));
    }
    // In JSON, the key after a comment on its own line is a part of the comment's.
    if let Some(key) = name.starts_with("//").then(|| known.iter().find(|key| name.contains(**key))) {
        return Some(("begin comments with `# `, not with `//`".to_owned(), key.copied()));
    }
    let is_there = |key: &str| field(all, key).is_some();
    // A short word is a misspelling of a key that is missing, and of nothing else.
    let mut missing = known.iter().copied().filter(|key| !is_there(key));
    let similar = closest(name, known.iter().copied()).or_else(|| missing.find(|key| is_one_edit(name, key)));
    let similar = similar?;
    let help = match is_there(similar) {
        true => format!("keep one of the two: it is similar to `{similar}`, which is here as well"),
        false => format!("did you mean `{similar}`?"),
    };
    Some((help, Some(similar)))
}

/// Returns the help on a value in place of a list.
fn not_a_list(field: &Field<'_>) -> Option<String> {
    let (name, value) = (field.name, &field.node.kind);
    if let ("conditions", NodeKind::Scalar(..)) = (name, value)
        && let Some(condition) = foreign::condition_of(field.node)
    {
        return Some(format!("write what the rule compares: `conditions: [{condition}]`"));
    }
    let objects = match (name, value) {
        ("objects" | "rightObjects", NodeKind::Scalar(text, _)) => objects_in(text),
        ("objects" | "rightObjects", NodeKind::Mapping(entries)) => foreign::values(entries),
        _ => None,
    };
    let meant = objects
        .map(|list| format!("write `{name}: [{list}]`"))
        .or_else(|| foreign::list_of(name, field.node))
        .or_else(|| foreign::not_a_list(name, field.node));
    let help = match (name, value) {
        _ if meant.is_some() => return meant,
        // A rule without conditions matches everyone, so that this is not a usual remedy.
        ("conditions", value) if !is_nothing(value) => CONDITIONS,
        ("conditions", _) => example("conditions"),
        ("rules" | "prerequisites", NodeKind::Mapping(entries)) if !entries.is_empty() => {
            "write `- ` before each item"
        }
        ("rules" | "prerequisites", NodeKind::Scalar(text, _)) if is_text_of_items(text) => {
            return Some(format!(
                "write a list, not a text: remove the `|`, the `>` or the quotes after `{name}:`, and begin each item with `- `"
            ));
        }
        ("rules" | "prerequisites", _) => "write `[]` for none",
        (_, NodeKind::Scalar(..)) => "write a list in square brackets, such as `[\"a\", \"b\"]`",
        ("objects" | "rightObjects", _) => condition_example(None, "objects"),
        _ => return None,
    };
    Some(help.to_owned())
}

/// Returns whether a text in place of a list has more than one word, so that it says more than "none".
fn is_text_of_items(text: &str) -> bool {
    text.contains(|c: char| c.is_alphanumeric()) && text.contains([':', '-', '\n', '{', '['])
}

fn is_nothing(value: &NodeKind) -> bool {
    match value {
        NodeKind::Mapping(entries) => entries.is_empty(),
        NodeKind::Scalar(text, _) => is_null(text),
        NodeKind::Refused | NodeKind::Sequence(_) => false,
    }
}

/// Returns the finding and the help on an entry in which no blank follows the colon.
pub(in crate::document) fn without_blank(
    (key, value): &(Node, Node),
    is_key: impl Fn(&str) -> bool,
) -> Option<(Finding, String)> {
    let NodeKind::Scalar(name, Style::Plain) = &key.kind else { return None };
    let (_, help) = meant::without_blank(name, is_key).filter(|_| value.is_null())?;
    let message = format!("`{}` has no value", shown(name));
    Some((Finding::at(&check::NULL_TEXT, key.span, message), help))
}

/// Returns the span of a scalar, or of the first key or item of a collection.
pub(in crate::document) fn first_line_of(node: &Node) -> Span {
    // The span of a whole collection can be the rest of the file.
    match &node.kind {
        NodeKind::Mapping(entries) => entries.first().map_or(node.span, |(key, _)| key.span),
        NodeKind::Sequence(items) => items.first().map_or(node.span, first_line_of),
        NodeKind::Refused | NodeKind::Scalar(..) => node.span,
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
    meant::list(&meant::several(text).or_else(by_comma).or_else(one)?)
}
