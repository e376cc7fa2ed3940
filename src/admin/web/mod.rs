//! The frame of the pages.

mod assets;
mod parts;

pub(crate) use assets::asset_response;
pub(crate) use parts::{command, diff, prose, safe, time};

use assets::Asset;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use crate::model::hex;

/// Whether all is well, for the icon of the tab and the banner.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PageVerdict {
    /// Something is wrong.
    Bad,
    Good,
    /// Something needs attention.
    Warn,
}

impl PageVerdict {
    /// Returns its class in the style sheet.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Good => "good",
            Self::Warn => "warn",
        }
    }

    fn icon(self) -> Asset {
        match self {
            Self::Bad => Asset::IconBad,
            Self::Good => Asset::IconGood,
            Self::Warn => Asset::IconWarn,
        }
    }

    /// Returns a symbol whose shape differs for each verdict, hidden from screen readers: the words next to
    /// it count.
    pub(crate) fn symbol(self) -> Markup {
        let path = match self {
            Self::Bad => "M10 2 18 10 10 18 2 10Z M10 5.8v5 M10 13.2v1",
            Self::Good => "M10 2a8 8 0 1 0 0 16a8 8 0 1 0 0-16Z M6.4 10.2l2.5 2.5l4.8-5",
            Self::Warn => "M10 2.6 18.4 17.2H1.6Z M10 7.6v4.4 M10 14v.8",
        };
        html! {
            svg.symbol viewBox="0 0 20 20" aria-hidden="true" focusable="false" { path d=(path) {} }
        }
    }
}

pub(crate) struct PageFrame<'a> {
    /// The name of the program, such as `gitoggle`.
    pub(crate) name: &'a str,
    /// The title of the tab; begins with what matters most.
    pub(crate) title: &'a str,
    /// Decides the icon of the tab.
    pub(crate) verdict: PageVerdict,
    /// The interval of the updates, in seconds.
    pub(crate) interval: u32,
    /// The links of the header, to parts of this page.
    pub(crate) links: &'a [NavLink<'a>],
    /// The content of `main`. Ids in it stay the same from one update to the next.
    pub(crate) main: Markup,
    /// What is at the end.
    pub(crate) footer: Markup,
}

impl PageFrame<'_> {
    /// Renders the page. Its version is its `ETag`, which the script sends as `If-None-Match`.
    pub(crate) fn rendered(&self) -> RenderedPage {
        let header = self.header().into_string();
        let parts = [&header, self.title, &self.main.0, &self.footer.0];
        let version = version(&parts);
        RenderedPage { tag: format!("\"{version}\""), body: Bytes::from(self.render(&version, &header)) }
    }

    fn render(&self, version: &str, header: &str) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (self.head())
                body data-version=(version) data-interval=(self.interval) {
                    a.skip href="#main" { "Skip to the content" }
                    (PreEscaped(header))
                    main #main tabindex="-1" data-live { (self.main) }
                    footer.foot #footer data-live { (self.footer) }
                    // Outside of the parts that are patched, so that a message is announced once.
                    p.visually-hidden #announcer role="status" {}
                }
            }
        };
        page.into_string()
    }

    fn head(&self) -> Markup {
        html! {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (self.title) }
                link #icon rel="icon" type="image/svg+xml" href=(self.verdict.icon().address());
                link rel="stylesheet" href=(Asset::Style.address());
                script defer src=(Asset::Script.address()) {}
                // The script updates the page without a reload.
                noscript { meta http-equiv="refresh" content="30"; }
            }
        }
    }

    fn header(&self) -> Markup {
        html! {
            header.bar {
                p.brand { (LOGO) span { (self.name) } }
                nav #sections aria-label="Sections" data-live {
                    ul { @for link in self.links { li { (link.render()) } } }
                }
                p.updates {
                    span #connection { "Live" }
                    button #pause .quiet type="button" aria-pressed="false" { "Pause updates" }
                }
            }
        }
    }
}

/// A rendered page. Clones share its body.
#[derive(Clone, Debug)]
pub(crate) struct RenderedPage {
    tag: String,
    body: Bytes,
}

