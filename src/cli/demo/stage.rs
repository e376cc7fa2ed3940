//! A repository and the service that it is published to, with the commands that the demonstration runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::cli::failure::Failure;
use crate::document::Layout;
use crate::git::Sample;
use crate::model::{Color, CommitId, Scope, ServiceKind};
use crate::pass::drift::{DriftCheck, ScanDepth};
use crate::pass::import::{ImportConfig, ImportReport, ImportScope, ImportSource, import};
use crate::pass::{self, Config, Existing, Files, PassContext, Reconciler, Report, Runtime};
use crate::plan::{DriftReport, LiveAccess, Policy, render};
use crate::sandbox::{Sandbox, SandboxConfig};
use crate::service::ClientConfig;
use crate::transport::{Network, Secret, SecretSource};

const TOKEN: &str = "demo-token";

/// A repository and its service.
pub(super) struct Stage {
    /// The work tree of the repository.
    pub(super) toggles: PathBuf,
    pub(super) sandbox: Sandbox,
    pub(super) repository: Sample,
    name: &'static str,
    state: PathBuf,
    ca_file: PathBuf,
    kind: ServiceKind,
}

impl Stage {
    /// Creates the repository `name` in `folder` and starts its service: FeatureProbe if it has `data`.
    pub(super) fn start(folder: &Path, name: &'static str, data: Option<&str>) -> Result<Self, Failure> {
        let toggles = folder.join(name);
        let ca_file = folder.join(format!("{name}.pem"));
        let kind = match data {
            None => ServiceKind::Documented,
            Some(_) => ServiceKind::FeatureProbe,
        };
        let config = SandboxConfig {
            ca_file: Some(ca_file.clone()),
            kind,
            data: data.map(str::to_owned),
            ..SandboxConfig::new(Secret::new(TOKEN.to_owned()))
        };
        Ok(Self {
            sandbox: Sandbox::start(config).map_err(Failure::failed)?,
            repository: Sample::create(&toggles).map_err(Failure::failed)?,
            state: folder.join(format!("{name}.state")),
            name,
            toggles,
            ca_file,
            kind,
        })
    }

    pub(super) fn commit(
        &self,
        message: &str,
        files: &BTreeMap<&str, Option<&str>>,
    ) -> Result<CommitId, Failure> {
        self.repository.commit(message, files).map_err(Failure::failed)
    }

    /// Makes one pass, as `gitoggle apply` does.
    pub(super) async fn apply(&self, policy: Policy) -> Result<Report, Failure> {
        let config = self.config(policy)?;
        let context = PassContext::unobserved(Runtime::Tokio(Handle::current()));
        // A pass blocks, and the sandbox answers its requests on this runtime.
        let pass = tokio::task::spawn_blocking(move || {
            Reconciler::open(config, Duration::from_secs(10))?.pass(&context)
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
        let config = ImportConfig {
            repo: self.toggles.clone(),
            root: String::new(),
            layout: Layout::default(),
            kind: self.kind,
            scope: ImportScope {
                globs: Scope::new(globs).map_err(Failure::failed)?,
                only: Scope::default(),
            },
            on_different,
            from: ImportSource::Service(self.client()?, 16),
        };
        let (_running, stop) = watch::channel(false);
        Ok(import(config, stop, |_| {}).await?)
    }

    fn client(&self) -> Result<ClientConfig, Failure> {
        Ok(ClientConfig {
            base_url: self.sandbox.url().parse().map_err(Failure::failed)?,
            token: SecretSource::Value(Secret::new(TOKEN.to_owned())),
            network: Network {
                ca_file: Some(self.ca_file.clone()),
                ..Network::default()
            },
            timeout: Duration::from_secs(10),
        })
    }

    fn config(&self, policy: Policy) -> Result<Config, Failure> {
        let mut config = Config::local(&self.toggles, self.state.clone());
        config.rules.repo = self.name.to_owned();
        config.rules.kind = self.kind;
        config.rules.policy = Policy {
            live_access: match self.kind {
                ServiceKind::Documented => LiveAccess::WriteOnly,
                ServiceKind::FeatureProbe => LiveAccess::Readable,
            },
            ..policy
        };
        Ok(config.with_service(self.client()?))
    }
}
