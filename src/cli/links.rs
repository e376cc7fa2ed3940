//! Finds the pages of the source's repository on a forge, for links in Markdown. Without certainty, there are no links.

use crate::config::Settings;
use crate::report::{ForgePages, Links};
use crate::source::{CacheMode, Source};

use super::setup;

/// Returns the pages of the source, from the variables of a CI job in its repository, or of a well-known forge.
pub(super) fn links(settings: &Settings) -> Option<Links> {
    let source = Source::new(setup::source(settings, CacheMode::Untouched));
    let url = source.origin_url().ok().flatten()?;
    find(&url, |name| std::env::var(name).ok())
}

fn find(url: &str, variable: impl Fn(&str) -> Option<String>) -> Option<Links> {
    let (host, path) = host_and_path(url)?;
    let is = |name: &str| variable(name).as_deref() == Some("true");
    let github =
        if is("GITEA_ACTIONS") || is("FORGEJO_ACTIONS") { ForgePages::Gitea } else { ForgePages::Github };
    for (is_job, forge, server, repository) in [
        (is("GITHUB_ACTIONS"), github, "GITHUB_SERVER_URL", "GITHUB_REPOSITORY"),
        (is("GITLAB_CI"), ForgePages::Gitlab, "CI_SERVER_URL", "CI_PROJECT_PATH"),
    ] {
        // A job can check out other repositories, too.
        let repository = variable(repository).filter(|name| is_job && is_end_of(&path, name));
        if let Some((server, repository)) = variable(server).zip(repository) {
            return Links::new(forge, &server, &repository);
        }
    }
    let forge = match host.as_str() {
        "github.com" => ForgePages::Github,
        "gitlab.com" => ForgePages::Gitlab,
        "codeberg.org" | "gitea.com" => ForgePages::Gitea,
        _ => return None,
    };
    Links::new(forge, &format!("https://{host}"), &path)
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

    fn found(url: &str, variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let id = crate::model::CommitId(crate::model::ObjectId([4; 20]));
        find(url, variable).map(|links| links.commit(id).replace(&id.to_string(), "ID"))
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
