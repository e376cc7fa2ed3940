//! Parts at another place than in a document: one level off, or below a key or in a list that documents do not have.

use super::condition::objects_of;
use super::content::part_of_content;
use super::names::{first_of, meant_field, own_of, plain};
use crate::document::check::quoted as in_backticks;
use crate::document::finding::shown;
use crate::document::keys::{CONDITION, CONTENT, RULE};
use crate::document::node::{Node, NodeKind, field, quoted, scalar};
use crate::model::listed;

/// The parts of a mapping that belong into one below it, which is missing.
pub(in crate::document) struct Misplaced {
    pub(in crate::document) help: String,
    /// The mapping that is missing.
    pub(in crate::document) stands_for: &'static [&'static str],
    /// What has the parts.
    owner: &'static str,
    /// What they belong to, and its keys.
    what: &'static str,
    known: &'static [&'static str],
}

impl Misplaced {
    /// Returns the parts of `what` that belong into a mapping of their own; none if that is there, or if `what` has none.
    pub(in crate::document) fn of(what: &str, entries: &[(Node, Node)]) -> Option<Self> {
        let entries = first_of(entries);
        match what {
            "a document" => Self::of_document(entries),
            "a rule" => Self::of_rule(entries),
            _ => None,
        }
    }

    /// Returns the parts of `content` that are beside `disabled`.
    fn of_document(entries: &[(Node, Node)]) -> Option<Self> {
        const OWNER: &str = "a document";
        if meant_field(entries, OWNER, "content").is_some() {
            return None;
        }
        let is_there = |name: &&&str| field(entries, name).is_some();
        let parts: Vec<&str> = CONTENT.iter().filter(is_there).copied().collect();
        let below = match parts.as_slice() {
            [] => return None,
            [_] => "it".to_owned(),
            parts => listed(&in_backticks(parts)),
        };
        Some(Self {
            help: format!("write `content:` above it, and indent {below} below"),
            stands_for: &["content"],
            owner: OWNER,
            what: "`content`",
            known: CONTENT,
        })
    }

    /// Returns the parts of a condition that are in a rule.
    fn of_rule(entries: &[(Node, Node)]) -> Option<Self> {
        const OWNER: &str = "a rule";
        const WHAT: &str = "a condition";
        if meant_field(entries, OWNER, "conditions").is_some() {
            return None;
        }
        // `name` and `key` are the name of the rule.
        let is_meant = |key: &Node, own| {
            let name = scalar(key).filter(|name| !RULE.contains(name)).map(plain);
            name.is_some_and(|name| own_of(OWNER, &name).is_none() && own_of(WHAT, &name) == Some(&own))
        };
        let part = |own| {
            let meant = || entries.iter().find(|(key, _)| is_meant(key, own)).map(|(_, value)| value);
            field(entries, own).or_else(meant)
        };
        let text = |own| Some(format!("{own}: {}", quoted(&shown(part(own).and_then(scalar)?))));
        let objects = part("objects").and_then(objects_of).map(|objects| format!("objects: [{objects}]"));
        let all = [text("type"), text("subject"), text("predicate"), objects];
        let parts: Vec<String> = all.into_iter().flatten().collect();
        (parts.len() >= 2).then(|| Self {
            help: format!("write a condition: `conditions: [{{ {} }}]`", parts.join(", ")),
            stands_for: &["conditions"],
            owner: OWNER,
            what: WHAT,
            known: CONDITION,
        })
    }

    /// Returns whether a key is one of these parts.
    pub(in crate::document) fn has(&self, name: &str) -> bool {
        let plain = plain(name);
        // A key of another tool in place of one of `content` has its own help, with its value.
        self.known.contains(&name)
            || self.what != "`content`"
                && own_of(self.owner, &plain).is_none()
                && own_of(self.what, &plain).is_some()
    }
}

/// Returns whether the list `what` has a mapping with this key, whatever other tools call it in `content`.
pub(in crate::document) fn is_in_items(what: &str, list: &Node, name: &str) -> bool {
    let is_part = |entries: &[(Node, Node)]| {
        let part = |key| part_of_content("a rule", scalar(key)?, entries);
        what == "rules" && entries.iter().any(|(key, _)| part(key) == Some(name))
    };
    let has = |node: &Node| match &node.kind {
        NodeKind::Mapping(entries) => field(entries, name).is_some() || is_part(entries),
        _ => false,
    };
    match &list.kind {
        NodeKind::Sequence(items) => items.iter().any(has),
        _ => has(list),
    }
}

/// Returns the help on a file that is not a document, if documents are below its keys or in a list.
pub(in crate::document) fn wrapped(root: &Node) -> Option<String> {
    const EACH: &str = "write each toggle into a file of its own: its name is the key of the toggle";
    let is_document = |node: &Node| {
        let NodeKind::Mapping(entries) = &node.kind else { return false };
        field(entries, "content").is_some() || field(entries, "variations").is_some()
    };
    match &root.kind {
        NodeKind::Sequence(items) => match items.as_slice() {
            [one] if is_document(one) => {
                Some("remove the brackets or the dash around it: a document is not in a list".to_owned())
            }
            [first, ..] if is_document(first) => Some(EACH.to_owned()),
            _ => None,
        },
        NodeKind::Mapping(entries) => match entries.as_slice() {
            [(key, one)] if is_document(one) => Some(format!(
                "remove `{}:` and the indentation below it: `disabled` and `content` begin at the start of a line",
                shown(scalar(key)?)
            )),
            [(_, inner)] => wrapped(inner).map(|_| EACH.to_owned()),
            [(_, first), ..] if is_document(first) => Some(EACH.to_owned()),
            _ => None,
        },
        NodeKind::Refused | NodeKind::Scalar(..) => None,
    }
}

/// Returns the help on the file `path` that is a list of expectations, whose name does not say so.
pub(in crate::document) fn expectations(path: &str, root: &Node) -> Option<String> {
    let NodeKind::Sequence(items) = &root.kind else { return None };
    let NodeKind::Mapping(entries) = &items.first()?.kind else { return None };
    let is_there = |name: &&str| field(entries, name).is_some();
    ["given", "serves", "expect", "expected"].iter().any(is_there).then(|| {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let signs = ['.', '_', '-'];
        let tests = ["test", "tests", "spec", "specs"];
        let toggle = tests.iter().find_map(|end| stem.strip_suffix(end)?.strip_suffix(signs)).unwrap_or(stem);
        format!(
            "it looks like expectations, which are read from `{}.test.yaml` only: rename this file, so that they are tested",
            shown(toggle)
        )
    })
}
