//! What other tools call the predicates of conditions: Unleash, LaunchDarkly, GO Feature Flag, Flipt, flagd
//! and SQL.
//!
//! The table comes before a suggestion by letters, which would take `<>` for `>` and `isn't one of` for `is
//! one of`. A suggestion never drops a negation, and never adds one.

use crate::model::{ConditionType, closest};

/// The names of one predicate elsewhere, by type of condition, in lower case and without blanks, `_`, `-`,
/// `'` and `.`.
type Names = &'static [&'static str];

const EQUAL: Names = &["=", "==", "===", "eq", "equal", "equals", "equalto", "isequalto", "is", "isexactly"];
const NOT_EQUAL: Names = &[
    "!=",
    "!==",
    "<>",
    "≠",
    "=!",
    "ne",
    "neq",
    "notequal",
    "notequals",
    "notequalto",
    "isnot",
    "isnt",
    "isnotequalto",
    "isntequalto",
    "doesnotequal",
    "doesntequal",
    "not",
];
const ABOVE: Names = &[">", "gt", "greaterthan", "greater", "isgreaterthan", "above", "morethan", "over"];
const AT_LEAST: Names = &[
    ">=",
    "=>",
    "≥",
    "⩾",
    "gte",
    "ge",
    "greaterthanorequal",
    "greaterthanorequals",
    "greaterthanorequalto",
    "isgreaterthanorequalto",
    "atleast",
    "min",
];
const BELOW: Names = &["<", "lt", "lessthan", "less", "islessthan", "below", "under"];
const AT_MOST: Names = &[
    "<=",
    "=<",
    "≤",
    "⩽",
    "lte",
    "le",
    "lessthanorequal",
    "lessthanorequals",
    "lessthanorequalto",
    "islessthanorequalto",
    "atmost",
    "max",
];
const BETWEEN: Names = &["between", "isbetween", "inrange", "range", "within", "inbetween"];
const IN: Names =
    &["in", "isin", "inlist", "oneof", "isoneof", "anyof", "isanyof", "isamong", "matchesoneof", "any"];
const NOT_IN: Names = &[
    "notin",
    "isnotin",
    "isntin",
    "notinlist",
    "notoneof",
    "isnotoneof",
    "isntoneof",
    "isnoneof",
    "noneof",
    "notanyof",
    "isnotanyof",
    "isntanyof",
    "isnotamong",
    "nin",
    "!in",
];

/// A predicate or type, with what each tool calls it.
type TypeRow = (&'static str, &'static [(&'static str, &'static [Names])]);

