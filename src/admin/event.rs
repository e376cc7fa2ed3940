//! Whether a webhook is about the repository and the ref that are followed. Nothing else of it is looked at.

use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::transport::RepoUrl;

/// What is followed.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    /// Where the repository is, if that is not on this machine.
    repo: Option<Place>,
    /// The ref, if it is a branch or a tag.
    reference: Option<String>,
}

/// A repository, however its address is written.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Place {
    host: String,
    path: String,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum About {
    AnotherRef,
    AnotherRepository,
    Us,
}

impl Watched {
    /// Says what is followed: a repository, and a ref as the status has it. Without one, everything counts.
    pub(super) fn new(repo: Option<&RepoUrl>, reference: Option<&str>) -> Self {
        Self {
            repo: repo
                .filter(|repo| repo.local_path().is_none())
                .and_then(|repo| Place::parse(&repo.to_string())),
            reference: reference.filter(|name| is_name(name)).map(str::to_owned),
        }
    }

    /// Returns whether `event`, a push of any of the hosts, is about what is followed. What it does not say
    /// counts as said: the sender knew the secret, and one look too many costs nothing.
    pub(super) fn about(&self, event: &Value) -> About {
        if !self.is_repo_of(event) {
            return About::AnotherRepository;
        }
        let pushed = event.get("ref").and_then(Value::as_str);
        match (&self.reference, pushed) {
            (Some(ours), Some(theirs)) if !same_ref(ours, theirs) => About::AnotherRef,
            _ => About::Us,
        }
    }

    fn is_repo_of(&self, event: &Value) -> bool {
        let Some(ours) = &self.repo else {
            return true;
        };
        let texts: Vec<&str> = ["repository", "project"]
            .iter()
            .filter_map(|member| event.get(member))
            .flat_map(addresses)
            .collect();
        let places: Vec<Place> = texts.iter().copied().filter_map(Place::parse).collect();
        if places.is_empty() {
            return texts.is_empty() || texts.iter().any(|name| ours.is_named(name));
        }
        places.contains(ours)
    }
}

/// Returns the members of a repository that say where it is, by URL or by name. A plain text is taken for one.
fn addresses(repository: &Value) -> Vec<&str> {
    const MEMBERS: [&str; 13] = [
        "clone_url",
        "full_name",
        "git_http_url",
        "git_ssh_url",
        "git_url",
        "homepage",
        "html_url",
        "http_url",
        "path_with_namespace",
        "ssh_url",
        "svn_url",
        "url",
        "web_url",
    ];
    let members = MEMBERS.iter().filter_map(|member| repository.get(member));
    members.chain([repository]).filter_map(Value::as_str).collect()
}

impl Place {
    fn parse(text: &str) -> Option<Self> {
        let (host, path) = match text.contains("://") {
            true => {
                let url = url::Url::parse(text).ok()?;
                (url.host_str()?.to_owned(), url.path().to_owned())
            }
            false => {
                let (host, path) = text.split_once(':').filter(|(host, _)| !host.contains('/'))?;
                let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
                (host.to_owned(), path.to_owned())
            }
        };
        let host = host.to_lowercase();
        // Some hosts offer ssh on the HTTPS port under another name: `ssh.github.com`, `altssh.gitlab.com`.
        let plain = host.strip_prefix("altssh.").or_else(|| host.strip_prefix("ssh."));
        Some(Self {
            host: plain.unwrap_or(&host).to_owned(),
            path: normal(&path),
        })
    }

    /// Returns whether this is the repository of that name, such as `owner/name`, on some host.
    fn is_named(&self, name: &str) -> bool {
        let name = normal(name);
        let folder = self.path.strip_suffix(&name);
        !name.is_empty() && folder.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
    }
}

/// Hosts take their paths for the same in any case, with and without `.git`.
fn normal(path: &str) -> String {
    let path = percent_decode_str(path).decode_utf8_lossy().to_lowercase();
    let path = path.trim_matches('/');
    path.strip_suffix(".git").unwrap_or(path).to_owned()
}

/// A branch or a tag, not `HEAD (detached)` and not a commit id.
fn is_name(reference: &str) -> bool {
    let is_commit = reference.len() >= 40 && reference.bytes().all(|byte| byte.is_ascii_hexdigit());
    !(reference.starts_with("HEAD") || reference.contains(' ') || is_commit || reference.is_empty())
}

