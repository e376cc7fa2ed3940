//! `gitoggle demo`: demonstrates the whole loop on loopback, in one process.
//!
//! The repositories, the services, the states and every pass are real. Each step checks its claims and fails
//! if one is false.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::import as import_command;
use crate::authoring::Existing;
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::observer::ResultLines;
use crate::cli::output::{self, color};
use crate::cli::{runtime, setup, signals};
use crate::config::Settings;
use crate::document;
use crate::drift::{DriftCheck, ScanDepth};
use crate::git::{RepoUrl, Sample, TemporaryFolder};
use crate::import::{ImportSource, import};
use crate::model::{Color, Commit, CommitId, Scope, ServiceKind, ToggleId, counted, duration, escaped};
use crate::pass::{self, ChangeResult, Config, Files, PassContext, PassInputs, Reconciler, Report, Runtime};
use crate::plan::{DriftReport, FirstPass, OnMissing, Policy};
use crate::report::{drift_text, paint, text};
use crate::sandbox::{Sandbox, SandboxConfig, ScriptRequest};
use crate::source::CacheMode;
use crate::telemetry::Stream;
use crate::transport::{Proxies, Secret, SecretSource};

/// Watch the whole loop on this machine
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Creates a sample repository, serves the sandbox and makes several passes, all on loopback and in \
                  one process. Prints each step."
)]
pub(crate) struct DemoArgs {
    /// Keep the sample repository and the state in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Wait this long between steps [1s on a terminal, else 0s]
    #[arg(long, value_name = "TIME", value_parser = duration, overrides_with = "no_pause")]
    pub(crate) pause: Option<Duration>,
    /// Do not wait between steps
    #[arg(long, overrides_with = "pause")]
    pub(crate) no_pause: bool,
}

macro_rules! example {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../examples/toggles/", $path)))
    };
}

/// Every file of `examples/toggles`, path and content.
const FILES: [(&str, &str); 8] = [
    example!("search/production/ranking.yaml"),
    example!("search/production/suggestions.yaml"),
    example!("search/staging/ranking.yaml"),
    example!("search/staging/suggestions.yaml"),
    example!("shop/production/free-shipping-from.yaml"),
    example!("shop/production/new-checkout.yaml"),
    example!("shop/staging/free-shipping-from.yaml"),
    example!("shop/staging/new-checkout.yaml"),
];

/// The documents that the steps change.
const CHECKOUT: &str = "shop/production/new-checkout.yaml";
const RANKING: &str = "search/production/ranking.yaml";
const REFUND: &str = "payment/production/instant-refund.yaml";
const SHIPPING: &str = "shop/production/free-shipping-from.yaml";
const STAGING: &str = "shop/staging/new-checkout.yaml";

