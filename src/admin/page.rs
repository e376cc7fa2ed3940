//! `GET /`: renders the status for people. Read-only, without scripts; all text from elsewhere is escaped.

use std::fmt::{self, Write as _};

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::AdminState;
use super::answer::problem;
use crate::daemon::{Readiness, Status, ToggleState};
use crate::model::{html, rfc3339};

/// The number of toggles and of environments that the page lists; `/api/status` has all of them.
const MOST_ROWS: usize = 500;
const MOST_ENVIRONMENTS: usize = 50;

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta name=\"viewport\" content=\"width=device-width\">\n<meta http-equiv=\"refresh\" content=\"30\">\n\
<title>gitoggle</title>\n<style>\n\
:root { color-scheme: light dark }\n\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em }\n\
table { border-collapse: collapse } td, th { padding: .2em 1em .2em 0; text-align: left; vertical-align: top }\n\
td:first-child { min-width: 10em }\n\
code { overflow-wrap: anywhere } .bad, .good, .warn { border-left: .4em solid; padding-left: .6em }\n\
.bad { border-color: #c33 } .good { border-color: #393 } .warn { border-color: #e90 }\n\
</style>\n</head>\n<body>\n<h1>gitoggle</h1>\n";

pub(super) async fn show(State(shared): State<AdminState>) -> Response {
    let page = shared.large_answer(|shared| {
        let readiness = shared.0.admin.readiness();
        // Cloned, because rendering must not block the driver, which publishes the status.
        let status = shared.0.admin.status.borrow().clone();
        render(&status, &readiness)
    });
    let Some(page) = page.await else {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down");
    };
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, page).into_response()
}

fn render(status: &Status, readiness: &Readiness) -> String {
    let mut page = HEAD.to_owned();
    let written = banners(&mut page, status, readiness)
        .and_then(|()| withheld(&mut page, status))
        .and_then(|()| facts(&mut page, status))
        .and_then(|()| counts(&mut page, status))
        .and_then(|()| rows(&mut page, status));
    written.expect("writing into a string does not fail");
    page.push_str("</body>\n</html>\n");
    page
}

/// Writes the verdict in words: green if ready, amber if ready with remarks, red if not ready.
fn banners(page: &mut String, status: &Status, readiness: &Readiness) -> fmt::Result {
    let remarks = html(&status.remarks().join("; "));
    match (readiness.reason(), remarks.as_str()) {
        (None, "") => banner(page, "good", "Ready"),
        (None, remarks) => banner(page, "warn", &format!("Ready; {remarks}")),
        (Some(reason), "") => banner(page, "bad", &format!("Not ready: {}", html(reason))),
        (Some(reason), remarks) => banner(page, "bad", &format!("Not ready: {}", html(reason)))
            .and_then(|()| banner(page, "warn", remarks)),
    }
}

fn banner(page: &mut String, class: &str, html: &str) -> fmt::Result {
    writeln!(page, "<p class=\"{class}\">{html}</p>")
}

/// Lists the groups of what is withheld, by environment.
fn withheld(page: &mut String, status: &Status) -> fmt::Result {
    if status.withheld.is_empty() {
        return Ok(());
    }
    writeln!(page, "<h2>Withheld</h2>\n<ul>")?;
    let environments = status.withheld.by_environment();
    for environment in environments.iter().take(MOST_ENVIRONMENTS) {
        writeln!(page, "<li>{}", html(environment))?;
    }
    writeln!(page, "</ul>")?;
    match environments.len().saturating_sub(MOST_ENVIRONMENTS) {
        0 => Ok(()),
        more => writeln!(page, "<p>and {more} more environments</p>"),
    }
}

fn facts(page: &mut String, status: &Status) -> fmt::Result {
    writeln!(page, "<table>")?;
    if let Some(service) = &status.service {
        writeln!(page, "<tr><th>Service<td><code>{}</code>", html(service))?;
    }
    writeln!(
        page,
        "<tr><th>Repository<td><code>{}</code>",
        html(&status.source.repo)
    )?;
    if let Some(reference) = &status.source.reference {
        writeln!(page, "<tr><th>Ref<td><code>{}</code>", html(reference))?;
    }
    if let Some(revision) = &status.source.revision {
        writeln!(page, "<tr><th>Revision<td><code>{revision}</code>")?;
    }
    if let Some(pass) = &status.last_pass {
        let (at, result, took) = (rfc3339(pass.at), pass.result.as_str(), pass.took_ms);
        writeln!(page, "<tr><th>Last pass<td>{at}: {result}, in {took} ms")?;
    }
    if let Some(success) = status.last_success {
        writeln!(page, "<tr><th>Last success<td>{}", rfc3339(success.at))?;
    }
    writeln!(page, "<tr><th>gitoggle<td>{}", env!("CARGO_PKG_VERSION"))?;
    writeln!(page, "</table>")
}

