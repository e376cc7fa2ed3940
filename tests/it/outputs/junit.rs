//! JUnit XML, against the elements and attributes that Jenkins accepts.

use super::reports::{assert_harmless, hostile, validate};
use super::schema::of_every_kind;
use crate::support::{Answer, World, doc};

/// An element of the schema `junit-10.xsd` of Jenkins' xUnit plugin, as far as reports use it.
struct Element {
    name: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
    children: &'static [&'static str],
}

const ELEMENTS: [Element; 6] = [
    Element {
        name: "testsuites",
        required: &[],
        optional: &["name", "time", "tests", "failures", "errors"],
        children: &["testsuite"],
    },
    Element {
        name: "testsuite",
        required: &["name", "tests", "failures", "errors"],
        optional: &[
            "group",
            "time",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
            "file",
            "log",
            "url",
        ],
        children: &["testsuite", "properties", "testcase", "system-out", "system-err"],
    },
    Element {
        name: "testcase",
        required: &["name"],
        optional: &["time", "classname", "group"],
        children: &["skipped", "error", "failure", "system-out", "system-err"],
    },
    problem("skipped"),
    problem("error"),
    problem("failure"),
];

const fn problem(name: &'static str) -> Element {
    Element { name, required: &[], optional: &["type", "message"], children: &[] }
}

/// Asserts that an element and everything in it has what the schema requires, and nothing else.
#[track_caller]
fn assert_element(node: roxmltree::Node<'_, '_>) {
    let name = node.tag_name().name();
    let element = ELEMENTS.iter().find(|element| element.name == name);
    let element = element.unwrap_or_else(|| panic!("<{name}> is not in the schema"));
    for required in element.required {
        assert!(node.has_attribute(*required), "<{name}> has no {required}");
    }
    for attribute in node.attributes() {
        let is_known = [element.required, element.optional].concat().contains(&attribute.name());
        assert!(is_known, "<{name}> has {}", attribute.name());
    }
    for child in node.children() {
        match child.is_element() {
            true => {
                assert!(element.children.contains(&child.tag_name().name()), "<{name}> has {child:?}");
                assert_element(child);
            }
            // Only a problem has text.
            false => {
                let text = child.text().unwrap_or_default();
                assert!(element.children.is_empty() || text.trim().is_empty(), "<{name}> has {text:?}");
            }
        }
    }
}

/// Returns each test of a report: its name and the tag of its problem.
pub(super) fn cases(xml: &str) -> Vec<(String, Option<String>)> {
    let document = roxmltree::Document::parse(xml).unwrap();
    let root = document.root_element();
    assert_element(root);
    assert_eq!(root.tag_name().name(), "testsuites");
    let mut all = Vec::new();
    for suite in root.children().filter(roxmltree::Node::is_element) {
        assert_eq!(suite.tag_name().name(), "testsuite");
        let cases: Vec<_> = suite.children().filter(roxmltree::Node::is_element).collect();
        assert_eq!(suite.attribute("tests").unwrap(), cases.len().to_string());
        let mut problems = Vec::new();
        for case in cases {
            assert_eq!(case.tag_name().name(), "testcase");
            assert!(case.attribute("classname").is_some(), "{xml}");
            let problem = case.first_element_child().map(|problem| {
                assert!(problem.attribute("message").is_some(), "{xml}");
                problem.tag_name().name().to_owned()
            });
            problems.extend(problem.clone());
            all.push((case.attribute("name").unwrap().to_owned(), problem));
        }
        for (attribute, tag) in [("failures", "failure"), ("errors", "error"), ("skipped", "skipped")] {
            let count = problems.iter().filter(|problem| *problem == tag).count();
            assert_eq!(suite.attribute(attribute).unwrap(), count.to_string(), "{xml}");
        }
    }
    all
}

#[test]
fn junit_has_one_test_per_document() {
    let world = of_every_kind();
    let cases = cases(&world.validate().set("output", "junit").exit(3).both());
    let failure = |name: &str| (name == "shop/prod/bad.yaml").then(|| "failure".to_owned());
    let expected = ["prod/bad", "prod/new", "prod/pay", "prod/same", "test/first"].map(|name| {
        let name = format!("shop/{name}.yaml");
        (name.clone(), failure(&name))
    });
    assert_eq!(cases, expected);
    let xml = validate(&hostile(), "junit").exit(3).both();
    assert_eq!(self::cases(&xml).len(), 3, "{xml}");
    assert_harmless(&xml);
}

#[test]
fn junit_of_a_plan_has_one_test_per_toggle() {
    let xml = of_every_kind().plan().set("output", "junit").exit(3).both();
    let case = |name: &str, problem: Option<&str>| (name.to_owned(), problem.map(str::to_owned));
    assert_eq!(
        cases(&xml),
        [
            case("new (create)", None),
            case("pay (update)", None),
            case("first (held)", Some("skipped")),
            case("shop/prod/bad.yaml", Some("failure")),
        ]
    );
}

#[test]
fn junit_of_an_apply_has_the_result_of_each_change() {
    let world = World::with_pay_applied();
    for name in ["cart", "pay", "zone"] {
        world.repo.file(&format!("shop/prod/{name}.yaml"), doc(21));
    }
    world
        .repo
        .file("shop/new/first.yaml", doc(18))
        .file("shop/prod/bad.yaml", "nonsense\n")
        .commit(super::reports::HOSTILE);
    let refusal = || Answer::json(400, "{\"message\":\"::error::no ##[x] ]]>\"}");
    world.service.answers([Answer::status(200), refusal(), Answer::status(200), refusal()]);
    let printed = world.apply().set("output", "junit").exit(1).both();
    let (xml, _) = printed.split_once("</testsuites>\n").unwrap();
    let xml = format!("{xml}</testsuites>\n");
    let case = |name: &str, problem: Option<&str>| (name.to_owned(), problem.map(str::to_owned));
    assert_eq!(
        cases(&xml),
        [
            case("first (held)", Some("failure")),
            case("cart (create)", None),
            case("pay (update)", Some("failure")),
            case("zone (create)", None),
            case("shop/prod/bad.yaml", Some("failure")),
        ]
    );
    assert_harmless(&printed);
}

/// A warning about another document or the SDKs is in every form, and fails no build.
#[test]
fn junit_has_a_skipped_test_per_warning_about_others() {
    let world = World::new();
    let needs = |key: &str| {
        format!("{}  prerequisites: [{{ key: {key}, type: boolean, value: \"true\" }}]\n", doc(18))
    };
    world.repo.file("shop/prod/pay.yaml", needs("nobody")).file("shop/prod/search.yaml", needs("nowhere"));
    world.repo.commit("Need what is not there");
    for verb in ["validate", "plan"] {
        let run = if verb == "plan" { world.plan().set("first-pass", "assert") } else { world.validate() };
        let run = run.set("service-kind", "featureprobe").set("output", "junit").start_piped();
        let printed = run.wait_with_output().unwrap();
        assert_eq!(printed.status.code(), Some(0), "{verb}");
        let found = cases(&String::from_utf8(printed.stdout).unwrap());
        let warnings: Vec<_> = found.into_iter().filter(|(name, _)| name.contains("unknown-")).collect();
        let warning = |name: &str| {
            (format!("shop/prod/{name}.yaml:13:26 unknown-prerequisite"), Some("skipped".to_owned()))
        };
        assert_eq!(warnings, [warning("pay"), warning("search")], "{verb}");
    }
}
