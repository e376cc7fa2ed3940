//! Links to the files and commits of a repository on a forge.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::model::CommitId;

/// In a path, the unreserved characters (RFC 3986, section 2.3) and the slashes between folders stay.
pub(super) const IN_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The pages of a repository on a forge.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Links {
    forge: ForgePages,
    /// The address of the repository, without a slash at the end.
    base: String,
}

/// The forges, which differ in the addresses of their pages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ForgePages {
    /// Gitea and Forgejo.
    Gitea,
    Github,
    Gitlab,
}

impl Links {
    /// Creates the links of the repository with the page `server/path`; `None` if that is not an https or http address
    /// of plain characters, because it becomes part of Markdown.
    pub(crate) fn new(forge: ForgePages, server: &str, path: &str) -> Option<Self> {
        let base = format!("{}/{}", server.trim_end_matches('/'), path.trim_matches('/'));
        let rest = base.strip_prefix("https://").or_else(|| base.strip_prefix("http://"))?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:.-_~%".contains(c);
        let is_address = rest.chars().all(is_plain) && rest.split('/').all(|part| !part.is_empty());
        (is_address && rest.split('/').count() >= 3).then_some(Self { forge, base })
    }

    /// Returns the address of the repository.
    pub(crate) fn repository(&self) -> &str {
        &self.base
    }

    /// Returns the address of a commit.
    pub(crate) fn commit(&self, id: CommitId) -> String {
        let base = &self.base;
        match self.forge {
            ForgePages::Gitea | ForgePages::Github => format!("{base}/commit/{id}"),
            ForgePages::Gitlab => format!("{base}/-/commit/{id}"),
        }
    }

    /// Returns the address of a file at a revision; line 0 is the whole file.
    pub(crate) fn file(&self, revision: CommitId, path: &str, line: u32) -> String {
        let base = &self.base;
        let path = utf8_percent_encode(path, IN_PATH);
        let line = match line {
            0 => String::new(),
            line => format!("#L{line}"),
        };
        match self.forge {
            ForgePages::Gitea => format!("{base}/src/commit/{revision}/{path}{line}"),
            ForgePages::Github => format!("{base}/blob/{revision}/{path}{line}"),
            ForgePages::Gitlab => format!("{base}/-/blob/{revision}/{path}{line}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectId;

    #[test]
    fn each_forge_has_its_own_addresses() {
        let id = CommitId(ObjectId([4; 20]));
        let of = |forge| Links::new(forge, "https://git.example.com/", "/team/toggles").unwrap();
        let file = |forge| of(forge).file(id, "shop/a b#)`[<.yaml", 7);
        let path = "0404040404040404040404040404040404040404/shop/a%20b%23%29%60%5B%3C.yaml#L7";
        for (forge, pages) in
            [(ForgePages::Gitea, "src/commit"), (ForgePages::Github, "blob"), (ForgePages::Gitlab, "-/blob")]
        {
            assert_eq!(file(forge), format!("https://git.example.com/team/toggles/{pages}/{path}"));
        }
        assert_eq!(
            of(ForgePages::Github).commit(id),
            format!("https://git.example.com/team/toggles/commit/{id}")
        );
        assert_eq!(
            of(ForgePages::Gitlab).commit(id),
            format!("https://git.example.com/team/toggles/-/commit/{id}")
        );
    }

    #[test]
    fn what_is_not_the_address_of_a_repository_has_no_links() {
        for (server, path) in [
            ("", "a/b"),
            ("ftp://example.com", "a/b"),
            ("javascript:alert(1)", "a/b"),
            ("https://example.com", "a"),
            ("https://example.com", "a//b"),
            ("https://example.com", "a/b)x"),
            ("https://user@example.com", "a/b"),
            ("https://example.com", "a/b?c"),
        ] {
            assert_eq!(Links::new(ForgePages::Github, server, path), None, "{server} {path}");
        }
    }
}
