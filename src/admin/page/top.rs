//! The verdict and the facts about this process.

use maud::{Markup, html};

use super::{View, counted_state};
use crate::admin::web::{PageVerdict, prose, safe, time};
use crate::daemon::Readiness;
use crate::model::{counted, cut};

/// The most characters of a remark or a subject.
const MOST_CHARS: usize = 600;

/// Returns green if all is well, amber if something waits or deserves attention, and red if the daemon is not ready.
pub(super) fn verdict(view: &View<'_>) -> PageVerdict {
    match view.readiness {
        Readiness::Unready(_) => PageVerdict::Bad,
        Readiness::Ready if view.status.remarks().is_empty() => PageVerdict::Good,
        Readiness::Ready => PageVerdict::Warn,
    }
}

/// Returns the title of the tab.
pub(super) fn title(view: &View<'_>) -> String {
    format!("{} – gitoggle", words(view))
}

fn words(view: &View<'_>) -> String {
    let waiting = super::waiting::count(view.status);
    match (verdict(view), waiting) {
        (PageVerdict::Bad, _) => "Not ready".to_owned(),
        (PageVerdict::Good, _) => "Ready".to_owned(),
        (PageVerdict::Warn, 0) => "Ready, with a remark".to_owned(),
        (PageVerdict::Warn, 1) => "Ready, 1 toggle is waiting".to_owned(),
        (PageVerdict::Warn, _) => format!("Ready, {} are waiting", counted(waiting, "toggle")),
    }
}

pub(super) fn render(view: &View<'_>) -> Markup {
    let verdict = verdict(view);
    let counts = view.status.overview.counts();
    html! {
        section #top aria-labelledby="verdict" {
            div.verdict.(verdict.as_str()) data-verdict=(verdict.as_str()) {
                (verdict.symbol())
                div { h1 #verdict { (words(view)) } (remarks(view)) }
            }
            div.card #summary {
                @if counts.total() > 0 {
                    div.shares-box {
                        (super::environments::shares(counts))
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
    let mut lines: Vec<String> = reason.into_iter().chain(view.status.remarks()).collect();
    let counts = view.status.overview.counts();
    if lines.is_empty() {
        lines.push(match counts.total() {
            0 => "The repository has no toggle here yet.".to_owned(),
            1 => "The toggle is in sync.".to_owned(),
            total if counts.in_state(crate::daemon::ToggleState::InSync) == total => {
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
