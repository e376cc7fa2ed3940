//! The difference between two versions of a toggle.

use maud::{Markup, html};

use super::overview::summary;
use super::{PageBody, PageSource, ShownVersion, VersionsQuery, link};
use crate::web::{NavLink, diff, safe, time};

/// How many versions the page offers.
const MOST_VERSIONS: usize = 500;

const LINKS: &[NavLink<'static>] = &[link("version", "Changes"), link("document", "Targeting")];

/// Returns the page at `now` in seconds; nothing for a toggle or version that does not exist.
pub(super) fn body(source: &dyn PageSource, query: &VersionsQuery, now: i64) -> Option<PageBody> {
    let versions = source.versions(&query.toggle, MOST_VERSIONS);
    let place = |number: u64| versions.iter().position(|version| version.number == number);
    let to = match query.to {
        Some(number) => place(number)?,
        None => versions.len().checked_sub(1)?,
    };
    let from = match query.from {
        Some(number) => Some(place(number)?),
        None => to.checked_sub(1),
    };
    let (after, before) = (&versions[to], from.map(|from| &versions[from]));
    let main = html! {
        div {
            p { a href="./" { "All toggles" } }
            h1 { span.id { (safe(&query.toggle)) } }
        }
        (choice(&query.toggle, &versions, before, after))
        (changes(&query.toggle, before, after, now))
        section #document {
            header { h2 { "Version " (after.number) } p { (summary(&after.content)) } }
            pre.text tabindex="0" role="region" aria-label="The whole targeting" { (lines(&after.text())) }
        }
    };
    Some(PageBody {
        title: format!("{} · gitoggle sandbox", safe(&query.toggle)),
        links: LINKS,
        main,
    })
}

/// Renders the form that chooses the two versions.
fn choice(
    toggle: &str,
    versions: &[ShownVersion],
    before: Option<&ShownVersion>,
    after: &ShownVersion,
) -> Markup {
    let select = |id: &str, label: &str, chosen: Option<&ShownVersion>| {
        html! {
            label {
                span.dim { (label) }
                select id=(id) name=(id) {
                    @for version in versions.iter().rev() {
                        option value=(version.number) selected[chosen.is_some_and(|it| it.number == version.number)] {
                            "v" (version.number) " " (safe(version.subject()))
                        }
                    }
                }
            }
        }
    };
    html! {
        @if versions.len() > 1 {
            form.card.toolbar action="versions" data-filter="" {
                input type="hidden" name="toggle" value=(toggle);
                (select("from", "From", before.or(versions.first())))
                (select("to", "To", Some(after)))
                button { "Compare" }
            }
        }
    }
}

/// Renders what a version changed. The overview shows this part too.
fn changes(toggle: &str, before: Option<&ShownVersion>, after: &ShownVersion, now: i64) -> Markup {
    let title = match before {
        Some(before) => format!("From version {} to version {}", before.number, after.number),
        None => format!("Version {}", after.number),
    };
    // Distinguishes the parts of an overview for screen readers.
    let label = format!("{title} of {}", safe(toggle));
    html! {
        section #version {
            header {
                h2 { (title) }
                p {
                    "Published "
                    @if let Some(author) = &after.author { "by " (safe(author)) " " }
                    (time(after.at.as_second(), now))
                }
            }
            @if !after.comment.is_empty() { pre.text { (lines(&after.comment)) } }
            @match before.map(|before| after.diff(before)) {
                Some(lines) if lines.is_empty() => p.note { "Both versions have the same targeting." },
                Some(lines) => (diff(&label, &lines)),
                None => pre.text tabindex="0" role="region" aria-label=(label) { (lines(&after.text())) },
            }
        }
    }
}

/// Escapes text line by line.
fn lines(text: &str) -> String {
    text.lines().map(safe).collect::<Vec<_>>().join("\n")
}
