//! The part of the page that an address selects, and the addresses of the other parts.

use std::ops::Range;

use serde::Deserialize;
use url::form_urlencoded::Serializer;

use crate::admin::api::Selection;

/// The part of the page that an address selects.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(in crate::admin) struct PageQuery {
    /// Words in the names of toggles.
    pub(crate) q: String,
    pub(crate) state: String,
    pub(crate) environment: String,
    /// A single toggle, shown in full.
    pub(crate) toggle: String,
    /// The pages of the three lists, from 1.
    page: String,
    environments: String,
    waiting: String,
    /// Where the history begins: before this commit of the applied ref.
    pub(crate) before: String,
    /// A single deployment, and where its toggles begin.
    pub(crate) deployment: String,
    pub(crate) after: String,
}

/// A list that is shown in pages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum List {
    Environments,
    Toggles,
    Waiting,
}

impl List {
    /// Returns its name, which is also the id of its part of the page.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Environments => "environments",
            Self::Toggles => "toggles",
            Self::Waiting => "waiting",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ListPage {
    pub(crate) list: List,
    /// From 0.
    pub(crate) number: usize,
    /// The most entries of a page, at least one.
    size: usize,
    pub(crate) total: usize,
}

impl ListPage {
    pub(crate) fn entries(self) -> Range<usize> {
        let first = self.number * self.size;
        first..self.total.min(first + self.size)
    }
}

impl PageQuery {
    pub(crate) fn selection(&self) -> Selection {
        let whole = |state: &str, environment: &str| Selection::parse(&self.q, state, environment);
        whole(&self.state, &self.environment)
            .or_else(|_| whole("", &self.environment))
            .or_else(|_| whole(&self.state, ""))
            .or_else(|_| whole("", ""))
            .unwrap_or_default()
    }

    /// Returns the page of a list with `total` entries that the address asks for. A list that has become
    /// shorter ends with its last page.
    pub(crate) fn page_of(&self, list: List, total: usize, size: usize) -> ListPage {
        let number = match list {
            List::Environments => &self.environments,
            List::Toggles => &self.page,
            List::Waiting => &self.waiting,
        };
        let wanted = number.parse::<usize>().unwrap_or(1).saturating_sub(1);
        ListPage { list, number: wanted.min(total.saturating_sub(1) / size), size, total }
    }

    /// Returns the address of another page of a list, from 0, and everything else as it is.
    pub(crate) fn at_page(&self, list: List, page: usize) -> String {
        let number = (page + 1).to_string();
        let mut query = self.clone();
        let field = match list {
            List::Environments => &mut query.environments,
            List::Toggles => &mut query.page,
            List::Waiting => &mut query.waiting,
        };
        *field = number;
        format!("{}#{}", query.address(), list.as_str())
    }

    fn address(&self) -> String {
        // Destructured, so that no new field can be forgotten.
        let Self { q, state, environment, toggle, page, environments, waiting, before, deployment, after } =
            self;
        address(&[
            ("q", q),
            ("state", state),
            ("environment", environment),
            ("toggle", toggle),
            ("page", page),
            ("environments", environments),
            ("waiting", waiting),
            ("before", before),
            ("deployment", deployment),
            ("after", after),
        ])
    }
}

/// Returns the address of the page with these parts of a query, relative to the page; empty ones are left
/// out.
pub(crate) fn address(parts: &[(&str, &str)]) -> String {
    let mut query = Serializer::for_suffix(String::from("?"), 1);
    for (name, value) in parts.iter().filter(|(_, value)| !value.is_empty()) {
        query.append_pair(name, value);
    }
    query.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_what_is_selected_and_encode_it() {
        let query = PageQuery { q: "a&b <\"".to_owned(), page: "-3".to_owned(), ..PageQuery::default() };
        assert_eq!(query.page_of(List::Toggles, 50, 30).number, 0);
        assert_eq!(query.at_page(List::Toggles, 1), "?q=a%26b+%3C%22&page=2#toggles");
        assert_eq!(address(&[("toggle", "a/b/c"), ("q", "")]), "?toggle=a%2Fb%2Fc");
    }

    #[test]
    fn a_page_after_the_last_one_is_the_last_one() {
        for (number, total, expected) in [
            ("", 0, 0..0),
            ("1", 0, 0..0),
            ("7", 0, 0..0),
            ("1", 5, 0..5),
            ("2", 60, 30..60),
            ("3", 60, 30..60),
            ("3", 61, 60..61),
            ("18446744073709551615", 61, 60..61),
            ("99999999999999999999", 61, 0..30),
        ] {
            let query = PageQuery { page: number.to_owned(), ..PageQuery::default() };
            let entries = query.page_of(List::Toggles, total, 30).entries();
            assert_eq!(entries, expected, "page {number} of {total}");
        }
    }
}