/// The predicates of each type, each with its names elsewhere.
const TABLE: &[TypeRow] = &[
    (
        "string",
        &[
            ("is one of", &[IN, EQUAL]),
            ("is not any of", &[NOT_IN, NOT_EQUAL]),
            (
                "starts with",
                &[&["sw", "prefix", "startswith", "strstartswith", "beginswith", "hasprefix", "startwith"]],
            ),
            (
                "does not start with",
                &[&[
                    "notstartswith",
                    "doesntstartwith",
                    "doesnotstartwith",
                    "notprefix",
                    "doesnotbeginwith",
                    "nothasprefix",
                    "notstartwith",
                    "strnotstartswith",
                    "nsw",
                    "!startswith",
                ]],
            ),
            ("ends with", &[&["ew", "suffix", "endswith", "strendswith", "hassuffix", "endwith"]]),
            (
                "does not end with",
                &[&[
                    "notendswith",
                    "doesntendwith",
                    "doesnotendwith",
                    "notsuffix",
                    "nothassuffix",
                    "notendwith",
                    "strnotendswith",
                    "new",
                    "!endswith",
                ]],
            ),
            (
                "contains",
                &[&[
                    "co",
                    "contain",
                    "contains",
                    "strcontains",
                    "containsstring",
                    "includes",
                    "include",
                    "has",
                    "like",
                ]],
            ),
            (
                "does not contain",
                &[&[
                    "notcontains",
                    "notcontain",
                    "doesntcontain",
                    "doesnotcontain",
                    "strnotcontains",
                    "notincludes",
                    "doesnotinclude",
                    "doesntinclude",
                    "excludes",
                    "notlike",
                    "nco",
                    "!contains",
                ]],
            ),
            (
                "matches regex",
                &[&[
                    "matches",
                    "match",
                    "regex",
                    "regexp",
                    "re",
                    "=~",
                    "~",
                    "matchesregex",
                    "matchesregexp",
                    "rlike",
                    "similarto",
                    "strmatches",
                ]],
            ),
            (
                "does not match regex",
                &[&[
                    "notmatches",
                    "notmatch",
                    "doesnotmatch",
                    "doesntmatch",
                    "notregex",
                    "notregexp",
                    "!~",
                    "notmatchesregex",
                    "doesntmatchregex",
                    "notrlike",
                    "notsimilarto",
                    "!regex",
                    "!matches",
                ]],
            ),
        ],
    ),
    ("number", NUMBERS),
    ("semver", VERSIONS),
    (
        "datetime",
        &[
            (
                "after",
                &[
                    ABOVE,
                    AT_LEAST,
                    &["after", "dateafter", "isafter", "from", "since", "later", "laterthan", "newerthan"],
                ],
            ),
            (
                "before",
                &[
                    BELOW,
                    AT_MOST,
                    &["before", "datebefore", "isbefore", "until", "earlier", "earlierthan", "olderthan"],
                ],
            ),
            ("between", &[BETWEEN]),
        ],
    ),
    (
        "segment",
        &[
            (
                "is in",
                &[
                    IN,
                    EQUAL,
                    &["segmentmatch", "matches", "insegment", "isinsegment", "belongsto", "matchsegment"],
                ],
            ),
            (
                "is not in",
                &[
                    NOT_IN,
                    NOT_EQUAL,
                    &["notsegmentmatch", "notmatches", "doesnotmatch", "notinsegment", "isnotinsegment"],
                ],
            ),
        ],
    ),
];

/// The predicates of numbers. Both these and versions compare with a list, so that `in` is `=`. Who is older has a larger
/// number.
const NUMBERS: &[(&str, &[Names])] = &[
    ("=", EQUALS),
    ("!=", DIFFERS),
    (">", &[ABOVE, IS_ABOVE, &["olderthan"]]),
    (">=", IS_AT_LEAST),
    ("<", &[BELOW, IS_BELOW, &["youngerthan"]]),
    ("<=", IS_AT_MOST),
    ("between", &[BETWEEN]),
];

/// The predicates of versions. What is older has a smaller one.
const VERSIONS: &[(&str, &[Names])] = &[
    ("=", EQUALS),
    ("!=", DIFFERS),
    (">", &[ABOVE, IS_ABOVE, &["newerthan"]]),
    (">=", IS_AT_LEAST),
    ("<", &[BELOW, IS_BELOW, &["olderthan"]]),
    ("<=", IS_AT_MOST),
    ("between", &[BETWEEN]),
];

const EQUALS: &[Names] = &[EQUAL, IN, &["numeq", "semvereq", "semverequal", "semverequals"]];
const DIFFERS: &[Names] = &[NOT_EQUAL, NOT_IN, &["numne", "numneq", "semverneq", "semvernotequal"]];
const IS_ABOVE: Names = &["numgt", "semvergt", "semvergreaterthan", "after"];
const IS_AT_LEAST: &[Names] = &[AT_LEAST, &["numgte", "semvergte", "semvergreaterthanorequal"]];
const IS_BELOW: Names = &["numlt", "semverlt", "semverlessthan", "before"];
const IS_AT_MOST: &[Names] = &[AT_MOST, &["numlte", "semverlte", "semverlessthanorequal"]];

