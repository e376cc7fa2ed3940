//! The toggles: a search, and one page of what it found.

use maud::{Markup, html};

use super::{List, View, address, name, state, word};
use crate::admin::web::{prose, safe, time};
use crate::daemon::{ToggleState, ToggleStatus};
use crate::model::{counted, cut};

/// The toggles of one page.
const PAGE: usize = 30;
/// The most characters of a reason in the table; the page of the toggle has all of it.
const MOST_CHARS: usize = 100;

pub(super) fn render(view: &View<'_>) -> Markup {
    let selection = view.query.selection();
    let found = selection.of(view.status).count();
    let page = view.query.page_of(List::Toggles, found, PAGE);
    let entries = page.entries();
    let shown: Vec<_> = selection.of(view.status).skip(entries.start).take(entries.len()).collect();
    let count = if selection.is_everything() {
        counted(found, "toggle")
    } else {
        format!("{found} of {}", counted(view.status.toggles.len(), "toggle"))
    };
    html! {
        section #toggles aria-labelledby="toggles-title" {
            header {
                h2 #toggles-title { "Toggles" }
                p #toggle-count { (count) }
                @if !selection.is_everything() { a.end href="?#toggles" { "Show all" } }
            }
            div.card {
                (search(view))
                div #toggle-list {
                    @if shown.is_empty() {
                        p.empty { @if selection.is_everything() { "No toggle is known yet." } @else { "No toggle matches." } }
                    } @else {
                        (table(view, &shown))
                        (view.pager(page))
                    }
                }
            }
        }
    }
}

fn search(view: &View<'_>) -> Markup {
    let query = view.query;
    html! {
        form.toolbar #filter method="get" action="./" role="search" data-filter="toggle-count" {
            label {
                span.visually-hidden { "Search toggles" }
                input #search type="search" name="q" value=(safe(&query.q)) placeholder="Search, such as shop/ payment"
                    autocomplete="off" spellcheck="false";
            }
            label.short {
                span.visually-hidden { "State" }
                select #state name="state" {
                    option value="" { "All states" }
                    @for state in ToggleState::ALL {
                        option value=(state.as_str()) selected[state.as_str() == query.state] { (word(state)) }
                    }
                }
            }
            @if !query.environment.is_empty() {
                label.short {
                    span.visually-hidden { "Environment" }
                    select #environment name="environment" {
                        option value="" { "All environments" }
                        option value=(safe(&query.environment)) selected { (safe(&query.environment)) }
                    }
                }
            }
            button type="submit" { "Search" }
        }
    }
}

fn table(view: &View<'_>, toggles: &[&ToggleStatus]) -> Markup {
    html! {
        table.stacks {
            caption.visually-hidden { "Toggles with their state, reason, applied revision and document" }
            thead { tr {
                th scope="col" { "Toggle" }
                th scope="col" { "State" }
                th scope="col" { "Reason" }
                th scope="col" { "Applied" }
                th scope="col" { "Document" }
            } }
            tbody { @for toggle in toggles { (row(view, toggle)) } }
        }
    }
}

fn row(view: &View<'_>, toggle: &ToggleStatus) -> Markup {
    let id = toggle.toggle.as_str();
    let path = view.admin.paths.applied(toggle);
    let links = view.admin.links.as_ref().zip(toggle.revision);
    html! {
        tr data-toggle=(id) {
            th scope="row" { a href=(address(&[("toggle", id)])) { (name(id)) } }
            td { (state(toggle.state())) }
            td { @if let Some(reason) = &toggle.reason() { (prose(&cut(reason, MOST_CHARS))) } }
            td { (applied(view, toggle)) }
            td { @if let (Some(path), Some((links, revision))) = (&path, links) {
                a href=(links.file(revision, path, 0)) rel="noreferrer" { "File" span.visually-hidden { " of " (id) } }
            } }
        }
    }
}

/// Renders the applied revision and the time at which it was recorded.
pub(super) fn applied(view: &View<'_>, toggle: &ToggleStatus) -> Markup {
    html! {
        @if let Some(revision) = toggle.revision { (view.commit(revision)) }
        @if let Some(at) = toggle.applied_at { " " span.dim { (time(at, view.now)) } }
    }
}
