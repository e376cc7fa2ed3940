//! What other tools call the keys of a document, and what to write instead: Unleash, LaunchDarkly, GO Feature
//! Flag, Flipt and flagd.
//!
//! A key of another tool stands for one of a document, which is then not missing as well: who followed both
//! helps would get, for example, a rule without its conditions.

use super::check::{ROLLOUT, SERVE_FORMS, needs_split, quoted as in_backticks};
use super::dialects;
use super::finding::shown;
use super::meant;
use super::modifier::{self, truth, truth_of};
use super::node::{Node, NodeKind, Style, field, is_null, quoted, scalar};
use super::shape::{CONDITION, CONTENT, PREREQUISITE, RULE, SERVE, VARIATION};
use crate::model::{CONDITION_TYPES, ReturnType, is_accepted_time, is_semver, listed};

/// What an unknown key means.
pub(super) struct ForeignKey {
    pub(super) help: String,
    /// The keys in whose place it stands.
    pub(super) stands_for: &'static [&'static str],
}

impl ForeignKey {
    /// Returns the help on a key that stands for no other.
    pub(super) fn only(help: impl Into<String>) -> Self {
        Self { help: help.into(), stands_for: &[] }
    }
}

/// Keys of other tools, in lower case and without `_` and `-`, by what has them.
pub(super) const NAMES: &[(&str, &str, &[&str])] = &[
    ("`content`", "rules", &["targeting", "targetingrules", "strategies"]),
    ("`content`", "variations", &["variants"]),
    ("`content`", "prerequisites", &["dependencies"]),
    ("a document", "content", &["spec", "data", "body", "config", "configuration", "definition"]),
    (
        "a rule",
        "conditions",
        &[
            "clauses",
            "constraints",
            "condition",
            "criteria",
            "when",
            "if",
            "match",
            "where",
            "filter",
            "filters",
        ],
    ),
    (
        "a condition",
        "subject",
        &[
            "contextname",
            "attribute",
            "property",
            "trait",
            "field",
            "key",
            "name",
            "attr",
            "attributename",
            "attributekey",
        ],
    ),
    ("a condition", "predicate", &["operator", "op", "comparator", "comparison"]),
    ("a condition", "objects", &["values", "value"]),
    ("a rule", "name", &["id", "key", "title", "label", "description", "rulename", "ruleid"]),
    ("a serve", "select", &["index", "variationindex"]),
    (
        "a serve",
        "variation",
        &[
            "serve",
            "serves",
            "default",
            "returns",
            "result",
            "variant",
            "name",
            "key",
            "id",
            "treatment",
            "variationname",
            "variationkey",
            "variationid",
            "variantkey",
        ],
    ),
    (
        "a variation",
        "name",
        &[
            "key",
            "id",
            "variant",
            "variation",
            "treatment",
            "title",
            "label",
            "variationname",
            "variationkey",
            "variationid",
            "variantname",
            "variantkey",
        ],
    ),
    ("a variation", "value", &["payload", "attachment", "content", "data", "val", "returns"]),
    ("a variation", "description", &["desc", "comment", "note", "notes", "summary"]),
    ("a prerequisite", "key", &["flag", "toggle", "feature", "name", "id", "flagkey", "featurekey"]),
    ("a prerequisite", "type", &["kind", "valuetype", "returntype"]),
    ("an expectation", "name", &["description", "title", "test", "it", "case"]),
    (
        "an expectation",
        "given",
        &["user", "context", "attributes", "attrs", "attr", "with", "when", "input", "traits"],
    ),
    ("an expectation", "key", &["userkey", "userid", "targetingkey", "id"]),
    ("an expectation", "at", &["time", "now", "date", "datetime", "timestamp"]),
    (
        "an expectation",
        "serves",
        &[
            "expect",
            "expected",
            "expects",
            "variation",
            "variant",
            "serve",
            "served",
            "returns",
            "result",
            "output",
            "then",
            "should",
            "value",
        ],
    ),
];

/// The same of keys with a serve.
pub(super) const SERVES: &[(&str, &str, &[&str])] = &[
    (
        "`content`",
        "defaultServe",
        &["fallthrough", "defaultvariant", "defaultvariation", "defaultrule", "default"],
    ),
    ("`content`", "disabledServe", &["offvariation", "offvariant", "disabledvariation", "disabledvariant"]),
    (
        "a rule",
        "serve",
        &[
            "variation",
            "variant",
            "percentage",
            "percentagerollout",
            "rollout",
            "distribution",
            "distributions",
            "split",
            "weights",
        ],
    ),
];

