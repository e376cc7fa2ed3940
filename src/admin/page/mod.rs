//! `GET /`: shows the status to people (src/admin/README.md, "The page"). The server renders it; the script
//! of `admin::web` only fetches it again.
//!
//! Every list is shown in pages and every text in bounds, so that a page takes the same time and size with
//! ten toggles and with a hundred thousand. Nothing is kept per reader: readers of the same address share its
//! page until the status changes.

mod environments;
mod history;
mod query;
mod toggles;

pub(super) use crate::admin::page::history::Recent;

use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use query::{List, ListPage, PageQuery, address};
use tokio::time::Instant;

use super::response::{Parameters, shutting_down, valid};
use super::web::{PageVerdict, prose, time};
use crate::admin::Admin;
use crate::admin::state::AdminState;
use crate::admin::web::{NavLink, PageFrame, RenderedPage, safe};
use crate::daemon::{Readiness, Status, ToggleState};
use crate::model::{counted, cut};

/// The interval of the page's updates, in seconds.
const RELOAD_SECONDS: u32 = 5;

/// `GET /`.
pub(super) async fn show(
    State(shared): State<AdminState>,
    query: Parameters<PageQuery>,
    headers: HeaderMap,
) -> Response {
    let key = PageKey {
        query: valid(query).unwrap_or_default(),
        readiness: shared.0.admin.readiness(),
        url: toggles::url(&headers),
        webhooks: shared.deliveries().and_then(|webhooks| webhooks.explanation()),
    };
    if let Some(known) = shared.0.rendered.get(&key, |page| page.is_usable(&headers)) {
        return known.page.response(&headers);
    }
    let request = headers.clone();
    let page = shared.page(move |shared| {
        let is_usable = |page: &TimedPage| page.is_usable(&request);
        let render = |status: &Status, key: &PageKey| TimedPage::render(shared, status, key);
        shared.0.rendered.get_or_make(key, is_usable, render)
    });
    match page.await {
        Some(page) => page.page.response(&headers),
        None => shutting_down(),
    }
}

/// The inputs of a page, apart from the status.
#[derive(Debug, PartialEq)]
pub(in crate::admin) struct PageKey {
    query: PageQuery,
    readiness: Readiness,
    /// The address of this daemon as the reader wrote it, if commands need it.
    url: Option<String>,
    /// A line about refused webhooks.
    webhooks: Option<String>,
}

/// A page with the time at which its relative times were right.
#[derive(Clone, Debug)]
pub(in crate::admin) struct TimedPage {
    page: RenderedPage,
    at: Instant,
    /// Whether all of it could be read, so that it changes only with the status.
    is_complete: bool,
}

impl TimedPage {
    /// Returns whether it answers a request. The script keeps relative times up to date, so a client that has
    /// the page can keep it. Otherwise it is at most as old as an update.
    fn is_usable(&self, request: &HeaderMap) -> bool {
        let is_known = self.is_complete && self.page.is_known(request);
        is_known || self.at.elapsed() < Duration::from_secs(RELOAD_SECONDS.into())
    }

    fn render(shared: &AdminState, status: &Status, key: &PageKey) -> Self {
        let view = View {
            readiness: &key.readiness,
            status,
            query: &key.query,
            admin: &shared.0.admin,
            now: crate::admin::state::now(),
            url: key.url.as_deref(),
            webhooks: key.webhooks.as_deref(),
        };
        let (page, is_complete) = match (view.query.toggle.as_str(), view.query.deployment.as_str()) {
            ("", "") => {
                let recent = shared.recent_history(&view.query.before);
                (view.rendered(view.overview(&recent), &view.sections()), recent.is_ok())
            }
            ("", _) => {
                let one = history::one(view.admin, view.query);
                (view.rendered(history::render_one(&view, &one), &[]), one.is_ok())
            }
            (id, _) => (view.rendered(toggles::toggle(&view, id), &[]), true),
        };
        Self { page, at: Instant::now(), is_complete }
    }
}

/// What one response is made from.
struct View<'a> {
    status: &'a Status,
    readiness: &'a Readiness,
    query: &'a PageQuery,
    admin: &'a Admin,
    /// In seconds since 1970-01-01 UTC.
    now: i64,
    /// The address of this daemon as the reader wrote it, if commands need it.
    url: Option<&'a str>,
    webhooks: Option<&'a str>,
}

