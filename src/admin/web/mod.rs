//! The frame of the pages, their parts, and the files that they load.

use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use crate::model::{escaped, hex, rfc3339};

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

/// Returns text from elsewhere with its control, bidirectional and line-break characters escaped. The
/// templates escape what HTML would interpret.
pub(crate) fn safe(text: &str) -> String {
    escaped(text).to_string()
}

/// Renders text from elsewhere, with the parts between backticks as code.
pub(crate) fn prose(text: &str) -> Markup {
    let safe = safe(text);
    let parts: Vec<_> = safe.split('`').collect();
    // A backtick without a second one is only a character.
    let is_paired = parts.len() % 2 == 1;
    html! {
        @for (position, part) in parts.iter().enumerate() {
            @if !is_paired { @if position > 0 { "`" } (part) }
            @else if position % 2 == 1 { code { (part) } }
            @else { (part) }
        }
    }
}

/// Renders a command with a button that copies it. Lines stay as they are.
pub(crate) fn command(text: &str) -> Markup {
    let lines: Vec<_> = text.lines().map(safe).collect();
    html! {
        div.command {
            code tabindex="0" { (lines.join("\n")) }
            button.copy type="button" data-copy { "Copy" }
        }
    }
}

/// Renders the lines of a unified diff, each with its sign. `label` names the diff for screen readers.
pub(crate) fn diff(label: &str, lines: &[String]) -> Markup {
    let class = |line: &str| match line.as_bytes().first() {
        Some(b'+') => "add",
        Some(b'-') => "del",
        Some(b'@') => "hunk",
        _ => "same",
    };
    html! {
        // It scrolls, so the keyboard must reach it.
        pre.diff tabindex="0" role="region" aria-label=(safe(label)) {
            @for line in lines { span class=(class(line)) { (safe(line)) "\n" } }
        }
    }
}

/// Renders a time in seconds since 1970-01-01 UTC, relative to `now`. The script keeps it up to date.
pub(crate) fn time(seconds: i64, now: i64) -> Markup {
    let exact = rfc3339(seconds);
    html! { time datetime=(exact) title=(exact) { (relative(seconds, now)) } }
}

/// Returns a time relative to `now` in words, such as `5 min ago` or `in 20 s`. The script's `relative` is
/// the same.
pub(crate) fn relative(seconds: i64, now: i64) -> String {
    let distance = now.saturating_sub(seconds);
    let amount = match distance.unsigned_abs() {
        0..2 => return "now".to_owned(),
        seconds @ 2..100 => format!("{seconds} s"),
        seconds @ 100..5_400 => format!("{} min", (seconds + 30) / 60),
        seconds @ 5_400..172_800 => format!("{} h", (seconds + 1_800) / 3_600),
        seconds => format!("{} days", (seconds + 43_200) / 86_400),
    };
    if distance > 0 { format!("{amount} ago") } else { format!("in {amount}") }
}

/// Only the page's own stylesheet, script and icons load, and only its own addresses are fetched. Nothing
/// inline runs, so that text which was not escaped could do nothing.
pub(crate) const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

pub(crate) fn page_headers() -> [(HeaderName, &'static str); 6] {
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

/// A file of the pages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Asset {
    /// The tab's icon if something is wrong.
    IconBad,
    /// The tab's icon if all is well.
    IconGood,
    /// The tab's icon if something needs attention.
    IconWarn,
    Script,
    Style,
}

impl Asset {
    const ALL: [Self; 5] = [Self::IconBad, Self::IconGood, Self::IconWarn, Self::Script, Self::Style];

    /// Returns its address relative to the page, such as `assets/page.0123456789abcdef.css`. Relative,
    /// because a proxy may serve the page below a path.
    pub(crate) fn address(self) -> String {
        format!("assets/{}", self.name())
    }

    fn name(self) -> String {
        static HASHES: LazyLock<[String; 5]> =
            LazyLock::new(|| Asset::ALL.map(|asset| hex(&Sha256::digest(asset.content())[..8])));
        let hash = &HASHES[self as usize];
        let (stem, extension, _) = self.kind();
        format!("{stem}.{hash}.{extension}")
    }

    fn content(self) -> &'static str {
        match self {
            Self::IconBad => include_str!("bad.svg"),
            Self::IconGood => include_str!("good.svg"),
            Self::IconWarn => include_str!("warn.svg"),
            Self::Script => include_str!("page.js"),
            Self::Style => include_str!("page.css"),
        }
    }

    /// Returns the two parts of its name, and its content type.
    fn kind(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::IconBad => ("bad", "svg", "image/svg+xml"),
            Self::IconGood => ("good", "svg", "image/svg+xml"),
            Self::IconWarn => ("warn", "svg", "image/svg+xml"),
            Self::Script => ("page", "js", "text/javascript; charset=utf-8"),
            Self::Style => ("page", "css", "text/css; charset=utf-8"),
        }
    }
}

/// Returns the file with this name, which is what follows `/assets/` in the address; 404 for any other name.
pub(crate) fn asset_response(name: &str) -> Response {
    let Some(asset) = Asset::ALL.into_iter().find(|asset| asset.name() == name) else {
        return (StatusCode::NOT_FOUND, "not found\n").into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, asset.kind().2),
        // The name changes with the content.
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, asset.content()).into_response()
}

#[cfg(test)]
mod tests {
    mod frame {
        use super::super::*;

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

    mod parts {
        use super::super::*;

        #[test]
        fn a_time_is_relative_in_the_largest_unit_that_is_precise_enough() {
            for (distance, words) in [
                (0, "now"),
                (1, "now"),
                (-20, "in 20 s"),
                (99, "99 s ago"),
                (100, "2 min ago"),
                (5_399, "90 min ago"),
                (5_400, "2 h ago"),
                (172_799, "48 h ago"),
                (172_800, "2 days ago"),
                (i64::MAX, "106751991167301 days ago"),
            ] {
                assert_eq!(relative(0, distance), words, "{distance}");
            }
        }

        #[test]
        fn paired_backticks_are_code() {
            for (text, shown) in [
                ("pass `--a` or `b`", "pass <code>--a</code> or <code>b</code>"),
                ("one ` <i>", "one ` &lt;i&gt;"),
                ("`<i>`", "<code>&lt;i&gt;</code>"),
                ("", ""),
            ] {
                assert_eq!(prose(text).into_string(), shown);
            }
        }

        #[test]
        fn text_from_elsewhere_is_escaped() {
            let lines = ["-<b>\u{202e}".to_owned(), "+\"".to_owned()];
            let shown = diff("\"<", &lines).into_string();
            assert!(shown.contains("<span class=\"del\">-&lt;b&gt;\\u{202e}\n</span>"), "{shown}");
            assert!(shown.contains("aria-label=\"&quot;&lt;\""), "{shown}");
            let shown = command("a <b>\n\u{7}").into_string();
            assert!(shown.contains("a &lt;b&gt;\n\\u{7}</code>"), "{shown}");
        }
    }

    mod assets {
        use super::super::*;

        #[test]
        fn each_file_is_found_by_its_name_and_no_other() {
            for (position, asset) in Asset::ALL.into_iter().enumerate() {
                assert_eq!(asset as usize, position);
                let name = asset.address().replace("assets/", "");
                assert_eq!(asset_response(&name).status(), StatusCode::OK, "{name}");
            }
            for name in ["", "page.css", "../page.css", "page.0000000000000000.css"] {
                assert_eq!(asset_response(name).status(), StatusCode::NOT_FOUND, "{name}");
            }
        }
    }
}