/// Returns whether two refs can be the same, where either may be short.
fn same_ref(ours: &str, theirs: &str) -> bool {
    let is_short_of = |short: &str, full: &str| {
        ["refs/heads/", "refs/tags/"]
            .iter()
            .any(|folder| full.strip_prefix(folder) == Some(short))
    };
    ours == theirs || is_short_of(ours, theirs) || is_short_of(theirs, ours)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn watched(repo: &str, reference: Option<&str>) -> Watched {
        Watched::new(Some(&repo.parse().unwrap()), reference)
    }

    #[test]
    fn a_repository_is_the_same_however_it_is_written() {
        for (ours, theirs, same) in [
            (
                "https://github.com/acme/toggles",
                "https://github.com/acme/toggles.git",
                true,
            ),
            (
                "https://github.com/acme/toggles.git",
                "https://GitHub.com/Acme/Toggles",
                true,
            ),
            (
                "git@github.com:acme/toggles.git",
                "https://github.com/acme/toggles.git",
                true,
            ),
            (
                "ssh://git@github.com/acme/toggles",
                "git@github.com:acme/toggles.git",
                true,
            ),
            (
                "ssh://git@ssh.github.com:443/acme/toggles",
                "git@github.com:acme/toggles.git",
                true,
            ),
            (
                "ssh://git@git.acme.org:2222/acme/toggles",
                "http://git.acme.org:3000/acme/toggles/",
                true,
            ),
            (
                "https://github.com/acme/toggles",
                "https://github.com/acme/toggles-2.git",
                false,
            ),
            (
                "https://github.com/acme/toggles",
                "https://github.com/evil/toggles.git",
                false,
            ),
            (
                "https://github.com/acme/toggles",
                "https://github.com.evil.org/acme/toggles",
                false,
            ),
            ("https://git.acme.org/scm/acme/toggles", "acme/toggles", true),
            ("https://git.acme.org/xacme/toggles", "acme/toggles", false),
        ] {
            let event = json!({ "repository": theirs });
            let about = watched(ours, None).about(&event);
            assert_eq!(about == About::Us, same, "{ours} {theirs}");
        }
    }

    #[test]
    fn the_hosts_say_it_in_different_members() {
        let watched = watched("https://git.acme.org/acme/toggles.git", Some("refs/heads/main"));
        for (event, about) in [
            (json!({}), About::Us),
            (json!({ "ref": "refs/heads/main" }), About::Us),
            (json!({ "ref": "main" }), About::Us),
            (json!({ "ref": "refs/heads/mainline" }), About::AnotherRef),
            (json!({ "ref": "refs/tags/main" }), About::AnotherRef),
            (
                json!({ "repository": { "full_name": "Acme/Toggles" }, "ref": "refs/heads/main" }),
                About::Us,
            ),
            (
                json!({ "repository": { "full_name": "acme/other" } }),
                About::AnotherRepository,
            ),
            (
                json!({ "repository": { "full_name": "acme/toggles", "clone_url": "https://other.org/acme/toggles.git" } }),
                About::AnotherRepository,
            ),
            (
                json!({ "project": { "git_ssh_url": "git@git.acme.org:acme/toggles.git" }, "ref": "refs/heads/x" }),
                About::AnotherRef,
            ),
            (
                json!({ "project": { "path_with_namespace": "acme/toggles" } }),
                About::Us,
            ),
        ] {
            assert_eq!(watched.about(&event), about, "{event}");
        }
    }

    #[test]
    fn what_has_no_name_counts_as_any() {
        let event = json!({ "repository": { "full_name": "a/b" }, "ref": "refs/heads/x" });
        assert_eq!(watched("/srv/toggles", None).about(&event), About::Us);
        assert_eq!(
            Watched::new(None, Some("HEAD (detached)")).about(&event),
            About::Us
        );
        assert_eq!(
            Watched::new(None, Some(&"ab".repeat(20))).about(&event),
            About::Us
        );
        assert_eq!(Watched::new(None, Some("main")).about(&event), About::AnotherRef);
        assert_eq!(Watched::new(None, Some("x")).about(&event), About::Us);
    }
}
