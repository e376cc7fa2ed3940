//! A repository and the service that it is published to, with the commands that the demonstration runs and prints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::authoring::Existing;
use crate::cli::args::DemoArgs;
use crate::cli::failure::Failure;
use crate::cli::{import as import_command, setup};
use crate::config::Settings;
use crate::drift::{DriftCheck, ScanDepth};
use crate::git::{RepoUrl, Sample};
use crate::import::{ImportReport, ImportSource, import};
use crate::model::{Color, CommitId, Scope, ServiceKind};
use crate::pass::{self, Config, Files, PassContext, PassInputs, Reconciler, Report, Runtime};
use crate::plan::{DriftReport, Policy};
use crate::report;
use crate::sandbox::{Sandbox, SandboxConfig};
use crate::source::CacheMode;
use crate::telemetry::Stream;
use crate::transport::{Proxies, Secret, SecretSource};

/// A repository and its service.
pub(super) struct Stage {
    /// The work tree of the repository.
    pub(super) toggles: PathBuf,
    pub(super) sandbox: Sandbox,
    pub(super) repository: Sample,
    name: &'static str,
    settings: Settings,
}

impl Stage {
    /// Creates the repository `name` in `folder` and starts its service: FeatureProbe if it has `data`.
    pub(super) fn start(folder: &Path, name: &'static str, data: Option<&str>) -> Result<Self, Failure> {
        let toggles = folder.join(name);
        let ca_file = folder.join(format!("{name}.pem"));
        let token = Secret::new("demo-token".to_owned());
        let kind = match data {
            None => ServiceKind::Documented,
            Some(_) => ServiceKind::FeatureProbe,
        };
        let config = SandboxConfig {
            ca_file: Some(ca_file.clone()),
            kind,
            data: data.map(str::to_owned),
            ..SandboxConfig::new(token.clone())
        };
        let sandbox = Sandbox::start(config).map_err(Failure::failed)?;
        let settings = Settings {
            base_url: Some(sandbox.url().parse().map_err(Failure::failed)?),
            ca_file: Some(ca_file),
            repo: RepoUrl::local(&toggles),
            service_kind: kind,
            state_dir: Some(folder.join(format!("{name}.state"))),
            token: Some(SecretSource::Value(token)),
            ..Settings::defaults()
        };
        Ok(Self {
            repository: Sample::create(&toggles).map_err(Failure::failed)?,
            sandbox,
            toggles,
            name,
            settings,
        })
    }

    /// Commits the changed files: paths and contents.
    pub(super) fn commit(&self, message: &str, files: &[(&str, &str)]) -> Result<CommitId, Failure> {
        let files: BTreeMap<_, _> = files.iter().map(|(path, text)| (*path, Some(*text))).collect();
        self.repository.commit(message, &files).map_err(Failure::failed)
    }

    /// Makes one pass, as `gitoggle apply` does.
    pub(super) async fn apply(&self, policy: Policy) -> Result<Report, Failure> {
        let config = self.config(policy)?;
        let context = PassContext::unobserved(Runtime::Tokio(Handle::current()));
        // A pass blocks, and the sandbox answers its requests on this runtime.
        let pass = tokio::task::spawn_blocking(move || {
            Reconciler::open(config, Duration::from_secs(10))?.pass(&context, PassInputs::default())
        });
        Ok(pass.await.map_err(Failure::failed)??)
    }

    /// Plans, as `gitoggle plan` does.
    pub(super) fn plan(&self, color: Color) -> Result<String, Failure> {
        let look = pass::plan(&self.config(Policy::default())?, Files::Committed)?;
        Ok(report::text(&look.plan, color))
    }

    /// Compares the service with what was applied, as `gitoggle drift` does.
    pub(super) async fn drift(&self) -> Result<DriftReport, Failure> {
        let config = self.config(Policy::default())?;
        let context = PassContext::unobserved(Runtime::Tokio(Handle::current()));
        let scan = tokio::task::spawn_blocking(move || {
            let check = DriftCheck { globs: &Scope::default(), depth: ScanDepth::Changes };
            check.run(&config, &context)
        });
        Ok(scan.await.map_err(Failure::failed)??.report)
    }

