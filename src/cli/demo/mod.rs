//! `gitoggle demo`: demonstrates the whole loop on loopback, in one process.
//!
//! The repository, the service, the state and every pass are real. Each step checks its claims and fails if one is false.

mod files;
mod output;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::runtime::Handle;

use super::args::DemoArgs;
use super::failure::{ExitStatus, Failure};
use super::signals;
use crate::config::Settings;
use crate::model::{Color, Commit, ToggleId, escaped};
use crate::pass::{self, ChangeResult, Config, Files, PassContext, Reconciler, Report, Runtime};
use crate::plan::{FirstPass, Policy, render};
use crate::sandbox::{Sandbox, SandboxConfig};
use crate::service::ClientConfig;
use crate::source::sample::Sample;
use crate::telemetry::Stream;
use crate::transport::{Network, Secret, SecretSource};
use files::{CHECKOUT, FILES, STAGING, original};
use output::DemoOutput;

const TOKEN: &str = "demo-token";

pub(super) fn run(settings: &Settings, args: &DemoArgs) -> Result<ExitStatus, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.map_err(Failure::failed)?.block_on(async {
        let mut stop = signals::stop_on_signal().map_err(Failure::failed)?;
        tokio::select! {
            result = show(settings, args) => result.map(|()| ExitStatus::Clean),
            _ = stop.wait_for(|stop| *stop) => Ok(ExitStatus::Clean),
        }
    })
}

async fn show(settings: &Settings, args: &DemoArgs) -> Result<(), Failure> {
    let (folder, _temporary) = folder(args.keep.as_deref())?;
    let color = Stream::Stdout.color(settings.color);
    let output = DemoOutput::new(color, args.pause);
    let sandbox = Sandbox::start(SandboxConfig {
        ca_file: Some(folder.join("ca.pem")),
        ..SandboxConfig::new(Secret::new(TOKEN.to_owned()))
    })
    .map_err(Failure::failed)?;
    let repository = Sample::create(&folder.join("toggles")).map_err(Failure::failed)?;
    let demo = Demo {
        folder,
        output,
        sandbox,
        repository,
        color,
    };
    demo.play().await?;
    demo.sandbox.stop().await;
    Ok(())
}

/// Returns the folder of the demonstration, and the guard that removes a temporary one.
fn folder(keep: Option<&Path>) -> Result<(PathBuf, Option<tempfile::TempDir>), Failure> {
    match keep {
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(Failure::failed)?;
            Ok((folder.to_owned(), None))
        }
        None => {
            let temporary = tempfile::Builder::new().prefix("gitoggle-demo-").tempdir();
            let temporary = temporary.map_err(Failure::failed)?;
            Ok((temporary.path().to_owned(), Some(temporary)))
        }
    }
}

struct Demo {
    folder: PathBuf,
    output: DemoOutput,
    sandbox: Sandbox,
    repository: Sample,
    color: Color,
}

impl Demo {
    async fn play(&self) -> Result<(), Failure> {
        self.set_up().await?;
        self.first_pass().await?;
        self.pull_request().await?;
        self.cosmetic_edit().await?;
        self.broken_file().await?;
        self.lost_response().await?;
        self.summary().await
    }

    async fn set_up(&self) -> Result<(), Failure> {
        self.output
            .step(1, "A repository with one file per toggle, and a toggle service")
            .await?;
        let files: BTreeMap<&str, Option<&str>> = FILES
            .iter()
            .map(|(path, content)| (*path, Some(*content)))
            .collect();
        let commit = self
            .repository
            .commit("Keep our toggles in Git", &files)
            .map_err(Failure::failed)?;
        self.print(&format!("repository  {}", self.folder.join("toggles").display()))?;
        self.print(&format!(
            "            {} documents, commit {}",
            files.len(),
            commit.short()
        ))?;
        self.print(&format!(
            "service     {} (the sandbox, in this process)",
            self.sandbox.url()
        ))
    }

