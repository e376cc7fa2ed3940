//! The toggles: a search, one page of what it found, and the page of one toggle with the ways out.

use axum::http::{HeaderMap, HeaderValue, header};
use maud::{Markup, html};

use super::{List, View, address, name, state, word};
use crate::admin::web::{command, diff, prose, safe, time};
use crate::daemon::{ToggleState, ToggleStatus, is_first_pass_over, released_by};
use crate::model::{
    DEFAULT_LISTEN, SuspensionScope, ToggleId, WayOut, command_line, counted, cut, shell_word,
};
use crate::plan::{Change, DriftedToggle, Plan};
use crate::report::{Preview, findings_in};

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

/// Renders the page of the toggle with this full key.
pub(super) fn toggle(view: &View<'_>, id: &str) -> Markup {
    let toggles = &view.status.toggles;
    let known = id.parse::<ToggleId>().ok();
    let known = known.and_then(|id| toggles.binary_search_by(|one| one.toggle.cmp(&id)).ok());
    html! {
        section #toggle aria-labelledby="verdict" {
            header { a href="./" { "← Status" } }
            @match known.map(|at| &toggles[at]) {
                Some(toggle) => (found(view, toggle)),
                None => {
                    h1 #verdict { (safe(id)) }
                    div.card { p.empty { "No toggle of this name is known." } }
                }
            }
        }
    }
}

fn found(view: &View<'_>, toggle: &ToggleStatus) -> Markup {
    let id = toggle.toggle.as_str();
    let environment = toggle.toggle.environment().to_string();
    let path = change_of(view, toggle).map(|change| view.admin.paths.below_root(&change.path));
    let path = path.or_else(|| view.admin.paths.applied(toggle));
    let at = toggle.revision.or(view.status.source.revision);
    html! {
        h1 #verdict { (name(id)) }
        div.card {
            dl.facts #facts {
                div { dt { "State" } dd { (state(toggle.state())) } }
                @if let Some(reason) = toggle.reason() { div.wide { dt { "Reason" } dd #reason { (prose(&reason)) } } }
                div { dt { "Environment" } dd { a.id href=(address(&[("environment", &environment)])) { (environment) } } }
                div { dt { "Applied revision" } dd {
                    @if toggle.revision.is_some() { (applied(view, toggle)) } @else { "none" }
                } }
                @if let Some(path) = path { div { dt { "Document" } dd { (view.file(at, &path)) } } }
                div.wide { dt { "Its deployments" } dd { (command(&command_line(&format!("gitoggle log {id} -p")))) } }
            }
        }
        @if toggle.reason().is_some() {
            div.card { div.inside {
                h2 { "What is waiting" }
                (ways_out(view, toggle))
                (change(view, toggle))
            } }
        }
    }
}

/// Renders what the repository asks for, and what was changed on the service.
pub(super) fn change(view: &View<'_>, toggle: &ToggleStatus) -> Markup {
    Waiting::of(view, toggle).render(view, toggle)
}

/// What is known about a toggle that waits.
pub(super) struct Waiting<'a> {
    change: Option<(&'a Change, Preview)>,
    drift: Option<Preview>,
}

impl<'a> Waiting<'a> {
    pub(super) fn of(view: &View<'a>, toggle: &ToggleStatus) -> Self {
        let change = change_of(view, toggle);
        Self {
            change: change.map(|change| (change, Preview::of_change(change))),
            drift: drifted(view, toggle).map(Preview::of_drift),
        }
    }

    /// Returns the first sentence about the change that the repository asks for.
    pub(super) fn first_sentence(&self) -> Option<&str> {
        let (_, preview) = self.change.as_ref()?;
        preview.sentences.first().map(String::as_str)
    }

    pub(super) fn render(&self, view: &View<'_>, toggle: &ToggleStatus) -> Markup {
        let id = toggle.toggle.as_str();
        html! {
            @if let Some(drift) = &self.drift {
                p.label { "Changed on the service" }
                (preview(&format!("Changes on the service to {id}"), drift))
            }
            @if let Some((change, shown)) = &self.change {
                @if self.drift.is_some() { p.label { "Asked for by the repository" } }
                (preview(&format!("Change to {id}"), shown))
                (origin(view, change))
            } @else if self.drift.is_none() {
                (findings(view, toggle))
            }
        }
    }
}

fn preview(label: &str, preview: &Preview) -> Markup {
    html! {
        @if !preview.sentences.is_empty() {
            ul.sentences { @for sentence in &preview.sentences { li { (prose(sentence)) } } }
        }
        @if !preview.diff.is_empty() { (diff(label, &preview.diff)) }
    }
}

/// Renders the commit and the file of a change.
fn origin(view: &View<'_>, change: &Change) -> Markup {
    let path = view.admin.paths.below_root(&change.path);
    let commit = change.attribution.commit();
    html! {
        p.origin {
            (view.file(view.status.source.revision, &path))
            @if let Some(commit) = commit {
                " · " (view.commit(commit.id)) " " (safe(&cut(commit.subject(), 300)))
                @if change.attribution.is_guessed() { " (guessed)" }
            }
        }
    }
}

/// Renders what is wrong with the document of a toggle.
fn findings(view: &View<'_>, toggle: &ToggleStatus) -> Markup {
    let Some(plan) = plan(view).filter(|_| toggle.hold.as_ref().is_some_and(|hold| hold.is_invalid())) else {
        return html! {};
    };
    let paths = view.admin.paths.candidates(toggle).into_iter();
    let found: Vec<_> = paths
        .map(|path| (findings_in(plan.findings(), &path), path))
        .filter(|(text, _)| !text.is_empty())
        .collect();
    html! {
        @for (text, path) in &found {
            pre.text.scrolls tabindex="0" role="region" aria-label=(format!("Findings in {}", safe(path))) {
                @for line in text.lines() { (safe(line)) "\n" }
            }
            (command(&format!("gitoggle validate {}", shell_word(path))))
        }
    }
}

fn plan<'a>(view: &View<'a>) -> Option<&'a Plan> {
    view.status.plan.as_ref().map(|plan| &*plan.0)
}