/// Returns what the key `name` of `what` means, beside the other entries of its mapping.
pub(super) fn key(
    what: &str,
    name: &str,
    value: &Node,
    beside: &[(Node, Node)],
    variations: &ReadVariations,
) -> Option<ForeignKey> {
    let plain = plain(name);
    if let Some(found) = modifier::key(what, &plain, value, beside) {
        return Some(found);
    }
    let own = own_of(what, &plain);
    match (what, plain.as_str()) {
        ("a document", "enabled" | "isenabled" | "on" | "active" | "state") => {
            let disabled = !truth(value)?;
            return Some(match field(beside, "disabled") {
                None => {
                    let help = format!("write `disabled: {disabled}` instead");
                    ForeignKey { help, stands_for: &["disabled"] }
                }
                Some(own) if truth(own) == Some(disabled) => {
                    ForeignKey::only(format!("remove it: `disabled: {disabled}` says the same"))
                }
                Some(_) => ForeignKey::only(format!(
                    "keep one of the two: `{}` means `disabled: {disabled}`, and `disabled` is here as well",
                    shown(name)
                )),
            });
        }
        ("a document", _) if CONTENT.contains(&name) => {
            let content = field(beside, "content").map(|content| &content.kind);
            let is_there =
                matches!(content, Some(NodeKind::Mapping(entries)) if field(entries, name).is_some());
            return Some(ForeignKey::only(match is_there {
                true => format!("keep one of the two: `content` has `{name}` as well"),
                false => "indent it below `content`".to_owned(),
            }));
        }
        ("`content`", "disabled") => return Some(ForeignKey::only("write it beside `content`, not below")),
        ("a condition", "percentage" | "percent" | "rollout" | "rolloutpercentage" | "split") => {
            let help = format!("a rule has this in its `serve`, not in a condition: {}", *ROLLOUT);
            let stands_for: &[_] =
                if beside.len() == 1 { &["type", "subject", "predicate", "objects"] } else { &[] };
            return Some(ForeignKey { help, stands_for });
        }
        ("a condition", "serve" | "conditions") => {
            return Some(ForeignKey::only("write it beside `conditions`, not below"));
        }
        ("a rule" | "a condition" | "a variation" | "a prerequisite", _)
            if CONTENT.contains(&name) && name != "variations" =>
        {
            let list = match what {
                "a variation" => "variations",
                "a prerequisite" => "prerequisites",
                _ => "rules",
            };
            return Some(ForeignKey::only(format!("write it beside `{list}`, not below")));
        }
        ("a condition", "segment" | "segments") => return segment(value, beside),
        ("a variation", "weight" | "percentage" | "percent" | "share" | "rollout") => {
            let help = format!("remove it: rules and `defaultServe` have the shares ({})", *ROLLOUT);
            return Some(ForeignKey::only(help));
        }
        (
            "a prerequisite",
            "variation" | "variant" | "variations" | "variants" | "serves" | "serve" | "returns",
        ) => {
            if let Some(help) = kept(what, "value", name, beside) {
                return Some(ForeignKey::only(help));
            }
            let one = match &value.kind {
                NodeKind::Sequence(items) if items.len() == 1 => &items[0],
                _ => value,
            };
            let word = scalar(one);
            // A wrong value would reverse the prerequisite.
            if let Some(is_on) = word.and_then(truth_of) {
                return modifier::value_if(is_on, beside);
            }
            let of = word.map(|word| format!(" `{}`", shown(word))).unwrap_or_default();
            let help = format!(
                "write `value` instead, with the value of the variation{of} of that toggle, and its `type`"
            );
            return Some(ForeignKey { help, stands_for: &["value", "type"] });
        }
        ("a variation", "default" | "isdefault") => {
            let help = "remove it: `defaultServe` names the variation for everyone whom no rule matches";
            return Some(ForeignKey::only(help));
        }
        ("a variation", _) if own.is_none() && beside.len() == 1 && scalar(value).is_some() => {
            let (name, value) = (quoted(&shown(name)), quoted(&shown(scalar(value)?)));
            let help = format!("write `name: {name}, value: {value}`");
            return Some(ForeignKey { help, stands_for: &["name", "value"] });
        }
        ("an expectation", _) if beside.len() == 1 && matches!(value.kind, NodeKind::Mapping(_)) => {
            let help = format!("write `name: {}`, and the rest beside it", quoted(&shown(name)));
            return Some(ForeignKey { help, stands_for: &["name", "serves"] });
        }
        ("a serve", _) if variations.has(name) && (value.is_null() || truth(value) == Some(true)) => {
            return Some(ForeignKey::only(format!("write `variation: {}`", quoted(&shown(name)))));
        }
        ("a serve", "variations") => {
            let name = scalar(value).filter(|name| variations.has(name))?;
            return Some(ForeignKey::only(format!("write `variation: {}` instead", quoted(&shown(name)))));
        }
        ("a serve", "value") => {
            let help = match scalar(value).and_then(|text| variations.with_value(text)) {
                Some(index) => format!("write `{}` instead", variations.choice(index)),
                None => format!("write `variation` instead, with the name of one{}", variations.beginning()),
            };
            return Some(ForeignKey::only(help));
        }
        _ => {}
    }
    if what == "a condition"
        && let Some(found) = comparison(name, &plain, value, beside)
    {
        return Some(found);
    }
    // The key can be that of the other toggle: `{ feature: true }`.
    let is_toggle = own.is_none() || truth(value).is_some();
    if what == "a prerequisite" && is_toggle && beside.len() == 1 && scalar(value).is_some() {
        let help = format!("write `{}`", prerequisite(name, scalar(value)));
        return Some(ForeignKey { help, stands_for: &["key", "value", "type"] });
    }
    let own = own?;
    let is_share = *own == "serve" && !plain.starts_with("varia");
    if let Some(help) = kept(what, own, name, beside) {
        return Some(ForeignKey::only(match is_share {
            true => format!("one `serve` says both: {}", *ROLLOUT),
            false => help,
        }));
    }
    if SERVES.iter().any(|(whose, known, _)| (*whose, known) == (what, own)) {
        let help = match serve(value, variations) {
            Some(serve) => format!("write `{own}: {serve}` instead{}", needs(&serve)),
            None if is_share => format!("a rule has this in its `serve`: {}", *ROLLOUT),
            None => format!("write `{own}` instead, with the variation to serve"),
        };
        return Some(ForeignKey { help, stands_for: std::slice::from_ref(own) });
    }
    let help = match (*own, &value.kind) {
        // A user that is a text is its key.
        ("given", NodeKind::Scalar(text, _)) if !is_null(text) => {
            if let Some(help) = kept(what, "key", name, beside) {
                return Some(ForeignKey::only(help));
            }
            let help = format!("write `key: {}` instead", quoted(&shown(text)));
            return Some(ForeignKey { help, stands_for: &["key"] });
        }
        ("select" | "variation", NodeKind::Scalar(text, style)) => match variations.index(text, *style) {
            Some(index) => format!("write `{}` instead", variations.choice(index)),
            None => format!("write `{own}` instead of `{}`", shown(name)),
        },
        ("value", NodeKind::Mapping(entries)) if field(entries, "value").and_then(scalar).is_some() => {
            let text = field(entries, "value").and_then(scalar).unwrap_or_default();
            format!("write `value: {}` instead", quoted(&shown(text)))
        }
        ("value", NodeKind::Mapping(_) | NodeKind::Sequence(_)) => match meant::json(&value.kind) {
            Some(json) => format!("write JSON as text: `value: {json}`"),
            None => {
                format!("write `value` instead of `{}`, with JSON as text, in single quotes", shown(name))
            }
        },
        ("serves", NodeKind::Mapping(entries)) => match entries.as_slice() {
            [(_, Node { kind: NodeKind::Scalar(text, _), .. })] => {
                format!("write `serves: {}` instead", quoted(&shown(text)))
            }
            _ => "write `serves` instead, with the name of the variation".to_owned(),
        },
        ("objects", NodeKind::Scalar(text, _)) if !is_null(text) => {
            format!("write `objects: [{}]` instead", quoted(&shown(text)))
        }
        _ => format!("write `{own}` instead of `{}`", shown(name)),
    };
    Some(ForeignKey { help, stands_for: std::slice::from_ref(own) })
}