fn counts(page: &mut String, status: &Status) -> fmt::Result {
    writeln!(page, "<h2>Toggles</h2>\n<table>")?;
    for state in ToggleState::ALL {
        let count = status
            .toggles
            .iter()
            .filter(|toggle| toggle.state == state)
            .count();
        writeln!(page, "<tr><th>{}<td>{count}", word(state))?;
    }
    writeln!(page, "</table>")
}

/// Lists what is not in sync, the worst first.
fn rows(page: &mut String, status: &Status) -> fmt::Result {
    let shown = ToggleState::ALL
        .into_iter()
        .filter(|state| *state != ToggleState::InSync);
    let mut toggles =
        shown.flat_map(|state| status.toggles.iter().filter(move |toggle| toggle.state == state));
    let first: Vec<_> = toggles.by_ref().take(MOST_ROWS).collect();
    if first.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "<h2>Not in sync</h2>\n<table>\n<tr><th>Toggle<th>State<th>Why"
    )?;
    for toggle in first {
        let (id, state) = (html(toggle.toggle.as_str()), word(toggle.state));
        let reason = toggle.reason.as_deref().map(html).unwrap_or_default();
        writeln!(page, "<tr><td><code>{id}</code><td>{state}<td>{reason}")?;
    }
    writeln!(page, "</table>")?;
    match toggles.count() {
        0 => Ok(()),
        more => writeln!(page, "<p>and {more} more: see <code>/api/status</code></p>"),
    }
}

fn word(state: ToggleState) -> &'static str {
    match state {
        ToggleState::InSync => "in sync",
        state => state.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::daemon::{ToggleStatus, WithheldKind};
    use crate::model::Suspension;

    fn failed(toggle: &str, reason: &str) -> ToggleStatus {
        ToggleStatus {
            toggle: toggle.parse().unwrap(),
            state: ToggleState::Failed,
            reason: Some(reason.to_owned()),
            kind: Some(WithheldKind::Refused),
            revision: None,
        }
    }

    #[test]
    fn foreign_text_is_escaped() {
        let status = Status {
            suspensions: Suspension {
                reason: Some("<img src=x>".to_owned()),
                until: Some(0),
            }
            .into(),
            toggles: Arc::new(vec![failed("a/b/c", "<script>\"'&\u{202e}\n")]),
            ..Status::default()
        };
        let page = render(&status, &Readiness::Unready("<b>".to_owned()));
        for shown in [
            "<td>&lt;script&gt;&quot;&#39;&amp;\\u{202e}\\n\n",
            "suspended until 1970-01-01T00:00:00Z: &lt;img src=x&gt;<",
            "Not ready: &lt;b&gt;<",
        ] {
            assert!(page.contains(shown), "{shown}\n{page}");
        }
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    }

    #[test]
    fn what_is_withheld_makes_the_page_amber_and_names_the_environments() {
        let mut status = Status::default();
        assert!(render(&status, &Readiness::Ready).contains("<p class=\"good\">Ready</p>"));
        let toggles = (0..60).map(|number| failed(&format!("a/e{number:02}/c"), "no"));
        status.set_toggles(toggles.collect());
        let page = render(&status, &Readiness::Ready);
        for shown in [
            "<p class=\"warn\">Ready; 60 failed in 60 environments: refused (60)</p>",
            "<li>a/e00: 1 failed (refused)\n",
            "<li>a/e49: 1 failed (refused)\n</ul>\n<p>and 10 more environments</p>",
        ] {
            assert!(page.contains(shown), "{shown}\n{page}");
        }
    }

    #[test]
    fn a_hundred_thousand_failures_are_a_short_page() {
        let toggles = (0..100_000)
            .map(|number| failed(&format!("a/b/c{number}"), "no"))
            .collect();
        let status = Status {
            toggles: Arc::new(toggles),
            ..Status::default()
        };
        let page = render(&status, &Readiness::Ready);
        assert!(page.contains("<tr><th>failed<td>100000\n"), "{page}");
        assert!(page.contains("and 99500 more"), "{page}");
        assert!(page.len() < 100_000, "{}", page.len());
    }
}
