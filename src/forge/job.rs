//! Finds the pull request of a CI job in the variables that the CI system sets.
//!
//! The names of the variables are those that each system documents. An empty variable is the same as none: GitHub
//! sets `GITHUB_BASE_REF` for every job, and Gitea copies it.

use serde_json::Value;

use super::ForgeError;
use super::routes::{ApiUrl, TokenKind};
use crate::model::{Forge, listed, words};
use crate::transport::{HttpsError, Secret, SecretSource};

words! {
    /// A service that runs CI jobs, with the names that people know.
    CiSystem {
        GitHub = "GitHub",
        GitLab = "GitLab",
        /// Its variables have GitHub's names.
        Gitea = "Gitea, Forgejo",
        Bitbucket = "Bitbucket",
        Azure = "Azure DevOps",
        /// It builds pull requests of any forge.
        Jenkins = "Jenkins",
    }
}

/// The pull request of a CI job.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct PullRequest {
    /// The CI system.
    pub system: CiSystem,
    /// The name of the target branch, without `refs/heads/`.
    pub target: String,
    /// The name of the branch with the changes, if the CI system names it.
    pub source: Option<String>,
    /// The newest commit of that branch, if the CI system names it. A job may have checked out a merge of it
    /// instead.
    pub head: Option<String>,
    /// The number that the forge shows.
    pub number: Option<String>,
    /// The repository that the pull request belongs to, such as `owner/name`.
    pub repository: Option<String>,
    /// A commit that the target branch had, if the CI system names one: for GitLab, that where the branch
    /// began, and for a queue, that into which it merges.
    pub base: Option<String>,
    /// Whether it is a merge queue's: `head` is the result of merging the pull requests of the queue into
    /// `base`.
    pub is_queue: bool,
}

/// The environment of a CI job.
struct Job<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    file: &'a dyn Fn(&str) -> Option<String>,
}

impl PullRequest {
    /// Returns the pull request of a CI job; `None` outside of a job for one. `variable` returns the value of
    /// an environment variable, and `file` the content of a file: GitHub and Gitea describe the event in one.
    pub(crate) fn of_job(
        variable: &dyn Fn(&str) -> Option<String>,
        file: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let job = Job { variable, file };
        CiSystem::ALL.into_iter().find_map(|system| job.request(system))
    }
}