/// Returns a key in lower case, without `_` and `-`.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// Returns the key of `what` that other tools call `plain`.
fn own_of(what: &str, plain: &str) -> Option<&'static &'static str> {
    let mut rows = NAMES.iter().chain(SERVES).filter(|(whose, ..)| *whose == what);
    rows.find(|(_, _, names)| names.contains(&plain)).map(|(_, own, _)| own)
}

/// Returns the value of a field, whatever other tools call it.
fn meant_field<'n>(entries: &'n [(Node, Node)], what: &str, own: &str) -> Option<&'n Node> {
    let is_meant = |key: &Node| scalar(key).and_then(|name| own_of(what, &plain(name))) == Some(&own);
    field(entries, own).or_else(|| entries.iter().find(|(key, _)| is_meant(key)).map(|(_, value)| value))
}

/// Returns whether a mapping has a field of `what`, whatever other tools call it.
fn has_field(entries: &[(Node, Node)], what: &str, known: &[&str]) -> bool {
    let is_field = |name: &str| known.contains(&name) || own_of(what, &plain(name)).is_some();
    entries.iter().any(|(key, _)| scalar(key).is_some_and(is_field))
}

/// The parts of a mapping that belong into one below it, which is missing.
pub(super) struct Misplaced {
    pub(super) help: String,
    /// The mapping that is missing.
    pub(super) stands_for: &'static [&'static str],
    owner: &'static str,
    what: &'static str,
    known: &'static [&'static str],
}

