//! Finds the pull request of a CI job in the variables that the CI system sets.
//!
//! The names of the variables are those that each system documents. An empty variable counts as unset: GitHub sets
//! `GITHUB_BASE_REF` for every job, and Gitea copies it.

use serde_json::Value;

/// A service that hosts repositories or runs CI jobs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Forge {
    /// Azure DevOps.
    Azure,
    /// Bitbucket Cloud.
    Bitbucket,
    /// Gitea or Forgejo, whose variables have GitHub's names.
    Gitea,
    /// GitHub.
    GitHub,
    /// GitLab.
    GitLab,
    /// Jenkins, which builds pull requests of any forge.
    Jenkins,
}

/// The pull request of a CI job.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PullRequest {
    /// The CI system.
    pub forge: Forge,
    /// The name of the target branch, without `refs/heads/`.
    pub target: String,
    /// The name of the branch with the changes, if the CI system names it.
    pub source: Option<String>,
    /// The newest commit of that branch, if the CI system names it. A job may have checked out a merge of it instead.
    pub head: Option<String>,
    /// The number that the forge shows.
    pub number: Option<String>,
    /// The repository that the pull request belongs to, such as `owner/name`.
    pub repository: Option<String>,
}

/// The environment of a CI job.
struct Job<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    /// Returns the content of a file.
    file: &'a dyn Fn(&str) -> Option<String>,
}

impl PullRequest {
    /// Returns the pull request of a CI job; `None` outside of a job for one. `variable` returns the value of an environment
    /// variable, and `file` the content of a file: GitHub and Gitea describe the event in one.
    #[must_use]
    pub fn of_job(
        variable: &dyn Fn(&str) -> Option<String>,
        file: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let job = Job { variable, file };
        [Job::github, Job::gitlab, Job::bitbucket, Job::azure, Job::jenkins]
            .into_iter()
            .find_map(|find| find(&job))
    }
}

impl Job<'_> {
    fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    fn branch(&self, name: &str) -> Option<String> {
        let value = self.get(name)?;
        Some(value.strip_prefix("refs/heads/").unwrap_or(&value).to_owned())
    }

    /// Reads the variables of GitHub, Gitea and Forgejo.
    fn github(&self) -> Option<PullRequest> {
        let target = self.branch("GITHUB_BASE_REF")?;
        let is_gitea = ["GITEA_ACTIONS", "FORGEJO_ACTIONS"]
            .iter()
            .any(|name| self.get(name).is_some());
        let event = self.get("GITHUB_EVENT_PATH").and_then(|path| (self.file)(&path));
        let event: Value = event
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        let request = &event["pull_request"];
        let number = request["number"].as_u64().or_else(|| event["number"].as_u64());
        let reference = self.get("GITHUB_REF").unwrap_or_default();
        // `refs/pull/NUMBER/merge`; Gitea has `refs/pull/NUMBER/head`.
        let named = reference
            .strip_prefix("refs/pull/")
            .and_then(|rest| rest.split('/').next());
        Some(PullRequest {
            forge: match is_gitea {
                true => Forge::Gitea,
                false => Forge::GitHub,
            },
            target,
            source: self.branch("GITHUB_HEAD_REF"),
            head: request["head"]["sha"].as_str().map(str::to_owned),
            number: number
                .map(|number| number.to_string())
                .or_else(|| named.map(str::to_owned)),
            repository: self.get("GITHUB_REPOSITORY"),
        })
    }

    fn gitlab(&self) -> Option<PullRequest> {
        // `CI_MERGE_REQUEST_DIFF_BASE_SHA` is not used, because GitLab does not update it when the target changes.
        Some(PullRequest {
            forge: Forge::GitLab,
            target: self.branch("CI_MERGE_REQUEST_TARGET_BRANCH_NAME")?,
            source: self.branch("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"),
            // Only a pipeline for merged results has the first one. In the others, the second one is the branch.
            head: self
                .get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA")
                .or_else(|| self.get("CI_COMMIT_SHA")),
            number: self.get("CI_MERGE_REQUEST_IID"),
            // The target's project, because the pipeline of a fork runs in the fork.
            repository: self.get("CI_MERGE_REQUEST_PROJECT_PATH"),
        })
    }

    fn bitbucket(&self) -> Option<PullRequest> {
        Some(PullRequest {
            forge: Forge::Bitbucket,
            target: self.branch("BITBUCKET_PR_DESTINATION_BRANCH")?,
            source: self.branch("BITBUCKET_BRANCH"),
            head: self.get("BITBUCKET_COMMIT"),
            number: self.get("BITBUCKET_PR_ID"),
            repository: self.get("BITBUCKET_REPO_FULL_NAME"),
        })
    }

    fn azure(&self) -> Option<PullRequest> {
        Some(PullRequest {
            forge: Forge::Azure,
            target: self.branch("SYSTEM_PULLREQUEST_TARGETBRANCH")?,
            source: self.branch("SYSTEM_PULLREQUEST_SOURCEBRANCH"),
            head: self.get("SYSTEM_PULLREQUEST_SOURCECOMMITID"),
            // The number is that of a pull request on GitHub, and the id is that of Azure Repos.
            number: self
                .get("SYSTEM_PULLREQUEST_PULLREQUESTNUMBER")
                .or_else(|| self.get("SYSTEM_PULLREQUEST_PULLREQUESTID")),
            repository: self.get("BUILD_REPOSITORY_NAME"),
        })
    }

    fn jenkins(&self) -> Option<PullRequest> {
        Some(PullRequest {
            forge: Forge::Jenkins,
            target: self.branch("CHANGE_TARGET")?,
            source: self.branch("CHANGE_BRANCH"),
            // `GIT_COMMIT` may be a merge that Jenkins made, and `HEAD` is that commit in any case.
            head: None,
            number: self.get("CHANGE_ID"),
            repository: None,
        })
    }
}

impl Forge {
    /// Returns how a job of this forge fetches the whole history of all branches.
    #[must_use]
    pub fn fetch_history(self) -> &'static str {
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