/// The document of a toggle that the service does not have.
const WALLET: &str = "\
disabled: false
content:
  variations:
    - { name: \"off\", value: \"false\" }
    - { name: \"on\", value: \"true\" }
  rules: []
  disabledServe: { variation: \"off\" }
  defaultServe: { variation: \"on\" }
";

/// The margin of the output of a command.
const MARGIN: &str = "   ";

pub(super) fn run(settings: &Settings, args: &DemoArgs) -> Result<ExitStatus, Failure> {
    output::wrap_reasons(MARGIN.len());
    runtime::multi_threaded(2)?.block_on(async {
        let mut stop = signals::stop_on_signal().map_err(Failure::failed)?;
        tokio::select! {
            result = show(settings, args) => result.map(|()| ExitStatus::Clean),
            _ = stop.wait_for(|stop| *stop) => Ok(ExitStatus::Clean),
        }
    })
}

async fn show(settings: &Settings, args: &DemoArgs) -> Result<(), Failure> {
    let (folder, _temporary) = folder(args.keep.as_deref())?;
    let pause = match args.pause {
        _ if args.no_pause => Duration::ZERO,
        Some(pause) => pause,
        None if Stream::Stdout.is_terminal() => Duration::from_secs(1),
        None => Duration::ZERO,
    };
    let start = |name, data| Demo::start(&folder, name, data, color(settings), pause);
    let stored = start("toggles", None)?;
    stored.play().await?;
    let live = start("payment", Some(include_str!("demo.json")))?;
    live.play_live().await?;
    live.step(10, "The publishes that the two services received").await?;
    let services = [stored.sandbox, live.sandbox];
    let mut counts: BTreeMap<ToggleId, usize> = BTreeMap::new();
    for request in services.iter().flat_map(Sandbox::requests) {
        *counts.entry(request.toggle).or_default() += 1;
    }
    let width = counts.keys().map(|id| id.as_str().len()).max().unwrap_or_default();
    for (id, count) in &counts {
        print(&format!("{id:<width$}  {}", counted(*count, "request")))?;
    }
    for service in services {
        expect(service.most_open_for_one_toggle(), 1, "requests open for one toggle")?;
        service.stop().await;
    }
    print("never two open for one toggle, and none without a commit.")
}

/// Returns the folder of the demonstration, and the guard that removes a temporary one.
fn folder(keep: Option<&Path>) -> Result<(PathBuf, Option<TemporaryFolder>), Failure> {
    if let Some(folder) = keep {
        let doing = format!("create the folder `{}`", folder.display());
        std::fs::create_dir_all(folder).map_err(Failure::could_not(doing))?;
        return Ok((folder.to_owned(), None));
    }
    let temporary = TemporaryFolder::create(None).map_err(Failure::could_not("create a temporary folder"))?;
    Ok((temporary.path().to_owned(), Some(temporary)))
}

/// Returns the content of `path` in `examples/toggles`, with `from` replaced.
fn example(path: &str, from: &str, to: &str) -> String {
    let original = FILES.iter().find(|(file, _)| *file == path).map_or("", |(_, content)| content);
    original.replacen(from, to, 1)
}

/// Prints the output of a command, or an explanation.
fn print(text: &str) -> Result<(), Failure> {
    let lines = text.trim_end().split('\n');
    let lines = lines.map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{MARGIN}{line}\n") });
    output::print(&lines.collect::<String>())
}

/// Fails if a claim of the demonstration is false.
fn expect(found: usize, wanted: usize, what: &str) -> Result<(), Failure> {
    if found == wanted {
        return Ok(());
    }
    let message = format!("the demonstration failed: {found} {what} instead of {wanted}");
    Err(Failure::failed(message).hint("this is a bug, please report it"))
}

/// A repository and its service.
struct Demo {
    name: &'static str,
    /// The work tree of the repository.
    toggles: PathBuf,
    repository: Sample,
    sandbox: Sandbox,
    settings: Settings,
    color: Color,
    /// The pause before each step.
    pause: Duration,
}

impl Demo {
    /// Creates the repository `name` in `folder` and starts its service: FeatureProbe if it has `data`.
    fn start(
        folder: &Path,
        name: &'static str,
        data: Option<&str>,
        color: Color,
        pause: Duration,
    ) -> Result<Self, Failure> {
        let toggles = folder.join(name);
        let ca_file = Some(folder.join(format!("{name}.pem")));
        let token = Secret::new("demo-token".to_owned());
        let kind = if data.is_some() { ServiceKind::FeatureProbe } else { ServiceKind::Documented };
        let config = SandboxConfig {
            ca_file: ca_file.clone(),
            kind,
            data: data.map(str::to_owned),
            ..SandboxConfig::new(token.clone())
        };
        let sandbox = Sandbox::start(config).map_err(Failure::failed)?;
        let settings = Settings {
            base_url: Some(sandbox.url().parse().map_err(Failure::failed)?),
            ca_file,
            repo: RepoUrl::local(&toggles),
            service_kind: kind,
            state_dir: Some(folder.join(format!("{name}.state"))),
            token: Some(SecretSource::Value(token)),
            ..Settings::defaults()
        };
        let repository = Sample::create(&toggles).map_err(Failure::failed)?;
        Ok(Self { name, toggles, repository, sandbox, settings, color, pause })
    }

    async fn step(&self, number: usize, title: &str) -> Result<(), Failure> {
        // There is nothing to read before the first step.
        if number > 1 {
            tokio::time::sleep(self.pause).await;
        }
        output::print(&format!("\n{}\n", paint(&format!("{number}. {title}"), "1;36", self.color)))
    }

    /// Prints a command that a user would type.
    fn command(&self, command: &str) -> Result<(), Failure> {
        print(&paint(&format!("$ {command}"), "1", self.color))
    }

    fn commit(&self, message: &str, files: &[(&str, &str)]) -> Result<CommitId, Failure> {
        self.repository.commit(message, files).map_err(Failure::failed)
    }

    /// Makes one pass, as `gitoggle apply` does, which must send this number of requests that write.
    async fn pass(&self, policy: Policy, requests: usize) -> Result<Report, Failure> {
        let before = self.writes().len();
        let config = self.config(policy)?;
        let wait = Duration::from_secs(10);
        let pass =
            move |context: PassContext| Reconciler::open(config, wait)?.pass(&context, PassInputs::default());
        let report = blocking(pass).await?;
        expect(self.writes().len() - before, requests, "requests that write")?;
        Ok(report)
    }

    /// Returns the requests that wrote: method and path.
    fn writes(&self) -> Vec<String> {
        let calls = self.sandbox.calls().into_iter().filter(|call| call.method != "GET");
        let calls = calls.map(|call| format!("{} {}", call.method, call.path));
        match self.settings.service_kind.can().read_live {
            true => calls.collect(),
            false => self.sandbox.requests().iter().map(|sent| patch(&sent.toggle)).collect(),
        }
    }

    fn config(&self, policy: Policy) -> Result<Config, Failure> {
        let mut config = setup::config(&self.settings, CacheMode::Keep)?;
        if let Some(client) = &mut config.service {
            // The sandbox is on loopback, where a proxy cannot reach it.
            client.network.proxies = Proxies::Ignored;
        }
        config.rules.repo = self.name.to_owned();
        config.rules.policy = Policy { is_readable: config.rules.policy.is_readable, ..policy };
        Ok(config)
    }

    fn plan(&self) -> Result<(), Failure> {
        self.command("gitoggle plan")?;
        let planned = pass::plan(&self.config(Policy::default())?, Files::Committed)?;
        print(&text(&planned.plan, self.color))
    }
}

/// Runs what blocks, such as a pass, while the sandbox answers its requests on this runtime.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce(PassContext) -> Result<T, pass::Error> + Send + 'static,
) -> Result<T, Failure> {
    let context = PassContext::unobserved(Runtime::new(Handle::current()));
    Ok(tokio::task::spawn_blocking(|| work(context)).await.map_err(Failure::failed)??)
}

fn patch(id: &ToggleId) -> String {
    let (project, environment, toggle) = (id.project(), id.environment_key(), id.toggle());
    format!("PATCH /api/projects/{project}/environments/{environment}/toggles/{toggle}/targeting")
}

/// The steps with a service that only stores.
impl Demo {
    async fn play(&self) -> Result<(), Failure> {
        self.step(1, "A repository with one file per toggle, and a toggle service").await?;
        let commit = self.commit("Keep our toggles in Git", &FILES)?;
        print(&format!("repository  {}", self.toggles.display()))?;
        print(&format!("            {} documents, commit {}", FILES.len(), commit.short()))?;
        print(&format!("service     {} (the sandbox, in this process)", self.sandbox.url()))?;
        self.first_pass().await?;
        self.pull_request().await?;
        self.step(4, "A cosmetic edit sends nothing").await?;
        let text = example(SHIPPING, "", "# Reviewed in spring.\n\n");
        self.commit("Say when this was reviewed", &[(SHIPPING, &text)])?;
        let report = self.pass(Policy::default(), 0).await?;
        expect(report.plan.state_edits().len(), 1, "documents recorded")?;
        print("the file changed, but not its meaning: recorded, no request sent")?;
        self.broken_file().await?;
        self.lost_response().await
    }

    async fn first_pass(&self) -> Result<(), Failure> {
        self.step(2, "The first pass needs a decision").await?;
        let report = self.pass(Policy::default(), 0).await?;
        expect(report.plan.withheld().len(), FILES.len(), "toggles held")?;
        self.command("gitoggle apply")?;
        print(&format!(
            "{} toggles held, no request sent. Without state, gitoggle does not know what the\nservice has: \
             `--first-pass assert` publishes, `adopt` records without publishing.",
            FILES.len()
        ))?;
        print("")?;
        self.command("gitoggle apply --first-pass assert")?;
        let policy = Policy { first_pass: Some(FirstPass::Assert), ..Policy::default() };
        published(&self.pass(policy, FILES.len()).await?, FILES.len())
    }

    async fn pull_request(&self) -> Result<(), Failure> {
        self.step(3, "A pull request is merged").await?;
        let text = example(CHECKOUT, "objects: [AT, CH]", "objects: [AT, CH, DE]");
        let text =
            text.replace("defaultServe: { variation: \"off\" }", "defaultServe: { variation: \"on\" }");
        let message = "Open the new checkout to everyone\n\nGermany passed the load test.";
        let merge = "Merge pull request #42 from ann/checkout";
        let merged = self.repository.pull_request(message, merge, &[(CHECKOUT, &text)]);
        merged.map_err(Failure::failed)?;
        self.plan()?;
        let report = self.pass(Policy::default(), 1).await?;
        expect(report.applied(), 1, "toggles applied")?;
        print("")?;
        self.command("gitoggle apply")?;
        print("the one request, as the service received it:")?;
        if let Some(request) = self.sandbox.requests().last() {
            let body = String::from_utf8_lossy(&request.body);
            let short: String = body.chars().take(240).collect();
            print(&format!("  {}", patch(&request.toggle)))?;
            print(&format!("  {}…  ({} bytes)", escaped(&short), request.body.len()))?;
        }
        Ok(())
    }

    async fn broken_file(&self) -> Result<(), Failure> {
        self.step(5, "A broken file does not block others").await?;
        let broken = example(STAGING, "  defaultServe:", "  # defaultServe:");
        let good = example(RANKING, "disabled: false", "disabled: true");
        self.commit("Switch the new ranking off", &[(STAGING, &broken), (RANKING, &good)])?;
        let report = self.pass(Policy::default(), 1).await?;
        expect(usize::from(report.plan.has_invalid()), 1, "invalid documents")?;
        print(&document::render(report.plan.findings(), self.color))?;
        print("the broken toggle stays as last applied, and the other one of the commit is published:")?;
        published(&report, 1)
    }

    async fn lost_response(&self) -> Result<(), Failure> {
        self.step(6, "A response is lost after the service stored the document").await?;
        self.commit("Repair the staging checkout", &[(STAGING, &example(STAGING, "", ""))])?;
        self.pass(Policy::default(), 0).await?;
        let closed = example(STAGING, "disabled: false", "disabled: true");
        self.commit("Close the staging checkout", &[(STAGING, &closed)])?;
        self.sandbox.lose_next_response();
        let report = self.pass(Policy::default(), 2).await?;
        let requests = self.sandbox.requests();
        let [.., first, second] = requests.as_slice() else {
            return expect(requests.len(), 2, "requests");
        };
        expect(usize::from(first.body == second.body), 1, "body sent twice")?;
        print("the request was journaled before it was sent, so the same body and comment were sent again:")?;
        published(&report, 1)
    }
}

fn published(report: &Report, count: usize) -> Result<(), Failure> {
    expect(report.applied(), count, "toggles applied")?;
    for (change, _) in report.lines().filter(|(_, result)| **result == ChangeResult::Applied) {
        let subject = change.attribution.commit().map_or("", Commit::subject);
        print(&format!("  {} {}  \"{}\"", change.action.as_str(), change.id, escaped(subject)))?;
    }
    Ok(())
}

/// The steps with a service that can be read.
impl Demo {
    async fn play_live(&self) -> Result<(), Failure> {
        self.step(7, "Toggles that exist on a service are imported").await?;
        print(&format!("service     {} (FeatureProbe, with two toggles)\n", self.sandbox.url()))?;
        self.import("", &[], Existing::Keep).await?;
        print("")?;
        self.command(&format!("cat {REFUND}"))?;
        print(&self.document()?)?;
        print("")?;
        self.add_and_commit("Import toggles", &[])?;
        let policy = Policy { first_pass: Some(FirstPass::Adopt), ..Policy::default() };
        let report = self.apply(" --first-pass adopt", policy, 0).await?;
        let converged = report.count(|result| *result == ChangeResult::Converged);
        expect(converged, 2, "documents equal to the service")?;
        print("")?;
        self.plan()?;
        print("Each document was compared with the service, which received only GET requests.")?;
        self.someone_changes_a_toggle().await?;
        self.missing_toggle().await
    }

    async fn someone_changes_a_toggle(&self) -> Result<(), Failure> {
        self.step(8, "Someone changes a toggle on the service").await?;
        self.sandbox.request_as_admin(&ScriptRequest {
            method: "PATCH".to_owned(),
            path: "/api/projects/payment/environments/production/toggles/instant-refund/targeting".to_owned(),
            body: json!({ "comment": "Refunds fail, off until the morning", "disabled": true }),
        });
        self.command("gitoggle drift")?;
        print(&drift_text(&self.drift(1).await?, self.color))?;
        let text = self.document()?.replace("75", "50").replace("25", "50");
        print("\nA commit changes the document of the same toggle:")?;
        self.add_and_commit("Refund instantly for half of the customers", &[(REFUND, &text)])?;
        let report = self.apply("", Policy::default(), 0).await?;
        expect(report.count(ChangeResult::is_held), 1, "changes held")?;
        print("\nThe change on the service was right, so Git takes it over:")?;
        let glob = "payment/production/instant-refund";
        self.import(&format!(" --overwrite {glob}"), &[glob], Existing::Replace).await?;
        self.add_and_commit("Keep instant refunds off", &[])?;
        let report = self.apply("", Policy::default(), 0).await?;
        expect(report.count(ChangeResult::is_held), 0, "changes held")?;
        self.drift(0).await?;
        print("The service has this already: recorded, no request sent.")
    }

    async fn missing_toggle(&self) -> Result<(), Failure> {
        self.step(9, "A document describes a toggle that does not exist").await?;
        self.add_and_commit("Add the wallet", &[("payment/production/wallet.yaml", WALLET)])?;
        let report = self.apply("", Policy::default(), 0).await?;
        expect(report.count(ChangeResult::is_held), 1, "changes held")?;
        print("")?;
        let before = self.writes().len();
        let policy = Policy { on_missing: OnMissing::Create, ..Policy::default() };
        let report = self.apply(" --on-missing create", policy, 2).await?;
        expect(report.applied(), 1, "toggles applied")?;
        print("the two requests that wrote, as the service received them:")?;
        print(&format!("  {}", self.writes()[before..].join("\n  ")))
    }

    fn add_and_commit(&self, message: &str, files: &[(&str, &str)]) -> Result<(), Failure> {
        self.command(&format!("git add . && git commit -m '{message}'"))?;
        self.commit(message, files).map(drop)
    }

    /// Makes one pass, and prints the command, with these flags, and the result of each change.
    async fn apply(&self, flags: &str, policy: Policy, requests: usize) -> Result<Report, Failure> {
        self.command(&format!("gitoggle apply{flags}"))?;
        let report = self.pass(policy, requests).await?;
        let mut lines = ResultLines::default();
        for (change, result) in report.lines() {
            print(&lines.next(change, result))?;
        }
        Ok(report)
    }

    /// Compares the service with what was applied. So many toggles must differ.
    async fn drift(&self, count: usize) -> Result<DriftReport, Failure> {
        let config = self.config(Policy::default())?;
        let check = move |context: PassContext| {
            DriftCheck { globs: &Scope::default(), depth: ScanDepth::Changes }.run(&config, &context)
        };
        let report = blocking(check).await?.report;
        expect(report.drifted.len(), count, "drifted toggles")?;
        Ok(report)
    }

    /// Writes the documents of the toggles that match `globs`, and prints the command, with these words, and
    /// the result.
    async fn import(&self, words: &str, globs: &[&str], existing: Existing) -> Result<(), Failure> {
        self.command(&format!("gitoggle import{words}"))?;
        let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
        let mut config = import_command::config(&self.settings, &globs)?;
        config.on_different = existing;
        if let ImportSource::Service(client, _) = &mut config.from {
            client.network.proxies = Proxies::Ignored;
        }
        let (_running, stop) = watch::channel(false);
        print(&import_command::text(&import(config, stop, |_| {}).await?))
    }

    fn document(&self) -> Result<String, Failure> {
        std::fs::read_to_string(self.toggles.join(REFUND)).map_err(Failure::failed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_sample_is_the_whole_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/toggles");
        let mut folders = vec![root.clone()];
        let mut found = BTreeSet::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.insert(path.strip_prefix(&root).unwrap().display().to_string());
                }
            }
        }
        let listed: BTreeSet<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(listed, found);
    }
}
