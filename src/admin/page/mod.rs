//! `GET /`: shows the status to people (DESIGN, section 9.3). The server renders it; the script of [`crate::web`] only
//! fetches it again.
//!
//! Every list is shown in pages and every text in bounds, so that a page takes the same time and size with ten toggles
//! and with a hundred thousand. Nothing is kept per reader.

mod environments;
mod history;
mod query;
mod remedies;
mod toggle;
mod toggles;
mod top;
mod waiting;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use maud::{Markup, html};

use super::answer::problem;
use super::{Admin, AdminState};
use crate::daemon::{Readiness, Status, ToggleState};
use crate::web::{NavLink, PageFrame, safe};
use history::Recent;
pub(in crate::admin) use history::RecentHistory;
use query::{List, PageQuery, address};

/// The interval of the page's updates, in seconds.
const INTERVAL: u32 = 5;

/// `GET /`.
pub(super) async fn show(
    State(shared): State<AdminState>,
    query: Result<Query<PageQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    let query = query.map(|Query(query)| query).unwrap_or_default();
    let page = shared.page(move |shared| {
        let admin = &shared.0.admin;
        // Cloned, because rendering must not block the driver, which publishes the status. It shares its lists.
        let status = admin.status.borrow().clone();
        let view = View {
            readiness: &admin.readiness(),
            history: &shared.recent_history(&status, &query.before),
            status: &status,
            query: &query,
            admin,
            now: super::now(),
            url: remedies::url(&headers),
        };
        view.response(&headers)
    });
    match page.await {
        Some(page) => page,
        None => problem(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down"),
    }
}

/// What one response is made from.
struct View<'a> {
    status: &'a Status,
    readiness: &'a Readiness,
    history: &'a Recent,
    query: &'a PageQuery,
    admin: &'a Admin,
    /// In seconds since 1970-01-01 UTC.
    now: i64,
    /// The address of this daemon as the reader wrote it, if commands need it.
    url: Option<String>,
}

impl View<'_> {
    fn response(&self, headers: &HeaderMap) -> Response {
        let verdict = top::verdict(self);
        let count = |count: usize| (count > 0).then_some(count);
        let overview = &self.status.overview;
        let waiting = waiting::count(self.status);
        let links = [
            (
                "environments",
                "Environments",
                count(overview.environments().len()),
            ),
            ("waiting", "Waiting", count(waiting)),
            ("toggles", "Toggles", count(overview.counts().total())),
            ("history", "History", None),
        ];
        let links = links.map(|(target, text, count)| NavLink { target, text, count });
        let (main, links) = match (self.query.toggle.as_str(), self.query.deployment.as_str()) {
            ("", "") => (self.overview(), &links[..]),
            ("", id) => (history::render_one(self, id, &self.query.after), &[][..]),
            (id, _) => (toggle::render(self, id), &[][..]),
        };
        PageFrame {
            name: "gitoggle",
            title: &top::title(self),
            verdict,
            interval: INTERVAL,
            links,
            main,
            footer: footer(),
        }
        .response(headers)
    }

    fn overview(&self) -> Markup {
        html! {
            (top::render(self))
            (environments::render(self))
            (waiting::render(self))
            (toggles::render(self))
            (history::render(self, self.history))
        }
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
    fn pager(&self, list: List, shown: usize, total: usize, page: usize, size: usize) -> Markup {
        if total <= size && page == 0 {
            return html! {};
        }
        let first = page * size;
        html! {
            nav.pager aria-label=(format!("Pages of {}", list.as_str())) {
                span { (first + usize::from(shown > 0)) "–" (first + shown) " of " (total) }
                span.end {
                    @if page > 0 { a rel="prev" href=(self.query.at_page(list, page - 1)) { "Previous" } }
                    @if first + shown < total { a rel="next" href=(self.query.at_page(list, page + 1)) { "Next" } }
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