impl Misplaced {
    /// Returns the parts of a content that are beside `disabled`, and those of a condition in a rule.
    pub(super) fn of(what: &str, entries: &[(Node, Node)]) -> Option<Self> {
        /// A hostile mapping can have any number.
        const MOST_READ: usize = 100;
        let entries = &entries[..entries.len().min(MOST_READ)];
        match what {
            "a document" if meant_field(entries, what, "content").is_none() => {
                let is_there = |name: &&&str| field(entries, name).is_some();
                let parts: Vec<&str> = CONTENT.iter().filter(is_there).copied().collect();
                let help = match parts.as_slice() {
                    [] => return None,
                    [_] => "write `content:` above it, and indent it below".to_owned(),
                    parts => {
                        format!(
                            "write `content:` above it, and indent {} below",
                            listed(&in_backticks(parts))
                        )
                    }
                };
                Some(Self {
                    help,
                    stands_for: &["content"],
                    owner: "a document",
                    what: "`content`",
                    known: CONTENT,
                })
            }
            "a rule" if meant_field(entries, what, "conditions").is_none() => {
                // `name` and `key` are the name of the rule.
                let is_meant = |key: &Node, own| {
                    let name = scalar(key).filter(|name| !RULE.contains(name)).map(plain);
                    name.is_some_and(|name| {
                        own_of(what, &name).is_none() && own_of("a condition", &name) == Some(&own)
                    })
                };
                let part = |own| {
                    let meant = || entries.iter().find(|(key, _)| is_meant(key, own)).map(|(_, value)| value);
                    field(entries, own).or_else(meant)
                };
                let text = |own| Some(format!("{own}: {}", quoted(&shown(part(own).and_then(scalar)?))));
                let objects =
                    part("objects").and_then(objects_of).map(|objects| format!("objects: [{objects}]"));
                let all = [text("type"), text("subject"), text("predicate"), objects];
                let parts: Vec<String> = all.into_iter().flatten().collect();
                if parts.len() < 2 {
                    return None;
                }
                let help = format!("write a condition: `conditions: [{{ {} }}]`", parts.join(", "));
                Some(Self {
                    help,
                    stands_for: &["conditions"],
                    owner: "a rule",
                    what: "a condition",
                    known: CONDITION,
                })
            }
            _ => None,
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        let plain = plain(name);
        self.known.contains(&name)
            || own_of(self.owner, &plain).is_none() && own_of(self.what, &plain).is_some()
    }
}

/// Returns whether a list has a mapping with this key.
pub(super) fn is_in_items(list: &Node, name: &str) -> bool {
    let has =
        |node: &Node| matches!(&node.kind, NodeKind::Mapping(entries) if field(entries, name).is_some());
    match &list.kind {
        NodeKind::Sequence(items) => items.iter().any(has),
        _ => has(list),
    }
}

/// Returns the help on a file that is not a document, if documents are below its keys or in a list.
pub(super) fn wrapped(root: &Node) -> Option<String> {
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

/// Returns the help on a key that stands for `own`, if another entry is or stands for it as well: a rename would
/// repeat it.
fn kept(what: &str, own: &str, name: &str, beside: &[(Node, Node)]) -> Option<String> {
    if field(beside, own).is_some() {
        return Some(format!(
            "keep one of the two: `{}` stands for `{own}`, which is here as well",
            shown(name)
        ));
    }
    let before = beside.iter().map_while(|(key, _)| scalar(key).filter(|key| *key != name));
    let mut others = before.filter(|key| own_of(what, &plain(key)) == Some(&own));
    others.next().map(|other| format!("keep one of the two: `{}` stands for `{own}` as well", shown(other)))
}

/// Returns what a key of a condition means that is an attribute or a predicate, with what it is compared:
/// `{ country: AT }`, `{ subject: country, in: [AT] }`.
fn comparison(name: &str, plain: &str, value: &Node, beside: &[(Node, Node)]) -> Option<ForeignKey> {
    let is_attribute = matches!(plain, "key" | "name") || own_of("a condition", plain).is_none();
    if beside.len() == 1 && is_attribute {
        let help = format!("write `{}`", shorthand(name, value)?);
        return Some(ForeignKey { help, stands_for: &["type", "subject", "predicate", "objects"] });
    }
    let objects = objects_of(value)?;
    let kind = field(beside, "type").and_then(scalar);
    let has_predicate = ["predicate", "operator", "op"].iter().any(|name| field(beside, name).is_some());
    let has_objects = field(beside, "objects").is_some();
    let types = dialects::other_types("", name);
    let own = |(other, _): &&(&'static str, &'static str)| kind.is_none_or(|kind| kind == *other);
    // What the patterns of `LIKE` mean, its own key says.
    let is_like = plain.contains("like");
    let (own, predicate) = types.iter().find(own).filter(|_| !has_predicate && !is_like && !has_objects)?;
    let predicate =
        if predicate.starts_with(char::is_alphabetic) { (*predicate).to_owned() } else { quoted(predicate) };
    let (own, stands_for): (_, &[_]) = match kind {
        Some(_) => (String::new(), &["predicate", "objects"]),
        None => (format!("type: {own}, "), &["type", "predicate", "objects"]),
    };
    Some(ForeignKey {
        help: format!("write `{own}predicate: {predicate}, objects: [{objects}]`"),
        stands_for,
    })
}

/// Returns the condition that an attribute with its values means.
fn shorthand(subject: &str, values: &Node) -> Option<String> {
    let subject = quoted(&shown(subject));
    // `{ country: { in: [AT] } }`
    if let NodeKind::Mapping(entries) = &values.kind {
        let [(predicate, values)] = entries.as_slice() else { return None };
        let types = dialects::other_types("", scalar(predicate)?);
        let (kind, predicate) = types.first()?;
        let (predicate, objects) = (quoted(predicate), objects_of(values)?);
        return Some(format!(
            "type: {kind}, subject: {subject}, predicate: {predicate}, objects: [{objects}]"
        ));
    }
    let objects = objects_of(values)?;
    Some(format!("type: string, subject: {subject}, predicate: is one of, objects: [{objects}]"))
}

/// Returns a text, or several, as they stand between the brackets of a list.
fn objects_of(value: &Node) -> Option<String> {
    let texts: Vec<String> = match &value.kind {
        NodeKind::Scalar(text, _) if !is_null(text) => vec![text.clone()],
        NodeKind::Sequence(items) => {
            items.iter().map(|item| scalar(item).map(str::to_owned)).collect::<Option<_>>()?
        }
        _ => return None,
    };
    meant::list(&texts).filter(|objects| !objects.is_empty())
}

/// Returns the text that an object means which is a mapping: `{ value: 18 }`, or `a: b` without quotes.
pub(super) fn object(entries: &[(Node, Node)]) -> Option<String> {
    let [(name, value)] = entries else { return None };
    let (name, value) = (scalar(name)?, scalar(value).filter(|text| !is_null(text))?);
    Some(match name {
        "value" | "name" | "key" | "id" => value.to_owned(),
        _ => format!("{name}: {value}"),
    })
}

/// Returns the values of a mapping as they stand between the brackets of a list.
pub(super) fn values(entries: &[(Node, Node)]) -> Option<String> {
    // `{ 18, 21 }` is a mapping of keys without values.
    let is_set = entries.iter().all(|(_, value)| value.is_null());
    let texts = entries.iter().map(|(key, value)| {
        let text = scalar(if is_set { key } else { value })?;
        (!is_null(text)).then(|| text.to_owned())
    });
    meant::list(&texts.collect::<Option<Vec<_>>>()?).filter(|list| !list.is_empty())
}

fn needs(serve: &str) -> String {
    if serve.contains("split:") { needs_split() } else { String::new() }
}

fn segment(value: &Node, beside: &[(Node, Node)]) -> Option<ForeignKey> {
    let objects = format!("objects: [{}]", objects_of(value)?);
    let parts = [("type", "type: segment"), ("predicate", "predicate: is in"), ("objects", &objects)];
    let missing: Vec<&str> =
        parts.into_iter().filter(|(name, _)| field(beside, name).is_none()).map(|(_, part)| part).collect();
    let is_segment = field(beside, "type").and_then(scalar).is_none_or(|kind| kind == "segment");
    let help = match is_segment && field(beside, "objects").is_none() {
        true => format!("write `{}` instead", missing.join(", ")),
        false => format!("write a condition of its own: `{{ type: segment, predicate: is in, {objects} }}`"),
    };
    Some(ForeignKey { help, stands_for: &["type", "subject", "predicate", "objects"] })
}

/// The variations of a `content`, as far as they can be read. One without a name has an empty one.
#[derive(Default)]
pub(super) struct ReadVariations {
    pub(super) names: Vec<String>,
    values: Vec<Option<String>>,
}

impl ReadVariations {
    /// Reads the variations of a `content`, also in the notation of another tool.
    pub(super) fn of(content: &Node) -> Self {
        let NodeKind::Mapping(entries) = &content.kind else { return Self::default() };
        let text = |node: &Node| scalar(node).map(str::to_owned);
        let one = |entries: &[(Node, Node)]| match entries {
            [(name, value)] if !has_field(entries, "a variation", VARIATION) => {
                (text(name).unwrap_or_default(), text(value))
            }
            _ => {
                let part = |own| meant_field(entries, "a variation", own).and_then(text);
                (part("name").unwrap_or_default(), part("value"))
            }
        };
        let all: Vec<(String, Option<String>)> =
            match meant_field(entries, "`content`", "variations").map(|list| &list.kind) {
                Some(NodeKind::Sequence(items)) => items
                    .iter()
                    .map(|item| match &item.kind {
                        NodeKind::Mapping(entries) => one(entries),
                        _ => (text(item).unwrap_or_default(), text(item)),
                    })
                    .collect(),
                Some(NodeKind::Mapping(entries)) if has_field(entries, "a variation", VARIATION) => {
                    vec![one(entries)]
                }
                Some(NodeKind::Mapping(entries)) => entries
                    .iter()
                    .map(|(name, value)| (text(name).unwrap_or_default(), value_of(value).map(str::to_owned)))
                    .collect(),
                _ => Vec::new(),
            };
        let (names, values) = all.into_iter().unzip();
        Self { names, values }
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Returns the index of the only variation with this value.
    fn with_value(&self, value: &str) -> Option<usize> {
        let mut all = self.values.iter().enumerate().filter(|(_, own)| own.as_deref() == Some(value));
        let (index, _) = all.next()?;
        all.next().is_none().then_some(index)
    }

    /// Returns the index of the variation that a text names, by its name, its index or its value. None if index
    /// and value are those of two.
    fn index(&self, text: &str, style: Style) -> Option<usize> {
        if let Some(index) = self.names.iter().position(|name| name == text) {
            return Some(index);
        }
        let index =
            text.parse::<usize>().ok().filter(|index| style == Style::Plain && *index < self.names.len());
        match (index, self.with_value(text)) {
            (Some(index), Some(other)) if index != other => None,
            (index, other) => index.or(other),
        }
    }

    /// Returns the field of a serve with this variation.
    fn choice(&self, index: usize) -> String {
        let name = &self.names[index];
        let is_unique = self.names.iter().filter(|other| *other == name).count() == 1;
        match is_unique && !name.is_empty() {
            true => format!("variation: {}", quoted(&shown(name))),
            false => format!("select: {index}"),
        }
    }

    /// Returns the end of a help with the first names, if there are any.
    fn beginning(&self) -> String {
        const MOST_NAMED: usize = 8;
        let named = self.names.iter().filter(|name| !name.is_empty()).take(MOST_NAMED);
        let named: Vec<String> = named.map(|name| format!("`{}`", shown(name))).collect();
        if named.is_empty() {
            String::new()
        } else {
            format!("; the variations begin with {}", listed(&named))
        }
    }
}

/// Returns the serve that a value of another tool means, as a document has it; none if it names no variation.
pub(super) fn serve(value: &Node, variations: &ReadVariations) -> Option<String> {
    match &value.kind {
        NodeKind::Scalar(text, style) => {
            variations.index(text, *style).map(|index| format!("{{ {} }}", variations.choice(index)))
        }
        NodeKind::Mapping(entries) if entries.len() == 1 => {
            let (key, inner) = &entries[0];
            match scalar(key)? {
                "variation" | "variant" | "select" | "name" | "serve" | "value" => serve(inner, variations),
                _ => Some(format!("{{ split: {} }}", meant::split(value, &variations.names)?)),
            }
        }
        NodeKind::Sequence(items) if items.len() == 1 && scalar(&items[0]).is_some() => {
            serve(&items[0], variations)
        }
        NodeKind::Mapping(_) | NodeKind::Sequence(_) => {
            Some(format!("{{ split: {} }}", meant::split(value, &variations.names)?))
        }
        NodeKind::Refused => None,
    }
}

/// Returns the key of the first share and the split of a serve that has the shares of a split itself.
pub(super) fn bare_split<'n>(
    value: &'n Node,
    variations: &ReadVariations,
) -> Option<(&'n Node, Option<String>)> {
    let NodeKind::Mapping(entries) = &value.kind else { return None };
    let is_share = |(key, share): &(Node, Node)| scalar(key).is_some() && meant::only_share(share).is_some();
    let is_named = |(key, _): &(Node, Node)| scalar(key).is_some_and(|name| variations.has(name));
    // A valid serve is not compared with all names, of which a hostile document can have any number.
    let is_valid = SERVE.iter().any(|name| field(entries, name).is_some());
    let is_split = !is_valid && entries.iter().all(is_share) && entries.iter().any(is_named);
    let (first, _) = entries.first().filter(|_| is_split)?;
    Some((first, meant::split(value, &variations.names)))
}

/// Returns the help on a variation without `name` or without `value`.
pub(super) fn missing_in_variation(own: &str, variation: &Node, all: &ReadVariations) -> String {
    /// A longer value is not a name.
    const LONGEST: usize = 20;
    /// As many as are enough to see the type.
    const MOST_COMPARED: usize = 100;
    let other = |own| match &variation.kind {
        NodeKind::Mapping(entries) => {
            meant_field(entries, "a variation", own).and_then(scalar).unwrap_or_default()
        }
        _ => "",
    };
    if own == "name" {
        let value = other("value");
        let name = match value.to_lowercase().as_str() {
            "true" => "on",
            "false" => "off",
            _ if value.len() > LONGEST => "",
            _ => value,
        };
        return match name.is_empty() || all.has(name) {
            true => "add a name that no other variation has".to_owned(),
            false => format!("add a name, such as `name: {}`", quoted(&shown(name))),
        };
    }
    let name = other("name");
    let values: Vec<&str> = all.values.iter().take(MOST_COMPARED).flatten().map(String::as_str).collect();
    let is_off = matches!(name.to_lowercase().as_str(), "off" | "false" | "no" | "disabled" | "inactive");
    let is_on = matches!(name.to_lowercase().as_str(), "" | "on" | "true" | "yes" | "enabled" | "active");
    let value = match ReturnType::of(&values) {
        ReturnType::Number => "1",
        ReturnType::Json => "{}",
        ReturnType::String if !values.is_empty() || !(is_on || is_off) => name,
        ReturnType::Boolean | ReturnType::String => {
            if is_off {
                "false"
            } else {
                "true"
            }
        }
    };
    format!("add the value to serve, such as `value: {}`", quoted(&shown(value)))
}

/// Returns the help on a `select` that is not an index.
pub(super) fn select(value: &Node, variations: &ReadVariations) -> Option<String> {
    let value = match &value.kind {
        NodeKind::Sequence(items) if items.len() == 1 => &items[0],
        _ => value,
    };
    let text = scalar(value).filter(|text| !value.is_null() && !text.is_empty())?;
    if variations.has(text) {
        return Some(format!("write `variation: {}` instead", quoted(&shown(text))));
    }
    let whole = text.strip_suffix(".0").unwrap_or(text);
    let index = whole.parse::<usize>().ok().filter(|index| *index < variations.names.len());
    let Some(index) = index else {
        return variations
            .with_value(text)
            .map(|index| format!("write `{}` instead", variations.choice(index)));
    };
    Some(match &value.kind {
        NodeKind::Scalar(_, Style::Quoted) => format!("write `select: {index}`, without quotes"),
        _ => format!("write `select: {index}`"),
    })
}

/// Returns the help on a `variation` that is not a name.
pub(super) fn variation(value: &Node, variations: &[String]) -> Option<String> {
    let write = |name: &str| format!("write `variation: {}`", quoted(&shown(name)));
    match &value.kind {
        NodeKind::Sequence(items) => match items.as_slice() {
            [one] => scalar(one).filter(|one| variations.iter().any(|name| name == one)).map(write),
            _ => None,
        },
        // It may be the name of one.
        NodeKind::Scalar(text, _) if variations.contains(text) => None,
        NodeKind::Scalar(..) if value.is_null() => {
            let named = variations.iter().find(|name| !name.is_empty())?;
            Some(format!("name the variation, such as `variation: {}`", quoted(&shown(named))))
        }
        _ => None,
    }
}

/// Returns the help on a value that is no serve.
pub(super) fn not_a_serve(own: &str, value: &Node, variations: &ReadVariations) -> String {
    if let Some(serve) = serve(value, variations) {
        return format!("write `{own}: {serve}`{}", needs(&serve));
    }
    if scalar(value).is_some_and(|text| text.trim_end().ends_with('%')) {
        let shares = "{ split: { \"on\": 25, \"off\": 75 } }";
        return format!("write a split, such as `{own}: {shares}`, which needs `service_kind: featureprobe`");
    }
    let (is_empty, beginning) = (scalar(value).is_none_or(is_null), variations.beginning());
    match is_empty || beginning.is_empty() {
        true => SERVE_FORMS.to_owned(),
        false => format!("write `{own}: {{ variation: \"name\" }}`{beginning}"),
    }
}

/// Returns the help on variations or prerequisites that are not a list of mappings: a mapping of names, or
/// names alone.
pub(super) fn list_of(field: &str, value: &Node) -> Option<String> {
    const SUCH_AS: &str = "list the values to serve, such as `variations: [{ name: \"off\", value: \"false\" }, { name: \"on\", value: \"true\" }]`";
    let one = |name: &str, value: Option<&str>| match field {
        "variations" => {
            let value = value.unwrap_or(name);
            format!("{{ name: {}, value: {} }}", quoted(&shown(name)), quoted(value))
        }
        _ => format!("{{ {} }}", prerequisite(name, value)),
    };
    let known: &[&str] = match field {
        "variations" => VARIATION,
        "prerequisites" => PREREQUISITE,
        _ => return None,
    };
    let what = if field == "variations" { "a variation" } else { "a prerequisite" };
    let is_named = |name: &str| !is_null(name);
    let all: Option<Vec<String>> = match &value.kind {
        NodeKind::Mapping(entries) if has_field(entries, what, known) => None,
        NodeKind::Mapping(entries) => entries
            .iter()
            .map(|(name, value)| {
                Some(one(scalar(name).filter(|name| is_named(name))?, Some(value_of(value)?)))
            })
            .collect(),
        NodeKind::Sequence(items) => {
            items.iter().map(|item| Some(one(scalar(item).filter(|name| !is_null(name))?, None))).collect()
        }
        NodeKind::Scalar(name, _) if field == "prerequisites" && !is_null(name) => {
            Some(vec![one(name, None)])
        }
        NodeKind::Scalar(..) | NodeKind::Refused => None,
    };
    let is_short = |all: &Vec<String>| {
        let length: usize = all.iter().map(String::len).sum();
        !all.is_empty() && length <= 2 * meant::LONGEST
    };
    if let Some(all) = all.filter(is_short) {
        return Some(format!("write a list: `{field}: [{}]`", all.join(", ")));
    }
    let is_empty = matches!(&value.kind, NodeKind::Mapping(entries) if entries.is_empty());
    let is_text = matches!(&value.kind, NodeKind::Scalar(..));
    (field == "variations" && (is_empty || is_text)).then(|| SUCH_AS.to_owned())
}

/// Returns a text, or the `value` of a mapping.
fn value_of(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Mapping(entries) => field(entries, "value").and_then(scalar),
        _ => scalar(node),
    }
}

/// Returns the fields of a prerequisite on the toggle `key`, which serves `value` if it is known.
fn prerequisite(key: &str, value: Option<&str>) -> String {
    let value = match value.map(|value| truth_of(value).ok_or(value)) {
        Some(Ok(false)) => "false",
        Some(Ok(true)) | None => "true",
        Some(Err(value)) => value,
    };
    let kind = ReturnType::of(&[value]).as_str();
    format!("key: {}, type: {kind}, value: {}", quoted(&shown(key)), quoted(&shown(value)))
}

/// Returns the help on a mapping in place of a list of mappings: the fields of one item, or items by their names.
pub(super) fn not_a_list(field: &str, value: &Node) -> Option<String> {
    let NodeKind::Mapping(entries) = &value.kind else { return None };
    let (what, known): (_, &[&str]) = match field {
        "conditions" => ("a condition", CONDITION),
        "prerequisites" => ("a prerequisite", PREREQUISITE),
        "rules" => ("a rule", RULE),
        "variations" => ("a variation", VARIATION),
        _ => return None,
    };
    if has_field(entries, what, known) {
        // Only in braces, a mapping has an end.
        let is_flow = !value.raw.is_empty();
        return Some(match is_flow {
            true => "write `[` before it and `]` after it".to_owned(),
            false => "write `- ` before the first key, in place of the two blanks there".to_owned(),
        });
    }
    match field {
        "conditions" => {
            if let Some(help) = modifier::quantified(entries) {
                return Some(help.to_owned());
            }
            let all: Option<Vec<String>> = entries
                .iter()
                .map(|(name, value)| Some(format!("{{ {} }}", shorthand(scalar(name)?, value)?)))
                .collect();
            let all = all?.join(", ");
            (!all.is_empty() && all.len() <= 2 * meant::LONGEST)
                .then(|| format!("write a list: `conditions: [{all}]`"))
        }
        "rules" => {
            let (name, rule) = entries.first()?;
            let name = scalar(name).filter(|_| matches!(rule.kind, NodeKind::Mapping(_)))?;
            let (key, name) = (shown(name), quoted(&shown(name)));
            Some(format!("write a list, whose items have their names: `- name: {name}` in place of `{key}:`"))
        }
        _ => None,
    }
}

/// Returns the types that a condition can have: those with its predicate, and with its objects if several have
/// it.
pub(super) fn types(predicate: Option<&Node>, objects: Option<&Node>) -> Vec<&'static str> {
    let Some(predicate) = predicate.and_then(scalar) else { return Vec::new() };
    let named = dialects::other_types("", predicate);
    let exact: Vec<&str> = named.iter().filter(|(_, own)| *own == predicate).map(|(kind, _)| *kind).collect();
    let types = match exact.is_empty() {
        true => named.into_iter().map(|(kind, _)| kind).collect(),
        false => exact,
    };
    let objects: Vec<&str> = match objects.map(|objects| &objects.kind) {
        Some(NodeKind::Sequence(items)) => items.iter().filter_map(scalar).collect(),
        _ => Vec::new(),
    };
    let takes = |kind: &&&str| {
        objects.iter().all(|object| match **kind {
            "number" => object.parse::<f64>().is_ok(),
            "semver" => is_semver(object),
            "datetime" => is_accepted_time(object),
            _ => true,
        })
    };
    let fitting: Vec<&str> = types.iter().filter(takes).copied().collect();
    if objects.is_empty() || fitting.is_empty() { types } else { fitting }
}

