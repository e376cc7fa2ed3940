//! Calls the forge for `plan` and `apply`: the comment, the status, and the reviewed plan.

use super::failure::{ExitStatus, Failure};
use super::{note, pull_request, setup};
use crate::config::{self, Flags, ProcessEnvironment, Reviewed, Settings};
use crate::forge::{
    CommentDraft, CommentKey, CommentResult, CommitStatus, CommitVerdict, ForgeApi, ForgeClient, ForgeError,
    ForgeSettings, ForgeTarget,
};
use crate::model::{Review, ReviewedPlan, escaped};
use crate::plan::{Plan, render};

/// A pull request on a forge.
pub(super) struct RequestTarget {
    target: ForgeTarget,
    number: u64,
}

/// Returns the pull request of `--comment-on`.
///
/// # Errors
/// A usage failure if it is unknown.
pub(super) fn request(settings: &Settings) -> Result<Option<RequestTarget>, Failure> {
    let Some(api) = settings.comment_on else {
        return Ok(None);
    };
    let target = find(settings, api, "--comment-on")?;
    let number = target.request().map_err(|error| usage("--comment-on", error))?;
    Ok(Some(RequestTarget { target, number }))
}

/// Makes the marker of the plan and `page`, of at most so many bytes, the text of the comment.
pub(super) fn comment(
    settings: &Settings,
    request: RequestTarget,
    plan: &Plan,
    page: impl FnOnce(usize) -> String,
) -> Result<(), Failure> {
    let head = pull_request::head(settings).unwrap_or_else(|| plan.source().revision.to_string());
    let key = key(settings);
    let marker = key.marker(&head, &plan.digest(), &plan.fingerprints());
    let limit = request.target.api.longest_comment() - marker.len();
    put(settings, request, &key, Some(&head), &(marker + &page(limit)))
}

/// Makes the comment say that the plan failed. Otherwise it would show the plan of an older commit as if it were current.
pub(super) fn comment_failure(
    settings: &Settings,
    request: RequestTarget,
    failure: &Failure,
) -> Result<(), Failure> {
    put_failure(settings, request, &key(settings), failure)
}

/// Makes the comment say that the settings are invalid, if the settings about the forge are not.
pub(super) fn comment_misconfigured(
    flags: &Flags,
    environment: &ProcessEnvironment,
    failure: &Failure,
) -> Result<(), Failure> {
    let Some(settings) = config::forge_settings(flags, environment) else {
        return Ok(());
    };
    match request(&settings) {
        Ok(Some(request)) => put_failure(&settings, request, &CommentKey::unknown(), failure),
        // The failure about the other settings is printed anyway, and names the cause.
        Ok(None) | Err(_) => Ok(()),
    }
}

fn put_failure(
    settings: &Settings,
    request: RequestTarget,
    key: &CommentKey,
    failure: &Failure,
) -> Result<(), Failure> {
    let head = pull_request::head(settings);
    let revision = head.clone().or_else(|| settings.to.clone());
    let revision = revision.or_else(|| request.target.commit.clone());
    let page = render::failed(revision.as_deref().unwrap_or("HEAD"), &failure.to_string());
    let marker = key.failure_marker(head.as_deref());
    put(settings, request, key, head.as_deref(), &(marker + &page))
}

/// Makes `body`, about the commit `head`, the text of the comment. Prints a warning if the forge does not accept it, because
/// a job for a fork has no token that may write.
fn put(
    settings: &Settings,
    request: RequestTarget,
    key: &CommentKey,
    head: Option<&str>,
    body: &str,
) -> Result<(), Failure> {
    let RequestTarget { target, number } = request;
    let place = format!("pull request {number} of `{}`", escaped(&target.repository));
    let api = target.api;
    let order = |shown: &str| pull_request::order(settings, shown, head?);
    let draft = CommentDraft {
        key,
        body,
        head,
        order: &order,
    };
    let client = ForgeClient::new(target, &setup::network(settings));
    let result = client.and_then(|client| client.put_comment(number, &draft));
    let (did, why) = match result {
        Ok(CommentResult::Created) => ("created", ""),
        Ok(CommentResult::Newer) => ("kept", ", which is about a newer commit"),
        Ok(CommentResult::Unchanged) => ("kept", ""),
        Ok(CommentResult::Updated) => ("updated", ""),
        Err(error) => return warn(format!("comment on {place}"), error, api),
    };
    note(&format!("note: {did} the comment on {place}{why}\n"))
}