impl View<'_> {
    fn rendered(&self, main: Markup, links: &[NavLink<'_>]) -> RenderedPage {
        PageFrame {
            name: "gitoggle",
            title: &title(self),
            verdict: verdict(self),
            interval: RELOAD_SECONDS,
            links,
            main,
            footer: footer(),
        }
        .rendered()
    }

    fn sections(&self) -> [NavLink<'static>; 4] {
        let count = |count: usize| (count > 0).then_some(count);
        let overview = &self.status.overview;
        let waiting = environments::count(self.status);
        [
            ("environments", "Environments", count(overview.environments().len())),
            ("waiting", "Waiting", count(waiting)),
            ("toggles", "Toggles", count(overview.counts().total())),
            ("history", "History", None),
        ]
        .map(|(target, text, count)| NavLink { target, text, count })
    }

    fn overview(&self, recent: &Recent) -> Markup {
        html! {
            (render(self))
            // What the lists show is older than the failure, so nothing in them is green.
            div.outdated[self.is_outdated()] data-part="lists" {
                (environments::render(self))
                (environments::waiting(self))
                (toggles::render(self))
                (history::render(self, recent))
            }
        }
    }

    /// Returns whether the states of toggles are older than what keeps the daemon from being ready.
    fn is_outdated(&self) -> bool {
        *self.readiness != Readiness::Ready
    }

    /// Returns since when nothing newer is known.
    fn as_of(&self) -> Option<i64> {
        self.status.toggles_at.filter(|_| self.is_outdated())
    }

    /// Renders a commit of the source: its short id, as a link where the forge is known.
    fn commit(&self, id: crate::model::CommitId) -> Markup {
        let short = id.short();
        match &self.admin.links {
            Some(links) => html! { a.mono href=(links.commit(id)) rel="noreferrer" title=(id) { (short) } },
            None => html! { span.mono title=(id) { (short) } },
        }
    }

    /// Renders the path of a document at a revision, as a link where the forge is known.
    fn file(&self, revision: Option<crate::model::CommitId>, path: &str) -> Markup {
        let address = self.admin.links.as_ref().zip(revision);
        let address = address.map(|(links, revision)| links.file(revision, path, 0));
        match address {
            Some(address) => html! { a.mono href=(address) rel="noreferrer" { (safe(path)) } },
            None => html! { span.mono { (safe(path)) } },
        }
    }

    /// Renders the links to the other pages of a list; nothing if it has only one.
    fn pager(&self, page: ListPage) -> Markup {
        let ListPage { list, number, total, .. } = page;
        let entries = page.entries();
        if entries.len() == total {
            return html! {};
        }
        html! {
            nav.pager aria-label=(format!("Pages of {}", list.as_str())) {
                span { (entries.start + 1) "–" (entries.end) " of " (total) }
                span.end {
                    @if number > 0 { a rel="prev" href=(self.query.at_page(list, number - 1)) { "Previous" } }
                    @if entries.end < total { a rel="next" href=(self.query.at_page(list, number + 1)) { "Next" } }
                }
            }
        }
    }
}

/// Renders a state: its word, and a mark whose shape and color depend on it.
fn state(state: ToggleState) -> Markup {
    html! { span.state.(class(state)) data-state=(state.as_str()) { (word(state)) } }
}

/// Renders a number of toggles in a state, as a link to them.
fn counted_state(state: ToggleState, count: usize, environment: &str) -> Markup {
    let target = address(&[("environment", environment), ("state", state.as_str())]) + "#toggles";
    html! {
        a.state.(class(state)) data-state=(state.as_str()) href=(target) { (count) " " (word(state)) }
    }
}

fn class(state: ToggleState) -> &'static str {
    match state {
        ToggleState::Drifted | ToggleState::Held => "warn",
        ToggleState::Failed => "bad",
        ToggleState::InSync => "good",
        ToggleState::Orphan => "calm",
        ToggleState::Pending => "info",
    }
}

fn word(state: ToggleState) -> &'static str {
    match state {
        ToggleState::InSync => "in sync",
        state => state.as_str(),
    }
}

/// Renders a full key with its project and environment dimmed.
fn name(id: &str) -> Markup {
    let (environment, toggle) = id.rsplit_once('/').unwrap_or(("", id));
    html! { span.id { span.project { (safe(environment)) "/" } b { (safe(toggle)) } } }
}

fn footer() -> Markup {
    html! {
        p {
            "gitoggle " (env!("CARGO_PKG_VERSION")) @if let Some(commit) = crate::model::BUILD.commit { " (" (commit) ")" }
            ". Everything on this page is also data: "
            a href="api/status" { "status" } ", " a href="api/plan" { "plan" } ", "
            a href="api/history" { "history" } ", " a href="metrics" { "metrics" } "."
        }
    }
}

/// The most characters of a remark or a subject.
const MOST_CHARS: usize = 600;

/// Returns green if all is well, amber if something waits or deserves attention, and red if the daemon is not
/// ready.
fn verdict(view: &View<'_>) -> PageVerdict {
    match view.readiness {
        Readiness::Unready(_) => PageVerdict::Bad,
        Readiness::Ready if view.status.remarks().is_empty() => PageVerdict::Good,
        Readiness::Ready => PageVerdict::Warn,
    }
}

fn title(view: &View<'_>) -> String {
    format!("{} – gitoggle", words(view))
}