/// Returns the help on a condition without type.
pub(super) fn missing_type(types: &[&'static str]) -> String {
    match types {
        [] => {
            let all: Vec<&str> = CONDITION_TYPES.iter().map(|kind| kind.name).collect();
            format!("name the type: the types are {}", listed(&in_backticks(&all)))
        }
        [kind] => format!("name the type, such as `type: {kind}`"),
        several => {
            let all: Vec<String> = several.iter().map(|kind| format!("`type: {kind}`")).collect();
            format!("name the type: one of {}", listed(&all))
        }
    }
}

/// Returns the help on a prerequisite without value.
pub(super) fn missing_value(kind: Option<&Node>) -> &'static str {
    match kind.and_then(scalar) {
        Some("number") => "add the value that the other toggle must serve, such as `value: \"1\"`",
        Some("string") => "add the value that the other toggle must serve, such as `value: \"red\"`",
        Some("json") => "add the value that the other toggle must serve, such as `value: \"{}\"`",
        _ => "add the value that the other toggle must serve, such as `value: \"true\"`",
    }
}

/// Returns the help on a prerequisite without type.
pub(super) fn missing_return_type(value: Option<&Node>) -> String {
    let kind = match value.and_then(scalar) {
        Some(value) => ReturnType::of(&[value]).as_str(),
        None => "boolean",
    };
    format!("name the type of the other toggle, such as `type: {kind}`")
}
