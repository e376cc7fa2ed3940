//! What `plan` and `apply` know of the forge, and call it for: the revisions of a pull request, links to its
//! pages, the comment, the status, and the reviews.

use std::cmp::Ordering;
use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;

use super::failure::{ExitStatus, Failure};
use super::output::note;
use super::setup;
use crate::config::{self, Flags, ProcessEnvironment, Reviewed, Settings};
use crate::forge::{
    CiSystem, CommentDraft, CommentKey, CommentPlan, CommentResult, CommitStatus, CommitVerdict, ForgeClient,
    ForgeError, ForgeRetries, ForgeReviews, ForgeSettings, ForgeTarget, MergedRequest, PullRequest,
};
use crate::model::{ChangeDigestError, Forge, ReviewedChanges, escaped, shell_word};
use crate::pass::{BranchRange, FetchHints, MergedRange, QueueRange, Range, ReviewSource};
use crate::plan::Plan;
use crate::report::{self, Links};
use crate::source::{CacheMode, Source};

/// Returns the revisions to compare; `None` if the plan compares the source with the state.
pub(super) fn range(settings: &Settings) -> Result<Option<Range>, Failure> {
    if let Some(from) = settings.from_revision.clone() {
        let to = settings.to.clone();
        return Ok(Some(Range::Revisions { from, to }));
    }
    if settings.pull_request {
        match of_job() {
            Some(job) if job.is_queue && settings.target.is_none() => queue(job).map(Some),
            job => pull_request(settings.target.as_deref(), job).map(Some),
        }
    } else {
        Ok(None)
    }
}

/// Returns what a merge queue merges at once, as the event of its job says.
fn queue(job: PullRequest) -> Result<Range, Failure> {
    let PullRequest { system, target, source, base, head, .. } = job;
    let (Some(base), Some(head)) = (base, head) else {
        let message =
            "the event of this merge queue does not name its two commits (`base_sha` and `head_sha`)";
        let hint = "compare two revisions with `--from` and `--to`";
        return Err(Failure::new(ExitStatus::Usage, message.to_owned()).hint(hint));
    };
    let history = fetch_hints(&target, Some(system)).history;
    let queue = source.unwrap_or_else(|| head.clone());
    Ok(Range::Queue(QueueRange { target, base, queue, head, history }))
}

/// Returns the advice for a plan whose source does not descend from the recorded revision, if this is a job
/// for a pull request.
pub(super) fn pull_request_hint() -> Option<String> {
    let request = of_job()?;
    Some(format!(
        "this job is for a pull request: `gitoggle plan --pull-request` shows what its branch changes, compared with \
         `{}`, and needs no state",
        escaped(&request.target)
    ))
}

/// Returns the newest commit of the pull request of this job; `None` if the plan is about a revision of the
/// user's choice.
fn head(settings: &Settings) -> Option<String> {
    match settings.from_revision {
        Some(_) => None,
        None => of_job()?.head,
    }
}

/// Compares the ages of two commits: less if `one` is an ancestor of `other`. Returns `None` if neither is an
/// ancestor of the other one, or if this clone does not show it.
fn order(settings: &Settings, one: &str, other: &str) -> Option<Ordering> {
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
        return Err(Failure::new(ExitStatus::Usage, message.to_owned()).hint(format!(
            "name the target branch with `--target`, or compare two revisions with `--from` and `--to`; the variables \
             of {} are known",
            CiSystem::known()
        )));
    };
    let is_of_job = flag.is_none_or(|flag| Some(flag) == own);
    let fetch = fetch_hints(&target, job.as_ref().map(|job| job.system));
    let is_exact = job.as_ref().is_some_and(|job| job.system.names_beginning());
    let (head, source, base) = job.map_or((None, None, None), |job| (job.head, job.source, job.base));
    let began = base.clone().filter(|_| is_exact);
    Ok(Range::PullRequest(BranchRange { target, is_of_job, head, source, base, began, merged: None, fetch }))
}

fn fetch_hints(target: &str, system: Option<CiSystem>) -> FetchHints {
    let history = match system {
        Some(system) => {
            format!("fetch the whole history: {}, or run `git fetch --unshallow`", system.fetch_history())
        }
        None => "fetch the whole history: `git fetch --unshallow`".to_owned(),
    };
    let branch = target.strip_prefix("refs/heads/").unwrap_or(target);
    // The name of a branch may contain `$(…)`, and commands are copied.
    let refs = shell_word(&format!("+refs/heads/{branch}:refs/remotes/origin/{branch}"));
    let fetch = format!("`git fetch origin {}`", escaped(&refs));
    FetchHints {
        history,
        target: match system {
            Some(system) => format!("{}, or run {fetch}", system.fetch_history()),
            None => format!("check the name, or run {fetch}"),
        },
    }
}

