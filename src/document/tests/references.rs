//! What documents say about others.

use std::collections::BTreeMap;
use std::convert::Infallible;

use super::*;
use crate::document::references::{Others, ReferenceProblem, References, diagnose, disagreement};
use crate::model::{Prerequisite, ReturnType, Rule, Sdks, ServiceKind};

/// A repository in which every key that is asked for is unknown, and every toggle is of one environment.
struct OneEnvironment<'a>(&'a BTreeMap<String, Targeting>);

impl Others for OneEnvironment<'_> {
    type Error = Infallible;

    fn similar(&mut self, _: &str) -> Result<Option<Option<String>>, Infallible> {
        Ok(Some(None))
    }

    fn types(&mut self, key: &str) -> Result<Vec<ReturnType>, Infallible> {
        Ok(self.0.get(key).and_then(|one| Outline::of(one).kind).into_iter().collect())
    }

    fn was_removed(&self, _: &str) -> bool {
        false
    }

    fn is_waived_text(&self, _: &str) -> bool {
        false
    }
}

fn toggle(values: &[&str], prerequisites: Vec<Prerequisite>) -> Targeting {
    let variation = |value: &&str| Variation {
        value: (*value).to_owned(),
        name: (*value).to_owned(),
        description: String::new(),
    };
    Targeting {
        disabled: false,
        content: Content {
            rules: Vec::new(),
            disabled_serve: Serve::Select(0),
            default_serve: Serve::Select(0),
            variations: values.iter().map(variation).collect(),
            prerequisites: Some(prerequisites),
        },
    }
}

fn needs(key: &str, kind: ReturnType, value: &str) -> Prerequisite {
    Prerequisite { key: key.to_owned(), value: value.to_owned(), kind }
}

/// Returns the problems of all toggles.
fn problems(all: &BTreeMap<String, Targeting>) -> BTreeMap<&str, Vec<ReferenceProblem>> {
    problems_for(Sdks::NONE, all)
}

pub(super) fn problems_for(
    sdks: Sdks,
    all: &BTreeMap<String, Targeting>,
) -> BTreeMap<&str, Vec<ReferenceProblem>> {
    let mut graph = References::new(ServiceKind::FeatureProbe, sdks);
    let nodes: Vec<usize> = all.keys().map(|key| graph.node(key).0).collect();
    for ((_, targeting), node) in all.iter().zip(&nodes) {
        let keys = graph.fill(*node, &Payload::new(targeting));
        let targets = keys.iter().map(|key| {
            let found = all.keys().find(|other| other.eq_ignore_ascii_case(key));
            found.map(|found| graph.node(found).0)
        });
        let targets = targets.collect();
        graph.connect(*node, targets);
    }
    let found = graph.problems(&nodes, &mut OneEnvironment(all)).unwrap_or_else(|never| match never {});
    all.keys().map(String::as_str).zip(found).collect()
}

/// Returns the toggles that need each other, all boolean.
fn graph(edges: &[(&str, &[&str])]) -> BTreeMap<String, Targeting> {
    let one = |(key, targets): &(&str, &[&str])| {
        let needed = targets.iter().map(|target| needs(target, ReturnType::Boolean, "true"));
        ((*key).to_owned(), toggle(&["false", "true"], needed.collect()))
    };
    edges.iter().map(one).collect()
}

fn messages(problems: &[ReferenceProblem]) -> Vec<&str> {
    problems.iter().map(ReferenceProblem::message).collect()
}

#[test]
fn a_circle_is_named_whole_at_each_of_its_toggles() {
    let all = graph(&[
        ("a", &["b"]),
        ("b", &["other", "c"]),
        ("c", &["a"]),
        ("other", &[]),
        ("before", &["a"]),
        ("self", &["self"]),
    ]);
    let found = problems(&all);
    let circle = |names| format!("these prerequisites form a circle: {names}");
    assert_eq!(messages(&found["a"]), [circle("`a` → `b` → `c` → `a`")]);
    assert_eq!(messages(&found["b"]), [circle("`b` → `c` → `a` → `b`")]);
    assert_eq!(messages(&found["c"]), [circle("`c` → `a` → `b` → `c`")]);
    assert_eq!(messages(&found["self"]), ["this toggle is its own prerequisite"]);
    assert_eq!(messages(&found["before"]), Vec::<&str>::new(), "it is not part of the circle");
    assert_eq!(messages(&found["other"]), Vec::<&str>::new());
}