/// What other tools call each type.
const TYPES: &[(&str, Names)] = &[
    ("number", &["int", "integer", "long", "float", "double", "decimal", "numeric", "num", "count"]),
    ("string", &["str", "text", "varchar", "char", "enum", "bool", "boolean", "regex", "email", "uuid"]),
    ("semver", &["version", "semanticversion", "ver", "semversion"]),
    ("datetime", &["date", "time", "timestamp", "instant", "datetimetz"]),
    ("segment", &["segmentmatch", "group", "cohort", "audience", "usergroup"]),
];

/// What follows the type in the name of one: `STRING_COMPARISON_TYPE` of Flipt.
const TYPE_ENDS: &[&str] = &["comparisontype", "comparison", "constrainttype", "constraint", "type"];

/// Returns the type that another tool calls `word`.
pub(super) fn meant_type(word: &str) -> Option<&'static str> {
    let plain = plain(word);
    let bare = TYPE_ENDS.iter().find_map(|end| plain.strip_suffix(end)).filter(|bare| !bare.is_empty());
    let is_meant = |(kind, names): &&(&str, Names)| {
        bare == Some(*kind)
            || names.contains(&plain.as_str())
            || bare.is_some_and(|bare| names.contains(&bare))
    };
    TYPES.iter().find(is_meant).map(|(kind, _)| *kind)
}

/// What other tools call a share of users in place of the type of a condition.
const ROLLOUT_TYPES: Names = &[
    "percentage",
    "percent",
    "percentagerollout",
    "percentrollout",
    "rollout",
    "gradualrollout",
    "gradualrolloutrandom",
    "gradualrolloutsessionid",
    "gradualrolloutuserid",
    "flexiblerollout",
    "rolloutpercentage",
    "thresholdrollout",
    "threshold",
    "fractional",
    "split",
];

/// Returns whether a type of another tool is a share of users.
pub(super) fn is_rollout(word: &str) -> bool {
    let plain = plain(word);
    ROLLOUT_TYPES.contains(&plain.trim_end_matches("type"))
}

/// Returns the predicate that `word` is or names, without a guess, of conditions of this type.
pub(super) fn exact(kind: &str, word: &str) -> Option<&'static str> {
    other_types("", word).into_iter().find(|(own, _)| *own == kind).map(|(_, predicate)| predicate)
}

/// Returns whether a word is or names `between`.
pub(super) fn is_between(word: &str) -> bool {
    BETWEEN.contains(&plain(word).as_str())
}

/// Returns the types of conditions with a predicate of this name, with the predicate.
pub(super) fn other_types(kind: &str, word: &str) -> Vec<(&'static str, &'static str)> {
    let plain = plain(word);
    let is_named = |names: &Names| names.contains(&plain.as_str());
    let of = |predicates: &'static [(&'static str, &'static [Names])]| {
        let mut all = predicates.iter();
        all.find(|(name, names)| *name == word || names.iter().any(is_named)).map(|(name, _)| *name)
    };
    let others = TABLE.iter().filter(|(other, _)| *other != kind);
    others.filter_map(|(other, predicates)| Some((*other, of(predicates)?))).collect()
}

/// The predicates that say the opposite.
const OPPOSITES: &[(&str, &str)] = &[
    ("is one of", "is not any of"),
    ("starts with", "does not start with"),
    ("ends with", "does not end with"),
    ("contains", "does not contain"),
    ("matches regex", "does not match regex"),
    ("=", "!="),
    ("is in", "is not in"),
];

/// The predicates that say the opposite, if they compare with one object: with several, any of them is enough.
const OPPOSITES_OF_ONE: &[(&str, &str)] = &[(">", "<="), ("<", ">="), ("after", "before")];

/// Returns the predicate that says the opposite of this one; none if no predicate does. `is_one` says that
/// it compares with one object.
pub(super) fn opposite(predicate: &str, is_one: bool) -> Option<&'static str> {
    let more = if is_one { OPPOSITES_OF_ONE } else { &[] };
    let mut pairs = OPPOSITES.iter().chain(more).flat_map(|(one, other)| [(*one, *other), (*other, *one)]);
    pairs.find(|(one, _)| *one == predicate).map(|(_, other)| other)
}