/// Returns the range of a pull request that is merged, if its job is run again. Without `plan`, which has
/// nothing then, nobody could review what an earlier run has missed.
pub(super) fn merged(
    settings: &Settings,
    request: Option<&RequestTarget>,
    range: &Range,
    plan: &Plan,
) -> Option<Range> {
    let Range::PullRequest(branch) = range else {
        return None;
    };
    if !branch.is_of_job || !plan.changes().is_empty() || !plan.withheld().is_empty() {
        return None;
    }
    let RequestTarget { target, number, retries } = request?;
    let source = Source::new(setup::source(settings, CacheMode::Untouched));
    let revisions = source.revisions().ok()??;
    let head = revisions.find(branch.head.as_deref().unwrap_or("HEAD")).ok()?;
    let since = revisions.time(head.commit)?;
    let client = ForgeClient::new(target.clone(), &setup::network(settings), retries).ok()?;
    // Without an answer, the plan stays as it is.
    let merged = client.merged_request(*number, &branch.target, since).ok()??;
    let MergedRequest { commit, head, base, commits } = merged;
    let merged = Some(MergedRange { commit, head, base, commits });
    Some(Range::PullRequest(BranchRange { merged, ..branch.clone() }))
}

/// Said by a comment that has more changes than it can list.
const UNLISTED: &str = "> [!WARNING]\n> This comment has no room to list all changes, so `--reviewed` will \
                        hold every one of them. Split the pull request, or publish it with the file that `gitoggle plan -o \
                        json` writes.\n\n";

pub(super) struct RequestTarget {
    target: ForgeTarget,
    number: u64,
    retries: ForgeRetries,
}

/// Returns the pull request of `--comment-on`; none in a merge queue, whose job is for no single one.
pub(super) fn request(settings: &Settings) -> Result<Option<RequestTarget>, Failure> {
    let is_queue = || settings.forge_number.is_none() && of_job().is_some_and(|job| job.is_queue);
    let Some(api) = settings.comment_on.filter(|_| !is_queue()) else {
        return Ok(None);
    };
    let target = find(settings, api, "--comment-on")?;
    let number = target.request().map_err(|error| usage("--comment-on", error))?;
    Ok(Some(RequestTarget { target, number, retries: ForgeRetries::default() }))
}

/// Makes the marker of the plan and `page`, the text of the comment, in at most this many bytes.
pub(super) fn comment(
    settings: &Settings,
    request: RequestTarget,
    plan: &Plan,
    page: impl FnOnce(usize) -> String,
) -> Result<(), Failure> {
    let head = head(settings).unwrap_or_else(|| plan.source().revision.to_string());
    let (key, api) = (key(settings), request.target.api);
    let reviewed = CommentPlan::of(plan.reviewed(), api);
    let unlisted = match reviewed {
        CommentPlan::Unlisted => UNLISTED,
        _ => "",
    };
    let page = page(key.room(api, &reviewed) - unlisted.len());
    let body = key.comment(api, Some(&head), &reviewed, &format!("{unlisted}{page}"));
    put(settings, request, &key, Some(&head), &body)
}

/// Makes the comment say that the plan failed. Otherwise it would show the plan of an older commit as if it
/// were current.
pub(super) fn comment_failure(
    settings: &Settings,
    request: RequestTarget,
    key: &CommentKey,
    failure: &Failure,
) -> Result<(), Failure> {
    let head = head(settings);
    let revision = head.clone().or_else(|| settings.to.clone());
    let revision = revision.or_else(|| request.target.commit.clone());
    let page = report::failed(revision.as_deref().or(Some("HEAD")), &failure.to_string());
    let body = key.comment(request.target.api, head.as_deref(), &CommentPlan::Failed, &page);
    put(settings, request, key, head.as_deref(), &body)
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
        Ok(Some(request)) => comment_failure(&settings, request, &CommentKey::unknown(), failure),
        // The failure about the other settings is printed anyway, and names the cause.
        Ok(None) | Err(_) => Ok(()),
    }
}

