//! Calls the forge for `plan` and `apply`: the comment, the status, and the reviews.

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;

use super::failure::{ExitStatus, Failure};
use super::{note, pull_request, setup};
use crate::config::{self, Flags, ProcessEnvironment, Reviewed, Settings};
use crate::forge::{
    CommentDraft, CommentKey, CommentPlan, CommentResult, CommitStatus, CommitVerdict, ForgeApi, ForgeClient,
    ForgeError, ForgeReviews, ForgeSettings, ForgeTarget,
};
use crate::model::{ChangeDigestError, ReviewedChanges, escaped};
use crate::pass::ReviewSource;
use crate::plan::Plan;
use crate::report;

/// Said by a comment that has more changes than it can list.
const UNLISTED: &str = "> [!WARNING]\n> This comment has no room to list all changes, so `--reviewed` will \
                        hold every one of them. Split the pull request, or publish it with the file that `gitoggle plan -o \
                        json` writes.\n\n";

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
    let (key, api) = (key(settings), request.target.api);
    let reviewed = CommentPlan::of(plan.reviewed(), api);
    let unlisted = match reviewed {
        CommentPlan::Unlisted => UNLISTED,
        _ => "",
    };
    let page = page(key.room(api, &reviewed) - unlisted.len());
    let body = key.comment(Some(&head), &reviewed, &format!("{unlisted}{page}"));
    put(settings, request, &key, Some(&head), &body)
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
    let page = report::failed(revision.as_deref().or(Some("HEAD")), &failure.to_string());
    let body = key.comment(head.as_deref(), &CommentPlan::Failed, &page);
    put(settings, request, key, head.as_deref(), &body)
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
    let draft = CommentDraft { key, body, head, order: &order };
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
    let target = settings.commit_status.map(|api| find(settings, api, "--commit-status"));
    target.transpose()
}

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

/// Returns where the reviews are that `--reviewed` requires.
///
/// # Errors
/// A usage failure if the file is not a plan, or if the repository is unknown.
pub(super) fn reviews(settings: &Settings) -> Result<Option<ReviewSource>, Failure> {
    Ok(match &settings.reviewed {
        None => None,
        Some(Reviewed::File(path)) => {
            let name = path.display().to_string();
            let changes = review_file(path).map_err(|error| {
                let attempt = format!("read the reviewed plan in `{}`", escaped(&name));
                let forges = ForgeApi::WORDS.join("`, `");
                Failure::could_not(attempt)(error).with(ExitStatus::Usage).hint(format!(
                    "`--reviewed` takes a file that `gitoggle plan -o json` has written, or the forge that has the reviews: `{forges}`"
                ))
            })?;
            Some(ReviewSource::File { name, changes })
        }
        Some(Reviewed::Forge(api)) => Some(ReviewSource::Forge(Box::new(ForgeReviews {
            target: find(settings, *api, "--reviewed")?,
            network: setup::network(settings),
            key: key(settings),
        }))),
    })
}

/// The parts of the JSON of a plan that a review consists of.
#[derive(Deserialize)]
struct PlanFile {
    version: u32,
    changes: Vec<ChangeInFile>,
    held: Vec<HeldInFile>,
}

#[derive(Deserialize)]
struct ChangeInFile {
    digest: String,
}

#[derive(Deserialize)]
struct HeldInFile {
    change: Option<ChangeInFile>,
}

fn review_file(path: &Path) -> Result<ReviewedChanges, Box<dyn Error + Send + Sync>> {
    let plan: PlanFile = serde_json::from_reader(BufReader::new(File::open(path)?))?;
    if plan.version != Plan::VERSION {
        return Err(format!("its version is {}, not {}", plan.version, Plan::VERSION).into());
    }
    let held = plan.held.into_iter().filter_map(|held| held.change);
    let changes = plan.changes.into_iter().chain(held);
    Ok(changes.map(|change| change.digest.parse()).collect::<Result<_, ChangeDigestError>>()?)
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

fn usage(flag: &str, error: impl Into<Box<dyn Error + Send + Sync>>) -> Failure {
    Failure::new(ExitStatus::Usage, error).hint(format!("`{flag}` calls the API of a forge"))
}