    async fn first_pass(&self) -> Result<(), Failure> {
        self.output.step(2, "The first pass needs a decision").await?;
        let report = self.pass(None).await?;
        self.expect(report.plan.withheld().len(), FILES.len(), "toggles held")?;
        self.expect(self.sandbox.requests().len(), 0, "requests")?;
        self.print(&format!(
            "gitoggle apply: {} toggles held, no request sent. Without state, gitoggle cannot",
            FILES.len()
        ))?;
        self.print("know the service: `--first-pass assert` publishes, `adopt` records without publishing.")?;
        self.print("gitoggle apply --first-pass assert")?;
        let report = self.pass(Some(FirstPass::Assert)).await?;
        self.expect(report.applied(), FILES.len(), "toggles applied")?;
        self.published(&report)
    }

    async fn pull_request(&self) -> Result<(), Failure> {
        self.output.step(3, "A pull request is merged").await?;
        let text = original(CHECKOUT).replace("objects: [AT, CH]", "objects: [AT, CH, DE]");
        let text = text.replace(
            "defaultServe: { variation: \"off\" }",
            "defaultServe: { variation: \"on\" }",
        );
        let message = "Open the new checkout to everyone\n\nGermany passed the load test.";
        let files = BTreeMap::from([(CHECKOUT, Some(text.as_str()))]);
        let merge = "Merge pull request #42 from ann/checkout";
        self.repository
            .pull_request(message, merge, &files)
            .map_err(Failure::failed)?;
        let planned = self.plan()?;
        self.print("gitoggle plan")?;
        self.output.indented(&planned)?;
        let before = self.sandbox.requests().len();
        let report = self.pass(None).await?;
        self.expect(report.applied(), 1, "toggles applied")?;
        self.expect(self.sandbox.requests().len() - before, 1, "requests")?;
        self.print("\n   gitoggle apply: the one request, as the service received it")?;
        self.last_request()
    }

    async fn cosmetic_edit(&self) -> Result<(), Failure> {
        self.output.step(4, "A cosmetic edit sends nothing").await?;
        let path = "shop/production/free-shipping-from.yaml";
        let text = format!("# Reviewed in spring.\n\n{}", original(path));
        let files = BTreeMap::from([(path, Some(text.as_str()))]);
        self.repository
            .commit("Say when this was reviewed", &files)
            .map_err(Failure::failed)?;
        let before = self.sandbox.requests().len();
        let report = self.pass(None).await?;
        self.expect(self.sandbox.requests().len() - before, 0, "requests")?;
        self.expect(report.plan.state_edits().len(), 1, "documents recorded")?;
        self.print("the file changed, but not its meaning: recorded, no request sent")
    }

    async fn broken_file(&self) -> Result<(), Failure> {
        self.output.step(5, "A broken file does not block others").await?;
        let broken = original(STAGING).replacen("defaultServe", "defualtServe", 1);
        let path = "search/production/ranking.yaml";
        let good = original(path).replacen("disabled: false", "disabled: true", 1);
        let files = BTreeMap::from([(STAGING, Some(broken.as_str())), (path, Some(good.as_str()))]);
        self.repository
            .commit("Switch the new ranking off", &files)
            .map_err(Failure::failed)?;
        let before = self.sandbox.requests().len();
        let report = self.pass(None).await?;
        let (findings, color) = (report.plan.findings(), self.color);
        self.expect(usize::from(report.plan.has_invalid()), 1, "invalid documents")?;
        self.expect(self.sandbox.requests().len() - before, 1, "requests")?;
        self.output.indented(&crate::document::render(findings, color))?;
        self.print("the broken toggle stays as last applied, and the other one of the commit is published:")?;
        self.published(&report)
    }

