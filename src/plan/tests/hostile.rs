//! Nothing that an author writes acts as markup, a command or a terminal sequence in any form of a plan.

use std::collections::BTreeSet;

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::*;
use crate::model::{Color, Condition, Forge, Rule, escaped};
use crate::report::{ANY_COMMENT, Links, PlanView};

/// Parts that mean something to a forge, a CI system or a terminal.
const PARTS: &[&str] = &[
    "`",
    "``",
    "```",
    "```diff",
    "\n",
    "\r\n",
    "\t",
    "|",
    "| a |\n|---|\n",
    "<b>",
    "</details>",
    "<details>",
    "<!-- gitoggle -->",
    "<!--",
    "-->",
    "<script>",
    "<img src=x>",
    "<https://evil.example>",
    "::error::x",
    "::error file=a,line=1::x",
    "%0A::error::",
    "##[error]",
    "##vso[task.complete]",
    "###[group]",
    "##teamcity[x]",
    "@admin",
    "#123",
    "org/repo#1",
    "GH-1",
    "!1",
    "[x](https://evil.example)",
    "![x](y)",
    "[x]: y",
    "https://evil.example",
    "www.evil.example",
    "me@evil.example",
    ":smile:",
    "*",
    "**",
    "_",
    "~~",
    "\\",
    "# head",
    "> quote",
    "* item",
    "1. item",
    "- ",
    "+ ",
    "---",
    "===",
    "    code",
    "&lt;",
    "&#64;",
    "\u{1b}[31m",
    "\u{9b}2J",
    "\u{202e}",
    "\u{200b}",
    "\u{2028}",
    "\u{0}",
    "\u{feff}",
    "a",
    " ",
    "  ",
    "word",
    "deadbeefdeadbeef",
    "é",
    "日本",
    "🙂",
    ",",
    ":",
    "%",
    "]]>",
    "\"",
    "'",
    "&",
    "<",
];

/// A plan whose texts are all `text`.
fn plan_of(text: &str) -> Plan {
    let mut world = World::of(10, 2, 1)
        .message(text)
        .knows("q/e/gone", Known::Document(doc(2)))
        .want("q/e/refused", Want::Document(doc(4)))
        .knows("q/e/refused", Known::Document(doc(2)));
    let refused = HeldRequest::new(
        RequestDigest::new(Action::Update, &doc(4).payload()),
        Hold::new(HoldKind::Refused, text),
    );
    world.parked.insert(id("q/e/refused").folded(), refused);
    world.environment_holds.insert("z/z".parse().unwrap(), Arc::new(hold::environment(text)));
    world.findings = broken(&format!("p/e/{text}.yaml"));
    world.findings[0].message = escaped(text).to_string();
    world.findings[0].help = Some(escaped(text).to_string());
    let mut plan = world.plan(&all_at_once());
    text.clone_into(&mut plan.source.repo);
    text.clone_into(&mut plan.source.reference);
    plan.base_url = Some(text.to_owned());
    for change in &mut plan.changes {
        let mut targeting = change.version.payload.targeting();
        targeting.content.variations[0].name = text.to_owned();
        targeting.content.variations[0].value = text.to_owned();
        targeting.content.rules.push(Rule {
            conditions: vec![Condition {
                kind: text.to_owned(),
                subject: text.to_owned(),
                predicate: text.to_owned(),
                objects: vec![text.to_owned()],
                between: None,
            }],
            name: text.to_owned(),
            serve: Serve::Select(0),
        });
        change.version.payload = Payload::new(&targeting);
        change.version.path = format!("p/e/{text}.yaml").into();
    }
    plan
}

fn text_of_parts() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(PARTS), 1..8).prop_map(|parts| parts.concat())
}

/// What a page consists of for a renderer of GitHub's Markdown.
#[derive(Debug, Default, PartialEq)]
struct Structure {
    headings: usize,
    items: usize,
    blocks: usize,
    quotes: usize,
    html: Vec<String>,
    links: BTreeSet<String>,
    other: Vec<String>,
}

