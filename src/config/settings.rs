//! All settings: a setting is a field of [`Settings`], with its help, flag, default and parser.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    reason = "the comments of settings are help texts, which name defaults in brackets"
)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::command::Command;
use super::command::Group::{
    Admin, Checks, Common, Comparison, Confirmation, Daemon, Documents, Forge, Import, Job, Kind, Live,
    Network, Output, Planning, Publishing, Remote, Repository, Requests, Revision, Sandbox, Selection, State,
};
use super::definition::Mark::{AboutLive, Invocation, Keys, NotOfImport, Trusted};
use super::definition::SettingArg as _;
use super::definition::Sources::{File, Flag, FlagAndVariable, Variable};
use super::values::{
    ColorChoice, LogFormat, LogLevel, OutputFormat, Reviewed, StateRemote, any_text, count, interval, listen,
    notify_url, positive_duration, ratio, reference, revision, root, scope, sdks, secret, state_name,
    usize_count, windows,
};
use crate::document::Layout;
use crate::forge::ApiUrl;
use crate::git::RepoUrl;
use crate::model::{self, DEFAULT_LISTEN, DEFAULT_URL, Scope, Sdks, ServiceKind};
use crate::plan::{FirstPass, HistoryRule, OnApproval, OnDrift, OnInvalid, OnMissing, OnRemove, Windows};
use crate::service::BaseUrl;
use crate::transport::{DaemonUrl, SecretSource};

const SOURCE: &str = "Source";
const SERVICE: &str = "Service";
const STATE: &str = "State";
const SAFETY: &str = "Safety";
const DAEMON: &str = "Daemon";
const NOTIFICATIONS: &str = "Notifications";
pub(super) const FORGE: &str = "Forge";
const OUTPUT: &str = "Output";

/// An address to listen on; none for `none`. clap reads a field of the type `Option` as a flag without a
/// default.
type ListenAddress = Option<SocketAddr>;