    async fn lost_response(&self) -> Result<(), Failure> {
        self.output
            .step(6, "A response is lost after the service stored the document")
            .await?;
        let files = BTreeMap::from([(STAGING, Some(original(STAGING)))]);
        self.repository
            .commit("Repair the staging checkout", &files)
            .map_err(Failure::failed)?;
        self.pass(None).await?;
        let text = original(STAGING).replacen("disabled: false", "disabled: true", 1);
        let files = BTreeMap::from([(STAGING, Some(text.as_str()))]);
        self.repository
            .commit("Close the staging checkout", &files)
            .map_err(Failure::failed)?;
        self.sandbox.lose_next_response();
        let before = self.sandbox.requests().len();
        let report = self.pass(None).await?;
        let requests = self.sandbox.requests();
        let sent = &requests[before..];
        self.expect(report.applied(), 1, "toggles applied")?;
        self.expect(sent.len(), 2, "requests")?;
        self.expect(usize::from(sent[0].body == sent[1].body), 1, "body sent twice")?;
        self.print(
            "the request was journaled before it was sent, so the same body and comment were sent again:",
        )?;
        self.published(&report)
    }

    async fn summary(&self) -> Result<(), Failure> {
        self.output
            .step(7, "The requests that the service received")
            .await?;
        let mut counts: BTreeMap<ToggleId, usize> = BTreeMap::new();
        for request in self.sandbox.requests() {
            *counts.entry(request.toggle).or_default() += 1;
        }
        let width = counts
            .keys()
            .map(|id| id.as_str().len())
            .max()
            .unwrap_or_default();
        for (id, count) in &counts {
            self.print(&format!(
                "{id:<width$}  {}",
                crate::model::counted(*count, "request")
            ))?;
        }
        self.expect(
            self.sandbox.most_open_for_one_toggle(),
            1,
            "requests open for one toggle",
        )?;
        self.print("never two open for one toggle, and none without a commit.")
    }

    /// Makes one pass, as `gitoggle apply` does.
    async fn pass(&self, first_pass: Option<FirstPass>) -> Result<Report, Failure> {
        let (config, runtime) = (self.config(first_pass), Runtime::Tokio(Handle::current()));
        // A pass blocks, and the sandbox answers its requests on this runtime.
        let pass = tokio::task::spawn_blocking(move || {
            Reconciler::open(config, Duration::from_secs(10))?.pass(&PassContext::default(), &runtime)
        });
        Ok(pass.await.map_err(Failure::failed)??)
    }

    /// Plans, as `gitoggle plan` does.
    fn plan(&self) -> Result<String, Failure> {
        let look = pass::plan(&self.config(None), Files::Committed)?;
        Ok(render::text(&look.plan, self.color))
    }

    fn config(&self, first_pass: Option<FirstPass>) -> Config {
        let network = Network {
            ca_file: Some(self.folder.join("ca.pem")),
            ..Network::default()
        };
        let mut config = Config::local(&self.folder.join("toggles"), self.folder.join("state"));
        config.rules.repo = "toggles".to_owned();
        config.rules.policy = policy(first_pass);
        match self.sandbox.url().parse() {
            Ok(base_url) => config.with_service(ClientConfig {
                base_url,
                token: SecretSource::Value(Secret::new(TOKEN.to_owned())),
                network,
                timeout: Duration::from_secs(10),
            }),
            Err(_) => config,
        }
    }

    /// Lists what a pass published.
    fn published(&self, report: &Report) -> Result<(), Failure> {
        let applied = report
            .lines()
            .filter(|(_, result)| **result == ChangeResult::Applied);
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
        let requests = self.sandbox.requests();
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
        self.output.line(&format!("   {text}"))
    }

    /// Fails if a claim of the demonstration is false.
    fn expect(&self, found: usize, wanted: usize, what: &str) -> Result<(), Failure> {
        match found == wanted {
            true => Ok(()),
            false => Err(Failure::failed(format!(
                "the demonstration failed: {found} {what} instead of {wanted}"
            ))
            .hint("this is a bug, please report it")),
        }
    }
}

fn policy(first_pass: Option<FirstPass>) -> Policy {
    Policy {
        first_pass,
        ..Policy::default()
    }
}
