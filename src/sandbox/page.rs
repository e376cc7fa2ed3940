//! Shows the stored documents as a page and as JSON. Read-only and without a token, because nothing is secret.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;

use super::answer::json;
use super::document::StoredDocument;
use super::history_file::HistoryLine;
use super::shared::SandboxState;
use crate::model::{Content, Serve, Targeting, ToggleId, counted, html as html_escaped};

#[derive(Deserialize)]
pub(super) struct HistoryQuery {
    /// Only this toggle.
    toggle: Option<String>,
    /// Only documents with a number that is not smaller.
    from: Option<usize>,
    /// On the page: only toggles whose `project/environment/toggle` holds this text.
    q: Option<String>,
}

/// `GET /api/sandbox/history`: every document that was stored, in order.
pub(super) async fn history(
    State(state): State<Arc<SandboxState>>,
    Query(wanted): Query<HistoryQuery>,
) -> Response {
    let HistoryQuery { toggle, from, q: _ } = wanted;
    let lines: Vec<HistoryLine> = state
        .request_log
        .stored()
        .iter()
        .skip(from.unwrap_or_default())
        .filter(|published| {
            toggle
                .as_deref()
                .is_none_or(|toggle| published.toggle.as_str() == toggle)
        })
        .map(HistoryLine::new)
        .collect();
    json(
        StatusCode::OK,
        serde_json::to_string(&lines).expect("text and numbers always have a JSON form"),
    )
}

/// `GET /`: the toggles, the most recently changed first, each with its history.
pub(super) async fn page(
    State(state): State<Arc<SandboxState>>,
    Query(wanted): Query<HistoryQuery>,
) -> Response {
    let html = html(&state.request_log.stored(), &wanted);
    (
        [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::CACHE_CONTROL, "no-store"),
        ],
        html,
    )
        .into_response()
}

/// Nothing is loaded and nothing runs, whatever a comment says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'";

/// How many toggles one page shows.
const MOST_TOGGLES: usize = 100;

/// How many documents one toggle shows.
const MOST_VERSIONS: usize = 20;

fn html(published: &[StoredDocument], wanted: &HistoryQuery) -> String {
    let filter = wanted.q.as_deref().unwrap_or_default();
    let mut toggles: BTreeMap<&ToggleId, Vec<&StoredDocument>> = BTreeMap::new();
    for one in published
        .iter()
        .filter(|one| one.toggle.as_str().contains(filter))
    {
        toggles.entry(&one.toggle).or_default().push(one);
    }
    let count = toggles.len();
    let mut newest: Vec<_> = toggles.into_values().collect();
    newest.sort_by_key(|versions| std::cmp::Reverse(versions.last().map(|one| one.seq)));
    let cards: String = newest
        .iter()
        .take(MOST_TOGGLES)
        .map(|versions| card(versions))
        .collect();
    let note = match (count, filter) {
        (0, "") => "<p class=empty>Nothing has been published yet.</p>".to_owned(),
        (0, filter) => format!("<p class=empty>No toggle holds “{}”.</p>", escape(filter)),
        (count, _) if count > MOST_TOGGLES => {
            format!(
                "<p class=empty>The {MOST_TOGGLES} most recently changed of {count} toggles are shown.</p>"
            )
        }
        _ => String::new(),
    };
    PAGE.replace("{count}", &counted(count, "toggle"))
        .replace("{total}", &counted(published.len(), "publish"))
        .replace("{filter}", &escape(filter))
        .replace("{body}", &(cards + &note))
}

/// Renders one toggle: its newest document and its history.
fn card(versions: &[&StoredDocument]) -> String {
    let Some(newest) = versions.last() else {
        return String::new();
    };
    let Targeting { disabled, content } = newest.targeting();
    let (class, state) = if disabled {
        ("off", "disabled")
    } else {
        ("on", "enabled")
    };
    let history: String = versions
        .iter()
        .rev()
        .take(MOST_VERSIONS)
        .map(|one| entry(one))
        .collect();
    let older = versions.len().saturating_sub(MOST_VERSIONS);
    let older = if older > 0 {
        format!("<li class=older>… and {older} before")
    } else {
        String::new()
    };
    format!(
        "<article><h2>{id}</h2><p class=now><span class=\"badge {class}\">{state}</span> {summary}</p>\
         <ol>{history}{older}</ol></article>\n",
        id = escape(newest.toggle.as_str()).replace('/', "<i>/</i>"),
        summary = summary(&content),
    )
}

