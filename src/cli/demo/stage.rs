//! A repository and the service that it is published to, with the commands that the demonstration runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::authoring::Existing;
use crate::cli::failure::Failure;
use crate::cli::{import as import_command, setup};
use crate::config::Settings;
use crate::drift::{DriftCheck, ScanDepth};
use crate::git::{RepoUrl, Sample};
use crate::import::{ImportReport, ImportSource, import};
use crate::model::{Color, CommitId, Scope, ServiceKind};
use crate::pass::{self, Config, Files, PassContext, PassInputs, Reconciler, Report, Runtime};
use crate::plan::{DriftReport, Policy, render};
use crate::sandbox::{Sandbox, SandboxConfig};
use crate::source::CacheMode;
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
        Ok(render::text(&look.plan, color))
    }

    /// Compares the service with what was applied, as `gitoggle drift` does.
    pub(super) async fn drift(&self) -> Result<DriftReport, Failure> {
        let config = self.config(Policy::default())?;
        let context = PassContext::unobserved(Runtime::Tokio(Handle::current()));
        let scan = tokio::task::spawn_blocking(move || {
            let check = DriftCheck {
                globs: &Scope::default(),
                depth: ScanDepth::Changes,
            };
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
        config.rules.policy = Policy {
            live_access: config.rules.policy.live_access,
            ..policy
        };
        Ok(config)
    }
}
