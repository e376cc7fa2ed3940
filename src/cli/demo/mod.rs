//! `gitoggle demo`: demonstrates the whole loop on loopback, in one process.
//!
//! The repository, the service, the state and every pass are real. Each step checks its claims and fails if one is false.

mod live;
mod stage;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::args::DemoArgs;
use super::failure::{ExitStatus, Failure};
use super::setup;
use crate::config::Settings;
use crate::model::{Color, Commit, ToggleId, escaped};
use crate::pass::{ChangeResult, Report};
use crate::plan::{FirstPass, Policy};
use crate::telemetry::Stream;
use stage::{CHECKOUT, DemoOutput, FILES, STAGING, Stage, expect, original};

pub(super) fn run(settings: &Settings, args: &DemoArgs) -> Result<ExitStatus, Failure> {
    setup::runtime(2)?.block_on(async {
        let mut stop = setup::stop_on_signal().map_err(Failure::failed)?;
        tokio::select! {
            result = show(settings, args) => result.map(|()| ExitStatus::Clean),
            _ = stop.wait_for(|stop| *stop) => Ok(ExitStatus::Clean),
        }
    })
}

async fn show(settings: &Settings, args: &DemoArgs) -> Result<(), Failure> {
    let (folder, _temporary) = folder(args.keep.as_deref())?;
    let color = Stream::Stdout.color(settings.color);
    let output = DemoOutput::new(color, args);
    let stage = Stage::start(&folder, "toggles", None)?;
    let demo = Demo { output: &output, stage: &stage, color };
    demo.play().await?;
    let live_stage = Stage::start(&folder, "payment", Some(live::DATA))?;
    let live_demo = Demo { stage: &live_stage, ..demo };
    live_demo.play_live().await?;
    summary(&output, &[&stage, &live_stage]).await?;
    live_stage.sandbox.stop().await;
    stage.sandbox.stop().await;
    Ok(())
}

/// Returns the folder of the demonstration, and the guard that removes a temporary one.
fn folder(keep: Option<&Path>) -> Result<(PathBuf, Option<tempfile::TempDir>), Failure> {
    match keep {
        Some(folder) => {
            let doing = format!("create the folder `{}`", folder.display());
            std::fs::create_dir_all(folder).map_err(Failure::could_not(doing))?;
            Ok((folder.to_owned(), None))
        }
        None => {
            let temporary = tempfile::Builder::new().prefix("gitoggle-demo-").tempdir();
            let temporary = temporary.map_err(Failure::could_not("create a temporary folder"))?;
            Ok((temporary.path().to_owned(), Some(temporary)))
        }
    }
}

/// The steps with one service.
struct Demo<'a> {
    output: &'a DemoOutput,
    stage: &'a Stage,
    color: Color,
}