/// What a targeting serves, in one line.
fn summary(content: &Content) -> String {
    let Content {
        rules,
        disabled_serve,
        default_serve,
        variations,
        prerequisites: _,
    } = content;
    let code = |index: usize| {
        let name = variations
            .get(index)
            .map_or("?", |variation| variation.name.as_str());
        format!("<code>{}</code>", escape(name))
    };
    let name = |serve: &Serve| match serve {
        Serve::Select(index) => code(*index as usize),
        Serve::Split(weights) => (0..weights.len()).map(code).collect::<Vec<_>>().join("/"),
        Serve::Nothing => "nothing".to_owned(),
    };
    format!(
        "{}, {}; serves {} by default and {} when disabled",
        counted(variations.len(), "variation"),
        counted(rules.len(), "rule"),
        name(default_serve),
        name(disabled_serve),
    )
}

fn entry(published: &StoredDocument) -> String {
    let comment = published.comment();
    let (subject, rest) = comment.split_once('\n').unwrap_or((&comment, ""));
    let rest = match rest.trim() {
        "" => String::new(),
        rest => format!("<pre class=comment>{}</pre>", escape(rest)),
    };
    let targeting = serde_json::to_string_pretty(&published.targeting())
        .expect("text, numbers and lists always have a JSON form");
    format!(
        "<li><details><summary><b>v{version}</b> <time>{at}</time> {subject}</summary>\
         {rest}<pre>{targeting}</pre></details>",
        version = published.version,
        at = published.at.strftime("%Y-%m-%d %H:%M:%S UTC"),
        subject = escape(subject),
        targeting = escape(&targeting),
    )
}

/// Escapes text for HTML, line by line.
fn escape(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(html_escaped).collect();
    // Otherwise the text could contain one of the page's placeholders.
    lines.join("\n").replace('{', "&#123;")
}

const PAGE: &str = include_str!("page.html");

#[cfg(test)]
mod tests {
    use super::*;

    fn published(seq: usize, toggle: &str, comment: &str) -> StoredDocument {
        let targeting = r#""disabled":true,"content":{"rules":[],"disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[{"value":"{body}","name":"<b>","description":""}]}}"#;
        let comment = serde_json::to_string(comment).unwrap();
        StoredDocument {
            seq,
            toggle: toggle.parse().unwrap(),
            version: 1,
            at: jiff::Timestamp::UNIX_EPOCH,
            body: format!(r#"{{"comment":{comment},{targeting}"#).into(),
        }
    }

    fn all() -> HistoryQuery {
        HistoryQuery {
            toggle: None,
            from: None,
            q: None,
        }
    }

    #[test]
    fn foreign_text_cannot_become_markup() {
        let hostile = "<script>alert(1)</script>\n{body}\u{202e}";
        let page = html(&[published(0, "p/e/t", hostile)], &all());
        assert!(!page.contains("<script"), "{page}");
        assert!(!page.contains("<b></code>"), "{page}");
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
        assert!(page.contains("\\u&#123;202e}"), "{page}");
        assert_eq!(page.matches("<article>").count(), 1);
    }

    #[test]
    fn the_most_recently_changed_toggle_comes_first() {
        let all_three = [
            published(0, "p/e/a", "1"),
            published(1, "p/e/b", "2"),
            published(2, "p/e/a", "3"),
        ];
        let page = html(&all_three, &all());
        let at = |text: &str| page.find(text).unwrap();
        assert!(at("<i>/</i>a</h2>") < at("<i>/</i>b</h2>"));
        assert!(page.contains("2 toggles") && page.contains("3 publishes"));
        let wanted = HistoryQuery {
            q: Some("e/b".into()),
            ..all()
        };
        assert_eq!(html(&all_three, &wanted).matches("<article>").count(), 1);
    }
}