/// What denies a word that follows it, without blanks and signs that separate. A single sign stands before a
/// word only.
const DENYING: &[&str] = &[
    "n", "un", "non", "no", "not", "nor", "mis", "dis", "never", "aint", "isnt", "arent", "cannot", "cant",
    "wont", "doesnt", "dont", "isnot", "doesnot", "~", "!", "¬", "without", "anti",
];

/// Returns the predicate that says the opposite of the one that a word denies; the inner one is none if no
/// predicate does. None if the word does not deny a predicate.
fn denied(predicates: &[(&'static str, &[Names])], word: &str) -> Option<Option<&'static str>> {
    let word: String = word
        .to_lowercase()
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '_' | '\'' | '’' | '.'))
        .collect();
    let is_denied = |name: &str| {
        word.strip_suffix(name).is_some_and(|before| {
            let before = before.trim_end_matches('-');
            let is_sign = !before.chars().any(char::is_alphanumeric) && before != "!" && before != "¬";
            word != name && DENYING.contains(&before) && (!is_sign || name.chars().any(char::is_alphanumeric))
        })
    };
    let mut positive = predicates.iter().filter(|(predicate, _)| !is_negative(predicate));
    let (predicate, _) = positive.find(|(predicate, names)| {
        is_denied(&plain(predicate)) || names.iter().flat_map(|names| *names).any(|name| is_denied(name))
    })?;
    Some(OPPOSITES.iter().find(|(one, _)| one == predicate).map(|(_, opposite)| *opposite))
}

/// Returns the predicate of a type that `word` probably means; none if no predicate says the same.
pub(super) fn meant(kind: &str, word: &str, known: &[&'static str]) -> Option<&'static str> {
    let of_kind = TABLE.iter().find(|(name, _)| *name == kind).map_or(&[][..], |(_, predicates)| *predicates);
    let find = |predicate: &str| known.iter().copied().find(|one| *one == predicate);
    // Before a word, these signs are a negation to some tools, and not to others.
    let has_sign = word.trim_start().starts_with(['-', '~', '^']) && word.contains(char::is_alphanumeric);
    let plain = plain(word);
    let mut named =
        of_kind.iter().filter(|(_, names)| names.iter().any(|names| names.contains(&plain.as_str())));
    if let Some((predicate, _)) = named.next().filter(|_| !has_sign) {
        return find(predicate);
    }
    if let Some(opposite) = denied(of_kind, word) {
        return opposite.and_then(find);
    }
    if has_sign {
        return None;
    }
    // A sign is another one if a single character differs.
    if !word.chars().any(char::is_alphanumeric) {
        return None;
    }
    let candidates = known.iter().copied().filter(|one| is_negative(one) == is_negative(word));
    // The letters that differ may be those of a negation.
    let lower = word.trim().to_lowercase();
    closest(word, candidates).filter(|found| {
        !DENYING.iter().any(|denying| lower.starts_with(denying) && !found.starts_with(denying))
            || is_negative(found)
    })
}

/// A part of a pattern of `LIKE` in SQL.
#[derive(Clone, Copy, Eq, PartialEq)]
enum LikePart {
    /// Any text: `%`.
    Any,
    /// Any character: `_`.
    One,
    Char(char),
}

/// Returns the parts of a pattern, in which a backslash stands before a character that is meant.
fn like_parts(pattern: &str) -> Vec<LikePart> {
    let mut parts = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let part = match c {
            '%' => LikePart::Any,
            '_' => LikePart::One,
            '\\' => LikePart::Char(chars.next().unwrap_or(c)),
            c => LikePart::Char(c),
        };
        // `%%` is `%`.
        if part != LikePart::Any || parts.last() != Some(&LikePart::Any) {
            parts.push(part);
        }
    }
    parts
}

/// What `LIKE` means: the predicate, its opposite, and the objects.
pub(super) type Like = (&'static str, &'static str, Vec<String>);

/// Returns what the patterns of `LIKE` in SQL mean. None if no pattern has a `%`, so that `LIKE` may be that
/// of a tool without patterns.
pub(super) fn like(patterns: &[&str]) -> Option<Like> {
    let is_pattern = |pattern: &&str| ["%", "\\_"].iter().any(|sign| pattern.contains(sign));
    if !patterns.iter().any(is_pattern) {
        return None;
    }
    const FORMS: &[(&str, &str, [bool; 2])] = &[
        ("contains", "does not contain", [true, true]),
        ("starts with", "does not start with", [false, true]),
        ("ends with", "does not end with", [true, false]),
        ("is one of", "is not any of", [false, false]),
    ];
    let all: Vec<Vec<LikePart>> = patterns.iter().map(|pattern| like_parts(pattern)).collect();
    let text = |parts: &[LikePart], [begins, ends]: [bool; 2]| {
        let parts = if begins { parts.strip_prefix(&[LikePart::Any])? } else { parts };
        let parts = if ends { parts.strip_suffix(&[LikePart::Any])? } else { parts };
        let char = |part: &LikePart| match part {
            LikePart::Char(c) => Some(*c),
            LikePart::Any | LikePart::One => None,
        };
        parts.iter().map(char).collect::<Option<String>>().filter(|text| !text.is_empty())
    };
    for (predicate, opposite, open) in FORMS {
        if let Some(objects) = all.iter().map(|parts| text(parts, *open)).collect() {
            return Some((predicate, opposite, objects));
        }
    }
    Some(like_as_regex(patterns))
}

/// Returns what patterns of `LIKE` mean as regular expressions.
pub(super) fn like_as_regex(patterns: &[&str]) -> Like {
    as_regex(patterns, |c| regex::escape(c.encode_utf8(&mut [0; 4])))
}

/// Returns what patterns of `ILIKE`, which ignores case, mean.
pub(super) fn ilike(patterns: &[&str]) -> Like {
    as_regex(patterns, in_both_cases)
}

fn as_regex(patterns: &[&str], literal: impl Fn(char) -> String) -> Like {
    let regex = |pattern: &&str| {
        let parts = like_parts(pattern).into_iter().map(|part| match part {
            LikePart::Any => ".*".to_owned(),
            LikePart::One => ".".to_owned(),
            LikePart::Char(c) => literal(c),
        });
        format!("^{}$", parts.collect::<String>())
    };
    ("matches regex", "does not match regex", patterns.iter().map(regex).collect())
}

/// Returns a regular expression that matches a character in both cases.
pub(super) fn in_both_cases(c: char) -> String {
    let (upper, lower): (Vec<char>, Vec<char>) = (c.to_uppercase().collect(), c.to_lowercase().collect());
    match (upper.as_slice(), lower.as_slice()) {
        ([upper], [lower]) if upper != lower => format!("[{upper}{lower}]"),
        _ => regex::escape(c.encode_utf8(&mut [0; 4])),
    }
}

/// Returns whether a word is `ILIKE` of SQL, and whether it is denied.
pub(super) fn is_ilike(word: &str) -> Option<bool> {
    match plain(word).as_str() {
        "ilike" => Some(false),
        "notilike" | "!ilike" | "isnotilike" => Some(true),
        _ => None,
    }
}

/// Returns the predicate that `word` is or means, of conditions of this type; of any type if `kind` is none.
pub(super) fn named(kind: &str, word: &str) -> Option<&'static str> {
    match ConditionType::find(kind) {
        Some(of) => {
            let known = of.predicates();
            known.iter().copied().find(|one| *one == word).or_else(|| meant(kind, word, &known))
        }
        None => other_types("", word).first().map(|(_, predicate)| *predicate),
    }
}

/// Returns a word in lower case, without what separates its parts.
fn plain(word: &str) -> String {
    let word = word.to_lowercase();
    word.chars().filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-' | '\'' | '’' | '.' | '$')).collect()
}