fn words(view: &View<'_>) -> String {
    let waiting = environments::count(view.status);
    match (verdict(view), waiting) {
        (PageVerdict::Bad, _) => "Not ready".to_owned(),
        (PageVerdict::Good, _) => "Ready".to_owned(),
        (PageVerdict::Warn, 0) => "Ready, with a remark".to_owned(),
        (PageVerdict::Warn, 1) => "Ready, 1 toggle is waiting".to_owned(),
        (PageVerdict::Warn, _) => format!("Ready, {} are waiting", counted(waiting, "toggle")),
    }
}

fn render(view: &View<'_>) -> Markup {
    let verdict = verdict(view);
    let counts = view.status.overview.counts();
    html! {
        section #top aria-labelledby="verdict" {
            div.verdict.(verdict.as_str()) data-verdict=(verdict.as_str()) {
                (verdict.symbol())
                div { h1 #verdict { (words(view)) } (remarks(view)) }
            }
            div.card.outdated[view.is_outdated()] #summary {
                @if counts.total() > 0 {
                    @if let Some(at) = view.as_of() { p.dim #as-of { "As of " (time(at, view.now)) ":" } }
                    div.shares-box {
                        (environments::shares(counts))
                        p.states #counts {
                            @for (state, count) in counts.present() { (counted_state(state, count, "")) " " }
                        }
                    }
                }
                (facts(view))
            }
        }
    }
}

fn remarks(view: &View<'_>) -> Markup {
    let reason = view.readiness.reason().map(str::to_owned);
    let mut lines: Vec<String> =
        reason.into_iter().chain(view.status.remarks_beside(view.readiness)).collect();
    let counts = view.status.overview.counts();
    if lines.is_empty() {
        lines.push(match counts.total() {
            0 => "The repository has no toggle here yet.".to_owned(),
            1 => "The toggle is in sync.".to_owned(),
            total if counts.in_state(ToggleState::InSync) == total => {
                format!("All {total} toggles are in sync.")
            }
            _ => "Nothing needs attention.".to_owned(),
        });
    }
    // Anyone can send a webhook that is refused, so it does not change the verdict.
    lines.extend(view.webhooks.map(str::to_owned));
    html! { ul #remarks { @for line in &lines { li { (prose(&cut(line, MOST_CHARS))) } } } }
}

fn facts(view: &View<'_>) -> Markup {
    let (status, source) = (view.status, &view.status.source);
    html! {
        dl.facts #facts {
            @if let Some(service) = &status.service { (fact("Service", &html! { code { (safe(service)) } })) }
            (fact("Repository", &repository(view)))
            @if let Some(reference) = &source.reference { (fact("Ref", &html! { code { (safe(reference)) } })) }
            @if source.revision.is_some() { (fact("Revision", &revision(view))) }
            @if let Some(pass) = &status.last_pass {
                (fact("Last pass", &html! {
                    (time(pass.at, view.now)) ", " (pass.result.as_str()) ", took " (took(pass.took_ms))
                }))
            }
            @if let Some(next) = status.next_pass {
                // A pass that is overdue is running.
                (fact("Next pass", &html! { span data-due { (time(next, view.now.min(next))) } }))
            }
            @if let Some(success) = status.last_success { (fact("Last success", &time(success.at, view.now))) }
            @if let Some(fetched) = source.fetched_at { (fact("Source fetched", &time(fetched, view.now))) }
            (fact("gitoggle", &html! {
                (env!("CARGO_PKG_VERSION"))
                @if let Some(commit) = crate::model::BUILD.commit { " " span.dim { "(" (commit) ")" } }
            }))
        }
    }
}

fn fact(name: &str, value: &Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

fn repository(view: &View<'_>) -> Markup {
    let repo = &view.status.source.repo;
    match &view.admin.links {
        // A path, such as `.`, says less than the address of its forge.
        Some(links) => {
            let address = links.repository();
            let shown = if repo.contains(':') { repo } else { address };
            html! { a href=(address) rel="noreferrer" { code { (safe(shown)) } } }
        }
        None => html! { code { (safe(&absolute(repo))) } },
    }
}

/// Returns a relative path, such as `.`, as an absolute one, and any other text unchanged.
fn absolute(repo: &str) -> String {
    let path = std::path::absolute(repo).ok().filter(|_| !repo.contains(':'));
    path.map_or_else(|| repo.to_owned(), |path| path.display().to_string())
}

fn revision(view: &View<'_>) -> Markup {
    let source = &view.status.source;
    html! {
        @if let Some(revision) = source.revision { (view.commit(revision)) }
        @if let Some(subject) = &source.subject { " " span #subject { (safe(&cut(subject, MOST_CHARS))) } }
        @if let Some(at) = source.committed_at { ", " (time(at, view.now)) }
    }
}

fn took(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..120_000 => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
        _ => format!("{} min", milliseconds / 60_000),
    }
}
