//! The last deployments, from the applied ref, and one deployment with its differences.

use std::sync::Arc;

use maud::{Markup, html};

use super::{PageQuery, View, address, name};
use crate::admin::Admin;
use crate::admin::state::AdminState;
use crate::admin::web::{diff, prose, safe, time};
use crate::daemon::{DeploymentPart, Status};
use crate::model::{CommitId, Deployment, HistoryPage, HoldKind, Scope, ToggleId, counted, cut};
use crate::report::Preview;

const PAGE: usize = 10;
/// The toggles that a deployment lists without its differences, and with them.
const MOST_NAMED: usize = 8;
const MOST_TOGGLES: usize = 20;
/// The most characters of a subject.
const MOST_CHARS: usize = 300;

/// Deployments, or why they cannot be read.
pub(in crate::admin) type Recent = Result<HistoryPage, String>;

impl AdminState {
    /// Returns one page of the deployments, which open pages share. The applied ref moves only in a pass. An
    /// error is not kept, because its cause may end before the next pass.
    pub(super) fn recent_history(&self, before: &str) -> Arc<Recent> {
        let read = |_: &Status, before: &String| {
            let start = before.parse().ok().map(CommitId);
            let page = self.0.admin.history.page(&Scope::default(), start, PAGE);
            let recent = page.map(Option::unwrap_or_default);
            Arc::new(recent.map_err(|error| error.in_full()))
        };
        self.0.history.get_or_make(before.to_owned(), |known| known.is_ok(), read)
    }
}

pub(super) fn render(view: &View<'_>, recent: &Recent) -> Markup {
    html! {
        section #history aria-labelledby="history-title" {
            header {
                h2 #history-title { "History" }
                @if !view.query.before.is_empty() { a.end href="?#history" { "Newest" } }
            }
            div.card {
                @match recent {
                    Err(reason) => p.empty { "The history could not be read: " (safe(&cut(reason, MOST_CHARS))) },
                    Ok(page) if page.deployments.is_empty() => p.empty {
                        @if !view.query.before.is_empty() { "Nothing was applied before." }
                        @else if view.status.toggles.iter().any(|toggle| toggle.kind().is_some_and(HoldKind::is_state_lost)) {
                            "What was applied is unknown, because the state folder was deleted or replaced."
                        } @else if view.status.toggles.iter().any(|toggle| toggle.revision.is_some()) {
                            "The state has no record of what was applied."
                        } @else { "Nothing has been applied yet." }
                    },
                    Ok(page) => {
                        ol.rows #history-list { @for deployment in &page.deployments { (row(view, deployment)) } }
                        @if let Some(next) = page.next {
                            nav.pager aria-label="Pages of the history" { span.end {
                                a rel="next" href=(address(&[("before", &next.to_string())]) + "#history") { "Older" }
                            } }
                        }
                    }
                }
            }
        }
    }
}

fn row(view: &View<'_>, deployment: &Deployment) -> Markup {
    let commit = deployment.commit.to_string();
    let more = deployment.total.saturating_sub(MOST_NAMED);
    html! {
        li id=(format!("deployment:{commit}")) data-deployment=(commit) {
            details {
                summary {
                    (time(deployment.at, view.now))
                    span.subject { (subject(deployment)) }
                    span.end.dim { (deployment.summary()) }
                }
                div.inside {
                    p.origin { "Revision " (view.commit(deployment.revision)) (decisions(view, deployment)) }
                    div data-part="deployment-toggles" {
                        ul.names { @for toggle in deployment.toggles.iter().take(MOST_NAMED) {
                            li { (name(toggle.id.as_str())) }
                        } }
                        p { a href=(address(&[("deployment", &commit)])) {
                            "Show the differences" @if more > 0 { " and " (more) " more toggles" }
                        } }
                    }
                }
            }
        }
    }
}

fn subject(deployment: &Deployment) -> String {
    let subject = deployment.subject.as_deref();
    subject.map_or_else(|| deployment.revision.short(), |subject| safe(&cut(subject, MOST_CHARS)))
}

fn decisions(view: &View<'_>, deployment: &Deployment) -> Markup {
    html! {
        @if let Some(signer) = &deployment.signer { ", signed by " (safe(signer)) }
        @for allowance in &deployment.allowances {
            ", allowed " (allowance.what) " by " (safe(&allowance.by)) " " (time(allowance.at, view.now))
        }
    }
}

/// A deployment, or why it cannot be read; none if the query names no deployment of the history.
pub(super) type OneDeployment = Result<Option<DeploymentPart>, String>;

/// Returns the deployment that the query names, from the toggle after its `after` on.
pub(super) fn one(admin: &Admin, query: &PageQuery) -> OneDeployment {
    let Ok(commit) = query.deployment.parse().map(CommitId) else {
        return Ok(None);
    };
    let after = query.after.parse::<ToggleId>().ok();
    let part = admin.history.deployment(commit, &Scope::default(), after.as_ref(), MOST_TOGGLES);
    part.map_err(|error| error.in_full())
}

pub(super) fn render_one(view: &View<'_>, read: &OneDeployment) -> Markup {
    html! {
        section #deployment aria-labelledby="verdict" {
            header { a href="?#history" { "← History" } }
            @match read {
                Ok(Some(part)) => (found(view, part)),
                Err(reason) => { h1 #verdict { "Deployment" } div.card { p.empty { (safe(reason)) } } },
                Ok(None) => {
                    h1 #verdict { "Deployment" }
                    div.card { p.empty { "No deployment has this id." } }
                }
            }
        }
    }
}

fn found(view: &View<'_>, part: &DeploymentPart) -> Markup {
    let (deployment, id) = (&part.deployment, &view.query.deployment);
    html! {
        h1 #verdict { (subject(deployment)) }
        p.dim {
            "Applied " (time(deployment.at, view.now)) " at revision " (view.commit(deployment.revision)) ": "
            (counted(deployment.total, "toggle")) ", " (deployment.summary()) (decisions(view, deployment))
        }
        div #deployment-toggles {
            ul.card.rows { @for change in &part.diffs { li {
                div.inside.flat {
                    p { (name(change.toggle.id.as_str())) }
                    @let preview = Preview::of_deployment(change);
                    ul.sentences { @for sentence in &preview.sentences { li { (prose(sentence)) } } }
                    @if !preview.diff.is_empty() { (diff(&format!("Change to {}", change.toggle.id), &preview.diff)) }
                }
            } } }
            @if let Some(next) = &part.next {
                p.note { a rel="next" href=(address(&[("deployment", id), ("after", next.as_str())])) { "Show more of its toggles" } }
            }
        }
    }
}
