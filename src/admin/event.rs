//! Decides whether a webhook concerns the repository and the ref that are followed. Reads nothing else of it.
//!
//! When in doubt, a webhook concerns us: the sender knew the secret, and one pass too many costs nothing.

use serde_json::Value;

use crate::git::RepoUrl;

/// The repository and the ref that are followed.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    /// The addresses of the repository: as configured, and where it was redirected to.
    addresses: Vec<RepoUrl>,
    /// The ref, if it is a branch or a tag.
    reference: Option<String>,
}

/// What an event concerns.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum About {
    /// Another ref: its name.
    AnotherRef(String),
    /// Another repository: its name.
    AnotherRepository(String),
    Us,
}

impl Watched {
    /// Makes the value for all addresses of a repository, and a ref as the status has it. Without an address, every
    /// repository counts; without a ref, every ref.
    pub(super) fn new<'a>(addresses: impl IntoIterator<Item = &'a RepoUrl>, reference: Option<&str>) -> Self {
        Self {
            addresses: addresses.into_iter().cloned().collect(),
            // A push names neither a commit id nor a detached `HEAD`, so every ref counts then.
            reference: reference.filter(|name| is_name(name)).map(str::to_owned),
        }
    }

    /// Returns what `event`, a push of any of the hosts, concerns.
    pub(super) fn about(&self, event: &Value) -> About {
        if let Some(theirs) = self.other_repository(event) {
            return About::AnotherRepository(theirs);
        }
        let pushed = event.get("ref").and_then(Value::as_str);
        match (&self.reference, pushed) {
            (Some(ours), Some(theirs)) if !same_ref(ours, theirs) => About::AnotherRef(short(theirs)),
            _ => About::Us,
        }
    }

    /// Returns the name of the event's repository if it is certainly another one.
    fn other_repository(&self, event: &Value) -> Option<String> {
        // GitLab also describes the repository in `project`.
        let theirs: Vec<&str> = ["repository", "project"]
            .iter()
            .filter_map(|member| event.get(member))
            .flat_map(addresses)
            .collect();
        // Only paths are compared, because a forge inside a cluster has two host names (DESIGN, section 9).
        let is_ours = |theirs: &&str| self.addresses.iter().any(|ours| ours.is_same_repository(theirs));
        let in_doubt = self.addresses.is_empty() || theirs.is_empty() || theirs.iter().any(is_ours);
        (!in_doubt).then(|| short(theirs[0]))
    }
}

/// Returns the members of a repository that hold its name or address. A plain text is taken for one.
fn addresses(repository: &Value) -> Vec<&str> {
    const MEMBERS: [&str; 13] = [
        "full_name",
        "path_with_namespace",
        "clone_url",
        "git_http_url",
        "git_ssh_url",
        "git_url",
        "homepage",
        "html_url",
        "http_url",
        "ssh_url",
        "svn_url",
        "url",
        "web_url",
    ];
    let members = MEMBERS.iter().filter_map(|member| repository.get(member));
    members.chain([repository]).filter_map(Value::as_str).collect()
}

/// Cuts a name from a request for the log.
fn short(name: &str) -> String {
    const LONGEST: usize = 200;
    name.chars().take(LONGEST).collect()
}

/// Returns whether the ref is a branch or a tag, not `HEAD (detached)` and not a commit id.
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
        Watched::new([&repo.parse().unwrap()], reference)
    }

    fn another_ref(name: &str) -> About {
        About::AnotherRef(name.to_owned())
    }

    #[test]
    fn a_repository_that_moved_is_known_by_both_names() {
        let urls: Vec<RepoUrl> = ["https://x.org/acme/old.git", "https://x.org/acme/new.git"]
            .map(|url| url.parse().unwrap())
            .into();
        let watched = Watched::new(&urls, None);
        for (name, about) in [
            ("acme/old", About::Us),
            ("acme/new", About::Us),
            ("acme/other", About::AnotherRepository("acme/other".to_owned())),
        ] {
            let event = json!({ "repository": { "full_name": name } });
            assert_eq!(watched.about(&event), about);
        }
    }

    #[test]
    fn each_host_names_the_repository_in_another_member() {
        let watched = watched("https://git.acme.org/acme/toggles.git", Some("refs/heads/main"));
        for (event, about) in [
            (json!({}), About::Us),
            (json!({ "ref": "refs/heads/main" }), About::Us),
            (json!({ "ref": "main" }), About::Us),
            (
                json!({ "ref": "refs/heads/mainline" }),
                another_ref("refs/heads/mainline"),
            ),
            (json!({ "ref": "refs/tags/main" }), another_ref("refs/tags/main")),
            (
                json!({ "repository": { "full_name": "Acme/Toggles" }, "ref": "refs/heads/main" }),
                About::Us,
            ),
            (
                json!({ "repository": { "full_name": "acme/other" } }),
                About::AnotherRepository("acme/other".to_owned()),
            ),
            (
                json!({ "repository": { "full_name": "acme/toggles", "clone_url": "https://other.org/acme/toggles.git" } }),
                About::Us,
            ),
            (
                json!({ "project": { "git_ssh_url": "git@git.acme.org:acme/toggles.git" }, "ref": "refs/heads/x" }),
                another_ref("refs/heads/x"),
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
    fn a_missing_name_matches_everything() {
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
        assert_eq!(
            Watched::new(None, Some("main")).about(&event),
            another_ref("refs/heads/x")
        );
        assert_eq!(Watched::new(None, Some("x")).about(&event), About::Us);
    }
}