#[test]
fn keys_that_differ_in_case_are_one_toggle_of_a_circle() {
    let found = problems(&graph(&[("a", &["B"]), ("b", &["a"])])).remove("a").unwrap();
    assert_eq!(
        messages(&found),
        [
            "`B` differs from the toggle `b` only in case",
            "these prerequisites form a circle: `a` → `b` → `a`"
        ]
    );
}

#[test]
fn a_chain_has_at_most_nineteen_steps() {
    let keys: Vec<String> = (0..=21).map(|n| format!("t{n:02}")).collect();
    let edges: Vec<(&str, Vec<&str>)> = (0..=21)
        .map(|n| (keys[n].as_str(), keys.get(n.wrapping_sub(1)).map(String::as_str).into_iter().collect()))
        .collect();
    let edges: Vec<(&str, &[&str])> = edges.iter().map(|(key, to)| (*key, to.as_slice())).collect();
    let all = graph(&edges);
    let found = problems(&all);
    let long: Vec<&str> = found.iter().filter(|(_, found)| !found.is_empty()).map(|(key, _)| *key).collect();
    assert_eq!(long, ["t20", "t21"]);
    let message = found["t20"][0].message();
    assert!(
        message
            .starts_with("this chain of prerequisites has 20 steps, over the limit of 19: `t20` → `t19` → ")
    );
    assert!(message.ends_with("→ `t01` → `t00`"), "{message}");
    // The last step may lead to a toggle that no document has.
    let mut all = all;
    let first = all.get_mut("t00").unwrap();
    first.content.prerequisites = Some(vec![needs("nowhere", ReturnType::Boolean, "true")]);
    let long =
        problems(&all).into_iter().filter(|(_, found)| found.iter().any(ReferenceProblem::is_error)).count();
    assert_eq!(long, 3);
}

#[test]
fn a_chain_or_circle_of_all_toggles_is_checked_in_linear_time() {
    const COUNT: usize = 100_000;
    for is_circle in [false, true] {
        let mut graph = References::new(ServiceKind::FeatureProbe, Sdks::NONE);
        let nodes: Vec<usize> = (0..COUNT).map(|n| graph.node(&format!("t{n}")).0).collect();
        for (at, node) in nodes.iter().enumerate() {
            let next = if is_circle { (at + 1) % COUNT } else { at + 1 };
            let targeting = match nodes.get(next) {
                Some(_) => {
                    toggle(&["false", "true"], vec![needs(&format!("t{next}"), ReturnType::Boolean, "true")])
                }
                None => toggle(&["false", "true"], Vec::new()),
            };
            graph.fill(*node, &Payload::new(&targeting));
            graph.connect(*node, nodes.get(next).map(|next| Some(*next)).into_iter().collect());
        }
        let nothing = BTreeMap::new();
        let found =
            graph.problems(&nodes, &mut OneEnvironment(&nothing)).unwrap_or_else(|never| match never {});
        let expected = if is_circle { COUNT } else { COUNT - 20 };
        assert_eq!(found.iter().filter(|found| found.len() == 1).count(), expected);
        let longest = found.iter().flatten().map(|one| one.message().len()).max();
        assert!(longest.unwrap() < 600, "a message is bounded: {longest:?}");
        // One finding names all of them, and the first one again.
        let named: Vec<usize> =
            found.iter().flatten().map(|one| one.circle().len()).filter(|all| *all > 0).collect();
        assert_eq!(named, if is_circle { vec![COUNT + 1] } else { Vec::new() });
    }
}

