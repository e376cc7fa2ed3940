//! What other tools call the keys of a document, and what to write instead: Unleash, LaunchDarkly, GO Feature
//! Flag, Flipt and flagd.
//!
//! A key of another tool stands for one of a document, which is then not missing as well: who followed both
//! helps would get, for example, a rule without its conditions.

use super::check::{ROLLOUT, SERVE_FORMS, needs_split, quoted as in_backticks};
use super::dialects;
use super::finding::shown;
use super::meant;
use super::node::{Node, NodeKind, Style, is_null, quoted};
use super::shape::{CONTENT, PREREQUISITE, VARIATION};
use crate::model::{CONDITION_TYPES, ReturnType, is_accepted_time, is_semver, listed};

/// What an unknown key means.
pub(super) struct ForeignKey {
    pub(super) help: String,
    /// The keys in whose place it stands.
    pub(super) stands_for: &'static [&'static str],
}

/// Keys of other tools, in lower case and without `_` and `-`, by what has them.
const NAMES: &[(&str, &str, &[&str])] = &[
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
    ("a condition", "subject", &["contextname", "attribute", "property", "trait", "field"]),
    ("a condition", "predicate", &["operator", "op", "comparator", "comparison"]),
    ("a condition", "objects", &["values", "value"]),
    ("a serve", "variation", &["variant"]),
    ("a prerequisite", "key", &["flag", "toggle", "feature", "name", "id", "flagkey", "featurekey"]),
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
const SERVES: &[(&str, &str, &[&str])] = &[
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
    variations: &[String],
) -> Option<ForeignKey> {
    let plain: String =
        name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect();
    let of = |table: &'static [(&str, &'static str, &[&str])]| {
        let mut rows = table.iter().filter(|(whose, ..)| *whose == what);
        rows.find(|(_, _, names)| names.contains(&plain.as_str())).map(|(_, own, _)| own)
    };
    match (what, plain.as_str()) {
        ("a document", "enabled" | "isenabled" | "on" | "active" | "state") => {
            let disabled = match scalar(value)?.to_lowercase().as_str() {
                "true" | "yes" | "on" | "enabled" | "active" => false,
                "false" | "no" | "off" | "disabled" | "inactive" => true,
                _ => return None,
            };
            let help = format!("write `disabled: {disabled}` instead");
            return Some(ForeignKey { help, stands_for: &["disabled"] });
        }
        ("a document", _) if CONTENT.contains(&name) => {
            let help = "indent it below `content`".to_owned();
            return Some(ForeignKey { help, stands_for: &[] });
        }
        ("a condition", "inverted" | "invert" | "negate" | "negated" | "not") => {
            return Some(negation(value, beside));
        }
        ("a condition", "segment" | "segments") => return segment(value),
        ("a variation", "weight" | "percentage" | "percent" | "share" | "rollout") => {
            let help = format!("remove it: rules and `defaultServe` have the shares ({})", *ROLLOUT);
            return Some(ForeignKey { help, stands_for: &[] });
        }
        ("a prerequisite", "variation" | "variant" | "variations" | "variants") => {
            let help = "write `value: \"true\", type: boolean` instead, with the value of that variation and the type of its toggle";
            return Some(ForeignKey { help: help.to_owned(), stands_for: &["value", "type"] });
        }
        ("a variation", "default" | "isdefault") => {
            let help = "remove it: `defaultServe` names the variation for everyone whom no rule matches";
            return Some(ForeignKey { help: help.to_owned(), stands_for: &[] });
        }
        ("a variation", _) if beside.len() == 1 && scalar(value).is_some() => {
            let (name, value) = (quoted(&shown(name)), quoted(&shown(scalar(value)?)));
            let help = format!("write `name: {name}, value: {value}`");
            return Some(ForeignKey { help, stands_for: &["name", "value"] });
        }
        ("an expectation", _) if beside.len() == 1 && matches!(value.kind, NodeKind::Mapping(_)) => {
            let help = format!("write `name: {}`, and the rest beside it", quoted(&shown(name)));
            return Some(ForeignKey { help, stands_for: &["name", "serves"] });
        }
        ("a serve", _) if variations.iter().any(|known| known == name) && value.is_null() => {
            let help = format!("write `variation: {}`", quoted(&shown(name)));
            return Some(ForeignKey { help, stands_for: &[] });
        }
        ("a serve", "variations") => {
            let name = scalar(value).filter(|name| variations.iter().any(|known| known == name))?;
            let help = format!("write `variation: {}` instead", quoted(&shown(name)));
            return Some(ForeignKey { help, stands_for: &[] });
        }
        _ => {}
    }
    if let Some(own) = of(SERVES) {
        let help = match serve(value, variations) {
            Some(serve) => format!("write `{own}: {serve}` instead{}", needs(&serve)),
            None if *own == "serve" && !plain.starts_with("varia") => {
                format!("a rule has this in its `serve`: {}", *ROLLOUT)
            }
            None => format!("write `{own}` instead, with the variation to serve"),
        };
        return Some(ForeignKey { help, stands_for: std::slice::from_ref(own) });
    }
    if what == "a condition"
        && let Some(found) = comparison(name, &plain, value, beside)
    {
        return Some(found);
    }
    if what == "a prerequisite" && beside.len() == 1 && scalar(value).is_some() {
        let help = format!("write `{}`", prerequisite(name, scalar(value)));
        return Some(ForeignKey { help, stands_for: &["key", "value", "type"] });
    }
    let own = of(NAMES)?;
    let help = match (*own, &value.kind) {
        // A user that is a text is its key.
        ("given", NodeKind::Scalar(text, _)) if !is_null(text) => {
            let help = format!("write `key: {}` instead", quoted(&shown(text)));
            return Some(ForeignKey { help, stands_for: &["key"] });
        }
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

/// Returns what a key of a condition means that is an attribute or a predicate, with what it is compared:
/// `{ country: AT }`, `{ subject: country, in: [AT] }`.
fn comparison(name: &str, plain: &str, value: &Node, beside: &[(Node, Node)]) -> Option<ForeignKey> {
    let texts: Vec<String> = match &value.kind {
        NodeKind::Scalar(text, _) if !is_null(text) => vec![text.clone()],
        NodeKind::Sequence(items) => {
            items.iter().map(|item| scalar(item).map(str::to_owned)).collect::<Option<_>>()?
        }
        _ => return None,
    };
    let objects = meant::list(&texts).filter(|objects| !objects.is_empty())?;
    let is_field = NAMES.iter().any(|(whose, _, names)| *whose == "a condition" && names.contains(&plain));
    if beside.len() == 1 && !is_field {
        let subject = quoted(&shown(name));
        let help =
            format!("write `type: string, subject: {subject}, predicate: is one of, objects: [{objects}]`");
        return Some(ForeignKey { help, stands_for: &["type", "subject", "predicate", "objects"] });
    }
    let kind = field(beside, "type").and_then(scalar);
    let has_predicate = ["predicate", "operator", "op"].iter().any(|name| field(beside, name).is_some());
    let types = dialects::other_types("", name);
    let own = |(other, _): &&(&'static str, &'static str)| kind.is_none_or(|kind| kind == *other);
    // What the patterns of `LIKE` mean, its own key says.
    let is_like = plain.contains("like");
    let (own, predicate) = types.iter().find(own).filter(|_| !has_predicate && !is_like)?;
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

fn scalar(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Scalar(text, _) => Some(text),
        _ => None,
    }
}

fn field<'n>(entries: &'n [(Node, Node)], name: &str) -> Option<&'n Node> {
    entries.iter().find(|(key, _)| scalar(key) == Some(name)).map(|(_, value)| value)
}

