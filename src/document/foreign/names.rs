//! What other tools call the keys of a document: Unleash, LaunchDarkly, GO Feature Flag, Flipt and flagd.

use crate::document::node::{Node, field, scalar};

/// Keys of other tools, in lower case and without `_` and `-`, by what has them.
pub(in crate::document) const NAMES: &[(&str, &str, &[&str])] = &[
    ("`content`", "rules", &["targeting", "targetingrules", "strategies"]),
    ("`content`", "variations", &["variants"]),
    ("`content`", "prerequisites", &["dependencies", "dependson", "requires", "prerequisite"]),
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

/// Keys of other tools with a serve, in the same form.
pub(in crate::document) const SERVES: &[(&str, &str, &[&str])] = &[
    ("`content`", "defaultServe", &["serve", "serves", "select", "value"]),
    ("`content`", "defaultServe", OF_EVERYONE_ELSE),
    ("`content`", "defaultServe", SHARES),
    (
        "a rule",
        "serve",
        &[
            "variation",
            "variant",
            "variationid",
            "variationkey",
            "variationname",
            "variantid",
            "variantkey",
            "variantname",
            "then",
            "result",
            "return",
            "returns",
            "treatment",
            "select",
            "serves",
            "outcome",
            "output",
            "force",
            "returnvalue",
        ],
    ),
    ("a rule", "serve", SHARES),
];

/// Words that tell which serve of `content` a key is.
pub(super) const OF_EVERYONE_ELSE: &[&str] =
    &["default", "else", "everyone", "fallback", "fallthrough", "otherwise"];
pub(super) const OF_A_DISABLED_TOGGLE: &[&str] = &["disabled", "off"];

/// Keys of segments.
pub(super) const SEGMENTS: &[&str] = &["segment", "segments", "segmentkey", "segmentkeys"];

/// Those that have the shares of a split, or one.
pub(super) const SHARES: &[&str] = &[
    "allocation",
    "coverage",
    "fraction",
    "percentage",
    "percentagerollout",
    "percentages",
    "percent",
    "rollout",
    "rolloutpercent",
    "rolloutpercentage",
    "distribution",
    "distributions",
    "split",
    "exposure",
    "probability",
    "ramp",
    "rampup",
    "rolloutweight",
    "sample",
    "samplerate",
    "sampling",
    "share",
    "traffic",
    "trafficallocation",
    "trafficpercentage",
    "weight",
    "weights",
    "fractional",
];

/// Those that plainly decide nothing for whom or when, at any level.
const NOTES: &[&str] = &[
    "comment",
    "comments",
    "createdat",
    "createdby",
    "generation",
    "issue",
    "note",
    "notes",
    "owner",
    "owners",
    "ref",
    "tag",
    "tags",
    "ticket",
    "track",
    "trackevents",
    "updatedat",
    "updatedby",
    "uuid",
];

/// Those that name or describe the toggle, whose name is that of its file.
const NOTES_ON_A_TOGGLE: &[&str] = &[
    "author",
    "description",
    "displayname",
    "docs",
    "documentation",
    "environment",
    "flag",
    "flagkey",
    "id",
    "key",
    "label",
    "link",
    "links",
    "maintainer",
    "modifiedat",
    "modifiedby",
    "name",
    "project",
    "team",
    "title",
    "url",
    "version",
];

/// Returns whether a key of `what` in lower case, without `_` and `-`, plainly decides nothing for whom or when.
pub(super) fn is_note(what: &str, plain: &str) -> bool {
    let is_of_toggle = matches!(what, "a document" | "`content`") && NOTES_ON_A_TOGGLE.contains(&plain);
    is_of_toggle || NOTES.contains(&plain)
}

/// Returns a key in lower case, without `_` and `-`.
pub(in crate::document) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// Returns the key of `what` that other tools call `plain`.
pub(in crate::document) fn own_of(what: &str, plain: &str) -> Option<&'static &'static str> {
    let mut rows = NAMES.iter().chain(SERVES).filter(|(whose, ..)| *whose == what);
    let row = rows.find(|(_, _, names)| names.contains(&plain)).map(|(_, own, _)| own);
    row.or_else(|| if what == "`content`" { serve_of_content(plain) } else { None })
}

/// Returns the serve of `content` that a compound such as `offVariation` or `defaultRule` is, given in lower case.
fn serve_of_content(plain: &str) -> Option<&'static &'static str> {
    const ENDS: &[&str] = &["rule", "treatment", "value", "variant", "variation"];
    let word = ENDS.iter().find_map(|end| plain.strip_suffix(end))?;
    match (OF_EVERYONE_ELSE.contains(&word), OF_A_DISABLED_TOGGLE.contains(&word)) {
        (true, _) => Some(&"defaultServe"),
        (_, true) => Some(&"disabledServe"),
        _ => None,
    }
}

/// Returns whether a key of a document has a serve.
pub(super) fn is_serve(own: &str) -> bool {
    own == "serve" || own.ends_with("Serve")
}

/// Returns the entries that a help looks at: a hostile mapping can have any number.
pub(super) fn first_of(entries: &[(Node, Node)]) -> &[(Node, Node)] {
    const MOST_READ: usize = 100;
    &entries[..entries.len().min(MOST_READ)]
}

/// Returns the value of a field, whatever other tools call it.
pub(super) fn meant_field<'n>(entries: &'n [(Node, Node)], what: &str, own: &str) -> Option<&'n Node> {
    let is_meant = |key: &Node| scalar(key).and_then(|name| own_of(what, &plain(name))) == Some(&own);
    field(entries, own).or_else(|| entries.iter().find(|(key, _)| is_meant(key)).map(|(_, value)| value))
}

/// Returns whether a mapping has a field of `what`, whatever other tools call it.
pub(super) fn has_field(entries: &[(Node, Node)], what: &str, known: &[&str]) -> bool {
    let is_field = |name: &str| known.contains(&name) || own_of(what, &plain(name)).is_some();
    entries.iter().any(|(key, _)| scalar(key).is_some_and(is_field))
}
