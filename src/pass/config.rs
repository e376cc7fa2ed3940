//! What a pass needs to know, and its connection to its caller.

#[cfg(test)]
use std::pin::Pin;

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{fmt, thread};

use futures_util::FutureExt as _;
use sha2::{Digest, Sha256};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tracing::Instrument as _;

use super::planning::ReviewSource;
use super::report::ChangeResult;
use crate::document::Layout;
use crate::git::{GitAccess, GitCredentials, RepoUrl, TrustedKeys, UserConfig};
use crate::model::{CommitId, Scope, ServiceKind};
use crate::pass::Error;
use crate::pass::publish::Limits;
use crate::plan::{Change, HistoryRule, Plan, Policy};
use crate::service::{ClientConfig, Outcome};
use crate::source::{CacheMode, Parents, Source, SourceConfig};
use crate::state::{Clock, SharedRemote};
use crate::transport::{Network, SecretSource};

/// Everything a pass needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where documents come from.
    pub source: SourceConfig,
    /// What shapes a plan.
    pub rules: Rules,
    /// The number of toggles of undecided first passes whose commits are looked up. The output shows no more of them.
    pub most_undecided: usize,
    /// Where state is kept.
    pub state_dir: PathBuf,
    /// Where state is shared, if it is.
    pub shared: Option<SharedState>,
    /// The service; a plan needs none.
    pub service: Option<ClientConfig>,
    /// Whether a pass may publish over what was changed on the service before it was read (`--overwrite-drift`).
    pub overwrite_drift: bool,
    /// The keys, one of which must have signed the revision to apply.
    pub trusted_keys: TrustedKeys,
    /// Where the reviews are without which no change is published; none if a change needs no review.
    pub(crate) reviews: Option<ReviewSource>,
    /// How many requests may be open.
    pub limits: Limits,
    /// Where the time comes from.
    pub clock: Clock,
}

/// What shapes a plan, besides the documents.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The repository as it is shown.
    pub repo: String,
    /// The root, empty for the top.
    pub root: String,
    /// Where documents are.
    pub layout: Layout,
    /// Which checks there are.
    pub kind: ServiceKind,
    /// Rails and the like.
    pub policy: Policy,
    /// What a rewritten history means; none is to follow it where that is safe.
    pub history: Option<HistoryRule>,
    /// The service, where one is given.
    pub base_url: Option<String>,
}

impl Rules {
    /// Returns SHA-256, in hexadecimal, over everything that shapes a plan besides the documents.
    pub(super) fn digest(&self) -> String {
        // `repo` only shapes the output, and the history guard decides before digests are compared.
        let Self { repo: _, root, layout, kind, policy, history: _, base_url } = self;
        let text = format!("{root}\n{layout}\n{kind:?}\n{}\n{base_url:?}", policy.digest());
        crate::model::hex(&Sha256::digest(text))
    }
}

impl Config {
    /// Makes `git` read only the configuration of the machine, as a daemon does, unless `GIT_CONFIG_GLOBAL` names another.
    pub(crate) fn ignore_user_git_config(&mut self) {
        self.source.access.user_config = UserConfig::Ignored;
        match &mut self.shared {
            Some(SharedState::At(remote)) => remote.access.user_config = UserConfig::Ignored,
            Some(SharedState::Origin(state)) => state.access.user_config = UserConfig::Ignored,
            None => {}
        }
    }

    /// Returns the configuration for the repository at `path`, with every setting at its default: no service, and state
    /// in a folder that a plan only reads.
    pub fn local(path: &Path, state_dir: PathBuf) -> Self {
        Self {
            source: SourceConfig {
                location: RepoUrl::local(path),
                reference: None,
                root: String::new(),
                first_parent: Parents::All,
                access: GitAccess {
                    network: Network::default(),
                    credentials: None,
                    timeout: Duration::from_secs(60),
                    user_config: UserConfig::Ignored,
                },
                cache: None,
                mode: CacheMode::Untouched,
            },
            rules: Rules {
                repo: path.display().to_string(),
                root: String::new(),
                layout: Layout::default(),
                kind: ServiceKind::Documented,
                policy: Policy::default(),
                history: None,
                base_url: None,
            },
            most_undecided: usize::MAX,
            state_dir,
            shared: None,
            service: None,
            overwrite_drift: false,
            trusted_keys: TrustedKeys::default(),
            reviews: None,
            limits: Limits {
                in_flight: 16,
                in_flight_per_environment: 1,
                give_up_after: Duration::from_secs(60),
            },
            clock: Clock::System,
        }
    }

