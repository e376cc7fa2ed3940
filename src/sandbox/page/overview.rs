//! How to connect, and the toggles with their newest versions.

use std::cmp::Reverse;

use maud::{Markup, html};
use serde_json::Value;

use super::{OverviewQuery, PageBody, PageState, ShownToggle, ShownVersion, link};
use crate::model::counted;
use crate::web::{NavLink, command, safe, time};

/// How many toggles the page shows.
const MOST_TOGGLES: usize = 100;

/// How many versions of a toggle the page shows.
const MOST_VERSIONS: usize = 5;

const LINKS: &[NavLink<'static>] = &[link("connect", "Connect"), link("toggles", "Toggles")];

/// Returns the page at `now` in seconds.
pub(super) fn body(state: &PageState, query: &OverviewQuery, now: i64) -> PageBody {
    let main = html! {
        div {
            h1 { "A local toggle service" }
            p.dim { (state.connection.kind_in_words()) }
        }
        section #connect {
            header { h2 { "Connect" } }
            div.card.steps {
                @for step in state.connection.steps() {
                    h3 { (step.purpose) }
                    (command(&step.lines.join("\n")))
                }
            }
        }
        (toggles(state, &query.q, now))
    };
    PageBody {
        title: "gitoggle sandbox".to_owned(),
        links: LINKS,
        main,
    }
}

fn toggles(state: &PageState, filter: &str, now: i64) -> Markup {
    let all = state.source.toggles();
    let total = all.len();
    let mut wanted: Vec<ShownToggle> = all
        .into_iter()
        .filter(|toggle| toggle.id.contains(filter))
        .collect();
    wanted.sort_by(|a, b| (Reverse(a.changed), &a.id).cmp(&(Reverse(b.changed), &b.id)));
    let found = wanted.len();
    wanted.truncate(MOST_TOGGLES);
    let all = counted(total, "toggle");
    let count = match filter {
        "" => all,
        _ => format!("{found} of {all}"),
    };
    html! {
        section #toggles {
            header {
                h2 { "Toggles" }
                p #count { (count) }
            }
            @if total == 0 {
                div.card { p.empty { "Nothing is here yet. A toggle appears as soon as it is published." } }
            } @else {
                (filter_form(filter))
            }
            @for toggle in &wanted { (card(toggle, &state.source.versions(&toggle.id, MOST_VERSIONS + 1), now)) }
            @if found > MOST_TOGGLES {
                p.note { "The " (MOST_TOGGLES) " most recently changed toggles are shown. Filter to see others." }
            }
        }
    }
}

fn filter_form(filter: &str) -> Markup {
    const HINT: &str = "Filter by project, environment or toggle";
    html! {
        form.card.toolbar data-filter="count" {
            label {
                span.visually-hidden { (HINT) }
                input #filter type="search" name="q" value=(safe(filter)) placeholder=(HINT) maxlength="400";
            }
            button { "Filter" }
        }
    }
}

/// Renders a toggle. `versions` has one more than is shown, if there is one.
fn card(toggle: &ShownToggle, versions: &[ShownVersion], now: i64) -> Markup {
    let Some(newest) = versions.last() else {
        return html! {};
    };
    let (class, state) = match newest.disabled {
        true => ("state calm", "disabled"),
        false => ("state good", "enabled"),
    };
    html! {
        article.card.stored id=(format!("toggle-{}", encoded(&toggle.id))) {
            header {
                h3.id { (safe(&toggle.id)) }
                span class=(class) { (state) }
                p.dim { (summary(&newest.content)) }
            }
            ul.rows { @for (position, version) in versions.iter().enumerate().rev().take(MOST_VERSIONS) {
                li id=(format!("version-{}-{}", encoded(&toggle.id), version.number)) {
                    (entry(&toggle.id, version, position.checked_sub(1).map(|before| &versions[before]), now))
                }
            } }
            @if toggle.version_count > MOST_VERSIONS {
                p.pager { a href=(address(&toggle.id, "")) { "Compare all " (toggle.version_count) " versions" } }
            }
        }
    }
}

/// Renders a version, whose changes are loaded when it opens.
fn entry(toggle: &str, version: &ShownVersion, before: Option<&ShownVersion>, now: i64) -> Markup {
    let address = address(toggle, &format!("&to={}", version.number));
    let link = match before {
        Some(before) => format!(
            "Compare version {} with version {}",
            version.number, before.number
        ),
        None => format!("Show version {}", version.number),
    };
    html! {
        details {
            summary {
                span.mono { "v" (version.number) }
                span.subject { (safe(version.subject())) }
                span.end.dim {
                    @if let Some(author) = &version.author { (safe(author)) " " }
                    (time(version.at.as_second(), now))
                }
            }
            div.inside { div data-part="version" { a href=(address) { (link) } } }
        }
    }
}

/// Returns the address of the page that compares versions of a toggle.
fn address(toggle: &str, rest: &str) -> String {
    format!("versions?toggle={}{rest}", encoded(toggle))
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Describes what a targeting serves, in one line. The content of a service of kind `featureprobe` may have any form.
pub(super) fn summary(content: &Value) -> Markup {
    let length = |name: &str| content[name].as_array().map_or(0, Vec::len);
    let code = |index: u64| {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let name = content["variations"][index]["name"].as_str();
        html! { code { (safe(name.unwrap_or("?"))) } }
    };
    let name = |serve: &Value| match (&serve["select"], &serve["split"]) {
        (Value::Number(index), _) => code(index.as_u64().unwrap_or(u64::MAX)),
        (_, Value::Array(parts)) => html! {
            @for index in 0..parts.len() { @if index > 0 { "/" } (code(index as u64)) }
        },
        _ => html! { "nothing" },
    };
    html! {
        (counted(length("variations"), "variation")) ", " (counted(length("rules"), "rule")) "; serves "
        (name(&content["defaultServe"])) " by default and " (name(&content["disabledServe"])) " when disabled"
    }
}