impl Job<'_> {
    /// Returns the pull request in the variables of `system`.
    fn request(&self, system: CiSystem) -> Option<PullRequest> {
        match system {
            CiSystem::GitHub | CiSystem::Gitea => self.github(),
            CiSystem::GitLab => self.gitlab(),
            CiSystem::Bitbucket => self.bitbucket(),
            CiSystem::Azure => self.azure(),
            CiSystem::Jenkins => self.jenkins(),
        }
    }

    fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    fn branch(&self, name: &str) -> Option<String> {
        let value = self.get(name)?;
        Some(value.strip_prefix("refs/heads/").unwrap_or(&value).to_owned())
    }

    /// Reads the variables of GitHub, Gitea and Forgejo.
    fn github(&self) -> Option<PullRequest> {
        let event = self.get("GITHUB_EVENT_PATH").and_then(|path| (self.file)(&path));
        let event: Value = event.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        if self.get("GITHUB_EVENT_NAME").as_deref() == Some("merge_group") {
            return self.merge_group(&event["merge_group"]);
        }
        let target = self.branch("GITHUB_BASE_REF")?;
        let is_gitea = Forge::Gitea.site().is_job.iter().any(|name| self.get(name).is_some());
        let request = &event["pull_request"];
        let number = request["number"].as_u64().or_else(|| event["number"].as_u64());
        let reference = self.get("GITHUB_REF").unwrap_or_default();
        // `refs/pull/NUMBER/merge`; Gitea has `refs/pull/NUMBER/head`.
        let named = reference.strip_prefix("refs/pull/").and_then(|rest| rest.split('/').next());
        Some(PullRequest {
            system: if is_gitea { CiSystem::Gitea } else { CiSystem::GitHub },
            target,
            source: self.branch("GITHUB_HEAD_REF"),
            head: text(&request["head"]["sha"]),
            number: number.map(|number| number.to_string()).or_else(|| named.map(str::to_owned)),
            repository: self.get("GITHUB_REPOSITORY"),
            // It may be older than what the branch began at.
            base: text(&request["base"]["sha"]),
            is_queue: false,
        })
    }

    /// Reads the event of a merge queue of GitHub, whose job is for no single pull request.
    fn merge_group(&self, group: &Value) -> Option<PullRequest> {
        let branch = |name: &str| {
            let name = text(&group[name])?;
            Some(name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned())
        };
        Some(PullRequest {
            system: CiSystem::GitHub,
            target: branch("base_ref")?,
            source: branch("head_ref"),
            head: text(&group["head_sha"]),
            number: None,
            repository: self.get("GITHUB_REPOSITORY"),
            base: text(&group["base_sha"]),
            is_queue: true,
        })
    }

    fn gitlab(&self) -> Option<PullRequest> {
        Some(PullRequest {
            system: CiSystem::GitLab,
            target: self.branch("CI_MERGE_REQUEST_TARGET_BRANCH_NAME")?,
            source: self.branch("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"),
            // Only a pipeline for merged results has the first one. In the others, the second one is the
            // branch.
            head: self.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA").or_else(|| self.get("CI_COMMIT_SHA")),
            number: self.get("CI_MERGE_REQUEST_IID"),
            // The target's project, because the pipeline of a fork runs in the fork.
            repository: self.get("CI_MERGE_REQUEST_PROJECT_PATH"),
            // GitLab does not update it when the target changes.
            base: self.get("CI_MERGE_REQUEST_DIFF_BASE_SHA"),
            is_queue: false,
        })
    }

    fn bitbucket(&self) -> Option<PullRequest> {
        Some(PullRequest {
            system: CiSystem::Bitbucket,
            target: self.branch("BITBUCKET_PR_DESTINATION_BRANCH")?,
            source: self.branch("BITBUCKET_BRANCH"),
            head: self.get("BITBUCKET_COMMIT"),
            number: self.get("BITBUCKET_PR_ID"),
            repository: self.get("BITBUCKET_REPO_FULL_NAME"),
            base: None,
            is_queue: false,
        })
    }

    fn azure(&self) -> Option<PullRequest> {
        Some(PullRequest {
            system: CiSystem::Azure,
            target: self.branch("SYSTEM_PULLREQUEST_TARGETBRANCH")?,
            source: self.branch("SYSTEM_PULLREQUEST_SOURCEBRANCH"),
            head: self.get("SYSTEM_PULLREQUEST_SOURCECOMMITID"),
            // The number is that of a pull request on GitHub, and the id is that of Azure Repos.
            number: self
                .get("SYSTEM_PULLREQUEST_PULLREQUESTNUMBER")
                .or_else(|| self.get("SYSTEM_PULLREQUEST_PULLREQUESTID")),
            repository: self.get("BUILD_REPOSITORY_NAME"),
            base: None,
            is_queue: false,
        })
    }

    fn jenkins(&self) -> Option<PullRequest> {
        Some(PullRequest {
            system: CiSystem::Jenkins,
            target: self.branch("CHANGE_TARGET")?,
            source: self.branch("CHANGE_BRANCH"),
            // `GIT_COMMIT` may be a merge that Jenkins made, and `HEAD` is that commit in any case.
            head: None,
            number: self.get("CHANGE_ID"),
            repository: None,
            base: None,
            is_queue: false,
        })
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

impl CiSystem {
    /// Returns the names of all of them, in words.
    pub(crate) fn known() -> String {
        listed(&Self::WORDS.join(", ").split(", ").map(str::to_owned).collect::<Vec<_>>())
    }

    /// Returns whether the base that a job names is where its branch began. The base of the others is what the
    /// target had when the job was started, or is not named.
    pub(crate) fn names_beginning(self) -> bool {
        match self {
            Self::GitLab => true,
            Self::Azure | Self::Bitbucket | Self::Gitea | Self::GitHub | Self::Jenkins => false,
        }
    }

    /// Returns how a job of this system fetches the whole history of all branches.
    pub(crate) fn fetch_history(self) -> &'static str {
        match self {
            Self::Azure => "set `fetchDepth: 0` in the `checkout` step",
            Self::Bitbucket => "set `clone: depth: full` in `bitbucket-pipelines.yml`",
            Self::Gitea | Self::GitHub => "set `fetch-depth: 0` for `actions/checkout`",
            Self::GitLab => "set the variable `GIT_DEPTH: 0` for the job",
            Self::Jenkins => {
                "turn the shallow clone off and fetch all branches (`+refs/heads/*:refs/remotes/origin/*`) in the \
                 branch source's clone behavior"
            }
        }
    }
}

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

