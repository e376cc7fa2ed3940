//! What other tools call the predicates of conditions: Unleash, LaunchDarkly, GO Feature Flag, Flipt, flagd
//! and SQL.
//!
//! The table comes before a suggestion by letters, which would take `<>` for `>` and `isn't one of` for `is
//! one of`. A suggestion never drops a negation, and never adds one.

use crate::model::closest;

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
    ("number", ORDERED),
    ("semver", ORDERED),
    (
        "datetime",
        &[
            (
                "after",
                &[ABOVE, AT_LEAST, &["after", "dateafter", "isafter", "from", "since", "later", "laterthan"]],
            ),
            (
                "before",
                &[BELOW, AT_MOST, &["before", "datebefore", "isbefore", "until", "earlier", "earlierthan"]],
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

/// The predicates of numbers and versions. Both compare with a list, so that `in` is `=`.
const ORDERED: &[(&str, &[Names])] = &[
    ("=", &[EQUAL, IN, &["numeq", "semvereq", "semverequal", "semverequals"]]),
    ("!=", &[NOT_EQUAL, NOT_IN, &["numne", "numneq", "semverneq", "semvernotequal"]]),
    (">", &[ABOVE, &["numgt", "semvergt", "semvergreaterthan", "after", "newerthan"]]),
    (">=", &[AT_LEAST, &["numgte", "semvergte", "semvergreaterthanorequal"]]),
    ("<", &[BELOW, &["numlt", "semverlt", "semverlessthan", "before", "olderthan"]]),
    ("<=", &[AT_MOST, &["numlte", "semverlte", "semverlessthanorequal"]]),
    ("between", &[BETWEEN]),
];

/// Returns the predicate of a type that `word` probably means; none if no predicate says the same.
pub(super) fn meant(kind: &str, word: &str, known: &[&'static str]) -> Option<&'static str> {
    let plain = plain(word);
    let of_kind = TABLE.iter().find(|(name, _)| *name == kind).map_or(&[][..], |(_, predicates)| *predicates);
    let named = of_kind.iter().find(|(_, names)| names.iter().any(|names| names.contains(&plain.as_str())));
    if let Some((predicate, _)) = named {
        return known.iter().copied().find(|one| one == predicate);
    }
    // A sign is another one if a single character differs.
    if !word.chars().any(char::is_alphanumeric) {
        return None;
    }
    let candidates = known.iter().copied().filter(|one| is_negative(one) == is_negative(word));
    closest(word, candidates)
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
        ] {
            assert_eq!(meant(kind, word, &known(kind)), expected, "{kind} {word}");
        }
    }

    #[test]
    fn no_suggestion_adds_or_drops_a_negation() {
        for (kind, _) in TABLE {
            let known = known(kind);
            for predicate in &known {
                for denied in
                    [format!("not {predicate}"), format!("isn't {predicate}"), format!("!{predicate}")]
                {
                    let found = meant(kind, &denied, &known).filter(|_| !is_negative(predicate));
                    assert!(found.is_none_or(is_negative), "{kind} {denied}: {found:?}");
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
}