    /// Publishes to the service of `client`, which the plan names.
    pub fn with_service(mut self, client: ClientConfig) -> Self {
        self.rules.base_url = Some(client.base_url.to_string());
        self.service = Some(client);
        self
    }
}

#[derive(Clone, Debug)]
pub enum SharedState {
    /// A remote with a configured URL.
    At(SharedRemote),
    /// The `origin` of the source's checkout.
    Origin(OriginState),
}

/// Shared state on the `origin` of a checkout.
#[derive(Clone, Debug)]
pub struct OriginState {
    pub name: String,
    /// The access to the remote, without credentials.
    pub access: GitAccess,
    /// The user name and password for the host of the remote.
    pub login: Option<(Option<String>, SecretSource)>,
    /// The name of this process, as other processes show it.
    pub holder: String,
}

impl SharedState {
    /// Returns the remote of the state. Reads `origin` if necessary.
    ///
    /// # Errors
    /// [`Error::Source`] without a checkout, [`Error::NoOrigin`] and [`Error::BadOrigin`] without a usable `origin`.
    pub fn resolve(&self, source: &SourceConfig) -> Result<SharedRemote, Error> {
        match self {
            Self::At(shared) => Ok(shared.clone()),
            Self::Origin(state) => state.at(origin(source)?),
        }
    }

    /// Returns whether `opened` is still the remote.
    pub(super) fn is_at(&self, opened: &RepoUrl, source: &SourceConfig) -> bool {
        match self {
            Self::At(_) => true,
            // The pass reports why `origin` cannot be read.
            Self::Origin(_) => origin(source).map_or(true, |origin| origin == *opened),
        }
    }
}

impl OriginState {
    fn at(&self, remote: RepoUrl) -> Result<SharedRemote, Error> {
        // Credentials are sent to one host only (DESIGN, section 5), and a path has no host.
        let credentials = remote.host().zip(self.login.clone());
        let credentials =
            credentials.map(|(host, (username, password))| GitCredentials { host, username, password });
        Ok(SharedRemote {
            remote,
            name: self.name.clone(),
            access: GitAccess { credentials, ..self.access.clone() },
            holder: self.holder.clone(),
        })
    }
}

fn origin(source: &SourceConfig) -> Result<RepoUrl, Error> {
    let url = Source::new(source.clone()).origin_url()?;
    Ok(url.ok_or(Error::NoOrigin)?.parse()?)
}

/// Warns of globs that match no toggle.
///
/// # Errors
/// [`Error::NothingMatches`] if no glob matches a toggle.
pub fn check_scope(scope: &Scope, unmatched: &[String]) -> Result<(), Error> {
    // A scope that matches nothing would always succeed (DESIGN, section 3, *Never green by accident*).
    if !unmatched.is_empty() && unmatched.len() == scope.globs().len() {
        return Err(Error::NothingMatches(unmatched.to_owned()));
    }
    for glob in unmatched {
        tracing::warn!(name: "scope_unmatched", glob, "no toggle matches this glob of `--only`");
    }
    Ok(())
}

// Connects a running pass to its caller: where it runs, the signal to stop, and an observer.

/// Receives the events of a pass, on the threads that send.
pub type Observe = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

