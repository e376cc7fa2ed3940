//! The environments: counts by state, what is waiting in them by reason, and the toggles on demand.

use std::cell::Cell;

use maud::{Markup, html};

use super::{List, View, address, class, counted_state, toggles, word};
use crate::admin::web::{prose, safe, time};
use crate::daemon::{EnvironmentStatus, StateCounts, Status, ToggleState, ToggleStatus, WithheldGroup};
use crate::model::{counted, cut};

const PAGE: usize = 20;

pub(super) fn render(view: &View<'_>) -> Markup {
    let mut all: Vec<_> = selected(view);
    // The environments that need attention come first, by name among equals.
    all.sort_by_key(|environment| rank(&environment.counts));
    let page = view.query.page_of(List::Environments, all.len(), PAGE);
    let shown = &all[page.entries()];
    html! {
        section #environments aria-labelledby="environments-title" {
            header { h2 #environments-title { "Environments" } }
            @if shown.is_empty() {
                div.card { p.empty {
                    @match view.query.environment.as_str() {
                        "" if view.status.toggles_at.is_none() => "Not known yet: no pass since the start has read the toggles.",
                        "" => "No environment has a toggle yet.",
                        wanted => { "No environment " code { (safe(wanted)) } " has a toggle. " a href="./" { "Show all" } },
                    }
                } }
            } @else {
                div.card {
                    ul.rows #environment-list { @for environment in shown { (row(view, environment)) } }
                    (view.pager(page))
                }
            }
        }
    }
}

fn selected<'a>(view: &View<'a>) -> Vec<&'a EnvironmentStatus> {
    let wanted = view.query.environment.as_str();
    let is_selected = |one: &&EnvironmentStatus| wanted.is_empty() || one.environment.to_string() == wanted;
    let overview = &view.status.overview;
    overview.environments().iter().filter(is_selected).collect()
}

/// Returns the place of the worst state of which there is a toggle.
fn rank(counts: &StateCounts) -> usize {
    let worst = counts.present().next();
    worst.map_or(usize::MAX, |(state, _)| state as usize)
}

fn row(view: &View<'_>, row: &EnvironmentStatus) -> Markup {
    let name = row.environment.to_string();
    let total = row.counts.total();
    let toggles = address(&[("environment", &name)]) + "#toggles";
    let groups = view.status.withheld.groups().iter();
    let groups = groups.filter(|group| group.environment == row.environment);
    html! {
        li id=(format!("environment:{name}")) data-environment=(name) {
            details {
                summary {
                    span.id { (name) }
                    span.states { @for (state, count) in row.counts.present() {
                        span.state.(class(state)) data-state=(state.as_str()) { (count) " " (word(state)) }
                    } }
                    span.end.dim { (counted(total, "toggle")) }
                }
                div.inside {
                    ul.reasons { @for group in groups { li {
                        (counted_state(group.state, group.count, &name)) " " (group.reason)
                    } } }
                    div data-part="toggle-list" { a href=(toggles) { "Show its " (counted(total, "toggle")) } }
                }
            }
        }
    }
}

/// Renders the shares of the states as a bar. The numbers next to it have the same content, so screen readers
/// skip it.
pub(super) fn shares(counts: &StateCounts) -> Markup {
    const WIDTH: usize = 1000;
    let total = counts.total().max(1);
    // At least a visible stripe for each state, which the largest share makes room for.
    let width = |count: usize| (count * WIDTH / total).max(6);
    let in_order = ToggleState::ALL.into_iter().rev();
    let present = in_order.map(|state| (state, counts.in_state(state)));
    let mut at = 0;
    let bars: Vec<_> = present
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| {
            let bar = (state, at, width(count));
            at += width(count);
            bar
        })
        .collect();
    html! {
        svg.shares viewBox=(format!("0 0 {} 8", at.max(1))) preserveAspectRatio="none" aria-hidden="true" focusable="false" {
            @for (state, x, width) in &bars { rect.(class(*state)) x=(x) width=(width) height="8" {} }
        }
    }
}

/// The groups of one page, and the toggles of one group.
const WAITING_ROWS: usize = 8;
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

pub(super) fn waiting(view: &View<'_>) -> Markup {
    let wanted = view.query.environment.as_str();
    let groups = view.status.withheld.groups().iter();
    let groups: Vec<_> =
        groups.filter(|group| wanted.is_empty() || group.environment.to_string() == wanted).collect();
    let page = view.query.page_of(List::Waiting, groups.len(), WAITING_ROWS);
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
                    (calm(view))
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

/// Renders what the page says without a withheld toggle.
fn calm(view: &View<'_>) -> Markup {
    let pending = view.status.overview.counts().in_state(ToggleState::Pending);
    html! {
        @if pending == 0 { "Nothing is waiting" } @else { "Nothing waits for a decision" }
        @if let Some(at) = view.as_of() { ", as of " (time(at, view.now)) }
        @if pending > 0 { "; not confirmed yet: " (counted(pending, "toggle")) }
    }
}

fn render_group(view: &View<'_>, group: &WithheldGroup, budget: &Cell<usize>) -> Markup {
    let members = members(view.status, group);
    let first = members.first().copied();
    let common = first.filter(|first| members.iter().all(|one| one.hold == first.hold));
    let common = common.and_then(ToggleStatus::reason);
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
            @if let Some(reason) = &common { p.reason { (prose(&cut(reason, MOST_CHARS))) } }
            @if let Some(first) = first { (toggles::ways_out(view, first)) }
            ul.rows { @for toggle in members.iter().take(MOST_TOGGLES) { (waiting_row(view, toggle, common.is_some(), budget)) } }
            @if more > 0 { p.note { a href=(rest) { "and " (more) " more" } } }
        }
    }
}

fn members<'a>(status: &'a Status, group: &WithheldGroup) -> Vec<&'a ToggleStatus> {
    let toggles = status.toggles_in(&group.environment).iter();
    toggles.filter(|toggle| toggle.state() == group.state && toggle.kind() == Some(group.reason)).collect()
}

fn waiting_row(view: &View<'_>, one: &ToggleStatus, has_common_reason: bool, budget: &Cell<usize>) -> Markup {
    let id = one.toggle.as_str();
    let reason = one.reason().filter(|_| !has_common_reason);
    // A change is not even looked at after the budget is used up, because a diff of large documents takes
    // long.
    let waiting = (budget.get() > 0).then(|| toggles::Waiting::of(view, one));
    let body = waiting.as_ref().map(|waiting| waiting.render(view, one));
    let size = body.as_ref().map_or(0, |body| body.0.len());
    budget.set(budget.get().saturating_sub(size));
    // The one that exceeds the budget is not shown either.
    let body = body.filter(|_| budget.get() > 0);
    let short = toggle_name(id);
    let first = waiting.as_ref().and_then(|waiting| waiting.first_sentence());
    let hint = reason.as_deref().or(first);
    html! {
        li data-toggle=(id) {
            @if let Some(body) = body {
                details id=(format!("change:{id}")) {
                    summary {
                        span.id.short { b { (short) } }
                        @if let Some(hint) = hint { span.dim { (prose(&cut(hint, MOST_HINT))) } }
                    }
                    div.inside {
                        @if let Some(reason) = &reason { p.reason { (prose(&cut(reason, MOST_CHARS))) } }
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