/// Makes `body`, about the commit `head`, the text of the comment. Prints a warning if the forge does not
/// accept it, because a job for a fork has no token that may write.
fn put(
    settings: &Settings,
    request: RequestTarget,
    key: &CommentKey,
    head: Option<&str>,
    body: &str,
) -> Result<(), Failure> {
    let RequestTarget { target, number, retries } = request;
    let place = format!("pull request {number} of `{}`", escaped(&target.repository));
    let api = target.api;
    let order = |shown: &str| order(settings, shown, head?);
    let draft = CommentDraft { key, body, head, order: &order };
    let client = ForgeClient::new(target, &setup::network(settings), &retries);
    let result = client.and_then(|client| client.put_comment(number, &draft));
    let (did, why) = match result {
        Ok(CommentResult::Created) => ("created", ""),
        Ok(CommentResult::Newer) => ("kept", ", which is about a newer commit"),
        Ok(CommentResult::Unchanged) => ("kept", ""),
        Ok(CommentResult::Updated) => ("updated", ""),
        Ok(CommentResult::UpdatedHidden) => {
            note(&format!(
                "warning: the comment on {place} is hidden, so reviewers do not see the plan; show it again\n"
            ))?;
            ("updated", "")
        }
        Err(error) => return warn(format!("comment on {place}"), error, api),
    };
    note(&format!("note: {did} the comment on {place}{why}\n"))
}

/// Returns the repository of `--commit-status`.
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
    retries: &ForgeRetries,
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
        pipeline: target.pipeline,
    };
    let api = target.api;
    let client = ForgeClient::new(target, &setup::network(settings), retries);
    match client.and_then(|client| client.set_status(&commit, &status)) {
        Ok(()) => Ok(()),
        Err(error) => warn(format!("set the status of {place}"), error, api),
    }
}

/// Returns where the reviews are that `--reviewed` requires.
pub(super) fn reviews(settings: &Settings, retries: &ForgeRetries) -> Result<Option<ReviewSource>, Failure> {
    Ok(match &settings.reviewed {
        None => None,
        Some(Reviewed::File(path)) => {
            let name = path.display().to_string();
            let changes = review_file(path).map_err(|error| {
                let attempt = format!("read the reviewed plan in `{}`", escaped(&name));
                let forges = Forge::WORDS.join("`, `");
                Failure::could_not(attempt)(error).with(ExitStatus::Usage).hint(format!(
                    "`--reviewed` takes a file that `gitoggle plan -o json` has written, or the forge that has the reviews: `{forges}`"
                ))
            })?;
            Some(ReviewSource::File { name, changes })
        }
        Some(Reviewed::Forge(api)) => Some(ReviewSource::Forge(Box::new(ForgeReviews {
            target: find(settings, *api, "--reviewed")?,
            network: setup::network(settings),
            retries: retries.clone(),
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

fn find(settings: &Settings, api: Forge, flag: &str) -> Result<ForgeTarget, Failure> {
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

/// Returns the repository with the reviews of this run, and the address of its API, which a job has in variables.
pub(super) fn reviews_at(settings: &Settings) -> Option<(String, String)> {
    let Some(Reviewed::Forge(api)) = settings.reviewed else { return None };
    let target = find(settings, api, "--reviewed").ok()?;
    Some((target.repository.clone(), target.url().to_string()))
}

/// Returns the key of the comments of this configuration. It has only settings that `plan` and `apply` share.
pub(super) fn key(settings: &Settings) -> CommentKey {
    let layout = settings.layout.to_string();
    CommentKey::of(&[settings.root.as_str(), layout.as_str()], settings.only.globs())
}

fn failure(attempt: String, error: ForgeError, api: Forge) -> Failure {
    let hint = error.hint(api);
    Failure::could_not(attempt)(error).maybe_hint(hint)
}

/// Prints a failure that does not change the exit code.
fn warn(attempt: String, error: ForgeError, api: Forge) -> Result<(), Failure> {
    let text = failure(attempt, error, api).to_string();
    note(&text.replacen("error:", "warning:", 1))
}

fn usage(flag: &str, error: impl Into<Box<dyn Error + Send + Sync>>) -> Failure {
    Failure::new(ExitStatus::Usage, error).hint(format!("`{flag}` calls the API of a forge"))
}

/// Returns the pages of the source, from the variables of a CI job in its repository, or of a well-known
/// forge.
pub(super) fn links(settings: &Settings) -> Option<Links> {
    let source = Source::new(setup::source(settings, CacheMode::Untouched));
    let url = source.origin_url().ok().flatten()?;
    Links::of(&url, |name| std::env::var(name).ok())
}
