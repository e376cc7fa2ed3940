//! The forges, and what pages and webhooks differ in. Their APIs are in `forge`.

use super::words;

words! {
    /// A forge whose API gitoggle calls.
    Forge {
        /// GitHub, and GitHub Enterprise Server.
        GitHub = "github",
        GitLab = "gitlab",
        /// Gitea and Forgejo.
        Gitea = "gitea",
    }
}

/// What is known of a forge without its API.
#[derive(Debug)]
pub(crate) struct ForgeSite {
    /// The public hosts.
    pub hosts: &'static [&'static str],
    /// The variables of which one is `true` in its jobs.
    pub is_job: &'static [&'static str],
    /// The variable of a job that has the address of the forge, and that with the path of the repository.
    pub server: &'static str,
    pub repository: &'static str,
    /// Between the address of a repository and a commit.
    pub commit_page: &'static str,
    /// Between the address of a repository and the revision of a file.
    pub file_page: &'static str,
    /// Between the page of a file and a line.
    pub line: &'static str,
    /// The length of the longest comment, in characters.
    pub longest_comment: usize,
    pub webhook: WebhookProof,
}

/// How a forge proves that it knows the secret of a webhook.
#[derive(Debug)]
pub(crate) enum WebhookProof {
    /// The header has the secret itself.
    Secret { header: &'static str },
    /// After the prefix, the header has the HMAC-SHA256 of the body in hexadecimal digits.
    Signature { header: &'static str, prefix: &'static str },
}

impl Forge {
    /// The length of a comment that every forge accepts, in characters.
    pub(crate) const ANY_COMMENT: usize = {
        let (mut shortest, mut row) = (usize::MAX, 0);
        while row < Self::ALL.len() {
            let longest = Self::ALL[row].site().longest_comment;
            if longest < shortest {
                shortest = longest;
            }
            row += 1;
        }
        shortest
    };

    pub(crate) const fn site(self) -> ForgeSite {
        match self {
            Self::GitHub => ForgeSite {
                hosts: &["github.com"],
                is_job: &["GITHUB_ACTIONS"],
                server: "GITHUB_SERVER_URL",
                repository: "GITHUB_REPOSITORY",
                commit_page: "commit",
                file_page: "blob",
                line: "#L",
                longest_comment: 65_536,
                webhook: WebhookProof::Signature { header: "x-hub-signature-256", prefix: "sha256=" },
            },
            Self::GitLab => ForgeSite {
                hosts: &["gitlab.com"],
                is_job: &["GITLAB_CI"],
                server: "CI_SERVER_URL",
                repository: "CI_PROJECT_PATH",
                commit_page: "-/commit",
                file_page: "-/blob",
                line: "#L",
                longest_comment: 1_000_000,
                webhook: WebhookProof::Secret { header: "x-gitlab-token" },
            },
            Self::Gitea => ForgeSite {
                hosts: &["codeberg.org", "gitea.com"],
                is_job: &["GITEA_ACTIONS", "FORGEJO_ACTIONS"],
                server: "GITHUB_SERVER_URL",
                repository: "GITHUB_REPOSITORY",
                commit_page: "commit",
                file_page: "src/commit",
                line: "#L",
                // Gitea has no limit, but some of its databases do.
                longest_comment: 65_535,
                webhook: WebhookProof::Signature { header: "x-gitea-signature", prefix: "" },
            },
        }
    }
}