/// Where the requests of a pass run, the signal that stops it, and its observer.
#[derive(Clone)]
pub struct PassContext {
    pub(crate) runtime: Runtime,
    /// Becomes true when no further request may start.
    pub stop: watch::Receiver<bool>,
    observe: Observe,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PublishAnswer {
    /// The status of the response; none without a response.
    pub status: Option<u16>,
    /// The time until the response or the failure.
    pub took: Duration,
}

/// An event of a running pass.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The pass has read the source at this revision.
    Looked(CommitId),
    /// The first request of this plan is about to be sent.
    Begins(&'a Plan),
    /// A request ended after this time, with or without a response.
    Answered(&'a Outcome, Duration),
    /// Publishing a change has ended, after this last request, if any was sent.
    Ended(&'a Change, &'a ChangeResult, Option<PublishAnswer>),
    /// The service is in doubt: so many different toggles in a row had no useful response, the last one this. None once it
    /// is not anymore.
    Doubted(Option<(usize, &'a Outcome)>),
    /// The service asked for a pause of this length (`Retry-After`).
    HeldBack(Duration),
}

impl PassContext {
    /// Creates the context of a pass that `stop` ends early. The pass must not run on a thread of `runtime`.
    pub fn new(
        runtime: Runtime,
        stop: watch::Receiver<bool>,
        observe: impl Fn(&Event<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self { runtime, stop, observe: Arc::new(observe) }
    }

    /// Creates the context of a pass that nothing stops and nothing observes.
    pub fn unobserved(runtime: Runtime) -> Self {
        Self::new(runtime, watch::channel(false).1, |_| {})
    }

    pub(super) fn report(&self, event: Event<'_>) {
        (self.observe)(&event);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        *self.stop.borrow()
    }
}

impl fmt::Debug for PassContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PassContext").finish_non_exhaustive()
    }
}

/// Returns the number of threads that can run at once.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Where the lanes of a pass run.
#[derive(Clone, Debug)]
pub enum Runtime {
    /// On the threads of a Tokio runtime. A pass must not run on one of them.
    Tokio(Handle),
    /// On the thread of the pass, whenever it waits.
    #[cfg(test)]
    Simulated(Arc<dyn SimulatedRuntime>),
}

/// A runtime without threads, in which a test decides what runs when.
#[cfg(test)]
pub trait SimulatedRuntime: fmt::Debug + Send + Sync {
    /// Accepts a task. Runs nothing yet.
    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>);
    /// Runs the tasks until `is_done` returns true, or for `timeout` of simulated time.
    fn run(&self, is_done: &mut dyn FnMut() -> bool, timeout: Duration);
}

/// A task that [`Runtime::wait`] waits for.
pub(crate) struct Task<T>(mpsc::Receiver<thread::Result<T>>);

/// How waiting for a task ended.
#[derive(Debug)]
pub(crate) enum Waited<T> {
    Done(T),
    /// The time is over, and the task is still running.
    Elapsed,
    /// The runtime was shut down before the task ended.
    Cancelled,
}

impl Runtime {
    /// Starts a task in the current tracing span.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        let (sender, receiver) = mpsc::channel();
        // Without this, a panic would drop the sender, and `wait` would take it for a shutdown.
        let future = AssertUnwindSafe(future).catch_unwind().in_current_span();
        // The send fails only if the pass no longer waits, so the error does not matter.
        let task = async move { drop(sender.send(future.await)) };
        match self {
            Self::Tokio(handle) => drop(handle.spawn(task)),
            #[cfg(test)]
            Self::Simulated(runtime) => runtime.spawn(Box::pin(task)),
        }
        Task(receiver)
    }

    /// Awaits what another thread is about to finish. A simulation does not let time pass meanwhile.
    pub(crate) async fn recorded<T>(&self, future: impl Future<Output = T>) -> T {
        match self {
            Self::Tokio(_) => future.await,
            #[cfg(test)]
            Self::Simulated(_) => {
                let (mut future, mut context) =
                    (std::pin::pin!(future), std::task::Context::from_waker(std::task::Waker::noop()));
                loop {
                    if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
                        return value;
                    }
                    thread::yield_now();
                }
            }
        }
    }

    /// Blocks until the task ends.
    pub(crate) fn finish<T>(&self, task: &Task<T>) -> Result<T, Error> {
        loop {
            match self.wait(task, Duration::from_secs(60)) {
                Waited::Done(value) => return Ok(value),
                Waited::Elapsed => {}
                Waited::Cancelled => return Err(Error::Cancelled),
            }
        }
    }

    /// Blocks until the task ends, at most for `timeout`. A panic of the task continues here.
    pub(crate) fn wait<T>(&self, task: &Task<T>, timeout: Duration) -> Waited<T> {
        let received = match self {
            Self::Tokio(_) => task.0.recv_timeout(timeout),
            #[cfg(test)]
            Self::Simulated(runtime) => simulated(runtime.as_ref(), task, timeout),
        };
        match received {
            Ok(Ok(value)) => Waited::Done(value),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => Waited::Elapsed,
            Err(RecvTimeoutError::Disconnected) => Waited::Cancelled,
        }
    }
}

#[cfg(test)]
fn simulated<T>(
    runtime: &dyn SimulatedRuntime,
    task: &Task<T>,
    timeout: Duration,
) -> Result<thread::Result<T>, RecvTimeoutError> {
    let mut received = Err(RecvTimeoutError::Timeout);
    let mut is_done = || {
        received = task.0.try_recv().map_err(|error| match error {
            mpsc::TryRecvError::Empty => RecvTimeoutError::Timeout,
            mpsc::TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        });
        !matches!(received, Err(RecvTimeoutError::Timeout))
    };
    runtime.run(&mut is_done, timeout);
    received
}