    /// Writes the documents of the toggles that match `globs`, as `gitoggle import` does.
    pub(super) async fn import(
        &self,
        globs: &[&str],
        on_different: Existing,
    ) -> Result<ImportReport, Failure> {
        let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
        let mut config = import_command::config(&self.settings, &globs)?;
        config.on_different = on_different;
        if let ImportSource::Service(client, _) = &mut config.from {
            client.network.proxies = Proxies::Ignored;
        }
        let (_running, stop) = watch::channel(false);
        Ok(import(config, stop, |_| {}).await?)
    }

    fn config(&self, policy: Policy) -> Result<Config, Failure> {
        let mut config = setup::config(&self.settings, CacheMode::Keep)?;
        if let Some(client) = &mut config.service {
            // The sandbox is on loopback, where a proxy cannot reach it.
            client.network.proxies = Proxies::Ignored;
        }
        config.rules.repo = self.name.to_owned();
        config.rules.policy = Policy { live_access: config.rules.policy.live_access, ..policy };
        Ok(config)
    }
}

/// Prints the steps, with a pause before each.
pub(super) struct DemoOutput {
    color: Color,
    pause: Duration,
}

impl DemoOutput {
    pub(super) fn new(color: Color, args: &DemoArgs) -> Self {
        let pause = match args.pause {
            _ if args.no_pause => Duration::ZERO,
            Some(pause) => pause,
            None if Stream::Stdout.is_terminal() => Duration::from_secs(1),
            None => Duration::ZERO,
        };
        Self { color, pause }
    }

    /// Begins a step.
    pub(super) async fn step(&self, number: usize, title: &str) -> Result<(), Failure> {
        // There is nothing to read before the first step.
        if number > 1 {
            tokio::time::sleep(self.pause).await;
        }
        let title = format!("{number}. {title}");
        match self.color {
            Color::Always => self.line(&format!("\n\u{1b}[1;36m{title}\u{1b}[0m")),
            Color::Never => self.line(&format!("\n{title}")),
        }
    }

    pub(super) fn line(&self, text: &str) -> Result<(), Failure> {
        Stream::Stdout.print(&format!("{text}\n")).map_err(Failure::failed)
    }

    /// Prints a command that a user would type.
    pub(super) fn command(&self, command: &str) -> Result<(), Failure> {
        match self.color {
            Color::Always => self.line(&format!("   \u{1b}[1m$ {command}\u{1b}[0m")),
            Color::Never => self.line(&format!("   $ {command}")),
        }
    }

    /// Prints an empty line, then a command.
    pub(super) fn next_command(&self, command: &str) -> Result<(), Failure> {
        self.line("")?;
        self.command(command)
    }

    /// Prints the output of a command, or an explanation.
    pub(super) fn print(&self, text: &str) -> Result<(), Failure> {
        let lines: Vec<String> = text
            .trim_end()
            .lines()
            .map(|line| if line.is_empty() { String::new() } else { format!("   {line}") })
            .collect();
        self.line(&lines.join("\n"))
    }
}

/// Fails if a claim of the demonstration is false.
pub(super) fn expect(found: usize, wanted: usize, what: &str) -> Result<(), Failure> {
    match found == wanted {
        true => Ok(()),
        false => {
            Err(Failure::failed(format!("the demonstration failed: {found} {what} instead of {wanted}"))
                .hint("this is a bug, please report it"))
        }
    }
}

macro_rules! example {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../examples/toggles/", $path)))
    };
}

/// Every file of `examples/toggles`, path and content.
pub(super) const FILES: [(&str, &str); 8] = [
    example!("search/production/ranking.yaml"),
    example!("search/production/suggestions.yaml"),
    example!("search/staging/ranking.yaml"),
    example!("search/staging/suggestions.yaml"),
    example!("shop/production/free-shipping-from.yaml"),
    example!("shop/production/new-checkout.yaml"),
    example!("shop/staging/free-shipping-from.yaml"),
    example!("shop/staging/new-checkout.yaml"),
];

/// The document that the pull request changes.
pub(super) const CHECKOUT: &str = "shop/production/new-checkout.yaml";

/// The document that one step breaks.
pub(super) const STAGING: &str = "shop/staging/new-checkout.yaml";

/// Returns the content of `path` as it is in `examples/toggles`.
pub(super) fn original(path: &str) -> &'static str {
    FILES.iter().find(|(file, _)| *file == path).map_or("", |(_, content)| content)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

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