impl RenderedPage {
    /// Returns whether the client has this version of the page already.
    pub(crate) fn is_known(&self, request: &HeaderMap) -> bool {
        let given = request.get(header::IF_NONE_MATCH).map(HeaderValue::as_bytes);
        given == Some(self.tag.as_bytes())
    }

    /// Responds with the page, or with 304 if the client has it already.
    pub(crate) fn response(&self, request: &HeaderMap) -> Response {
        let mut response = if self.is_known(request) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            (page_headers(), self.body.clone()).into_response()
        };
        if let Ok(tag) = HeaderValue::from_str(&self.tag) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }
}

/// Returns a digest of what a page contains, without the texts of relative times, which change by themselves.
fn version(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        for (position, piece) in part.split("<time ").enumerate() {
            // No other text contains `<time `, because `<` is escaped.
            let (attributes, rest) = match position {
                0 => ("", piece),
                _ => piece.split_once('>').unwrap_or((piece, "")),
            };
            let rest = match position {
                0 => rest,
                _ => rest.split_once("</time>").map_or(rest, |(_, rest)| rest),
            };
            hash.update(attributes);
            hash.update(rest);
        }
    }
    hex(&hash.finalize()[..8])
}

/// A toggle switch.
const LOGO: PreEscaped<&str> = PreEscaped(
    "<svg class=\"logo\" viewBox=\"0 0 28 16\" aria-hidden=\"true\" focusable=\"false\">\
     <rect x=\"1\" y=\"1\" width=\"26\" height=\"14\" rx=\"7\"/><circle cx=\"20\" cy=\"8\" r=\"4.4\"/></svg>",
);

/// A link in the header to a part of the page.
pub(crate) struct NavLink<'a> {
    /// The id of the part.
    pub(crate) target: &'a str,
    pub(crate) text: &'a str,
    /// The number of items that need attention there.
    pub(crate) count: Option<usize>,
}

impl NavLink<'_> {
    pub(crate) fn render(&self) -> Markup {
        html! {
            a href=(format!("#{}", self.target)) {
                (self.text)
                @if let Some(count) = self.count { " " span.count { (count) } }
            }
        }
    }
}

/// Only the page's own stylesheet, script and icons load, and only its own addresses are fetched. Nothing
/// inline runs, so that text which was not escaped could do nothing.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

fn page_headers() -> [(HeaderName, &'static str); 6] {
    [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        // A page shows targeting, which no cache between may keep.
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(main: Markup) -> PageFrame<'static> {
        PageFrame {
            name: "gitoggle",
            title: "<b>\"",
            verdict: PageVerdict::Warn,
            interval: 5,
            links: &[NavLink { target: "toggles", text: "Toggles", count: Some(3) }],
            main,
            footer: html! {},
        }
    }

    #[test]
    fn a_page_loads_only_its_own_files_and_escapes_its_title() {
        let frame = page(html! { h1 { "Toggles" } });
        let page = frame.render("1-2", &frame.header().into_string());
        assert!(page.contains("<title>&lt;b&gt;&quot;</title>"), "{page}");
        assert!(!page.contains("http://") && !page.contains("https://"), "{page}");
        assert!(!page.contains(" style=") && !page.contains(" onclick="), "{page}");
        for part in ["href=\"#toggles\"", "data-version=\"1-2\"", "assets/warn.", "<main id=\"main\""] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }

    #[test]
    fn a_client_that_has_the_page_gets_no_body_until_more_than_relative_times_change() {
        let shown = |seconds, now| page(html! { p { "at " (time(seconds, now)) } });
        let response = |page: PageFrame<'_>, request: &HeaderMap| page.rendered().response(request);
        let first = response(shown(0, 10), &HeaderMap::new());
        assert_eq!(first.status(), StatusCode::OK);
        let tag = first.headers()[header::ETAG].clone();
        let known = HeaderMap::from_iter([(header::IF_NONE_MATCH, tag)]);
        assert_eq!(response(shown(0, 99), &known).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(response(shown(1, 10), &known).status(), StatusCode::OK);
        assert_eq!(response(page(html! {}), &known).status(), StatusCode::OK);
    }
}
