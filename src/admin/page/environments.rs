//! The environments: counts by state, grouped reasons, and the toggles on demand.

use maud::{Markup, html};

use super::{List, View, address, counted_state};
use crate::admin::web::safe;
use crate::daemon::{EnvironmentStatus, StateCounts, ToggleState};
use crate::model::counted;

/// The environments of one page.
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
                        span.state.(super::class(state)) data-state=(state.as_str()) { (count) " " (super::word(state)) }
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

/// Renders the shares of the states as a bar. The numbers next to it have the same content, so screen readers skip it.
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
            @for (state, x, width) in &bars { rect.(super::class(*state)) x=(x) width=(width) height="8" {} }
        }
    }
}