/// Returns whether a predicate denies something.
fn is_negative(word: &str) -> bool {
    let lower = word.to_lowercase().replace('’', "'");
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    lower.contains(['!', '≠'])
        || lower.contains("<>")
        || lower.contains("not")
        || lower.contains("n't")
        || words.any(|word| matches!(word, "no" | "none" | "never" | "without" | "ne" | "neq" | "nin"))
        || ["isnt", "doesnt", "dont", "arent", "exclude", "isn", "doesn"]
            .iter()
            .any(|part| lower.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(kind: &str) -> Vec<&'static str> {
        let (_, predicates) = TABLE.iter().find(|(name, _)| *name == kind).unwrap();
        predicates.iter().map(|(predicate, _)| *predicate).collect()
    }

    #[test]
    fn the_names_of_a_type_mean_one_predicate_each() {
        for (kind, table) in TABLE {
            let mut all: Vec<&str> = Vec::new();
            for (predicate, names) in *table {
                for name in names.iter().flat_map(|names| *names) {
                    assert_eq!(plain(name), *name);
                    assert_eq!(meant(kind, name, &known(kind)), Some(*predicate), "{kind} {name}");
                    all.push(name);
                }
            }
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count, "{kind}: {all:?}");
        }
    }

    #[test]
    fn the_manual_lists_what_is_meant() {
        let page = include_str!("../../examples/README.md");
        let section = page.split_once("## Coming from another tool").unwrap().1;
        let section = section.split("\n## ").next().unwrap();
        let mut count = 0;
        for row in section.lines().filter(|line| line.starts_with("| `")) {
            let code: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
            let [predicate, names @ ..] = code.as_slice() else { panic!("{row}") };
            for name in names {
                let is_meant = |(kind, _): &&(&str, _)| meant(kind, name, &known(kind)) == Some(*predicate);
                assert!(TABLE.iter().any(|kind| is_meant(&kind)), "{name}: {predicate}");
                count += 1;
            }
        }
        assert!(count > 60, "{count}");
    }

    #[test]
    fn a_suggestion_says_the_same() {
        for (kind, word, expected) in [
            ("number", "<>", Some("!=")),
            ("number", "≠", Some("!=")),
            ("string", "isn't one of", Some("is not any of")),
            ("string", "isn’t one of", Some("is not any of")),
            ("string", "NOT_IN", Some("is not any of")),
            ("string", "STR_STARTS_WITH", Some("starts with")),
            // Who is older has a larger number, and what is older a smaller version.
            ("number", "older than", Some(">")),
            ("number", "younger than", Some("<")),
            ("number", "newer than", None),
            ("semver", "older than", Some("<")),
            ("semver", "newer than", Some(">")),
            ("datetime", "older than", Some("before")),
            ("datetime", "newer than", Some("after")),
            ("string", "is one off", Some("is one of")),
            ("string", "is not one off", Some("is not any of")),
            ("string", "doesn't contian", Some("does not contain")),
            ("string", "LIKE", Some("contains")),
            ("string", "!~", Some("does not match regex")),
            ("number", "greaterThanOrEqual", Some(">=")),
            ("number", "NUM_GTE", Some(">=")),
            ("number", "=>", Some(">=")),
            ("number", "betwen", Some("between")),
            ("number", "not between", None),
            ("semver", "semVerLessThan", Some("<")),
            ("semver", "^", None),
            ("semver", "~", None),
            ("datetime", "DATE_AFTER", Some("after")),
            ("datetime", "<=", Some("before")),
            ("datetime", "not before", None),
            ("segment", "segmentMatch", Some("is in")),
            ("segment", "isn't in", Some("is not in")),
            ("string", "ncontains", Some("does not contain")),
            ("string", "uncontains", Some("does not contain")),
            ("string", "-contains", None),
            ("string", "^contains", None),
            ("string", "-in", None),
            ("string", "~contains", Some("does not contain")),
            ("string", "non-contains", Some("does not contain")),
            ("string", "nstarts with", Some("does not start with")),
            ("string", "mismatches regex", Some("does not match regex")),
            ("string", "!=~", Some("does not match regex")),
            ("string", "aint one of", Some("is not any of")),
            ("string", "ain't one of", Some("is not any of")),
            ("string", "unequal", Some("is not any of")),
            ("string", "unlike", Some("does not contain")),
            ("string", "ncontians", None),
            ("string", "unstarts wiht", None),
            ("number", "unequal", Some("!=")),
            ("number", "n>", None),
            ("number", "~=", None),
            ("segment", "nis in", Some("is not in")),
            ("datetime", "nbefore", None),
        ] {
            assert_eq!(meant(kind, word, &known(kind)), expected, "{kind} {word}");
        }
    }

    #[test]
    fn no_suggestion_adds_or_drops_a_negation() {
        for (kind, _) in TABLE {
            let known = known(kind);
            for predicate in &known {
                for denying in DENYING.iter().chain(&["isn't ", "ain't ", "no "]) {
                    for denied in [format!("{denying}{predicate}"), format!("{denying} {predicate}")] {
                        let found = meant(kind, &denied, &known).filter(|_| !is_negative(predicate));
                        assert!(found.is_none_or(is_negative), "{kind} {denied}: {found:?}");
                        let misspelled = denied.replacen(['t', 's'], "", 2);
                        let found = meant(kind, &misspelled, &known).filter(|_| !is_negative(predicate));
                        assert!(
                            found.is_none_or(is_negative) || !misspelled.starts_with(denying),
                            "{kind} {misspelled}: {found:?}"
                        );
                    }
                }
                let typo = predicate.replacen(['i', 'o', 'e'], "", 1);
                let found = meant(kind, &typo, &known);
                assert!(
                    found.is_none_or(|found| is_negative(found) == is_negative(predicate)),
                    "{typo}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn a_type_of_another_tool_is_one_of_ours() {
        for (word, expected) in [
            ("int", Some("number")),
            ("Integer", Some("number")),
            ("FLOAT", Some("number")),
            ("version", Some("semver")),
            ("date-time", None),
            ("time", Some("datetime")),
            ("bool", Some("string")),
            ("cohort", Some("segment")),
            ("STRING_COMPARISON_TYPE", Some("string")),
            ("NUMBER_COMPARISON_TYPE", Some("number")),
            ("NUMBER_COMPARISON", Some("number")),
            ("DATETIME_COMPARISON_TYPE", Some("datetime")),
            ("BOOLEAN_COMPARISON_TYPE", Some("string")),
            ("BOOLEAN_COMPARISON", Some("string")),
            ("NumberType", Some("number")),
            ("ENTITY_ID_COMPARISON_TYPE", None),
            ("type", None),
            ("percentage", None),
            ("geo", None),
        ] {
            assert_eq!(meant_type(word), expected, "{word}");
        }
        for (kind, names) in TYPES {
            assert!(TABLE.iter().any(|(known, _)| known == kind));
            assert!(names.iter().all(|name| plain(name) == *name), "{kind}");
        }
    }

    #[test]
    fn a_predicate_of_another_type_is_found_there() {
        assert_eq!(other_types("string", "NUM_GTE"), [("number", ">="), ("semver", ">=")]);
        assert_eq!(other_types("string", ">="), [("number", ">="), ("semver", ">="), ("datetime", "after")]);
        assert_eq!(other_types("number", "STR_STARTS_WITH"), [("string", "starts with")]);
        assert_eq!(other_types("number", "sounds like"), []);
    }
}
