//! The errors of parsing the address of a repository.

/// Why a text is not the address of a repository, or not an allowed one. Never contains the text, because a URL may
/// contain a password.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RepoUrlError {
    /// An empty text.
    #[error("the repository is empty")]
    Empty,
    /// A text that does not parse.
    #[error("this is not a URL of a repository: {0}")]
    Malformed(String),
    /// A host, user, or path that `ssh` could take for an option.
    #[error("a {0} of a repository must not begin with `-`")]
    OptionLike(&'static str),
    /// A URL that contains a password.
    #[error(
        "a URL must not contain a password; set `GITOGGLE_GIT_USERNAME` and `GITOGGLE_GIT_PASSWORD`, or pass \
         `--git-password-file`"
    )]
    Password,
    /// An unsupported scheme.
    #[error("`{0}` is not supported for repositories; use an https or ssh URL, or a path")]
    Scheme(String),
}

pub(super) fn parse(text: &str) -> Result<url::Url, RepoUrlError> {
    url::Url::parse(text).map_err(|error| RepoUrlError::Malformed(error.to_string()))
}
