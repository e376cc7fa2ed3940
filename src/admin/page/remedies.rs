//! What an operator can do about a withheld toggle, as commands to copy.

use axum::http::{HeaderMap, HeaderValue, header};
use maud::{Markup, html};

use super::View;
use crate::admin::web::command;
use crate::daemon::{HoldKind, ToggleStatus, is_first_pass_over, released_by};
use crate::model::{Override, SuspensionScope};

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
pub(super) fn render(view: &View<'_>, toggle: &ToggleStatus) -> Markup {
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
    globs.map(|glob| format!(" {}", quoted(glob))).collect()
}

/// Returns a path or a glob as one word for a shell.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if text.chars().all(is_plain) && !text.starts_with('-') {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
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
