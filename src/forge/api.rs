//! The forges whose API is called, and their addresses.

use std::fmt;
use std::str::FromStr;

use url::Url;

use super::Forge;
use super::api_routes::Resource;
use crate::model::words;

words! {
    /// A forge whose API gitoggle calls.
    ForgeApi {
        /// GitHub, and GitHub Enterprise Server.
        GitHub = "github",
        /// GitLab.
        GitLab = "gitlab",
        /// Gitea and Forgejo.
        Gitea = "gitea",
    }
}

impl ForgeApi {
    /// Returns the length of the longest comment, in characters.
    #[must_use]
    pub fn longest_comment(self) -> usize {
        match self {
            Self::GitHub => 65_536,
            Self::GitLab => 1_000_000,
            // Gitea has no limit, but a column of its database may have this one.
            Self::Gitea => 65_535,
        }
    }

    /// Returns whether a job of `forge` has the variables of this API.
    pub(super) fn is_of(self, forge: Forge) -> bool {
        match self {
            Self::GitHub => forge == Forge::GitHub,
            Self::GitLab => forge == Forge::GitLab,
            // Old runners of Gitea do not set a variable of their own.
            Self::Gitea => matches!(forge, Forge::Gitea | Forge::GitHub),
        }
    }

    /// Returns what a token needs, for a message.
    pub(super) fn permissions(self) -> &'static str {
        match self {
            Self::GitHub => {
                "a comment needs `permissions: pull-requests: write`, a status `statuses: write`, and the comment of a \
                 merged pull request `pull-requests: read` and `contents: read`; the token of a job for a fork may only \
                 read"
            }
            Self::GitLab => {
                "GITLAB_TOKEN needs the scope `api` and the role Developer; a job token (CI_JOB_TOKEN) may neither \
                 comment nor set a status in most versions of GitLab, and jobs for a fork do not get the variables of \
                 the project"
            }
            Self::Gitea => {
                "the token needs the scopes `read:user`, `write:issue` (comments) and `write:repository` (statuses); the \
                 token of a job for a fork may only read"
            }
        }
    }
}

/// The address of a forge's API: `https`, a host, and optionally a port and a path. Printed without a trailing slash.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ApiUrl(Url);

/// Why a text is not the address of an API. Never quotes the text, which may contain a password.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ApiUrlError {
    /// A user, a password, a query, or a fragment.
    #[error("the address of an API must not have a user, password, query, or fragment")]
    Extra,
    /// Its scheme is not `https`.
    #[error(
        "write `https://…`; `{0}` is refused, because it would send the token unencrypted, within a cluster and on \
         loopback too"
    )]
    Insecure(String),
    /// It is not a URL.
    #[error("this is not a URL; write `https://…`")]
    NotUrl(#[from] url::ParseError),
}

impl FromStr for ApiUrl {
    type Err = ApiUrlError;

    fn from_str(text: &str) -> Result<Self, ApiUrlError> {
        let mut url = Url::parse(text.trim())?;
        let has_user = !url.username().is_empty() || url.password().is_some();
        if has_user || url.query().is_some() || url.fragment().is_some() {
            return Err(ApiUrlError::Extra);
        }
        if url.scheme() != "https" {
            return Err(ApiUrlError::Insecure(url.scheme().to_owned()));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self(url))
    }
}

impl fmt::Display for ApiUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl ApiUrl {
    /// Returns whether both are on the same host and port.
    pub(super) fn is_same_host(&self, other: &Self) -> bool {
        self.0.origin() == other.0.origin()
    }

    /// Returns the URL of a request: always on the host of this one.
    pub(super) fn at(&self, resource: &Resource) -> String {
        match resource {
            Resource::Path(path) => format!("{self}{path}"),
            // GitHub has it at `api.github.com/graphql`, an Enterprise Server at `HOST/api/graphql`.
            Resource::GraphQl => {
                let address = self.to_string();
                format!("{}/graphql", address.strip_suffix("/v3").unwrap_or(&address))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_an_api_is_https_without_a_user() {
        for (text, shown) in [
            ("https://api.github.com", "https://api.github.com"),
            (
                "https://git.example.com/api/v4/",
                "https://git.example.com/api/v4",
            ),
        ] {
            assert_eq!(text.parse::<ApiUrl>().unwrap().to_string(), shown);
        }
        for (text, part) in [
            ("", "not a URL"),
            ("api.github.com", "not a URL"),
            ("http://127.0.0.1/api/v1", "loopback too"),
            ("https://me:hunter2@git.example.com", "user"),
            ("https://git.example.com?a=b", "query"),
            ("https://git.example.com#a", "fragment"),
        ] {
            let error = text.parse::<ApiUrl>().unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn graphql_is_on_the_host_of_the_api() {
        for (api, graphql) in [
            ("https://api.github.com", "https://api.github.com/graphql"),
            (
                "https://ghe.example.com/api/v3",
                "https://ghe.example.com/api/graphql",
            ),
        ] {
            assert_eq!(api.parse::<ApiUrl>().unwrap().at(&Resource::GraphQl), graphql);
        }
    }
}
