//! Serves the sandbox's page: how to connect, the toggles with their versions, and the difference between two versions.
//!
//! It is the same for both kinds of service. Read-only and without a token, because nothing is secret: the lines to
//! copy contain the token only if it is the one in the documentation.

mod comparison;
mod overview;
mod source;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::get;
use jiff::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;

use super::connection::SandboxConnection;
use crate::web::{NavLink, PageFrame, PageVerdict, asset_response};

pub(super) use source::{PageSource, ShownToggle, ShownVersion};

/// The interval of the page's updates in seconds.
const INTERVAL: u32 = 2;

/// What the page is made of.
pub(super) struct PageState {
    connection: SandboxConnection,
    source: Arc<dyn PageSource>,
}

/// Returns the routes of the page.
pub(super) fn router(connection: SandboxConnection, source: Arc<dyn PageSource>) -> Router {
    Router::new()
        .route("/", get(overview_page))
        .route("/versions", get(comparison_page))
        .route(
            "/assets/{name}",
            get(async |Path(name): Path<String>| asset_response(&name)),
        )
        .with_state(Arc::new(PageState { connection, source }))
}

#[derive(Default, Deserialize)]
pub(super) struct OverviewQuery {
    /// Only toggles whose `project/environment/toggle` contains this text.
    #[serde(default)]
    q: String,
}

#[derive(Deserialize)]
pub(super) struct VersionsQuery {
    toggle: String,
    /// A version; by default the one before `to`.
    from: Option<u64>,
    /// A version; by default the newest.
    to: Option<u64>,
}

async fn overview_page(
    State(state): State<Arc<PageState>>,
    query: Result<Query<OverviewQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    let query = query.map(|Query(query)| query).unwrap_or_default();
    overview::body(&state, &query, now()).response(StatusCode::OK, &headers)
}

async fn comparison_page(
    State(state): State<Arc<PageState>>,
    query: Result<Query<VersionsQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    // People edit addresses.
    let query = query.ok();
    match query.and_then(|Query(query)| comparison::body(&*state.source, &query, now())) {
        Some(body) => body.response(StatusCode::OK, &headers),
        None => missing().response(StatusCode::NOT_FOUND, &headers),
    }
}

fn now() -> i64 {
    Timestamp::now().as_second()
}

/// What differs between the pages.
pub(super) struct PageBody {
    title: String,
    links: &'static [NavLink<'static>],
    main: Markup,
}

const fn link(target: &'static str, text: &'static str) -> NavLink<'static> {
    NavLink {
        target,
        text,
        count: None,
    }
}

impl PageBody {
    fn response(self, status: StatusCode, headers: &HeaderMap) -> Response {
        let frame = PageFrame {
            name: "gitoggle sandbox",
            title: &self.title,
            verdict: PageVerdict::Good,
            interval: INTERVAL,
            links: self.links,
            main: self.main,
            footer: html! { p { "Everyone who reaches this address can read this page, without a token." } },
        };
        let mut response = frame.rendered().response(headers);
        if response.status() == StatusCode::OK {
            *response.status_mut() = status;
        }
        response
    }
}

fn missing() -> PageBody {
    PageBody {
        title: "Not found · gitoggle sandbox".to_owned(),
        links: &[],
        main: html! {
            h1 { "Not found" }
            p { "The sandbox has no such toggle or version. " a href="./" { "All toggles" } }
        },
    }
}