/// Returns the help on a field that reverses its condition. It is about the predicate as well, whatever that
/// is called, so that nobody reverses the condition twice.
fn negation(value: &Node, beside: &[(Node, Node)]) -> ForeignKey {
    let is_negated = match scalar(value).map(str::to_lowercase).as_deref() {
        Some("true" | "yes" | "on" | "1") => true,
        Some("false" | "no" | "off" | "0") => false,
        _ => {
            let help = "a condition is negated by its predicate, such as `is not any of`".to_owned();
            return ForeignKey { help, stands_for: &[] };
        }
    };
    if !is_negated {
        let help = "remove it: a condition is negated by its predicate only".to_owned();
        return ForeignKey { help, stands_for: &[] };
    }
    let kind = field(beside, "type").and_then(scalar).unwrap_or_default();
    let (names, lists) = (["predicate", "operator", "op"], ["objects", "values", "value"]);
    let written = names.into_iter().find_map(|name| field(beside, name)).and_then(scalar);
    let objects = match lists.into_iter().find_map(|name| field(beside, name)) {
        Some(Node { kind: NodeKind::Sequence(items), .. }) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let is_one = objects.len() == 1 && scalar(&objects[0]).is_some();
    if written.is_some_and(|word| is_pattern(word, objects)) {
        let help = "correct the predicate first: the objects of `LIKE` are patterns, and what they mean decides on the \
                    predicate that says the opposite";
        return ForeignKey { help: help.to_owned(), stands_for: &[] };
    }
    let opposite = written.and_then(|word| dialects::opposite(dialects::named(kind, word)?, is_one));
    // Otherwise, the predicate has its own findings.
    let stands_for: &[_] = if opposite.is_some() { &["predicate"] } else { &[] };
    let help = match opposite {
        Some(opposite) => format!(
            "write `predicate: {}` instead of both: this field reverses the condition elsewhere, and the predicate does \
             here",
            if opposite.starts_with(char::is_alphabetic) { opposite.to_owned() } else { quoted(opposite) }
        ),
        None => "do not just remove it: it reverses the condition, and no predicate says the opposite of this one. A rule \
                 before this one, with the condition, can serve the users that it matches"
            .to_owned(),
    };
    ForeignKey { help, stands_for }
}

/// Returns whether a predicate is `LIKE` of SQL, and its objects have signs that stand for other text.
fn is_pattern(word: &str, objects: &[Node]) -> bool {
    let has_sign = |object: &Node| scalar(object).is_some_and(|text| text.contains(['%', '\\']));
    word.to_lowercase().contains("like")
        && (dialects::is_ilike(word).is_some() || objects.iter().any(has_sign))
}

fn segment(value: &Node) -> Option<ForeignKey> {
    let items: Vec<String> = match &value.kind {
        NodeKind::Scalar(text, _) if !is_null(text) => vec![text.clone()],
        NodeKind::Sequence(items) => {
            items.iter().map(|item| scalar(item).map(str::to_owned)).collect::<Option<_>>()?
        }
        _ => return None,
    };
    let help =
        format!("write `type: segment, predicate: is in, objects: [{}]` instead", meant::list(&items)?);
    Some(ForeignKey { help, stands_for: &["type", "subject", "predicate", "objects"] })
}

/// Returns the serve that a value of another tool means, as a document has it; none if it names no variation.
pub(super) fn serve(value: &Node, variations: &[String]) -> Option<String> {
    match &value.kind {
        NodeKind::Scalar(text, _) if variations.contains(text) => {
            Some(format!("{{ variation: {} }}", quoted(&shown(text))))
        }
        NodeKind::Scalar(text, Style::Plain) => {
            let index = text.parse::<usize>().ok().filter(|index| *index < variations.len())?;
            Some(format!("{{ select: {index} }}"))
        }
        NodeKind::Mapping(entries) if entries.len() == 1 => {
            let (key, inner) = &entries[0];
            match scalar(key)? {
                "variation" | "variant" | "select" | "name" | "serve" => serve(inner, variations),
                _ => Some(format!("{{ split: {} }}", meant::split(value, variations)?)),
            }
        }
        NodeKind::Sequence(items) if items.len() == 1 && scalar(&items[0]).is_some() => {
            serve(&items[0], variations)
        }
        NodeKind::Mapping(_) | NodeKind::Sequence(_) => {
            Some(format!("{{ split: {} }}", meant::split(value, variations)?))
        }
        _ => None,
    }
}

/// Returns the help on a `select` that is not an index.
pub(super) fn select(value: &Node, variations: &[String]) -> Option<String> {
    let value = match &value.kind {
        NodeKind::Sequence(items) if items.len() == 1 => &items[0],
        _ => value,
    };
    let text = scalar(value).filter(|text| !value.is_null() && !text.is_empty())?;
    if variations.iter().any(|name| name == text) {
        return Some(format!("write `variation: {}` instead", quoted(&shown(text))));
    }
    let whole = text.strip_suffix(".0").unwrap_or(text);
    let index = whole.parse::<usize>().ok().filter(|index| *index < variations.len())?;
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
pub(super) fn not_a_serve(own: &str, value: &Node, variations: &[String]) -> String {
    const MOST_NAMED: usize = 8;
    if let Some(serve) = serve(value, variations) {
        return format!("write `{own}: {serve}`{}", needs(&serve));
    }
    if scalar(value).is_some_and(|text| text.trim_end().ends_with('%')) {
        let shares = "{ split: { \"on\": 25, \"off\": 75 } }";
        return format!("write a split, such as `{own}: {shares}`, which needs `service_kind: featureprobe`");
    }
    let is_empty = scalar(value).is_none_or(is_null);
    if is_empty || variations.is_empty() {
        return SERVE_FORMS.to_owned();
    }
    let names: Vec<String> =
        variations.iter().take(MOST_NAMED).map(|name| format!("`{}`", shown(name))).collect();
    format!("write `{own}: {{ variation: \"name\" }}`; the variations begin with {}", listed(&names))
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
    let is_named = |name: &str| !is_null(name) && !known.contains(&name);
    let all: Option<Vec<String>> = match &value.kind {
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
    let value = value.unwrap_or("true");
    let kind = ReturnType::of(&[value]).as_str();
    format!("key: {}, type: {kind}, value: {}", quoted(&shown(key)), quoted(&shown(value)))
}

/// Returns the names of the variations of a `content`.
pub(super) fn names_of_variations(content: &Node) -> Vec<String> {
    let NodeKind::Mapping(entries) = &content.kind else { return Vec::new() };
    let Some(NodeKind::Sequence(items)) = field(entries, "variations").map(|list| &list.kind) else {
        return Vec::new();
    };
    let name = |item: &Node| match &item.kind {
        NodeKind::Mapping(entries) => field(entries, "name").and_then(scalar).unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    items.iter().map(name).collect()
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

/// Returns the help on a prerequisite without type.
pub(super) fn missing_return_type(value: Option<&Node>) -> String {
    let kind = match value.and_then(scalar) {
        Some(value) => ReturnType::of(&[value]).as_str(),
        None => "boolean",
    };
    format!("name the type of the other toggle, such as `type: {kind}`")
}