/// The settings of one invocation, complete and consistent. `token` and `base_url` are always set for
/// commands that contact the service (`uses_service`), and `state_dir` for the commands that plan. `Debug` does not
/// print secrets.
///
/// The first line of a field's comment is the short help; a default that is not a value ends it in brackets.
/// The name of the field is the key in the file, and `GITOGGLE_` before it is the variable. `of` names the
/// heading in the help and the group, whose commands take the flag. `is` names what follows from its meaning
/// (`Mark`).
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// Read settings from this flat YAML file
    ///
    /// Flags take precedence over variables, and variables over the file. A file in the source's work tree may change the
    /// plan, but not where secrets go.
    // The file cannot name the file to read.
    #[arg(long, of(SOURCE, Common), only(FlagAndVariable), hide_short_help(false), value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Read documents from this Git repository
    ///
    /// An https or ssh URL is mirrored into the state folder; a path or file URL is opened in place and never
    /// fetched.
    #[arg(
        long,
        of(SOURCE, Repository),
        is(Trusted),
        hide_short_help(false),
        value_name = "URL|PATH",
        default_value = "."
    )]
    pub repo: RepoUrl,
    /// Follow this branch, tag, commit or full ref [the source's `HEAD`]
    #[arg(
        id = "ref", long = "ref", of(SOURCE, Revision), hide_short_help(false), value_name = "REF",
        value_parser = reference
    )]
    pub reference: Option<String>,
    /// Compare with this revision, not with the state
    ///
    /// A branch, a tag, a commit or an expression such as `HEAD~2`. Needs no state.
    #[arg(
        long = "from", of(SOURCE, Comparison), only(Flag), is(Invocation), hide_short_help(false),
        value_name = "REV", value_parser = revision
    )]
    pub from_revision: Option<String>,
    /// Plan this revision with --from [`HEAD`]
    #[arg(
        long, of(SOURCE, Comparison), only(Flag), is(Invocation), hide_short_help(false), value_name = "REV",
        value_parser = revision
    )]
    pub to: Option<String>,
    /// Plan what the pull request of this CI job changes
    ///
    /// Compares the tip of the target branch with the result of the merge. Needs Git 2.38 or later, and no
    /// state. In a merge queue of GitHub, plans what the queue merges at once, and writes no comment.
    #[arg(long, of(SOURCE, Comparison), only(Flag), is(Invocation), hide_short_help(false))]
    pub pull_request: bool,
    /// Compare with this target branch with --pull-request [that of the CI job]
    #[arg(
        long, of(SOURCE, Comparison), only(Flag), is(Invocation), value_name = "BRANCH",
        value_parser = revision
    )]
    pub target: Option<String>,
    /// Report the findings of unchanged files as well
    ///
    /// Needs --from or --pull-request.
    #[arg(long, of(SOURCE, Comparison), only(Flag), is(Invocation))]
    pub all_findings: bool,
    /// Read documents below this folder of the repository [the top]
    #[arg(long, of(SOURCE, Documents), value_name = "DIR", default_value = "", value_parser = root)]
    pub root: String,
    /// Find documents at paths of this form
    ///
    /// Use each placeholder once, as a whole component. `.yaml` and `.yml` files both match.
    #[arg(
        long,
        of(SOURCE, Documents),
        value_name = "TEMPLATE",
        default_value = "{project}/{environment}/{toggle}.yaml"
    )]
    pub layout: Layout,
    /// Manage only the toggles that this glob matches [everything]
    ///
    /// Matches the whole `project/environment/toggle`; `*` does not cross `/`, `**` does. Repeat it, or
    /// separate globs by spaces.
    #[arg(
        long, of(SOURCE, Selection), is(NotOfImport), hide_short_help(false), value_name = "GLOB",
        action = ArgAction::Append, default_value = "", value_parser = scope
    )]
    pub only: Scope,
    /// Import the service's own JSON instead of reading the service
    ///
    /// DIR contains files `project/environment/toggle.json`, `-` is the standard input with one `{"toggle":
    /// …, "disabled": …, "content": …}` per line.
    #[arg(
        long,
        of(SOURCE, Import),
        only(Flag),
        is(Invocation),
        hide_short_help(false),
        value_name = "DIR|-"
    )]
    pub from: Option<PathBuf>,
    /// Replace documents that have another meaning
    ///
    /// Rewrites only what differs; the comments of what is gone are lost. Commit or stash your own changes
    /// before.
    // Only a flag: a confirmation applies to one invocation, but a variable or a file would outlive it.
    #[arg(long, of(SOURCE, Import), only(Flag), is(Invocation), hide_short_help(false))]
    pub overwrite: bool,
    /// Succeed even if no document was checked
    #[arg(long, of(SOURCE, Checks), is(Invocation))]
    pub allow_empty: bool,
    /// Name the merge commit in comments, not the commit of the branch
    #[arg(long, of(SOURCE, Planning))]
    pub first_parent: bool,
    /// Follow a rewritten history, or refuse it [follow; with trusted keys, refuse]
    ///
    /// If given explicitly, `follow` also accepts a commit that does not descend from the recorded one.
    #[arg(long, of(SOURCE, Planning), words(HistoryRule::WORDS))]
    pub history: Option<HistoryRule>,
    /// Sign in to the source's host as this user
    #[arg(
        long, of(SOURCE, State), is(Trusted), is(NotOfImport), value_name = "NAME",
        value_parser = any_text
    )]
    pub git_username: Option<String>,
    /// The password or token for the source's host
    #[arg(of(SOURCE, State), only(Variable), value_parser = secret)]
    pub git_password: Option<SecretSource>,
    /// Read the Git password or token from this file
    ///
    /// Or give it in GITOGGLE_GIT_PASSWORD. It is sent only to the host of --repo, and is read again at every
    /// attempt.
    #[arg(long, of(SOURCE, State), is(Trusted), is(NotOfImport), value_name = "FILE")]
    pub git_password_file: Option<PathBuf>,
    /// End a fetch or push that takes longer than this
    ///
    /// Includes the check of what was fetched. A host that sends nothing for a minute ends it sooner.
    #[arg(
        long, of(SOURCE, State), value_name = "TIME", default_value = "30m",
        value_parser = positive_duration
    )]
    pub git_timeout: Duration,

    /// Publish to the service at this https URL
    ///
    /// It may have a path, but no user, query or fragment.
    #[arg(long, of(SERVICE, State), is(Trusted), hide_short_help(false), value_name = "URL")]
    pub base_url: Option<BaseUrl>,
    /// The service's token
    #[arg(of(SERVICE, Requests), only(Variable), value_parser = secret)]
    pub token: Option<SecretSource>,
    /// Read the service's token from this file
    ///
    /// Or give it in GITOGGLE_TOKEN. The file is read again at every pass and after the service rejects the
    /// token.
    #[arg(long, of(SERVICE, Requests), is(Trusted), hide_short_help(false), value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Trust these certificate authorities as well as the system's
    #[arg(long, of(SERVICE, Network), is(Trusted), hide_short_help(false), value_name = "PEM")]
    pub ca_file: Option<PathBuf>,
    /// Rely on the behavior of this service beyond the documented endpoint
    #[arg(
        long,
        of(SERVICE, Kind),
        words(ServiceKind::WORDS),
        hide_short_help(false),
        default_value = "documented"
    )]
    pub service_kind: ServiceKind,
    /// Name the SDKs that your services use
    ///
    /// Give `go`, `java`, `node`, `python` or `rust`. Repeat it, or separate them by spaces. Where they do not
    /// agree about a document, a warning says so. `explain`, `test` and `plan --audience` evaluate as the
    /// first one does.
    #[arg(
        long, of(SERVICE, Kind), value_name = "SDK", action = ArgAction::Append,
        default_value = "rust go java node python", value_parser = sdks
    )]
    pub sdks: Sdks,
    /// Time out one request after this long
    ///
    /// Includes connecting and reading the response.
    #[arg(
        long, of(SERVICE, Requests), value_name = "TIME", default_value = "10s",
        value_parser = positive_duration
    )]
    pub timeout: Duration,
    /// Send at most this many requests at once
    #[arg(long, of(SERVICE, Requests), value_name = "N", default_value = "16", value_parser = usize_count)]
    pub max_in_flight: usize,
    /// Send at most this many at once within an environment
    #[arg(long, of(SERVICE, Publishing), value_name = "N", default_value = "1", value_parser = usize_count)]
    pub max_in_flight_per_environment: usize,
    /// Give up on a service without a useful response after this long
    ///
    /// The time begins when ten different toggles have failed in a row. If fewer are left, each gets four
    /// tries instead.
    #[arg(
        long, of(SERVICE, Publishing), value_name = "TIME", default_value = "60s",
        value_parser = positive_duration
    )]
    pub give_up_after: Duration,
    /// Cut comments to this many characters
    ///
    /// Unicode scalar values, ellipsis included.
    #[arg(long, of(SERVICE, Planning), value_name = "N", default_value = "1024", value_parser = usize_count)]
    pub comment_max_chars: usize,

    /// Keep state and clones in this folder [the platform's state folder, by source]
    ///
    /// By default `gitoggle/<source>-<hash>` in the platform's state folder, with the hash of the source's
    /// absolute path or URL, links not resolved.
    #[arg(long, of(STATE, State), is(Trusted), is(NotOfImport), value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Share state with other runs through this Git remote [none: state stays local]
    ///
    /// `origin` means the source's own remote; for a URL source, that URL.
    #[arg(long, of(STATE, State), is(Trusted), hide_short_help(false), value_name = "URL|origin")]
    pub state_remote: Option<StateRemote>,
    /// Keep shared state under this name [host of the base URL plus a short hash of it]
    #[arg(long, of(STATE, State), is(Trusted), value_name = "NAME", value_parser = state_name)]
    pub state_name: Option<String>,
    /// Sign in to the state remote's host as this user
    #[arg(long, of(STATE, State), is(Trusted), value_name = "NAME", value_parser = any_text)]
    pub state_git_username: Option<String>,
    /// The password or token for the state remote's host
    #[arg(of(STATE, State), only(Variable), value_parser = secret)]
    pub state_git_password: Option<SecretSource>,
    /// Read the state remote's password or token from this file
    ///
    /// Or give it in GITOGGLE_STATE_GIT_PASSWORD. Only needed if the remote is on another host than the
    /// source.
    #[arg(long, of(STATE, State), is(Trusted), value_name = "FILE")]
    pub state_git_password_file: Option<PathBuf>,

    /// Choose how to start an environment with nothing applied yet [none: they are held]
    ///
    /// `assert` publishes every toggle of such an environment; `adopt` records its documents as applied
    /// without publishing.
    #[arg(long, of(SAFETY, Planning), words(FirstPass::WORDS), hide_short_help(false))]
    pub first_pass: Option<FirstPass>,
    /// Hold an environment when more than this share of it would change
    ///
    /// Counts updates and disables, divided by the toggles applied there. Environments with fewer than 10
    /// applied toggles are not limited.
    #[arg(long, of(SAFETY, Planning), value_name = "RATIO", default_value = "0.3", value_parser = ratio)]
    pub max_change_ratio: f64,
    /// Hold an environment when more toggles of it would change [none]
    #[arg(long, of(SAFETY, Planning), value_name = "N", value_parser = count)]
    pub max_change_count: Option<u64>,
    /// Ignore the trailers `Gitoggle-Allow` and `Gitoggle-First-Pass`
    ///
    /// Any author of a merged commit can write these trailers: review them, or turn them off.
    #[arg(long = "no-allow-trailer", of(SAFETY, Planning), action = ArgAction::SetFalse)]
    pub allow_trailer: bool,
    /// Do not limit how much this pass may change
    // Only a flag: a confirmation applies to one invocation, but a variable or a file would outlive it.
    #[arg(long, of(SAFETY, Confirmation), only(Flag), hide_short_help(false))]
    pub allow_mass_change: bool,
    /// Publish only within these change windows [at any time]
    ///
    /// A list of `{ deny: SCOPE, at: SCHEDULE, zone: NAME }`, or with `allow`. A schedule is `Fri 16:00 - Mon
    /// 08:00`, `Mon-Thu 09:00-16:00` or `2026-12-20 - 2027-01-02`. A switch-off is always published.
    #[arg(long, of(SAFETY, Planning), only(File), is(Trusted), value_name = "ENTRY",
        action = ArgAction::Append, default_value = "", value_parser = windows)]
    pub windows: Windows,
    /// Publish outside the change windows in this pass
    // Only a flag: a confirmation applies to one invocation, but a variable or a file would outlive it.
    #[arg(long, of(SAFETY, Confirmation), only(Flag))]
    pub ignore_windows: bool,
    /// Publish only revisions that one of these SSH keys signed
    ///
    /// In the format of `ssh-keygen`, outside of the source. `git verify-commit` verifies the revision to
    /// apply.
    #[arg(long, of(SAFETY, Planning), is(Trusted), is(Keys), value_name = "FILE")]
    pub allowed_signers: Option<PathBuf>,
    /// Publish only revisions that one of these OpenPGP keys signed
    ///
    /// A file that `gpg --export` wrote, outside of the source. With --allowed-signers, a key of either file
    /// suffices.
    #[arg(long, of(SAFETY, Planning), is(Trusted), is(Keys), value_name = "FILE")]
    pub gpg_keyring: Option<PathBuf>,
    /// Exit with 0 instead of 4 if something is held
    ///
    /// For scheduled jobs, which would otherwise fail until the hold is released. The output still lists what
    /// is held.
    #[arg(long, of(SAFETY, Job), is(Invocation))]
    pub exit_zero_when_held: bool,
    /// Choose what happens to a toggle whose file was removed
    ///
    /// `keep` lists it, `disable` publishes it disabled once, `forget` drops it without publishing.
    #[arg(long, of(SAFETY, Planning), words(OnRemove::WORDS), default_value = "keep")]
    pub on_remove: OnRemove,
    /// Choose what an invalid document stops: itself, or everything
    #[arg(long, of(SAFETY, Planning), words(OnInvalid::WORDS), default_value = "hold")]
    pub on_invalid: OnInvalid,
    /// Choose what a change that was made on the service causes
    ///
    /// `hold` holds changes to its document, `overwrite` publishes the document again, `ignore` does not read
    /// the toggle. Needs `--service-kind featureprobe`.
    #[arg(long, of(SAFETY, Planning), is(AboutLive), words(OnDrift::WORDS), default_value = "hold")]
    pub on_drift: OnDrift,
    /// Publish over what was changed on the service before it is read
    ///
    /// Reads the service first, as `plan --live` does, and lists what it publishes over; later changes are
    /// held. Combine it with `--only TOGGLE`. Needs `--service-kind featureprobe`.
    // Only a flag: a confirmation applies to one invocation, but a variable or a file would outlive it.
    #[arg(long, of(SAFETY, Confirmation), only(Flag), is(AboutLive))]
    pub overwrite_drift: bool,
    /// Choose what happens where the service requires approvals
    ///
    /// `hold` holds the changes, `bypass` publishes them without an approval. Needs `--service-kind
    /// featureprobe`.
    #[arg(long, of(SAFETY, Planning), is(AboutLive), words(OnApproval::WORDS), default_value = "hold")]
    pub on_approval: OnApproval,
    /// Choose what happens if the service does not have the toggle
    ///
    /// `hold` holds it, `create` creates the toggle before its first publish. Needs `--service-kind
    /// featureprobe`.
    #[arg(long, of(SAFETY, Planning), is(AboutLive), words(OnMissing::WORDS), default_value = "hold")]
    pub on_missing: OnMissing,
    /// Also read what the service has now
    ///
    /// Needs a token and `--service-kind featureprobe`.
    #[arg(long, of(SAFETY, Live), only(Flag), is(Invocation), hide_short_help(false))]
    pub live: bool,

    /// Poll the source this often
    ///
    /// A moved local ref, a webhook, `POST /reconcile` and SIGHUP start a pass sooner.
    #[arg(
        long, of(DAEMON, Daemon), value_name = "TIME", default_value = "30s",
        value_parser = positive_duration
    )]
    pub poll_interval: Duration,
    /// Compare the service with what was applied this often
    ///
    /// `0` turns it off. Needs `--service-kind featureprobe`.
    #[arg(
        long, of(DAEMON, Daemon), is(AboutLive), value_name = "TIME", default_value = "10m",
        value_parser = interval
    )]
    pub drift_interval: Duration,
    /// Become unready this long after the last successful pass [10 × the poll interval]
    #[arg(long, of(DAEMON, Daemon), value_name = "TIME", value_parser = positive_duration)]
    pub stale_after: Option<Duration>,
    /// Serve health, metrics, status and webhooks here
    #[arg(
        long, of(DAEMON, Daemon), is(Trusted), hide_short_help(false), value_name = "ADDR|none",
        default_value = DEFAULT_LISTEN, value_parser = listen
    )]
    pub listen: ListenAddress,
    /// The token for commands to a running daemon
    #[arg(of(DAEMON, Admin), only(Variable), value_parser = secret)]
    pub admin_token: Option<SecretSource>,
    /// Read the token for commands to a running daemon from this file
    ///
    /// Or give it in GITOGGLE_ADMIN_TOKEN. Without one, the daemon refuses `POST /allow`, `/reconcile`,
    /// `/suspend` and `/resume`.
    #[arg(long, of(DAEMON, Admin), is(Trusted), hide_short_help(false), value_name = "FILE")]
    pub admin_token_file: Option<PathBuf>,
    /// The token for the status page and `/api`
    #[arg(of(DAEMON, Daemon), only(Variable), value_parser = secret)]
    pub page_token: Option<SecretSource>,
    /// Require the token in this file for the status page and `/api`
    ///
    /// Or give it in GITOGGLE_PAGE_TOKEN. Browsers send it as the password, with any user name; programs as
    /// `Authorization: Bearer`. Without one, the page is open.
    #[arg(long, of(DAEMON, Daemon), is(Trusted), value_name = "FILE")]
    pub page_token_file: Option<PathBuf>,
    /// Send the command to the daemon at this http or https URL
    ///
    /// The admin token goes to this host only, and redirects are not followed.
    #[arg(
        long,
        of(DAEMON, Remote),
        is(Trusted),
        hide_short_help(false),
        value_name = "URL",
        default_value = DEFAULT_URL
    )]
    pub url: DaemonUrl,
    /// The secret that signs webhooks
    #[arg(of(DAEMON, Daemon), only(Variable), value_parser = secret)]
    pub webhook_secret: Option<SecretSource>,
    /// Read the secret of webhooks from this file
    ///
    /// Or give it in GITOGGLE_WEBHOOK_SECRET. Without one, webhooks are off.
    #[arg(long, of(DAEMON, Daemon), is(Trusted), hide_short_help(false), value_name = "FILE")]
    pub webhook_secret_file: Option<PathBuf>,

    /// Send notifications to this https URL
    ///
    /// A URL that is itself a secret belongs to --notify-slack-url-file or a variable.
    #[arg(long, of(NOTIFICATIONS, Daemon), is(Trusted), value_name = "URL", value_parser = notify_url)]
    pub notify_url: Option<String>,
    /// The secret that signs notifications
    #[arg(of(NOTIFICATIONS, Daemon), only(Variable), value_parser = secret)]
    pub notify_secret: Option<SecretSource>,
    /// Sign notifications with the secret in this file
    ///
    /// Or give it in GITOGGLE_NOTIFY_SECRET.
    #[arg(long, of(NOTIFICATIONS, Daemon), is(Trusted), value_name = "FILE")]
    pub notify_secret_file: Option<PathBuf>,
    /// The Slack webhook to send notifications to
    #[arg(of(NOTIFICATIONS, Daemon), only(Variable), value_parser = secret)]
    pub notify_slack_url: Option<SecretSource>,
    /// Send notifications to the Slack webhook whose URL is in this file
    ///
    /// Or give it in GITOGGLE_NOTIFY_SLACK_URL. Anyone with that URL can post to it.
    #[arg(long, of(NOTIFICATIONS, Daemon), is(Trusted), value_name = "FILE")]
    pub notify_slack_url_file: Option<PathBuf>,

    /// Keep a comment with the plan on the pull request
    ///
    /// The repository, the number, the address and the token come from the variables of the CI job. If the
    /// token may not write, prints a warning.
    #[arg(long, of(FORGE, Comparison), is(Invocation), words(model::Forge::WORDS), is(Trusted))]
    pub comment_on: Option<model::Forge>,
    /// Set a status of the applied commit
    ///
    /// Success, failure, or pending if something is held. A status that cannot be set is a warning.
    #[arg(long, of(FORGE, Job), is(Invocation), words(model::Forge::WORDS), is(Trusted))]
    pub commit_status: Option<model::Forge>,
    /// Publish only changes that were reviewed
    ///
    /// With the name of a forge, a change counts as reviewed if gitoggle's comment on a merged pull request
    /// lists it; with a file, if the file does, which `gitoggle plan -o json` has written. Any other change
    /// is held (exit 4).
    #[arg(long, of(FORGE, Job), only(Flag), value_name = [model::Forge::WORDS, &["FILE"]].concat().join("|"))]
    pub reviewed: Option<Reviewed>,
    /// Call the API of the forge at this https URL [that of the CI job]
    ///
    /// Such as `https://api.github.com`, `https://gitlab.example.com/api/v4` or
    /// `https://gitea.example.com/api/v1`.
    #[arg(long, of(FORGE, Forge), is(Trusted), value_name = "URL")]
    pub forge_url: Option<ApiUrl>,
    /// The repository on the forge [that of the CI job]
    #[arg(long, of(FORGE, Forge), is(Trusted), value_name = "OWNER/NAME", value_parser = any_text)]
    pub forge_repo: Option<String>,
    /// The number of the pull request [that of the CI job]
    #[arg(long, of(FORGE, Comparison), only(Flag), is(Invocation), value_name = "N", value_parser = count)]
    pub forge_number: Option<u64>,
    /// The token for the forge
    #[arg(of(FORGE, Forge), only(Variable), value_parser = secret)]
    pub forge_token: Option<SecretSource>,
    /// Read the token for the forge from this file
    ///
    /// Or give it in GITOGGLE_FORGE_TOKEN. By default, the token of the CI job: GITHUB_TOKEN, GITLAB_TOKEN,
    /// CI_JOB_TOKEN or GITEA_TOKEN. It is sent only to the host of the API.
    #[arg(long, of(FORGE, Forge), is(Trusted), value_name = "FILE")]
    pub forge_token_file: Option<PathBuf>,

    /// The token that the sandbox accepts
    #[arg(of(SERVICE, Sandbox), only(Variable), default_value = "sandbox-token", value_parser = secret)]
    pub sandbox_token: SecretSource,

    /// Print the result in this form
    #[arg(
        long,
        short = 'o',
        of(OUTPUT, Output),
        is(Invocation),
        words(OutputFormat::WORDS),
        hide_short_help(false),
        default_value = "human"
    )]
    pub output: OutputFormat,
    /// Choose when to use color
    ///
    /// `auto` uses color on a terminal unless NO_COLOR is set.
    #[arg(long, of(OUTPUT, Common), is(Invocation), words(ColorChoice::WORDS), default_value = "auto")]
    pub color: ColorChoice,
    /// Write log lines in this form [`pretty` on a terminal, else `json` for `run`]
    #[arg(long, of(OUTPUT, Common), is(Invocation), words(LogFormat::WORDS))]
    pub log_format: Option<LogFormat>,
    /// Log at this level and above [`info` for `run`, else `warn`]
    #[arg(long, of(OUTPUT, Common), is(Invocation), words(LogLevel::WORDS))]
    pub log_level: Option<LogLevel>,
}