fn change_of<'a>(view: &View<'a>, toggle: &ToggleStatus) -> Option<&'a Change> {
    let (plan, id) = (plan(view)?, &toggle.toggle);
    let held = plan.withheld().binary_search_by(|held| held.id.cmp(id));
    let held = held.ok().and_then(|at| plan.withheld()[at].change.as_deref());
    let sent = || plan.changes().binary_search_by(|change| change.id.cmp(id)).ok();
    held.or_else(|| sent().map(|at| &plan.changes()[at]))
}

fn drifted<'a>(view: &View<'a>, toggle: &ToggleStatus) -> Option<&'a DriftedToggle> {
    let drifted = &view.status.drifted;
    let found = drifted.binary_search_by(|one| one.applied.id.cmp(&toggle.toggle));
    found.ok().map(|at| &drifted[at])
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
        _ if host == DEFAULT_LISTEN => None,
        _ => Some(format!("http://{host}")),
    }
}

/// Renders the commands that release a toggle, and everything else in its environment that waits for the
/// same.
pub(super) fn ways_out(view: &View<'_>, toggle: &ToggleStatus) -> Markup {
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
            effect: toggle.kind().and_then(|kind| kind.rule().effect).unwrap_or(what.effect()),
            // Publishing over drift undoes what someone did, so it is about this toggle only.
            command: match what {
                what if what.is_about_toggles() => {
                    format!("gitoggle allow {what} {}{revision}{url}", toggle.toggle)
                }
                _ => format!("gitoggle allow {what} {environment}{revision}{url}"),
            },
        })
        .collect();
    let more = toggle.kind().and_then(|kind| kind.rule().way_out).map(|way_out| match way_out {
        WayOut::Import => Remedy {
            effect: "Keep what the service has: write it into the document, then commit",
            command: command_line(&format!("gitoggle import {} --overwrite", toggle.toggle)),
        },
        WayOut::Retry(_) => {
            Remedy { effect: "Try it again now", command: format!("gitoggle reconcile{url}") }
        }
        WayOut::Resume => Remedy {
            effect: "Publish again",
            command: format!("gitoggle resume{}{url}", scope(view, toggle)),
        },
    });
    remedies.extend(more);
    remedies
}

/// Returns the words for the suspension that concerns a toggle, quoted for a shell.
fn scope(view: &View<'_>, toggle: &ToggleStatus) -> String {
    let mut scopes = view.status.suspensions.iter().map(|(scope, _)| scope);
    let scope = scopes.find(|scope| scope.contains(&toggle.toggle));
    let globs = scope.and_then(SuspensionScope::globs);
    let globs = globs.iter().flat_map(|globs| globs.split(' '));
    globs.map(|glob| format!(" {}", shell_word(glob))).collect()
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