#[test]
fn the_type_and_the_value_are_those_of_the_other_toggle() {
    use ReturnType::{Boolean, Json, Number, String};
    for (values, kind, value, expected) in [
        (&["false", "true"][..], Boolean, "true", None),
        (&["false", "true"], Boolean, "TRUE", None),
        (&["false", "true"], String, "true", Some("error prerequisite-other-type")),
        (&["false", "true"], Number, "1", Some("error prerequisite-other-type")),
        (&["true"], Boolean, "false", Some("error prerequisite-no-variation")),
        (&["red", "green"], String, "red", None),
        (&["red", "green"], String, "Red", Some("error prerequisite-no-variation")),
        (&["red", "green"], Boolean, "true", Some("error prerequisite-other-type")),
        (&["red", "1"], Number, "1", Some("error prerequisite-other-type")),
        (&["1", "2"], Number, "2", None),
        // The service decides how it writes the number.
        (&["1", "2"], Number, "2.0", None),
        (&["1", "2"], Number, "3", Some("error prerequisite-no-variation")),
        // A text may look like a number.
        (&["1", "2"], String, "2", Some("warning prerequisite-other-type")),
        (&["1", "2"], String, "2.0", Some("warning prerequisite-other-type")),
        // Whatever the type is, no variation has the value.
        (&["1", "2"], String, "9", Some("error prerequisite-no-variation")),
        (&["1", "2"], String, "blue", Some("error prerequisite-no-variation")),
        (&["false", "true"], String, "yes", Some("error prerequisite-no-variation")),
        (&[r#"{"a":1}"#, r#"{"b":2}"#], String, "{}", Some("error prerequisite-no-variation")),
        // The values of the other toggle tell more than the own type.
        (&["false", "true"], Number, "true", Some("error prerequisite-other-type")),
        (&["red", "green"], Boolean, "red", Some("error prerequisite-other-type")),
        (&["1", "2"], Json, "1", Some("error prerequisite-other-type")),
        (&["false", "true"], Boolean, "yes", Some("error prerequisite-no-variation")),
        (&["1", "2"], Number, "one", Some("error prerequisite-no-variation")),
        (&["9007199254740993", "1"], Number, "9007199254740992", Some("error prerequisite-no-variation")),
        (&[r#"{"a":1}"#, "{}"], Json, r#"{"a":1,"b":null}"#, None),
        (&[r#"{"a":1}"#, "{}"], Json, r#"{"a":2}"#, Some("error prerequisite-no-variation")),
        (&[r#"{"a":1}"#, "{}"], String, "{}", Some("warning prerequisite-other-type")),
        (&["[]", "{}"], Json, "{}", Some("error prerequisite-other-type")),
    ] {
        let all = BTreeMap::from([
            ("base".to_owned(), toggle(values, Vec::new())),
            ("search".to_owned(), toggle(&["x"], vec![needs("base", kind, value)])),
        ]);
        let found = problems(&all).remove("search").unwrap();
        let found: Vec<std::string::String> = found.iter().map(ReferenceProblem::label).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{values:?} {kind:?} {value}");
    }
}

#[test]
fn a_value_of_another_type_is_found_without_the_other_document() {
    let all = BTreeMap::from([
        ("search".to_owned(), toggle(&["x"], vec![needs("base", ReturnType::Number, "true")])),
        ("shop".to_owned(), toggle(&["x"], vec![needs("base", ReturnType::Number, "1.0")])),
    ]);
    let found = problems(&all);
    let labels = |key: &str| found[key].iter().map(ReferenceProblem::label).collect::<Vec<_>>();
    assert_eq!(labels("search"), ["error prerequisite-value", "warning unknown-prerequisite"]);
    assert_eq!(labels("shop"), ["warning unknown-prerequisite"]);
}

#[test]
fn a_toggle_that_needs_itself_or_another_one_twice_does_so_in_any_spelling() {
    let all = graph(&[("d", &["D"]), ("a", &["e", "E"]), ("b", &["E", "e"]), ("e", &[])]);
    let found = problems(&all);
    let labels = |key: &str| found[key].iter().map(ReferenceProblem::label).collect::<Vec<_>>();
    assert_eq!(labels("a"), [""; 0]);
    assert_eq!(labels("b"), ["error prerequisite-case"]);
    assert_eq!(labels("d"), ["error prerequisite-cycle"]);
}

#[test]
fn what_an_invalid_document_says_about_others_is_checked_as_far_as_it_can_be_read() {
    // Two other mistakes, and a prerequisite without a value.
    let text = with(
        "  rules:\n",
        "  prerequisites:\n    - { key: base, type: string, value: x }\n    - { key: b, type: boolean }\n  rules:\n",
    )
    .replace("defaultServe: { select: 0 }", "defaultServe: { select: 7 }");
    let document = featureprobe(&text);
    assert_eq!(found(&document).len(), 2, "{:?}", found(&document));
    let mut graph = References::new(ServiceKind::FeatureProbe, Sdks::NONE);
    let (a, b) = (graph.node("a").0, graph.node("b").0);
    let fragment = *document.fragment.unwrap();
    assert_eq!(graph.fill_part(a, fragment), ["base", "b"]);
    graph.connect(a, vec![None, Some(b)]);
    // `b` needs a value that `a` does not have.
    let needing = toggle(&["false", "true"], vec![needs("a", ReturnType::String, "nothing")]);
    graph.fill(b, &Payload::new(&needing));
    graph.connect(b, vec![Some(a)]);
    let mut others = OneEnvironment(&BTreeMap::new());
    let found = graph.problems(&[a, b], &mut others).unwrap_or_else(|never| match never {});
    let labels = |at: usize| found[at].iter().map(ReferenceProblem::label).collect::<Vec<_>>();
    assert_eq!(labels(0), ["warning unknown-prerequisite", "error prerequisite-cycle"]);
    assert_eq!(labels(1), ["error prerequisite-no-variation", "error prerequisite-cycle"]);
    // A document that is not even YAML says nothing.
    assert_eq!(featureprobe("disabled: [\n").fragment, None);
}

#[test]
fn a_waiver_says_that_values_which_look_like_booleans_are_texts() {
    let text = |waiver: &str| {
        let needs = "    - { key: base, type: string, value: \"true\" }\n";
        with("  rules:\n", &format!("  prerequisites:\n{waiver}{needs}  rules:\n"))
    };
    let found = |waiver: &str| {
        let own = featureprobe(&text(waiver)).payload.unwrap().targeting();
        let all = [("base", toggle(&["true", "false"], Vec::new())), ("own", own)];
        let all = all.into_iter().map(|(key, one)| (key.to_owned(), one)).collect();
        let problems = problems(&all).remove("own").unwrap();
        let found = diagnose("own.yaml", &Blob::Content(text(waiver).into()), problems, false);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        (one.id, one.severity, one.waived.clone())
    };
    let id = "prerequisite-other-type";
    assert_eq!(found(""), (id, Severity::Error, None));
    let waiver = format!("    # gitoggle: allow({id}) the service has it as text\n");
    assert_eq!(found(&waiver), (id, Severity::Warning, Some("the service has it as text".to_owned())));
}

#[test]
fn a_number_is_not_a_misspelling_of_another_one() {
    let help = |values: &[&str], kind, value| {
        let all = BTreeMap::from([
            ("base".to_owned(), toggle(values, Vec::new())),
            ("search".to_owned(), toggle(&["x"], vec![needs("base", kind, value)])),
        ]);
        problems(&all).remove("search").unwrap().remove(0).help().to_owned()
    };
    assert_eq!(help(&["1", "2"], ReturnType::Number, "3"), "its values are `1` and `2`");
    assert_eq!(help(&["100", "200"], ReturnType::Number, "101"), "its values are `100` and `200`");
    assert_eq!(help(&["red", "blue"], ReturnType::String, "reed"), "did you mean `red`?");
}

#[test]
fn a_number_in_another_notation_is_not_the_same_in_all_sdks() {
    let all = |value: &str| {
        BTreeMap::from([
            ("base".to_owned(), toggle(&["1", "2"], Vec::new())),
            ("search".to_owned(), toggle(&["x"], vec![needs("base", ReturnType::Number, value)])),
        ])
    };
    let found = |sdks: &str, value: &str| {
        let all = all(value);
        let found = problems_for(sdks.parse().unwrap(), &all).remove("search").unwrap();
        found.into_iter().map(|one| (one.label(), one.help().to_owned())).collect::<Vec<_>>()
    };
    let [(label, help)] = found("rust go", "1.0").try_into().unwrap();
    assert_eq!(label, "warning sdk-disagreement");
    assert!(help.starts_with("write `value: \"1\"`"), "{help}");
    assert!(found("rust go", "1").is_empty(), "the help is right");
    assert!(found("go node", "1.0").is_empty());
    // Nobody meets it, if no SDK takes the two for the same.
    let [(_, help)] = found("rust python", "1.0").try_into().unwrap();
    assert!(help.starts_with("write `value: \"1\"`"), "{help}");
    assert!(found("rust python", "1").is_empty(), "the help is right");
}

/// Of a JSON toggle with `{"a":1}`. Go alone compares decoded numbers, as recorded.
#[test]
fn a_number_in_another_notation_within_json_is_the_same_to_go_only() {
    let found = |sdks: &str, value: &str| {
        let all = BTreeMap::from([
            ("base".to_owned(), toggle(&[r#"{"a":1}"#, "{}"], Vec::new())),
            ("search".to_owned(), toggle(&["x"], vec![needs("base", ReturnType::Json, value)])),
        ]);
        let found = problems_for(sdks.parse().unwrap(), &all).remove("search").unwrap();
        found.into_iter().map(|one| (one.label(), one.help().to_owned())).collect::<Vec<_>>()
    };
    for (sdks, value, expected) in [
        ("go", r#"{"a":1.0}"#, None),
        ("go rust", r#"{"a":1.0}"#, Some("warning sdk-disagreement")),
        ("go", r#"{"a": 1e0}"#, None),
        ("go node", r#"{"a":1.0}"#, Some("warning sdk-disagreement")),
        ("rust java node python", r#"{"a":1.0}"#, Some("error prerequisite-no-variation")),
        ("node", r#"{"a":1.0}"#, Some("error prerequisite-no-variation")),
        ("go", r#"{"a":1.5}"#, Some("error prerequisite-no-variation")),
        ("go", r#"{"a":"1"}"#, Some("error prerequisite-no-variation")),
    ] {
        let found = found(sdks, value);
        let labels: Vec<&str> = found.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, Vec::from_iter(expected), "{sdks} {value}");
        if expected == Some("warning sdk-disagreement") {
            let help = &found[0].1;
            assert!(help.starts_with(r#"write `value: "{\"a\":1}"`: write it as"#), "{help}");
        }
    }
    // Without a team, any SDK may be in use.
    let all = BTreeMap::from([
        ("base".to_owned(), toggle(&[r#"{"a":1}"#, "{}"], Vec::new())),
        ("search".to_owned(), toggle(&["x"], vec![needs("base", ReturnType::Json, r#"{"a":1.0}"#)])),
    ]);
    assert!(problems(&all).remove("search").unwrap().is_empty());
}

/// The other toggle has the values `false` and `true`, or `1` and `2`, with the names `off` and `on`.
#[test]
fn the_name_of_a_variation_in_place_of_its_value_leads_to_the_value() {
    for (values, kind, value, help) in [
        (["false", "true"], ReturnType::Boolean, "on", "write `\"true\"`, the value of the variation `on`"),
        (
            ["false", "true"],
            ReturnType::Boolean,
            "off",
            "write `\"false\"`, the value of the variation `off`",
        ),
        (["1", "2"], ReturnType::Number, "on", "write `\"2\"`, the value of the variation `on`"),
        (["red", "blue"], ReturnType::String, "on", "write `\"blue\"`, the value of the variation `on`"),
        (
            ["false", "true"],
            ReturnType::String,
            "on",
            "write `type: boolean` and `\"true\"`, the value of the variation `on`",
        ),
        (["false", "true"], ReturnType::Boolean, "onn", "its values are `false` and `true`"),
    ] {
        let mut base = toggle(&values, Vec::new());
        for (variation, name) in base.content.variations.iter_mut().zip(["off", "on"]) {
            name.clone_into(&mut variation.name);
        }
        let found = |kind: ReturnType, value: &str| {
            let search = toggle(&["x"], vec![needs("base", kind, value)]);
            let all = BTreeMap::from([("base".to_owned(), base.clone()), ("search".to_owned(), search)]);
            problems(&all).remove("search").unwrap()
        };
        let [one] = &found(kind, value)[..] else { panic!("{value}") };
        assert_eq!((one.label().as_str(), one.help()), ("error prerequisite-no-variation", help));
        let written = help.split('"').nth(1).filter(|_| help.starts_with("write"));
        if let Some(written) = written {
            assert!(found(ReturnType::of(&values), written).is_empty(), "{help}");
        }
    }
}

#[test]
fn a_number_of_more_than_64_bits_is_not_the_same_in_all_sdks() {
    let found = |sdks: &str, value: &str| {
        let all = BTreeMap::from([
            ("base".to_owned(), toggle(&["36893488147419103232", "2"], Vec::new())),
            ("search".to_owned(), toggle(&["x"], vec![needs("base", ReturnType::Number, value)])),
        ]);
        let found = problems_for(sdks.parse().unwrap(), &all).remove("search").unwrap();
        found.into_iter().map(|one| (one.label(), one.help().to_owned())).collect::<Vec<_>>()
    };
    for (sdks, value, expected) in [
        ("rust go java node python", "36893488147419103233", Some("warning sdk-disagreement")),
        ("rust java", "36893488147419103233", Some("warning sdk-disagreement")),
        ("node python", "36893488147419103232.0", Some("warning sdk-disagreement")),
        // All of them take it for the same, or none does.
        ("rust go node", "36893488147419103233", None),
        ("java python", "36893488147419103233", Some("error prerequisite-no-variation")),
        ("java python", "36893488147419103232.0", Some("warning sdk-disagreement")),
        ("rust go java node python", "+36893488147419103232", None),
        ("rust go java node python", "36893488147419200000", Some("error prerequisite-no-variation")),
    ] {
        let found = found(sdks, value);
        assert_eq!(found.first().map(|(label, _)| label.as_str()), expected, "{sdks} {value}");
        if let Some((_, help)) = found.first() {
            assert!(help.contains("`value: \"36893488147419103232\"`") || help.starts_with("its values are"));
        }
    }
    assert!(found("rust go java node python", "36893488147419103232").is_empty(), "the help is right");
}

#[test]
fn a_prerequisite_further_down_is_not_the_same_in_all_sdks() {
    let one = |needed: Vec<Prerequisite>, disabled: u32, rule: Option<u32>| {
        let mut one = toggle(&["false", "true"], needed);
        one.content.disabled_serve = Serve::Select(disabled);
        one.content.default_serve = Serve::Select(disabled);
        let rule =
            rule.map(|serve| Rule { name: "r".into(), serve: Serve::Select(serve), conditions: Vec::new() });
        one.content.rules.extend(rule);
        one
    };
    let needs = |key: &str| vec![needs(key, ReturnType::Boolean, "true")];
    let found = |sdks: &str, mid: Targeting, low: Targeting| {
        let top = one(needs("mid"), 0, Some(1));
        let all = [("top", top), ("mid", mid), ("low", low), ("off", one(Vec::new(), 0, None))];
        let all = all.into_iter().map(|(key, one)| (key.to_owned(), one)).collect();
        let found = problems_for(sdks.parse().unwrap(), &all).remove("top").unwrap();
        found.iter().map(ReferenceProblem::label).collect::<Vec<_>>()
    };
    let low = || one(Vec::new(), 0, None);
    let yes = vec!["warning sdk-disagreement".to_owned()];
    assert_eq!(found("rust node", one(needs("off"), 1, None), low()), yes);
    assert!(found("rust go java python", one(needs("off"), 1, None), low()).is_empty());
    assert!(found("rust node", one(needs("off"), 0, Some(1)), low()).is_empty(), "as the help says");
    assert!(found("rust node", one(Vec::new(), 1, None), low()).is_empty(), "nothing is further down");
    // The same with a toggle more in between.
    assert_eq!(found("rust node", one(needs("low"), 0, Some(1)), one(needs("off"), 1, None)), yes);
    let mut disabled = one(needs("off"), 1, None);
    disabled.disabled = true;
    assert!(found("rust node", disabled, low()).is_empty(), "a disabled toggle has no prerequisites");
}

#[test]
fn documents_of_a_toggle_have_one_type() {
    let found = disagreement(ReturnType::Boolean, "shop/string/a.yaml", ReturnType::String);
    assert_eq!(
        found.message(),
        "these values are those of a `boolean` toggle, but `shop/string/a.yaml` has those of a `string` toggle"
    );
}

#[test]
fn a_finding_has_its_position_and_can_be_waived() {
    let text = with(
        "  rules:\n",
        "  prerequisites:\n    - key: other\n      type: boolean\n      value: true\n    # gitoggle: allow(unknown-prerequisite) in another repository\n    - { key: another, type: boolean, value: true }\n  rules:\n",
    );
    let document = featureprobe(&text);
    assert_eq!(found(&document), Vec::<String>::new(), "the waiver is used once all documents are known");
    assert!(document.outline.has_waiver && document.outline.has_prerequisites);
    let all = BTreeMap::from([("a".to_owned(), document.payload.unwrap().targeting())]);
    let unknown = problems(&all).remove("a").unwrap();
    let at = |problems| {
        let diagnostics = diagnose("a.yaml", &Blob::Content(text.clone().into()), problems, false);
        let shown = |one: &Diagnostic| {
            format!("{}:{} {} {}", one.line, one.column, one.id, one.waived.as_deref().unwrap_or("-"))
        };
        diagnostics.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(
        at(unknown),
        ["7:12 unknown-prerequisite -", "11:14 unknown-prerequisite in another repository"]
    );
    assert_eq!(at(Vec::new()), ["10:5 unused-waiver -"]);
}

#[test]
fn a_disagreement_about_other_documents_can_be_waived() {
    let needs = "  prerequisites:\n    # gitoggle: allow(sdk-disagreement) only Go asks for it\n    - { key: base, type: number, value: 1.0 }\n  rules:\n";
    let text = with("  rules:\n", needs);
    let document = featureprobe(&text);
    assert_eq!(found(&document), Vec::<String>::new(), "the waiver is used once all documents are known");
    let own = document.payload.unwrap().targeting();
    let all = [("base", toggle(&["1", "2"], Vec::new())), ("own", own)];
    let all = all.into_iter().map(|(key, one)| (key.to_owned(), one)).collect();
    let problems = problems_for(Sdks::ALL, &all).remove("own").unwrap();
    let diagnostics = diagnose("own.yaml", &Blob::Content(text.into()), problems, true);
    let [one] = diagnostics.as_slice() else { panic!("{diagnostics:?}") };
    assert_eq!((one.id, one.waived.as_deref()), ("sdk-disagreement", Some("only Go asks for it")));
}

#[test]
fn a_waiver_of_a_disagreement_that_waives_nothing_is_a_finding() {
    const WAIVER: &str = "# gitoggle: allow(sdk-disagreement) only Go asks for it\n";
    let needs = "  prerequisites:\n    - { key: base, type: number, value: 1.0 }\n  rules:\n";
    let text = with("  rules:\n", needs);
    let read = |text: &str| {
        let kind = ServiceKind::FeatureProbe;
        let read = File { path: "own.yaml", text, kind, sdks: Sdks::ALL, most_work: 0 }.read();
        let unused = read.diagnostics.iter().filter(|one| one.id == "unused-waiver").count();
        (unused, read.outline, read.payload.unwrap().targeting())
    };
    let at = |place: &str| text.replacen(place, &format!("{WAIVER}{place}"), 1);
    // It concerns nothing that other documents say.
    let blank = at("  prerequisites:").replace(WAIVER, &format!("{WAIVER}\n"));
    for text in [format!("{text}{WAIVER}"), at("  variations:"), at("  rules:"), blank] {
        let (unused, outline, _) = read(&text);
        assert_eq!((unused, outline.has_waiver, outline.has_open_waiver), (1, false, false), "{text}");
    }
    // Once these are known, it may concern nothing as well.
    for text in [at("  prerequisites:"), at("    - { key: base"), at("content:")] {
        let (unused, outline, own) = read(&text);
        assert_eq!((unused, outline.has_waiver, outline.has_open_waiver), (0, true, true), "{text}");
        for (value, expected) in [("1", "sdk-disagreement"), ("1.0", "unused-waiver")] {
            let base = toggle(&[value, "2"], Vec::new());
            let all = [("base", base), ("own", own.clone())].map(|(key, one)| (key.to_owned(), one));
            let problems = problems_for(Sdks::ALL, &all.into()).remove("own").unwrap_or_default();
            let found = diagnose("own.yaml", &Blob::Content(text.clone().into()), problems, true);
            let found: Vec<_> = found.iter().map(|one| (one.id, one.waived.is_some())).collect();
            assert_eq!(found, [(expected, expected == "sdk-disagreement")], "{text}");
        }
    }
}

proptest! {
    /// A circle is found exactly where a toggle reaches itself, and names only prerequisites that exist; a
    /// chain is as long as the longest path.
    #[test]
    fn circles_and_chains_are_those_of_a_search(
        edges in prop::collection::vec((0_usize..9, 0_usize..9), 0..16)
    ) {
        let key = |n: usize| format!("k{n}");
        let targets = |n: usize| -> Vec<usize> {
            let mut targets: Vec<usize> = edges.iter().filter(|(from, _)| *from == n).map(|(_, to)| *to).collect();
            targets.dedup();
            targets
        };
        let all: BTreeMap<String, Targeting> = (0..9)
            .map(|n| {
                let needed = targets(n).into_iter().map(|to| needs(&key(to), ReturnType::Boolean, "true"));
                (key(n), toggle(&["false", "true"], needed.collect()))
            })
            .collect();
        let reaches = |from: usize, to: usize| {
            let (mut seen, mut open) = (vec![false; 9], vec![from]);
            while let Some(next) = open.pop() {
                if next == to { return true; }
                if !std::mem::replace(&mut seen[next], true) { open.extend(targets(next)); }
            }
            false
        };
        for (n, problems) in problems(&all).into_values().enumerate() {
            let circles = targets(n).into_iter().filter(|to| reaches(*to, n)).count();
            prop_assert_eq!(problems.len(), circles, "{:?}", messages(&problems));
            for message in messages(&problems) {
                let Some((_, path)) = message.split_once(": ") else { continue };
                let names: Vec<usize> =
                    path.split(" → ").map(|name| name.trim_matches(['`', 'k']).parse().unwrap()).collect();
                prop_assert_eq!((names[0], names[names.len() - 1]), (n, n));
                prop_assert!(names.windows(2).all(|step| targets(step[0]).contains(&step[1])));
            }
        }
    }
}

/// A repository in which every unknown key is similar to this one.
struct Similar(&'static str);

impl Others for Similar {
    type Error = Infallible;

    fn similar(&mut self, _: &str) -> Result<Option<Option<String>>, Infallible> {
        Ok(Some(Some(self.0.to_owned())))
    }

    fn types(&mut self, _: &str) -> Result<Vec<ReturnType>, Infallible> {
        Ok(Vec::new())
    }

    fn was_removed(&self, _: &str) -> bool {
        false
    }

    fn is_waived_text(&self, _: &str) -> bool {
        false
    }
}

#[test]
fn a_suggested_prerequisite_is_another_toggle_that_makes_no_circle() {
    type Edges = &'static [(&'static str, &'static [&'static str])];
    let cases: [(Edges, &str, &'static str, bool); 5] = [
        (&[("checkout", &["chekout"])], "checkout", "checkout", false),
        (&[("accounts", &["banner"]), ("banner", &["acounts"])], "banner", "accounts", false),
        (&[("a", &["b"]), ("b", &["c"]), ("c", &["aa"])], "c", "a", false),
        (&[("accounts", &[]), ("checkout", &["accounts", "acounts"])], "checkout", "accounts", false),
        (&[("accounts", &[]), ("checkout", &["acounts"])], "checkout", "accounts", true),
    ];
    for (edges, from, similar, is_suggested) in cases {
        let all = graph(edges);
        let mut graph = References::new(ServiceKind::FeatureProbe, "node".parse().unwrap());
        let nodes: Vec<usize> = all.keys().map(|key| graph.node(key).0).collect();
        for ((_, targeting), node) in all.iter().zip(&nodes) {
            let keys = graph.fill(*node, &Payload::new(targeting));
            let targets = keys.iter().map(|key| all.contains_key(key).then(|| graph.node(key).0)).collect();
            graph.connect(*node, targets);
        }
        let node = graph.node(from).0;
        let found = graph.problems(&[node], &mut Similar(similar)).unwrap_or_else(|never| match never {});
        let unknown = found[0].iter().find(|one| one.label() == "warning unknown-prerequisite").unwrap();
        let help = unknown.help();
        assert_eq!(help == format!("did you mean `{similar}`?"), is_suggested, "{edges:?}: {help}");
        // What happens is that of the SDKs of the team.
        let is_of_team = help.contains("Node: `defaultServe` is served") && !help.contains("disabledServe");
        assert!(is_suggested || is_of_team, "{help}");
    }
}

/// As other tools call them: the help is a prerequisite in full, or the name of the key.
#[test]
fn prerequisites_under_another_name_have_a_way_to_those_of_a_document() {
    for (name, value) in [
        ("requires", "[base]"),
        ("dependsOn", "base"),
        ("depends_on", "[base]"),
        ("dependencies", "{ base: true }"),
        ("prerequisite", "[{ key: base, type: boolean, value: \"true\" }]"),
    ] {
        let help = |name: &str, value: &str| {
            let found = featureprobe(&format!("{GOOD}  {name}: {value}\n")).diagnostics;
            found.into_iter().map(|one| one.help.unwrap()).collect::<Vec<_>>()
        };
        let [first] = &help(name, value)[..] else { panic!("{name}") };
        let written = match first.strip_prefix("write a list: `prerequisites: ") {
            Some(rest) => {
                let (written, otherwise) = rest.split_once("` instead").unwrap();
                let is_certain = value.contains("true");
                let of_others = ", or the type and the value of `base`, if it has no booleans";
                assert_eq!(otherwise, if is_certain { "" } else { of_others });
                written
            }
            None => {
                assert_eq!(*first, format!("write `prerequisites` instead of `{name}`"));
                value
            }
        };
        assert!(
            written.contains("key: \"base\", type: boolean, value: \"true\"") || written == value,
            "{first}"
        );
        assert!(help("prerequisites", written).is_empty(), "{name}");
    }
}

/// A prerequisite has one value, and JSON is never a list.
#[test]
fn a_list_in_place_of_the_value_of_a_prerequisite_is_one_value() {
    let several = "write the one value that the other toggle must serve; if several are right, let a boolean toggle stand for them";
    for (value, kind, help) in [
        ("[blue, red]", "string", several),
        ("[]", "string", several),
        ("[1, 2]", "number", several),
        ("[blue]", "string", "write `value: \"blue\"`"),
        ("[true]", "boolean", "write `value: \"true\"`"),
    ] {
        let text = |value: &str| format!("{GOOD}  prerequisites: [{{ key: a, type: {kind}, {value} }}]\n");
        let found = featureprobe(&text(&format!("value: {value}"))).diagnostics;
        let helps: Vec<_> = found.iter().map(|one| one.help.as_deref().unwrap()).collect();
        assert_eq!(helps, [help], "{value}");
        if let Some(written) = help.split('`').nth(1) {
            assert!(featureprobe(&text(written)).payload.is_some(), "{written}");
        }
    }
}