/// The steps with a service that only stores.
impl Demo<'_> {
    async fn play(&self) -> Result<(), Failure> {
        self.set_up().await?;
        self.first_pass().await?;
        self.pull_request().await?;
        self.cosmetic_edit().await?;
        self.broken_file().await?;
        self.lost_response().await
    }

    async fn set_up(&self) -> Result<(), Failure> {
        self.output.step(1, "A repository with one file per toggle, and a toggle service").await?;
        let commit = self.stage.commit("Keep our toggles in Git", &FILES)?;
        self.print(&format!("repository  {}", self.stage.toggles.display()))?;
        self.print(&format!("            {} documents, commit {}", FILES.len(), commit.short()))?;
        self.print(&format!("service     {} (the sandbox, in this process)", self.stage.sandbox.url()))
    }

    async fn first_pass(&self) -> Result<(), Failure> {
        self.output.step(2, "The first pass needs a decision").await?;
        let report = self.sends(0, Policy::default()).await?;
        expect(report.plan.withheld().len(), FILES.len(), "toggles held")?;
        self.output.command("gitoggle apply")?;
        self.print(&format!(
            "{} toggles held, no request sent. Without state, gitoggle does not know what the\nservice has: \
             `--first-pass assert` publishes, `adopt` records without publishing.",
            FILES.len()
        ))?;
        self.output.next_command("gitoggle apply --first-pass assert")?;
        let report =
            self.stage.apply(Policy { first_pass: Some(FirstPass::Assert), ..Policy::default() }).await?;
        expect(report.applied(), FILES.len(), "toggles applied")?;
        self.published(&report)
    }

    async fn pull_request(&self) -> Result<(), Failure> {
        self.output.step(3, "A pull request is merged").await?;
        let text = original(CHECKOUT).replace("objects: [AT, CH]", "objects: [AT, CH, DE]");
        let text =
            text.replace("defaultServe: { variation: \"off\" }", "defaultServe: { variation: \"on\" }");
        let message = "Open the new checkout to everyone\n\nGermany passed the load test.";
        let files = BTreeMap::from([(CHECKOUT, Some(text.as_str()))]);
        let merge = "Merge pull request #42 from ann/checkout";
        self.stage.repository.pull_request(message, merge, &files).map_err(Failure::failed)?;
        let planned = self.stage.plan(self.color)?;
        self.output.command("gitoggle plan")?;
        self.print(&planned)?;
        let report = self.sends(1, Policy::default()).await?;
        expect(report.applied(), 1, "toggles applied")?;
        self.output.next_command("gitoggle apply")?;
        self.print("the one request, as the service received it:")?;
        self.last_request()
    }

    async fn cosmetic_edit(&self) -> Result<(), Failure> {
        self.output.step(4, "A cosmetic edit sends nothing").await?;
        let path = "shop/production/free-shipping-from.yaml";
        let text = format!("# Reviewed in spring.\n\n{}", original(path));
        self.stage.commit("Say when this was reviewed", &[(path, &text)])?;
        let report = self.sends(0, Policy::default()).await?;
        expect(report.plan.state_edits().len(), 1, "documents recorded")?;
        self.print("the file changed, but not its meaning: recorded, no request sent")
    }

    async fn broken_file(&self) -> Result<(), Failure> {
        self.output.step(5, "A broken file does not block others").await?;
        let broken = original(STAGING).replacen("defaultServe", "defualtServe", 1);
        let path = "search/production/ranking.yaml";
        let good = original(path).replacen("disabled: false", "disabled: true", 1);
        let files = [(STAGING, broken.as_str()), (path, &good)];
        self.stage.commit("Switch the new ranking off", &files)?;
        let report = self.sends(1, Policy::default()).await?;
        let (findings, color) = (report.plan.findings(), self.color);
        expect(usize::from(report.plan.has_invalid()), 1, "invalid documents")?;
        self.print(&crate::document::render(findings, color))?;
        self.print("the broken toggle stays as last applied, and the other one of the commit is published:")?;
        self.published(&report)
    }

    async fn lost_response(&self) -> Result<(), Failure> {
        self.output.step(6, "A response is lost after the service stored the document").await?;
        let repaired = [(STAGING, original(STAGING))];
        self.stage.commit("Repair the staging checkout", &repaired)?;
        self.stage.apply(Policy::default()).await?;
        let text = original(STAGING).replacen("disabled: false", "disabled: true", 1);
        let closed = [(STAGING, text.as_str())];
        self.stage.commit("Close the staging checkout", &closed)?;
        self.stage.sandbox.lose_next_response();
        let report = self.sends(2, Policy::default()).await?;
        let requests = self.stage.sandbox.requests();
        let sent = &requests[requests.len() - 2..];
        expect(report.applied(), 1, "toggles applied")?;
        expect(usize::from(sent[0].body == sent[1].body), 1, "body sent twice")?;
        self.print(
            "the request was journaled before it was sent, so the same body and comment were sent again:",
        )?;
        self.published(&report)
    }

    /// Makes one pass, which must send this number of requests.
    async fn sends(&self, requests: usize, policy: Policy) -> Result<Report, Failure> {
        let before = self.stage.sandbox.requests().len();
        let report = self.stage.apply(policy).await?;
        expect(self.stage.sandbox.requests().len() - before, requests, "requests")?;
        Ok(report)
    }

    /// Lists what a pass published.
    fn published(&self, report: &Report) -> Result<(), Failure> {
        let applied = report.lines().filter(|(_, result)| **result == ChangeResult::Applied);
        for (change, _) in applied {
            let action = change.action.as_str();
            self.print(&format!(
                "  {action} {}  \"{}\"",
                change.id,
                escaped(change.attribution.commit().map_or("", Commit::subject))
            ))?;
        }
        Ok(())
    }

    /// Prints the newest request as the service received it.
    fn last_request(&self) -> Result<(), Failure> {
        let requests = self.stage.sandbox.requests();
        let Some(request) = requests.last() else {
            return Ok(());
        };
        let id = &request.toggle;
        let path = format!(
            "/api/projects/{}/environments/{}/toggles/{}/targeting",
            id.project(),
            id.environment_key(),
            id.toggle()
        );
        let body = String::from_utf8_lossy(&request.body);
        let short: String = body.chars().take(240).collect();
        self.print(&format!("  PATCH {path}"))?;
        self.print(&format!("  {}…  ({} bytes)", escaped(&short), request.body.len()))
    }

    fn print(&self, text: &str) -> Result<(), Failure> {
        self.output.print(text)
    }
}

async fn summary(output: &DemoOutput, stages: &[&Stage]) -> Result<(), Failure> {
    output.step(10, "The publishes that the two services received").await?;
    let mut counts: BTreeMap<ToggleId, usize> = BTreeMap::new();
    for request in stages.iter().flat_map(|stage| stage.sandbox.requests()) {
        *counts.entry(request.toggle).or_default() += 1;
    }
    let width = counts.keys().map(|id| id.as_str().len()).max().unwrap_or_default();
    for (id, count) in &counts {
        output.print(&format!("{id:<width$}  {}", crate::model::counted(*count, "request")))?;
    }
    for stage in stages {
        let most = stage.sandbox.most_open_for_one_toggle();
        expect(most, 1, "requests open for one toggle")?;
    }
    output.print("never two open for one toggle, and none without a commit.")
}
