//! The frame of a page: head, header with navigation, main part, footer.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Asset, NavLink};

/// Whether all is well, for the icon of the tab and the banner.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Something is wrong.
    Bad,
    /// All is well.
    Good,
    /// Something needs attention.
    Warn,
}

impl Verdict {
    /// Returns `bad`, `good` or `warn`, for the class of an element.
    #[must_use]
    pub fn as_str(self) -> &'static str {
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

    /// Returns a symbol whose shape differs for each verdict, hidden from screen readers: the words next to it count.
    #[must_use]
    pub fn symbol(self) -> Markup {
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

/// The parts of a page.
pub struct PageFrame<'a> {
    /// The name of the program, such as `gitoggle sandbox`.
    pub name: &'a str,
    /// The title of the tab; begins with what matters most.
    pub title: &'a str,
    /// Decides the icon of the tab.
    pub verdict: Verdict,
    /// Changes with the content of the page. The script sends it as `If-None-Match`, so it is also the `ETag`.
    pub version: &'a str,
    /// The interval of the updates in seconds, of which no unit is shorter than a second.
    pub interval: u32,
    /// The links of the header, to parts of this page.
    pub links: &'a [NavLink<'a>],
    /// What fills the space between header and footer.
    pub main: Markup,
    /// What is at the end.
    pub footer: Markup,
}

impl PageFrame<'_> {
    /// Renders the page.
    #[must_use]
    pub fn render(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (self.head())
                body data-version=(self.version) data-interval=(self.interval) {
                    a.skip href="#main" { "Skip to the content" }
                    (self.header())
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

/// A toggle switch.
const LOGO: PreEscaped<&str> = PreEscaped(
    "<svg class=\"logo\" viewBox=\"0 0 28 16\" aria-hidden=\"true\" focusable=\"false\">\
     <rect x=\"1\" y=\"1\" width=\"26\" height=\"14\" rx=\"7\"/><circle cx=\"20\" cy=\"8\" r=\"4.4\"/></svg>",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_loads_only_its_own_files_and_escapes_its_title() {
        let page = PageFrame {
            name: "gitoggle",
            title: "<b>\"",
            verdict: Verdict::Warn,
            version: "1-2",
            interval: 5,
            links: &[NavLink {
                target: "toggles",
                text: "Toggles",
                count: Some(3),
            }],
            main: html! { h1 { "Toggles" } },
            footer: html! {},
        };
        let page = page.render();
        assert!(page.contains("<title>&lt;b&gt;&quot;</title>"), "{page}");
        assert!(!page.contains("http://") && !page.contains("https://"), "{page}");
        assert!(!page.contains(" style=") && !page.contains(" onclick="), "{page}");
        for part in [
            "href=\"#toggles\"",
            "data-version=\"1-2\"",
            "assets/warn.",
            "<main id=\"main\"",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }
}
