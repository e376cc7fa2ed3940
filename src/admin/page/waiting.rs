//! What is waiting: the plan for what is withheld, grouped as in the log and in `/readyz`.

use std::cell::Cell;

use maud::{Markup, html};

use super::{List, View, address, class, remedies, toggle, word};
use crate::admin::web::{prose, safe};
use crate::daemon::{Status, ToggleStatus, WithheldGroup};
use crate::model::cut;

/// The groups of one page, and the toggles of one group.
const PAGE: usize = 8;
const MOST_TOGGLES: usize = 8;
/// The bytes of markup for changes on one page. Changes beyond it are links to the page of their toggle.
const MOST_BYTES: usize = 24 * 1024;
/// The most characters of a reason, and of a line that hints at a change.
const MOST_CHARS: usize = 1_200;
const MOST_HINT: usize = 200;

/// Returns the number of withheld toggles.
pub(super) fn count(status: &Status) -> usize {
    status.withheld.groups().iter().map(|group| group.count).sum()
}

pub(super) fn render(view: &View<'_>) -> Markup {
    let wanted = view.query.environment.as_str();
    let groups = view.status.withheld.groups().iter();
    let groups: Vec<_> =
        groups.filter(|group| wanted.is_empty() || group.environment.to_string() == wanted).collect();
    let page = view.query.page_of(List::Waiting, groups.len(), PAGE);
    let shown = &groups[page.entries()];
    let budget = Cell::new(MOST_BYTES);
    html! {
        section #waiting aria-labelledby="waiting-title" {
            header {
                h2 #waiting-title { "What is waiting" }
                @if !groups.is_empty() { p { "Changes that the repository asks for and that no pass makes by itself." } }
            }
            @if shown.is_empty() {
                div.card { p.empty {
                    "Nothing is waiting"
                    @if !wanted.is_empty() { " in " code { (safe(wanted)) } }
                    "."
                } }
            } @else {
                div #waiting-list {
                    @for group in shown { (render_group(view, group, &budget)) }
                    (view.pager(page))
                }
            }
        }
    }
}

fn render_group(view: &View<'_>, group: &WithheldGroup, budget: &Cell<usize>) -> Markup {
    let members = members(view.status, group);
    let first = members.first().copied();
    let reason = first.and_then(|first| first.reason());
    let common = reason.filter(|reason| members.iter().all(|one| one.reason() == Some(reason)));
    let environment = group.environment.to_string();
    let more = members.len().saturating_sub(MOST_TOGGLES);
    let rest = address(&[("environment", &environment), ("state", group.state.as_str())]) + "#toggles";
    html! {
        article.card.group id=(format!("waiting:{}:{environment}:{}", group.state.as_str(), group.reason.as_str()))
            data-environment=(environment) data-state=(group.state.as_str()) data-reason=(group.reason.as_str()) {
            header {
                h3.id { (environment) }
                span.state.(class(group.state)) { (group.count) " " (word(group.state)) }
                span.kind { (group.reason) }
            }
            @if let Some(reason) = common { p.reason { (prose(&cut(reason, MOST_CHARS))) } }
            @if let Some(first) = first { (remedies::render(view, first)) }
            ul.rows { @for toggle in members.iter().take(MOST_TOGGLES) { (row(view, toggle, common.is_some(), budget)) } }
            @if more > 0 { p.note { a href=(rest) { "and " (more) " more" } } }
        }
    }
}

fn members<'a>(status: &'a Status, group: &WithheldGroup) -> Vec<&'a ToggleStatus> {
    let toggles = status.toggles_in(&group.environment).iter();
    toggles.filter(|toggle| toggle.state() == group.state && toggle.kind() == Some(group.reason)).collect()
}

fn row(view: &View<'_>, one: &ToggleStatus, has_common_reason: bool, budget: &Cell<usize>) -> Markup {
    let id = one.toggle.as_str();
    let reason = one.reason().filter(|_| !has_common_reason);
    // A change is not even looked at after the budget is used up, because a diff of large documents takes long.
    let waiting = (budget.get() > 0).then(|| toggle::Waiting::of(view, one));
    let body = waiting.as_ref().map(|waiting| waiting.render(view, one));
    let size = body.as_ref().map_or(0, |body| body.0.len());
    budget.set(budget.get().saturating_sub(size));
    // The one that exceeds the budget is not shown either.
    let body = body.filter(|_| budget.get() > 0);
    let short = toggle_name(id);
    let hint = reason.or_else(|| waiting.as_ref()?.first_sentence());
    html! {
        li data-toggle=(id) {
            @if let Some(body) = body {
                details id=(format!("change:{id}")) {
                    summary {
                        span.id.short { b { (short) } }
                        @if let Some(hint) = hint { span.dim { (prose(&cut(hint, MOST_HINT))) } }
                    }
                    div.inside {
                        @if let Some(reason) = reason { p.reason { (prose(&cut(reason, MOST_CHARS))) } }
                        (body)
                        p { a href=(address(&[("toggle", id)])) { "All about " (id) } }
                    }
                }
            } @else {
                p.line { a.id href=(address(&[("toggle", id)])) { (short) } }
            }
        }
    }
}

/// Returns the last part of a full key, which the heading of its group completes.
fn toggle_name(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}
