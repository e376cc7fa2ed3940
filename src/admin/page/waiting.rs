//! What is waiting: the plan for what is withheld, grouped as in the log and in `/readyz`, and the commands that decide.

use std::cell::Cell;

use axum::http::{HeaderMap, HeaderValue, header};
use maud::{Markup, html};

use crate::admin::page::{List, View, address, class, toggle, word};
use crate::admin::web::{command, prose, safe};
use crate::daemon::{HoldKind, Status, ToggleStatus, WithheldGroup, is_first_pass_over, released_by};
use crate::model::{Override, SuspensionScope, cut};

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
            @if let Some(first) = first { (render_remedies(view, first)) }
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

/// A way out: what it does, and the command.
struct Remedy {
    effect: &'static str,
    command: String,
}

/// Returns the address of this daemon for `--url`, as the reader wrote it; none if commands find it without.
pub(super) fn url(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    let host = std::str::from_utf8(text(header::HOST.as_str())?).ok()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
    // It becomes part of a command that people copy into a shell.
    if host.is_empty() || !host.chars().all(is_plain) || host.starts_with('-') {
        return None;
    }
    match text("x-forwarded-proto") {
        Some(b"https") => Some(format!("https://{host}")),
        _ if host == "127.0.0.1:8077" => None,
        _ => Some(format!("http://{host}")),
    }
}

/// Renders the commands that release a toggle, and everything else in its environment that waits for the same.
pub(super) fn render_remedies(view: &View<'_>, toggle: &ToggleStatus) -> Markup {
    let remedies = remedies(view, toggle);
    html! {
        @if !remedies.is_empty() {
            dl.remedies { @for Remedy { effect, command: text } in &remedies {
                div { dt { (effect) } dd { (command(text)) } }
            } }
        }
    }
}

fn remedies(view: &View<'_>, toggle: &ToggleStatus) -> Vec<Remedy> {
    let url = view.url.map(|url| format!(" --url {url}")).unwrap_or_default();
    let environment = toggle.toggle.environment();
    let source = &view.status.source;
    let revision = source.refused.or(source.revision);
    let revision = revision.map(|id| format!(" --revision {}", id.short())).unwrap_or_default();
    let is_over = is_first_pass_over(view.status.toggles_in(&environment));
    let mut remedies: Vec<_> = released_by(toggle, is_over)
        .iter()
        .map(|what| Remedy {
            effect: match toggle.kind() {
                Some(HoldKind::Missing) => "Create the toggle again from its document",
                _ => effect(*what),
            },
            // Publishing over drift undoes what someone did, so it is about this toggle only.
            command: match what {
                Override::OverwriteDrift => format!("gitoggle allow {what} {}{revision}{url}", toggle.toggle),
                _ => format!("gitoggle allow {what} {environment}{revision}{url}"),
            },
        })
        .collect();
    let more = match toggle.kind() {
        Some(HoldKind::Drifted | HoldKind::DiffersFromLive) => Some(Remedy {
            effect: "Keep what the service has: write it into the document, then commit",
            command: format!("gitoggle import {} --overwrite", toggle.toggle),
        }),
        Some(HoldKind::FailedAlone | HoldKind::Refused) => {
            Some(Remedy { effect: "Try it again now", command: format!("gitoggle reconcile{url}") })
        }
        Some(HoldKind::Suspended) => Some(Remedy {
            effect: "Publish again",
            command: format!("gitoggle resume{}{url}", scope(view, toggle)),
        }),
        _ => None,
    };
    remedies.extend(more);
    remedies
}

/// Returns the words for the suspension that concerns a toggle, quoted for a shell.
fn scope(view: &View<'_>, toggle: &ToggleStatus) -> String {
    let mut scopes = view.status.suspensions.iter().map(|(scope, _)| scope);
    let scope = scopes.find(|scope| scope.contains(&toggle.toggle));
    let globs = scope.and_then(SuspensionScope::globs);
    let globs = globs.iter().flat_map(|globs| globs.split(' '));
    globs.map(|glob| format!(" '{}'", glob.replace('\'', "'\\''"))).collect()
}

fn effect(what: Override) -> &'static str {
    match what {
        Override::FirstPassAdopt => "Record the documents as applied, without publishing them",
        Override::FirstPassAssert => "Publish every document of the environment",
        Override::History => "Apply a revision that does not descend from the recorded one",
        Override::MassChange => "Publish all of it, over the limit",
        Override::OverwriteDrift => "Replace what the service has by the document",
        Override::Window => "Publish it now, outside the change windows",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_in_commands_is_the_one_that_the_reader_used() {
        for (host, forwarded, expected) in [
            (Some("127.0.0.1:8077"), None, None),
            (Some("localhost:8077"), None, Some("http://localhost:8077")),
            (Some("[::1]:80"), None, Some("http://[::1]:80")),
            (Some("toggles.example.com"), Some("https"), Some("https://toggles.example.com")),
            (Some("a;rm -rf"), None, None),
            (Some("$(id)"), None, None),
            (Some("-o"), None, None),
            (None, None, None),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(host) = host {
                headers.insert(header::HOST, HeaderValue::from_static(host));
            }
            if let Some(forwarded) = forwarded {
                headers.insert("x-forwarded-proto", HeaderValue::from_static(forwarded));
            }
            assert_eq!(url(&headers).as_deref(), expected, "{host:?}");
        }
    }
}