#[derive(Clone, Debug)]
pub(crate) struct ForgeTarget {
    pub(crate) api: Forge,
    pub(super) url: ApiUrl,
    pub(crate) repository: String,
    /// The number of the pull request; `None` in a job for a push.
    pub(crate) number: Option<u64>,
    pub(crate) commit: Option<String>,
    /// The branch that a job for a push is for.
    pub(super) branch: Option<String>,
    /// The number of the pipeline, if the forge wants it in a status.
    pub(crate) pipeline: Option<u64>,
    pub(crate) job_url: Option<String>,
    token: Result<(SecretSource, TokenKind), String>,
}

/// Why a forge cannot be called.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForgeTargetError {
    #[error("{what} is unknown; pass it as `{flag}`, because the CI variable {variable} does not name it")]
    Missing { what: &'static str, flag: &'static str, variable: &'static str },
    #[error("`{0}` is not a repository: write `owner/name`")]
    Repository(String),
    #[error("the variable {0} has an unusable address")]
    Url(&'static str, #[source] HttpsError),
}

impl ForgeTarget {
    /// Finds the repository. `variable` returns the value of an environment variable, and `file` the content
    /// of a file.
    ///
    /// # Errors
    /// If the address or the repository is unknown or malformed. A missing token is an error of the first
    /// request only, because a job for a fork has none.
    pub(crate) fn find(
        api: Forge,
        settings: ForgeSettings,
        variable: &dyn Fn(&str) -> Option<String>,
        file: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ForgeTargetError> {
        let get = |name: &str| variable(name).filter(|value| !value.is_empty());
        let names = &api.row().variables;
        let request =
            PullRequest::of_job(variable, file).filter(|request| api.row().jobs.contains(&request.system));
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
        let repository = settings.repository.or(repository).or_else(|| get(names.repository));
        let repository =
            repository.ok_or_else(|| missing("the repository", "--forge-repo", names.repository))?;
        check(api, &repository)?;
        Ok(Self {
            api,
            url: url.ok_or_else(|| missing("the address of the API", "--forge-url", names.url))?,
            repository,
            number: settings.number.or_else(|| number?.parse().ok()),
            commit: get(names.commit),
            branch: get(names.branch).and_then(|name| branch_name(&name).map(str::to_owned)),
            pipeline: names.pipeline.and_then(|name| get(name)?.parse().ok()),
            job_url: (api.row().job_url)(&get),
            token,
        })
    }

    /// Returns the address of the API.
    pub(crate) fn url(&self) -> &ApiUrl {
        &self.url
    }

    /// Returns the number of the pull request.
    pub(crate) fn request(&self) -> Result<u64, ForgeTargetError> {
        let variable = self.api.row().variables.number;
        self.number.ok_or_else(|| missing("the number of the pull request", "--forge-number", variable))
    }

    pub(super) fn token(&self) -> Result<(Secret, TokenKind), ForgeError> {
        match &self.token {
            Ok((source, kind)) => Ok((source.read()?, *kind)),
            Err(why) => Err(ForgeError::NoToken(why.clone())),
        }
    }
}

/// Returns the name of a branch, which may be a full ref; none for a ref that is not one of a branch.
pub(super) fn branch_name(reference: &str) -> Option<&str> {
    match reference.strip_prefix("refs/") {
        None => Some(reference),
        Some(rest) => {
            let remote = || rest.strip_prefix("remotes/").and_then(|rest| rest.split_once('/'));
            rest.strip_prefix("heads/").or_else(|| remote().map(|(_, name)| name))
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
        None => Err(format!("there is no token: set {words}, GITOGGLE_FORGE_TOKEN, or `--forge-token-file`")),
    }
}

/// Rejects a repository whose name would change the path of a request.
fn check(api: Forge, repository: &str) -> Result<(), ForgeTargetError> {
    let parts: Vec<&str> = repository.split('/').collect();
    let is_valid = |part: &&str| !["", ".", ".."].contains(part);
    if (api.row().has_parts)(&parts) && parts.iter().all(is_valid) {
        Ok(())
    } else {
        Err(ForgeTargetError::Repository(crate::model::escaped(repository).to_string()))
    }
}
