//! What SDKs in use do not agree about, or never meet, in each set of them: findings and evaluation say the same.

use std::collections::BTreeMap;

use super::references::problems_for;
use crate::document::read_for;
use crate::evaluate::{Compiler, Definitions, SdkRules, Served, Verdict};
use crate::model::{Blob, Payload, ReturnType, Sdk, Sdks, ServiceKind, Targeting, ToggleId};

/// Documents with the same difference between SDKs.
struct Case {
    about: &'static str,
    /// Pairs of a value that the toggle `base` serves everyone, and the document of `search`.
    documents: Vec<(&'static str, String)>,
    /// The values that users have as the attribute `a`.
    users: &'static [&'static str],
    /// Whether an SDK that differs is named even if no other one is used, because nobody means it.
    is_mistake_alone: bool,
}

/// Returns a document that serves `on` to users who meet its condition and its prerequisite.
fn document(condition: &str, prerequisite: &str) -> String {
    format!(
        "disabled: false\ncontent:\n  prerequisites: [{prerequisite}]\n  variations:\n    - {{ name: \"off\", value: \"false\" }}\n    \
         - {{ name: \"on\", value: \"true\" }}\n  rules:\n    - name: some\n      conditions:\n        - {condition}\n      \
         serve: {{ select: 1 }}\n  disabledServe: {{ select: 0 }}\n  defaultServe: {{ select: 0 }}\n"
    )
}

fn cases() -> Vec<Case> {
    let needs = |kind: &str, wanted: &str| {
        let any = "{ type: string, subject: a, predicate: is one of, objects: [x] }";
        document(any, &format!("{{ key: base, type: {kind}, value: '{wanted}' }}"))
    };
    let compares = |kind: &str, predicate: &str, object: &str| {
        let one =
            format!("{{ type: {kind}, subject: a, predicate: \"{predicate}\", objects: [\"{object}\"] }}");
        vec![("true", document(&one, ""))]
    };
    let case = |about, documents, users| Case { about, documents, users, is_mistake_alone: false };
    vec![
        case(
            "JSON values of prerequisites",
            [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#]
                .map(|wanted| (r#"{"a":1,"b":2}"#, needs("json", wanted)))
                .to_vec(),
            &["x"],
        ),
        case(
            "a number in another notation within JSON",
            vec![(r#"{"a":1}"#, needs("json", r#"{"a":1.0}"#))],
            &["x"],
        ),
        case("a number in another notation", vec![("1", needs("number", "1.0"))], &["x"]),
        case(
            "a whole number of more than 64 bits",
            vec![("18446744073709551617", needs("number", "18446744073709551616"))],
            &["x"],
        ),
        Case {
            is_mistake_alone: true,
            ..case(
                "numbers with more than seven digits",
                compares("number", "=", "16777217"),
                &["16777216", "16777217"],
            )
        },
        case("versions with build metadata", compares("semver", "=", "1.2.3+5"), &["1.2.3", "1.2.3+5"]),
        case("blank texts", compares("string", "is one of", ""), &["", "x"]),
        case(
            "times before 1970",
            compares("datetime", "before", "1960-01-01T00:00:00+00:00"),
            &["-400000000", "0"],
        ),
    ]
}

/// Returns whether each SDK in use, in each of its versions, serves `on` to a user.
fn met(base: &str, text: &str, user: &str, sdks: Sdks) -> Vec<bool> {
    let all = targetings(base, text);
    let find = |id: &ToggleId| all.get(id.toggle()).map(Payload::new);
    let types = |_: &ToggleId| Some(vec![ReturnType::of(&[base])]);
    let mut compiler = Compiler::default();
    let id = ToggleId::new("shop", "prod", "search").unwrap();
    let index = compiler.toggle(&id, &mut Definitions::new(find).with_types(types)).unwrap();
    let evaluator = compiler.finish();
    let mut person = evaluator.person(Some(1_700_000_000));
    person.reset(Some("u"));
    person.set("a", user);
    let used = Sdk::ALL.into_iter().filter(|sdk| sdks.has(*sdk)).map(SdkRules::of);
    let old = sdks.has(Sdk::Java).then_some(SdkRules::OLD_JAVA);
    let verdicts = used.chain(old).map(|rules| evaluator.evaluate(rules, index, &person));
    verdicts.map(|verdict| verdict == Verdict::Known(Served::Variation(1))).collect()
}

fn targetings(base: &str, text: &str) -> BTreeMap<String, Targeting> {
    let read = |text: &str| {
        let content = Blob::Content(text.as_bytes().to_vec());
        let document = read_for("t.yaml", &content, ServiceKind::FeatureProbe, Sdks::NONE);
        document.payload.unwrap_or_else(|| panic!("{text}{:?}", document.diagnostics)).targeting()
    };
    let own = format!(
        "disabled: false\ncontent:\n  variations:\n    - {{ name: one, value: '{base}' }}\n  rules: []\n  \
         disabledServe: {{ select: 0 }}\n  defaultServe: {{ select: 0 }}\n"
    );
    BTreeMap::from([("base".to_owned(), read(&own)), ("search".to_owned(), read(text))])
}

/// Returns the findings on what SDKs do with the document of `search`.
fn found(base: &str, text: &str, sdks: Sdks) -> Vec<String> {
    let content = Blob::Content(text.as_bytes().to_vec());
    let document = read_for("t.yaml", &content, ServiceKind::FeatureProbe, sdks);
    let own = document.diagnostics.into_iter().filter(|one| one.id == "sdk-disagreement");
    let mut all: Vec<String> = own.map(|one| one.message).collect();
    let targetings = targetings(base, text);
    let of_others = problems_for(sdks, &targetings).remove("search").unwrap();
    all.extend(of_others.iter().map(|one| one.message().to_owned()));
    all
}

/// Returns all sets of SDKs in use.
fn sets() -> impl Iterator<Item = Sdks> {
    (1..32_u32).map(|set| {
        let used = Sdk::ALL.into_iter().enumerate().filter(|(bit, _)| set & (1 << bit) != 0);
        let names: Vec<&str> = used.map(|(_, sdk)| sdk.as_str()).collect();
        names.join(" ").parse().unwrap()
    })
}

#[test]
fn what_sdks_in_use_serve_differently_or_to_nobody_is_found_for_each_set_of_them() {
    for Case { about, documents, users, is_mistake_alone } in cases() {
        for sdks in sets() {
            let (mut any_is_wrong, mut all_found) = (false, Vec::new());
            for (base, text) in &documents {
                let verdicts: Vec<Vec<bool>> = users.iter().map(|user| met(base, text, user, sdks)).collect();
                let differ = verdicts.iter().any(|all| all.windows(2).any(|two| two[0] != two[1]));
                let is_never = verdicts.iter().flatten().all(|is_met| !is_met);
                let found = found(base, text, sdks);
                assert!(!found.is_empty() || !(differ || is_never), "{about}, {sdks}: {text}");
                any_is_wrong |= differ || is_never;
                all_found.extend(found);
            }
            assert!(
                any_is_wrong || is_mistake_alone || all_found.is_empty(),
                "{about}, {sdks}: {all_found:?}"
            );
        }
    }
}
