//! Links to the files and commits of a repository on a forge.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::model::{CommitId, Forge};

/// In a path, the unreserved characters (RFC 3986, section 2.3) and the slashes between folders stay.
pub(super) const IN_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The pages of a repository on a forge.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Links {
    forge: Forge,
    /// The address of the repository, without a slash at the end.
    base: String,
}

impl Links {
    /// Returns the pages of the repository with this address, from the variables of a CI job in it, or of a
    /// well-known forge.
    pub(crate) fn of(url: &str, variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let (host, path) = host_and_path(url)?;
        let is = |name: &&str| variable(name).as_deref() == Some("true");
        // Gitea is asked before GitHub, whose variable it sets, too.
        for forge in Forge::ALL.into_iter().rev() {
            let site = forge.site();
            let is_job = site.is_job.iter().any(is);
            // A job can check out other repositories, too.
            let repository = variable(site.repository).filter(|name| is_job && is_end_of(&path, name));
            if let Some((server, repository)) = variable(site.server).zip(repository) {
                return Self::new(forge, &server, &repository);
            }
        }
        let forge = Forge::ALL.into_iter().find(|forge| forge.site().hosts.contains(&host.as_str()))?;
        Self::new(forge, &format!("https://{host}"), &path)
    }

    /// Creates the links of the repository with the page `server/path`; `None` if that is not an https or
    /// http address of plain characters, because it becomes part of Markdown.
    pub(crate) fn new(forge: Forge, server: &str, path: &str) -> Option<Self> {
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
        format!("{}/{}/{id}", self.base, self.forge.site().commit_page)
    }

    /// Returns the address of a file at a revision; line 0 is the whole file.
    pub(crate) fn file(&self, revision: CommitId, path: &str, line: u32) -> String {
        let site = self.forge.site();
        let path = utf8_percent_encode(path, IN_PATH);
        let line = match line {
            0 => String::new(),
            line => format!("{}{line}", site.line),
        };
        format!("{}/{}/{revision}/{path}{line}", self.base, site.file_page)
    }
}

/// Returns whether a path on the host ends with the name of a repository.
fn is_end_of(path: &str, name: &str) -> bool {
    let (path, name) = (path.to_lowercase(), name.to_lowercase());
    let folder = path.strip_suffix(name.as_str());
    !name.is_empty() && folder.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}

/// Returns the host in lower case and the path of an https or ssh address, without user, port and `.git`.
fn host_and_path(url: &str) -> Option<(String, String)> {
    let rest = match url.split_once("://") {
        Some(("https" | "ssh", rest)) => rest.to_owned(),
        Some(_) => return None,
        // `user@host:path`
        None => url.replacen(':', "/", 1),
    };
    let (authority, path) = rest.split_once('/')?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    Some((host.to_lowercase(), path.to_owned()))
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
            [(Forge::Gitea, "src/commit"), (Forge::GitHub, "blob"), (Forge::GitLab, "-/blob")]
        {
            assert_eq!(file(forge), format!("https://git.example.com/team/toggles/{pages}/{path}"));
        }
        assert_eq!(of(Forge::GitHub).commit(id), format!("https://git.example.com/team/toggles/commit/{id}"));
        assert_eq!(
            of(Forge::GitLab).commit(id),
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
            assert_eq!(Links::new(Forge::GitHub, server, path), None, "{server} {path}");
        }
    }

    fn found(url: &str, variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let id = CommitId(ObjectId([4; 20]));
        Links::of(url, variable).map(|links| links.commit(id).replace(&id.to_string(), "ID"))
    }

    #[test]
    fn well_known_forges_need_no_variables_and_others_have_no_links() {
        for (url, page) in [
            ("https://github.com/team/toggles.git", Some("https://github.com/team/toggles/commit/ID")),
            ("git@github.com:team/toggles.git", Some("https://github.com/team/toggles/commit/ID")),
            ("ssh://git@GitLab.com:22/a/b/c/", Some("https://gitlab.com/a/b/c/-/commit/ID")),
            ("https://user:secret@codeberg.org/a/b", Some("https://codeberg.org/a/b/commit/ID")),
            ("https://git.example.com/team/toggles", None),
            ("https://github.com.example.com/team/toggles", None),
            ("/srv/git/github.com/team/toggles", None),
            ("http://github.com/team/toggles", None),
        ] {
            assert_eq!(found(url, &[]).as_deref(), page, "{url}");
        }
    }

    #[test]
    fn the_variables_of_a_job_count_for_its_own_repository_only() {
        let github = [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_SERVER_URL", "https://git.example.com"),
            ("GITHUB_REPOSITORY", "team/toggles"),
        ];
        let page = |pages: &str| Some(format!("https://git.example.com/team/toggles{pages}/commit/ID"));
        assert_eq!(found("https://git.example.com/team/toggles", &github), page(""));
        assert_eq!(found("ssh://git@ssh.example.com:2222/Team/Toggles.git", &github), page(""));
        assert_eq!(found("https://git.example.com/team/other-toggles", &github), None);
        let gitlab = [
            ("GITLAB_CI", "true"),
            ("CI_SERVER_URL", "https://git.example.com"),
            ("CI_PROJECT_PATH", "team/toggles"),
        ];
        let url = "https://gitlab-ci-token:secret@git.example.com/team/toggles.git";
        assert_eq!(found(url, &gitlab), page("/-"));
        assert_eq!(found(url, &gitlab[1..]), None);
    }
}