/// Returns the repository of `--commit-status`.
///
/// # Errors
/// A usage failure if it is unknown.
pub(super) fn repository(settings: &Settings) -> Result<Option<ForgeTarget>, Failure> {
    let target = settings
        .commit_status
        .map(|api| find(settings, api, "--commit-status"));
    target.transpose()
}

/// The verdict of a pass.
pub(super) struct PassVerdict {
    pub(super) verdict: CommitVerdict,
    pub(super) description: String,
    /// The planned commit; `None` if there was no plan.
    pub(super) commit: Option<String>,
}

/// Sets the status of the commit. Prints a warning if the forge does not accept it.
pub(super) fn set_status(
    settings: &Settings,
    target: ForgeTarget,
    verdict: PassVerdict,
) -> Result<(), Failure> {
    // Without a plan, the verdict concerns the commit that the job is for.
    let Some(commit) = verdict.commit.or_else(|| target.commit.clone()) else {
        return Ok(());
    };
    let place = format!("commit {} of `{}`", escaped(&commit), escaped(&target.repository));
    let globs = settings.only.globs().join(" ");
    let status = CommitStatus {
        verdict: verdict.verdict,
        context: format!("gitoggle {globs}").trim_end().to_owned(),
        description: verdict.description,
        target_url: target.job_url.clone(),
    };
    let api = target.api;
    let client = ForgeClient::new(target, &setup::network(settings));
    match client.and_then(|client| client.set_status(&commit, &status)) {
        Ok(()) => Ok(()),
        Err(error) => warn(format!("set the status of {place}"), error, api),
    }
}

/// Returns the review that `--digest` requires.
///
/// # Errors
/// If the forge cannot be read.
pub(super) fn reviewed(settings: &Settings) -> Result<Option<Review>, Failure> {
    match &settings.digest {
        None => Ok(None),
        Some(Reviewed::Digest(digest)) => Ok(Some(Review::Plan(ReviewedPlan {
            digest: digest.clone(),
            changes: None,
        }))),
        Some(Reviewed::Comment(api)) => commented(settings, *api).map(Some),
    }
}

fn commented(settings: &Settings, api: ForgeApi) -> Result<Review, Failure> {
    let target = find(settings, api, "--digest")?;
    let Some(commit) = target.commit.clone() else {
        return Err(usage(
            "--digest",
            "this is not a job of that forge, so the merged commit is unknown; pass the digest itself",
        ));
    };
    let (number, repository) = (settings.forge_number, target.repository.clone());
    let client = ForgeClient::new(target, &setup::network(settings));
    let found = client.and_then(|client| client.reviewed(&commit, number, &key(settings)));
    let found = found.map_err(|error| {
        let attempt = format!("read the reviewed plan on `{}`", escaped(&repository));
        failure(attempt, error, api)
    })?;
    Ok(found.map(Review::Plan).unwrap_or_else(|| {
        let (commit, repository) = (escaped(&commit), escaped(&repository));
        Review::Missing(format!(
            "no reviewed plan: commit {commit} of `{repository}` was not merged from a pull request with a plan in a \
             comment of gitoggle, written by the user of this token with the same `--root`, `--layout` and `--only`"
        ))
    }))
}

fn find(settings: &Settings, api: ForgeApi, flag: &str) -> Result<ForgeTarget, Failure> {
    let given = ForgeSettings {
        url: settings.forge_url.clone(),
        repository: settings.forge_repo.clone(),
        number: settings.forge_number,
        token: settings.forge_token.clone(),
    };
    let variable = |name: &str| std::env::var(name).ok();
    let file = |path: &str| std::fs::read_to_string(path).ok();
    ForgeTarget::find(api, given, &variable, &file).map_err(|error| usage(flag, error))
}

/// Returns the key of the comments of this configuration. It has only settings that `plan` and `apply` share.
fn key(settings: &Settings) -> CommentKey {
    let layout = settings.layout.to_string();
    let mut parts = vec![settings.root.as_str(), layout.as_str()];
    parts.extend(settings.only.globs().iter().map(String::as_str));
    CommentKey::of(&parts)
}

fn failure(attempt: String, error: ForgeError, api: ForgeApi) -> Failure {
    let hint = error.hint(api);
    Failure::could_not(attempt)(error).maybe_hint(hint)
}

/// Prints a failure that does not change the exit code.
fn warn(attempt: String, error: ForgeError, api: ForgeApi) -> Result<(), Failure> {
    let text = failure(attempt, error, api).to_string();
    note(&text.replacen("error:", "warning:", 1))
}

fn usage(flag: &str, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    Failure::new(ExitStatus::Usage, error).hint(format!("`{flag}` calls the API of a forge"))
}