fn structure(page: &str) -> Structure {
    let mut found = Structure::default();
    for event in Parser::new_ext(page, Options::all()) {
        match event {
            Event::Start(Tag::Heading { .. }) => found.headings += 1,
            Event::Start(Tag::Item) => found.items += 1,
            Event::Start(Tag::CodeBlock(_)) => found.blocks += 1,
            Event::Start(Tag::BlockQuote(_)) => found.quotes += 1,
            Event::Start(Tag::Link { dest_url, .. }) => drop(found.links.insert(dest_url.to_string())),
            Event::Html(html) => found.html.push(html.to_string()),
            Event::Start(Tag::Paragraph | Tag::List(_) | Tag::Strong | Tag::Emphasis | Tag::HtmlBlock)
            | Event::End(_)
            | Event::Code(_)
            | Event::SoftBreak => {}
            Event::Text(text) => found.other.extend(suspicious(&text)),
            other => found.other.push(format!("{other:?}")),
        }
    }
    found
}

/// Returns text outside of code that a forge would change into a link, a mention or a picture.
fn suspicious(text: &str) -> Option<String> {
    let marks = ["@", "#", "://", "www.", ":smile:", "evil", "!1", "GH-", "deadbeef"];
    marks.iter().any(|mark| text.contains(mark)).then(|| text.to_owned())
}

/// Returns the page without its blocks of code, whose content has no meaning.
fn without_blocks(page: &str) -> String {
    let mut out = Vec::new();
    let mut fence: Option<&str> = None;
    for line in page.lines() {
        match fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if line.starts_with("```") && line.ends_with("diff") => fence = line.strip_suffix("diff"),
            None => out.push(line),
        }
    }
    out.join("\n")
}

fn assert_harmless(form: &str, text: &str) {
    let commands = ["##[", "##vso[", "##teamcity["];
    assert!(commands.iter().all(|mark| !text.contains(mark)), "{form}: {text}");
    let hidden = |c: char| crate::model::is_harmful(c) && c != '\n';
    assert!(!text.contains(hidden), "{form}: {text:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn hostile_text_does_not_change_the_structure_of_a_page(text in text_of_parts()) {
        let (plan, plain) = (plan_of(&text), plan_of("word"));
        let links = Links::new(Forge::GitHub, "https://github.com", "team/toggles");
        for links in [None, links.as_ref()] {
            let page = render::markdown(PlanView { links, ..PlanView::of(&plan) }, ANY_COMMENT);
            assert_harmless("markdown", &page);
            let found = structure(&page);
            let expected = structure(&render::markdown(PlanView { links, ..PlanView::of(&plain) }, ANY_COMMENT));
            prop_assert_eq!(
                (found.headings, found.items, found.blocks, found.quotes, &found.html),
                (expected.headings, expected.items, expected.blocks, expected.quotes, &expected.html),
                "{}", page
            );
            let visible = structure(&without_blocks(&page));
            prop_assert!(visible.other.is_empty(), "{:?}\n{}", visible.other, page);
            prop_assert!(found.links.iter().all(|link| link.starts_with("https://github.com/team/toggles/")), "{:?}", found.links);
            prop_assert!(links.is_some() || found.links.is_empty());
        }
    }

    #[test]
    fn hostile_text_begins_no_line_of_the_text_and_forges_no_annotation(text in text_of_parts()) {
        let plan = plan_of(&text);
        for (form, out) in [
            ("text", render::text(&plan, Color::Never)),
            ("rest", render::rest(&plan, Color::Never)),
            ("markdown", render::markdown(PlanView::of(&plan), ANY_COMMENT)),
        ] {
            assert_harmless(form, &out);
            prop_assert!(!out.lines().any(|line| line.trim_start().starts_with("::")), "{}: {}", form, out);
        }
        let annotations = render::github(&plan, &[], "");
        assert_harmless("github", &annotations);
        prop_assert_eq!(annotations.lines().count(), plan.findings().len());
        for line in annotations.lines() {
            let (properties, _) = line.strip_prefix("::error ").unwrap().split_once("::").unwrap();
            let names: Vec<&str> = properties.split(',').map(|one| one.split_once('=').unwrap().0).collect();
            let expected: &[&str] = if names.len() == 2 { &["file", "title"] } else { &["file", "line", "col", "title"] };
            prop_assert_eq!(names, expected, "{}", line);
        }
    }
}