impl Settings {
    /// Returns whether `command` sends requests to the service, for which it needs the address and a token.
    pub fn uses_service(&self, command: Command) -> bool {
        // Without `--live` or `--overwrite-drift`, `plan` and `status` do not contact the service
        // (src/cli/README.md, "Commands that only read").
        command.contacts_service()
            || self.read_by().is_some()
            || (command == Command::Import && self.from.is_none())
    }

    /// Returns the flag that has `plan` or `status` read the service.
    pub fn read_by(&self) -> Option<&'static str> {
        let flags = [(self.live, "--live"), (self.overwrite_drift, "--overwrite-drift")];
        flags.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag))
    }

    /// Returns the time after the last successful pass from which the daemon is not ready.
    pub fn unready_after(&self) -> Duration {
        self.stale_after.unwrap_or(self.poll_interval * 10)
    }

    /// Returns whether the plan compares two revisions, and not the source with the state.
    pub fn compares_revisions(&self) -> bool {
        self.from_revision.is_some() || self.pull_request
    }
}

/// Declares the secrets that have a file: the field of the secret, and that of its file.
macro_rules! secrets {
    ($($secret:ident: $file:ident;)+) => {
        impl Settings {
            /// Reads a secret from its file if its variable is not set.
            pub(super) fn set_secrets_from_files(&mut self) {
                $(self.$secret = self.$secret.take().or_else(|| self.$file.take().map(SecretSource::File));)+
            }

            /// Returns the secrets that are set, each with its name.
            pub fn secrets(&self) -> impl Iterator<Item = (&'static str, &SecretSource)> {
                let secrets = [$((stringify!($secret), self.$secret.as_ref())),+];
                secrets.into_iter().filter_map(|(name, secret)| Some((name, secret?)))
            }
        }
    };
}

secrets! {
    git_password: git_password_file;
    token: token_file;
    state_git_password: state_git_password_file;
    admin_token: admin_token_file;
    page_token: page_token_file;
    webhook_secret: webhook_secret_file;
    notify_secret: notify_secret_file;
    notify_slack_url: notify_slack_url_file;
    forge_token: forge_token_file;
}
