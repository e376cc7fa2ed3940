//! Decides which revisions `plan` compares: those of flags, or those of the pull request of a CI job.

use std::cmp::Ordering;

use super::failure::{ExitStatus, Failure};
use super::setup;
use super::show::word;
use crate::config::Settings;
use crate::forge::{Forge, PullRequest};
use crate::model::escaped;
use crate::pass::{BranchRange, FetchHints, Range, TargetOrigin};
use crate::source::{CacheMode, Source};

/// Returns the revisions to compare; `None` if the plan compares the source with the state.
///
/// # Errors
/// A usage failure for `--pull-request` without a target branch.
pub(super) fn range(settings: &Settings) -> Result<Option<Range>, Failure> {
    if let Some(from) = settings.from_revision.clone() {
        let to = settings.to.clone();
        return Ok(Some(Range::Revisions { from, to }));
    }
    if settings.pull_request {
        pull_request(settings.target.as_deref(), of_job()).map(Some)
    } else {
        Ok(None)
    }
}

/// Returns the advice for a plan whose source does not descend from the recorded revision, if this is a job for a pull
/// request.
pub(super) fn hint() -> Option<String> {
    let request = of_job()?;
    Some(format!(
        "this job is for a pull request: `gitoggle plan --pull-request` shows what its branch changes, compared with \
         `{}`, and needs no state",
        escaped(&request.target)
    ))
}

/// Returns the newest commit of the pull request of this job; `None` if the plan is about a revision of the user's choice.
pub(super) fn head(settings: &Settings) -> Option<String> {
    match settings.from_revision {
        Some(_) => None,
        None => of_job()?.head,
    }
}

/// Compares the ages of two commits: less if `one` is an ancestor of `other`. Returns `None` if neither is an ancestor
/// of the other one, or if this clone does not show it.
pub(super) fn order(settings: &Settings, one: &str, other: &str) -> Option<Ordering> {
    let source = Source::new(setup::source(settings, CacheMode::Untouched));
    let revisions = source.revisions().ok()??;
    let [one, other] = [one, other].map(|id| Some(revisions.find(id).ok()?.commit));
    let (one, other) = (one?, other?);
    let bases = revisions.merge_bases(one, other).ok()??;
    match bases.as_slice() {
        [base] if *base == one => Some(Ordering::Less),
        [base] if *base == other => Some(Ordering::Greater),
        _ => None,
    }
}

/// Returns the pull request of this process's CI job.
fn of_job() -> Option<PullRequest> {
    PullRequest::of_job(&|name| std::env::var(name).ok(), &|path| std::fs::read_to_string(path).ok())
}

fn pull_request(flag: Option<&str>, job: Option<PullRequest>) -> Result<Range, Failure> {
    let own = job.as_ref().map(|job| job.target.as_str());
    let Some(target) = flag.or(own).map(str::to_owned) else {
        let message = "`--pull-request` found no pull request in the variables of this job";
        return Err(Failure::new(ExitStatus::Usage, message.to_owned()).hint(
            "name the target branch with `--target`, or compare two revisions with `--from` and `--to`; the variables \
             of GitHub, GitLab, Gitea, Forgejo, Bitbucket, Azure DevOps and Jenkins are known",
        ));
    };
    let target_origin =
        if flag.is_none_or(|flag| Some(flag) == own) { TargetOrigin::Job } else { TargetOrigin::Flag };
    let fetch = fetch_hints(&target, job.as_ref().map(|job| job.forge));
    let (head, source) = job.map_or((None, None), |job| (job.head, job.source));
    Ok(Range::PullRequest(BranchRange { target, target_origin, head, source, fetch }))
}

fn fetch_hints(target: &str, forge: Option<Forge>) -> FetchHints {
    let history = match forge {
        Some(forge) => {
            format!("fetch the whole history: {}, or run `git fetch --unshallow`", forge.fetch_history())
        }
        None => "fetch the whole history: `git fetch --unshallow`".to_owned(),
    };
    let branch = target.strip_prefix("refs/heads/").unwrap_or(target);
    // The name of a branch may contain `$(…)`, and commands are copied.
    let refs = word(&format!("+refs/heads/{branch}:refs/remotes/origin/{branch}"));
    let fetch = format!("`git fetch origin {}`", escaped(&refs));
    FetchHints {
        history,
        target: match forge {
            Some(forge) => format!("{}, or run {fetch}", forge.fetch_history()),
            None => format!("check the name, or run {fetch}"),
        },
    }
}
