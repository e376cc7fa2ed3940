//! Finds the API, the repository, the pull request, and the token: in settings, or in the variables of a CI job.

use super::api::{ApiUrl, ApiUrlError, ForgeApi};
use super::api_error::ForgeError;
use super::api_routes::TokenKind;
use super::ci::PullRequest;
use crate::transport::{Secret, SecretSource};

/// The settings about a forge. What they leave open is found in the variables of the CI job.
#[derive(Clone, Debug, Default)]
pub(crate) struct ForgeSettings {
    pub(crate) url: Option<ApiUrl>,
    /// `owner/name`, or GitLab's number or path of a project.
    pub(crate) repository: Option<String>,
    /// The number of the pull request.
    pub(crate) number: Option<u64>,
    pub(crate) token: Option<SecretSource>,
}

/// A repository on a forge.
#[derive(Clone, Debug)]
pub(crate) struct ForgeTarget {
    pub(crate) api: ForgeApi,
    pub(super) url: ApiUrl,
    /// The repository as given.
    pub(crate) repository: String,
    /// The number of the pull request; `None` in a job for a push.
    pub(crate) number: Option<u64>,
    /// The commit of the job.
    pub(crate) commit: Option<String>,
    /// The page of the job.
    pub(crate) job_url: Option<String>,
    token: Result<(SecretSource, TokenKind), String>,
}

/// Why a forge cannot be called.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForgeTargetError {
    /// Neither a setting nor a variable.
    #[error("{what} is unknown; pass it as `{flag}`; the variable {variable} of a CI job does not name it")]
    Missing {
        what: &'static str,
        flag: &'static str,
        variable: &'static str,
    },
    #[error("`{0}` is not a repository: write `owner/name`")]
    Repository(String),
    #[error("the variable {0} has an unusable address")]
    Url(&'static str, #[source] ApiUrlError),
}

/// The variables of one forge, each with those of its jobs for pushes.
struct Names {
    url: &'static str,
    repository: &'static str,
    commit: &'static str,
    tokens: &'static [(&'static str, TokenKind)],
}

impl ForgeApi {
    fn names(self) -> Names {
        const GITEA: &[(&str, TokenKind)] = &[
            ("GITEA_TOKEN", TokenKind::Personal),
            ("GITHUB_TOKEN", TokenKind::Personal),
        ];
        match self {
            Self::GitLab => Names {
                url: "CI_API_V4_URL",
                repository: "CI_PROJECT_ID",
                commit: "CI_COMMIT_SHA",
                tokens: &[
                    ("GITLAB_TOKEN", TokenKind::Personal),
                    ("CI_JOB_TOKEN", TokenKind::Job),
                ],
            },
            Self::GitHub | Self::Gitea => Names {
                url: "GITHUB_API_URL",
                repository: "GITHUB_REPOSITORY",
                commit: "GITHUB_SHA",
                tokens: match self {
                    Self::Gitea => GITEA,
                    _ => &GITEA[1..],
                },
            },
        }
    }
}

impl ForgeTarget {
    /// Finds the repository. `variable` returns the value of an environment variable, and `file` the content of a file.
    ///
    /// # Errors
    /// If the address or the repository is unknown or malformed. A missing token is an error of the first request only,
    /// because a job for a fork has none.
    pub(crate) fn find(
        api: ForgeApi,
        settings: ForgeSettings,
        variable: &dyn Fn(&str) -> Option<String>,
        file: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ForgeTargetError> {
        let get = |name: &str| variable(name).filter(|value| !value.is_empty());
        let names = api.names();
        let request = PullRequest::of_job(variable, file).filter(|request| api.is_of(request.forge));
        let (number, repository) =
            request.map_or((None, None), |request| (request.number, request.repository));
        let of_job = get(names.url)
            .map(|url| url.parse::<ApiUrl>())
            .transpose()
            .map_err(|error| ForgeTargetError::Url(names.url, error));
        let own = settings.url.clone();
        let of_job = match &own {
            // The variable is not used.
            Some(_) => of_job.unwrap_or_default(),
            None => of_job?,
        };
        let token = token(&settings, own.as_ref(), of_job.as_ref(), &get, names.tokens);
        let url = own.or(of_job);
        let repository = settings
            .repository
            .or(repository)
            .or_else(|| get(names.repository));
        let repository =
            repository.ok_or_else(|| missing("the repository", "--forge-repo", names.repository))?;
        check(api, &repository)?;
        Ok(Self {
            api,
            url: url.ok_or_else(|| missing("the address of the API", "--forge-url", names.url))?,
            repository,
            number: settings.number.or_else(|| number?.parse().ok()),
            commit: get(names.commit),
            job_url: job_url(api, &get),
            token,
        })
    }

    /// Returns the number of the pull request.
    pub(crate) fn request(&self) -> Result<u64, ForgeTargetError> {
        let variable = match self.api {
            ForgeApi::GitLab => "CI_MERGE_REQUEST_IID",
            ForgeApi::GitHub | ForgeApi::Gitea => "GITHUB_REF",
        };
        self.number
            .ok_or_else(|| missing("the number of the pull request", "--forge-number", variable))
    }

    pub(super) fn token(&self) -> Result<(Secret, TokenKind), ForgeError> {
        match &self.token {
            Ok((source, kind)) => Ok((source.read()?, *kind)),
            Err(why) => Err(ForgeError::NoToken(why.clone())),
        }
    }
}

fn missing(what: &'static str, flag: &'static str, variable: &'static str) -> ForgeTargetError {
    ForgeTargetError::Missing { what, flag, variable }
}

/// Returns the token. A token of the job goes to the host that the job names, and to no other.
fn token(
    settings: &ForgeSettings,
    own: Option<&ApiUrl>,
    of_job: Option<&ApiUrl>,
    get: &dyn Fn(&str) -> Option<String>,
    names: &[(&str, TokenKind)],
) -> Result<(SecretSource, TokenKind), String> {
    if let Some(token) = &settings.token {
        return Ok((token.clone(), TokenKind::Personal));
    }
    let words: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    let words = words.join(" or ");
    let is_elsewhere = own.is_some_and(|own| of_job.is_none_or(|job| !own.is_same_host(job)));
    if is_elsewhere {
        return Err(format!(
            "there is no token for the host of `--forge-url`: pass `--forge-token-file` or GITOGGLE_FORGE_TOKEN, because \
             {words} is for the host of the job"
        ));
    }
    let mut found = names.iter().filter_map(|(name, kind)| Some((get(name)?, *kind)));
    match found.next() {
        Some((text, kind)) => Ok((SecretSource::Value(Secret::new(text)), kind)),
        None => Err(format!(
            "there is no token: set {words}, GITOGGLE_FORGE_TOKEN, or `--forge-token-file`"
        )),
    }
}

/// Rejects a repository whose name would change the path of a request.
fn check(api: ForgeApi, repository: &str) -> Result<(), ForgeTargetError> {
    let parts: Vec<&str> = repository.split('/').collect();
    let is_valid = |part: &&str| !["", ".", ".."].contains(part);
    let is_number = repository.bytes().all(|byte| byte.is_ascii_digit());
    let has_parts = match api {
        ForgeApi::GitLab => is_number || parts.len() >= 2,
        ForgeApi::GitHub | ForgeApi::Gitea => parts.len() == 2,
    };
    match has_parts && parts.iter().all(is_valid) {
        true => Ok(()),
        false => Err(ForgeTargetError::Repository(
            crate::model::escaped(repository).to_string(),
        )),
    }
}

fn job_url(api: ForgeApi, get: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let run = match api {
        ForgeApi::GitLab => return get("CI_JOB_URL"),
        ForgeApi::GitHub => "GITHUB_RUN_ID",
        // Gitea's pages have the number of the run in the repository.
        ForgeApi::Gitea => "GITHUB_RUN_NUMBER",
    };
    let (server, repository) = (get("GITHUB_SERVER_URL")?, get("GITHUB_REPOSITORY")?);
    Some(format!("{server}/{repository}/actions/runs/{}", get(run)?))
}
