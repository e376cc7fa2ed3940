//! The table of all settings: the fields of [`Settings`] with their names, parsers, defaults and help.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time;

use super::address::{StateRemote, notify_url, reference, state_name};
use super::choices::{ColorChoice, LogFormat, LogLevel, OutputFormat};
use super::definition::Command::{
    self, Allow, Apply, Demo, Diff, Drift, Explain, Fmt, Import, Init, Log, Plan, Promote, Reconcile, Resume,
    Run, Sandbox, Schema, Status, Suspend, Test, Validate,
};
use super::definition::Group::{Daemon, Forge, Notifications, Output, Safety, Service, Source, State};
use super::definition::ValueShape::{Choice, Count, Duration, Path, Ratio, Secret, Switch, Text, Texts};
use super::definition::{SettingInfo, Sources, setting};
use super::reviewed::Reviewed;
use super::value::{
    any_text, count, interval, listen, parsed, path, positive_duration, ratio, revision, root, scope, secret,
    secret_file, size, switch,
};
use crate::document::Layout;
use crate::forge::{ApiUrl, ForgeApi};
use crate::git::RepoUrl;
use crate::model::{Scope, ServiceKind};
use crate::plan::{FirstPass, HistoryRule, OnApproval, OnDrift, OnInvalid, OnMissing, OnRemove};
use crate::service::BaseUrl;
use crate::transport::{DaemonUrl, SecretSource};

const ALL: &[Command] = &[
    Validate, Test, Explain, Plan, Apply, Run, Status, Drift, Log, Import, Fmt, Diff, Promote, Init, Allow,
    Suspend, Resume, Reconcile, Schema, Sandbox, Demo,
];
/// The commands that know what kind of service it is.
const KNOWING: &[Command] = &[
    Validate, Test, Explain, Plan, Apply, Run, Status, Drift, Log, Import, Fmt, Diff, Promote, Init, Schema,
    Sandbox,
];
const READING: &[Command] = Command::READING;
/// The commands that select documents: the others have one toggle or two environments as arguments.
const SELECTING: &[Command] = &[Validate, Test, Plan, Apply, Run, Status, Drift, Import, Fmt];
const PLANNING: &[Command] = &[Plan, Apply, Run, Status];
const PUBLISHING: &[Command] = &[Apply, Run];
const IMPORT: &[Command] = &[Import];
/// The commands that know the service's address, and may send requests to it.
const ADDRESSING: &[Command] = &[Plan, Apply, Run, Status, Drift, Import];
/// The commands that need the recorded state.
const STATEFUL: &[Command] = &[Plan, Apply, Run, Status, Drift, Log];
/// The commands whose state belongs to one service.
const NAMING: &[Command] = &[Plan, Apply, Run, Status, Drift, Import, Log];
/// The commands that need a repository.
const LOCATING: &[Command] = &[
    Validate, Test, Explain, Plan, Apply, Run, Status, Drift, Log, Import, Fmt, Diff, Promote,
];
const DAEMON: &[Command] = &[Run];
/// The commands that a running daemon executes.
const REMOTE: &[Command] = &[Allow, Suspend, Resume, Reconcile];
const ADMIN: &[Command] = &[Run, Allow, Suspend, Resume, Reconcile];
const CONNECTING: &[Command] = &[
    Plan, Apply, Run, Status, Drift, Log, Import, Allow, Suspend, Resume, Reconcile,
];
/// The commands that call a forge.
const FORGE: &[Command] = &[Plan, Apply];
const REPORTING: &[Command] = &[
    Validate, Test, Explain, Plan, Apply, Status, Drift, Log, Import, Diff, Promote,
];

/// Declares the settings: `field: type { "name" => parser = default, shape, help … }`.
macro_rules! settings {
    ($($field:ident: $type:ty {
        $($name:literal => $parse:path $(= $default:literal)?, $shape:expr, $help:literal $(.$method:ident($($value:expr),*))*);+
    })+) => {
        /// The settings of one invocation, complete and consistent. `token` and `base_url` are always set for `apply`,
        /// `run`, `drift`, and with `--live`, and `state_dir` for the commands that plan. `Debug` does not print secrets.
        #[derive(Clone, Debug)]
        pub struct Settings { $($(#[doc = $help])+ pub $field: $type,)+ }

        impl Settings {
            /// Returns the settings of an invocation that sets none.
            pub(crate) fn defaults() -> Self {
                Self { $($field: default!($($parse $(= $default)?);+),)+ }
            }

            /// Parses `text` and sets `name` to its value.
            pub(super) fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
                match name {
                    $($($name => self.$field = $parse(text)?.into(),)+)+
                    _ => unreachable!("the table has no setting `{name}`"),
                }
                Ok(())
            }
        }

        /// Returns every setting, in the order of the help and the documentation.
        #[must_use]
        pub fn settings() -> &'static [SettingInfo] {
            static SETTINGS: OnceLock<Vec<SettingInfo>> = OnceLock::new();
            SETTINGS.get_or_init(|| {
                vec![$($(setting($name, $shape, $help)$(.preset($default))?$(.$method($($value),*))*.named(),)+)+]
            })
        }
    };
}

macro_rules! default {
    ($parse:path = $default:literal) => {
        $parse($default).expect("a default is valid").into()
    };
    ($($rest:tt)*) => {
        Default::default()
    };
}

settings! {
    config: Option<PathBuf> {
        // The file cannot name the file to read.
        "config" => path, Path("FILE"), "Read settings from this flat YAML file"
            .of(Source, ALL).only_from(Sources::FlagAndVariable)
            .more("Flags win over variables, variables over the file. A file in the source's work tree may change the plan, but not where secrets go.") }
    repo: RepoUrl {
        "repo" => parsed::<RepoUrl> = ".", Text("URL|PATH"), "Read documents from this Git repository".of(Source, LOCATING).trusted()
            .more("An https or ssh URL is mirrored into the state folder; a path or file URL is opened in place and never fetched.") }
    reference: Option<String> {
        "ref" => reference, Text("REF"), "Follow this branch, tag, commit or full ref"
            .of(Source, READING).default("the source's `HEAD`") }
    from_revision: Option<String> {
        "from_revision" => revision, Text("REV"), "Compare with this revision, not with the state".of(Source, &[Plan])
            .only_from(Sources::Flag).spelled("from")
            .more("A branch, a tag, a commit or an expression such as `HEAD~2`. Needs no state.") }
    to: Option<String> {
        "to" => revision, Text("REV"), "Plan this revision with --from".of(Source, &[Plan])
            .only_from(Sources::Flag).default("`HEAD`") }
    pull_request: bool {
        "pull_request" => switch = "false", Switch, "Plan what the pull request of this CI job changes".of(Source, &[Plan])
            .only_from(Sources::Flag)
            .more("Compares the tip of the target branch with the result of the merge, which is made in memory. Needs no state.") }
    target: Option<String> {
        "target" => revision, Text("BRANCH"), "Compare with this target branch with --pull-request".of(Source, &[Plan])
            .only_from(Sources::Flag).default("that of the CI job") }
    all_findings: bool {
        "all_findings" => switch = "false", Switch, "Report the findings of unchanged files as well".of(Source, &[Plan])
            .only_from(Sources::Flag)
            .more("Needs --from or --pull-request.") }
    root: String {
        "root" => root, Text("DIR"), "Read documents below this folder of the repository".default("the top") }
    layout: Layout {
        "layout" => parsed::<Layout> = "{project}/{environment}/{toggle}.yaml", Text("TEMPLATE"), "Find documents at paths of this form"
            .more("Use each placeholder once, as a whole component. `.yaml`, `.yml` and `.json` files all match.") }
    only: Scope {
        "only" => scope, Texts("GLOB"), "Manage only the toggles that this glob matches".of(Source, SELECTING).default("everything")
            .more("Matches the whole `project/environment/toggle`; `*` does not cross `/`, `**` does. Repeat it, or separate globs by spaces.") }
    from: Option<PathBuf> {
        "from" => path, Path("DIR|-"), "Import the service's own JSON instead of reading the service".of(Source, IMPORT)
            .only_from(Sources::Flag)
            .more("DIR contains files `project/environment/toggle.json`, `-` is the standard input with one `{\"toggle\": …, \"disabled\": …, \"content\": …}` per line.") }
    overwrite: bool {
        // Only a flag: a confirmation applies to one invocation, but a variable or a file would outlive it.
        "overwrite" => switch = "false", Switch, "Replace documents that have another meaning".of(Source, IMPORT)
            .only_from(Sources::Flag)
            .more("Their comments are lost. Commit or stash your own changes before.") }
    allow_empty: bool {
        "allow_empty" => switch = "false", Switch, "Succeed even if no document was checked".of(Source, &[Validate, Test]) }
    first_parent: bool {
        "first_parent" => switch = "false", Switch, "Name the merge commit instead of the commit of the branch".of(Source, PLANNING) }
    history: Option<HistoryRule> {
        "history" => parsed::<HistoryRule>, Choice(HistoryRule::WORDS), "Follow a rewritten history, or refuse it"
            .of(Source, PLANNING).default("follow")
            .more("If given explicitly, `follow` also accepts a commit older than the one in the shared state.") }
    git_username: Option<String> {
        "git_username" => any_text, Text("NAME"), "Sign in to the source's host as this user"
            .of(Source, STATEFUL).trusted() }
    git_password: Option<SecretSource> {
        "git_password" => secret, Secret, "The password or token for the source's host"
            .of(Source, STATEFUL);
        "git_password_file" => secret_file, Path("FILE"), "Read the Git password or token from this file"
            .of(Source, STATEFUL).trusted()
            .more("Or give it in GITOGGLE_GIT_PASSWORD. It is sent only to the host of --repo, and is read again at every attempt.") }
    base_url: Option<BaseUrl> {
        "base_url" => parsed::<BaseUrl>, Text("URL"), "Publish to the service at this https URL"
            .of(Service, NAMING).trusted()
            .more("It may have a path, but no user, query or fragment.") }
    token: Option<SecretSource> {
        "token" => secret, Secret, "The service's token".of(Service, ADDRESSING);
        "token_file" => secret_file, Path("FILE"), "Read the service's token from this file"
            .of(Service, ADDRESSING).trusted()
            .more("Or give it in GITOGGLE_TOKEN. The file is read again at every pass and after the service rejects the token.") }
    ca_file: Option<PathBuf> {
        "ca_file" => path, Path("PEM"), "Trust these certificate authorities as well as the system's"
            .of(Service, CONNECTING).trusted() }
    service_kind: ServiceKind {
        "service_kind" => parsed::<ServiceKind> = "documented", Choice(ServiceKind::WORDS), "Rely on the behavior of this service beyond the documented endpoint"
            .of(Service, KNOWING) }
    timeout: time::Duration {
        "timeout" => positive_duration = "10s", Duration, "Time out one request after this long".of(Service, ADDRESSING)
            .more("Includes connecting and reading the response.") }
    max_in_flight: usize {
        "max_in_flight" => size = "16", Count, "Send at most this many requests at once".of(Service, ADDRESSING) }
    max_in_flight_per_environment: usize {
        "max_in_flight_per_environment" => size = "1", Count, "Send at most this many at once within an environment"
            .of(Service, PUBLISHING) }
    give_up_after: time::Duration {
        "give_up_after" => positive_duration = "60s", Duration, "Give up on a service without a useful response after this long"
            .of(Service, PUBLISHING) }
    comment_max_chars: usize {
        "comment_max_chars" => size = "1024", Count, "Cut comments to this many characters".of(Service, PLANNING)
            .more("Unicode scalar values, ellipsis included.") }
    state_dir: Option<PathBuf> {
        "state_dir" => path, Path("DIR"), "Keep state and clones in this folder"
            .of(State, STATEFUL).default("the platform's state folder, by source").trusted()
            .more("By default `gitoggle/<source>-<hash>` in the platform's state folder, with the hash of the source's absolute path or URL, links not resolved.") }
    state_remote: Option<StateRemote> {
        "state_remote" => parsed::<StateRemote>, Text("URL|origin"), "Share state with other runs through this Git remote"
            .of(State, STATEFUL).default("none: state stays local").trusted()
            .more("`origin` means the source's own remote; for a URL source, that URL.") }
    state_name: Option<String> {
        "state_name" => state_name, Text("NAME"), "Keep shared state under this name"
            .of(State, STATEFUL).default("host of the base URL plus a short hash of it").trusted() }
    state_git_username: Option<String> {
        "state_git_username" => any_text, Text("NAME"), "Sign in to the state remote's host as this user"
            .of(State, STATEFUL).trusted() }
    state_git_password: Option<SecretSource> {
        "state_git_password" => secret, Secret, "The password or token for the state remote's host"
            .of(State, STATEFUL);
        "state_git_password_file" => secret_file, Path("FILE"), "Read the state remote's password or token from this file"
            .of(State, STATEFUL).trusted()
            .more("Or give it in GITOGGLE_STATE_GIT_PASSWORD. Only needed if the remote is on another host than the source.") }
    first_pass: Option<FirstPass> {
        "first_pass" => parsed::<FirstPass>, Choice(FirstPass::WORDS), "Choose how to start an environment with nothing applied yet"
            .of(Safety, PLANNING).default("none: they are held")
            .more("`assert` publishes every toggle of them; `adopt` records the documents as applied without publishing.") }
    max_change_ratio: f64 {
        "max_change_ratio" => ratio = "0.3", Ratio, "Hold an environment when more than this share of it would change"
            .of(Safety, PLANNING)
            .more("Counts updates and disables, divided by the toggles applied there. Environments with fewer than 10 applied toggles are not limited.") }
    max_change_count: Option<u64> {
        "max_change_count" => count, Count, "Hold an environment when more toggles of it would change"
            .of(Safety, PLANNING).default("none") }
    allow_trailer: bool {
        "allow_trailer" => switch = "true", Switch, "Ignore the trailers `Gitoggle-Allow` and `Gitoggle-First-Pass`"
            .of(Safety, PLANNING)
            .more("Any author of a merged commit can write these trailers: review them, or turn them off.") }
    allow_mass_change: bool {
        // Only a flag: a confirmation applies to one invocation, but a variable or a file would outlive it.
        "allow_mass_change" => switch = "false", Switch, "Do not limit how much this pass may change"
            .of(Safety, &[Plan, Apply]).only_from(Sources::Flag) }
    exit_zero_when_held: bool {
        "exit_zero_when_held" => switch = "false", Switch, "Exit with 0 instead of 4 if something is held".of(Safety, &[Apply])
            .more("For scheduled jobs, which would otherwise fail until the hold is released. The output still lists what is held.") }
    on_remove: OnRemove {
        "on_remove" => parsed::<OnRemove> = "keep", Choice(OnRemove::WORDS), "Choose what happens to a toggle whose file was removed"
            .of(Safety, PLANNING)
            .more("`keep` lists it, `disable` publishes it disabled once, `forget` drops it without publishing.") }
    on_invalid: OnInvalid {
        "on_invalid" => parsed::<OnInvalid> = "hold", Choice(OnInvalid::WORDS), "Choose what an invalid document stops: itself, or everything"
            .of(Safety, PLANNING) }
    on_drift: OnDrift {
        "on_drift" => parsed::<OnDrift> = "hold", Choice(OnDrift::WORDS), "Choose what a change that was made on the service causes"
            .of(Safety, PLANNING)
            .more("`hold` holds changes to its document, `overwrite` publishes the document again, `ignore` does not read the toggle. Needs `--service-kind featureprobe`.") }
    overwrite_drift: bool {
        // Only a flag: a confirmation applies to one invocation, but a variable or a file would outlive it.
        "overwrite_drift" => switch = "false", Switch, "Publish over what was changed on the service before it is read"
            .of(Safety, &[Plan, Apply]).only_from(Sources::Flag)
            .more("Reads the service first, as `plan --live` does, and lists what it publishes over; later changes are held. Combine it with `--only TOGGLE`. Needs `--service-kind featureprobe`.") }
    on_approval: OnApproval {
        "on_approval" => parsed::<OnApproval> = "hold", Choice(OnApproval::WORDS), "Choose what happens where the service requires approvals"
            .of(Safety, PLANNING)
            .more("`hold` holds the changes, `bypass` publishes them without an approval. Needs `--service-kind featureprobe`.") }
    on_missing: OnMissing {
        "on_missing" => parsed::<OnMissing> = "hold", Choice(OnMissing::WORDS), "Choose what happens if the service does not have the toggle"
            .of(Safety, PLANNING)
            .more("`hold` holds it, `create` creates the toggle before its first publish. Needs `--service-kind featureprobe`.") }
    live: bool {
        "live" => switch = "false", Switch, "Also read what the service has now".of(Safety, &[Plan, Status])
            .only_from(Sources::Flag)
            .more("Needs a token and `--service-kind featureprobe`.") }
    poll_interval: time::Duration {
        "poll_interval" => positive_duration = "30s", Duration, "Poll the source this often".of(Daemon, DAEMON)
            .more("A moved local ref, a webhook, `POST /reconcile` and SIGHUP start a pass sooner.") }
    drift_interval: time::Duration {
        "drift_interval" => interval = "10m", Duration, "Compare the service with what was applied this often"
            .of(Daemon, DAEMON)
            .more("`0` turns it off. Needs `--service-kind featureprobe`.") }
    stale_after: time::Duration {
        "stale_after" => positive_duration, Duration, "Become unready this long after the last successful pass"
            .of(Daemon, DAEMON).default("10 × the poll interval") }
    listen: Option<SocketAddr> {
        "listen" => listen = "127.0.0.1:8077", Text("ADDR|none"), "Serve health, metrics, status and webhooks here"
            .of(Daemon, DAEMON).trusted() }
    admin_token: Option<SecretSource> {
        "admin_token" => secret, Secret, "The token for commands to a running daemon"
            .of(Daemon, ADMIN);
        "admin_token_file" => secret_file, Path("FILE"), "Read the token for commands to a running daemon from this file"
            .of(Daemon, ADMIN).trusted()
            .more("Or give it in GITOGGLE_ADMIN_TOKEN. Without one, the daemon refuses `POST /allow`, `/reconcile`, `/suspend` and `/resume`.") }
    page_token: Option<SecretSource> {
        "page_token" => secret, Secret, "The token for the status page and the read endpoints"
            .of(Daemon, DAEMON);
        "page_token_file" => secret_file, Path("FILE"), "Require the token in this file for the status page and `/api`"
            .of(Daemon, DAEMON).trusted()
            .more("Or give it in GITOGGLE_PAGE_TOKEN. Browsers send it as the password, with any user name; programs as `Authorization: Bearer`. Without one, the page is open.") }
    url: DaemonUrl {
        "url" => parsed::<DaemonUrl> = "http://127.0.0.1:8077", Text("URL"), "Send the command to the daemon at this http or https URL"
            .of(Daemon, REMOTE).trusted()
            .more("The admin token goes to this host only, and redirects are not followed.") }
    webhook_secret: Option<SecretSource> {
        "webhook_secret" => secret, Secret, "The secret that signs webhooks"
            .of(Daemon, DAEMON);
        "webhook_secret_file" => secret_file, Path("FILE"), "Read the secret of webhooks from this file"
            .of(Daemon, DAEMON).trusted()
            .more("Or give it in GITOGGLE_WEBHOOK_SECRET. Without one, webhooks are off.") }
    notify_url: Option<String> {
        "notify_url" => notify_url, Text("URL"), "Send notifications to this https URL"
            .of(Notifications, DAEMON).trusted()
            .more("A URL that is itself a secret belongs to --notify-slack-url-file or a variable.") }
    notify_secret: Option<SecretSource> {
        "notify_secret" => secret, Secret, "The secret that signs notifications"
            .of(Notifications, DAEMON);
        "notify_secret_file" => secret_file, Path("FILE"), "Sign notifications with the secret in this file"
            .of(Notifications, DAEMON).trusted()
            .more("Or give it in GITOGGLE_NOTIFY_SECRET.") }
    notify_slack_url: Option<SecretSource> {
        "notify_slack_url" => secret, Secret, "The Slack webhook to send notifications to"
            .of(Notifications, DAEMON);
        "notify_slack_url_file" => secret_file, Path("FILE"), "Send notifications to the Slack webhook whose URL is in this file"
            .of(Notifications, DAEMON).trusted()
            .more("Or give it in GITOGGLE_NOTIFY_SLACK_URL. Anyone with that URL can post to it.") }
    comment_on: Option<ForgeApi> {
        "comment_on" => parsed::<ForgeApi>, Choice(ForgeApi::WORDS), "Keep a comment with the plan on the pull request"
            .of(Forge, &[Plan]).trusted()
            .more("The repository, the number, the address and the token come from the variables of the CI job. If the token may not write, prints a warning.") }
    commit_status: Option<ForgeApi> {
        "commit_status" => parsed::<ForgeApi>, Choice(ForgeApi::WORDS), "Set a status of the applied commit"
            .of(Forge, &[Apply]).trusted()
            .more("Success, failure, or pending if something is held. A status that cannot be set is a warning.") }
    reviewed: Option<Reviewed> {
        "reviewed" => parsed::<Reviewed>, Text("github|gitlab|gitea|FILE"), "Publish only changes that were reviewed"
            .of(Forge, &[Apply]).only_from(Sources::Flag)
            .more("With the name of a forge, a change counts as reviewed if gitoggle's comment on a merged pull request lists it; with a file, if the file does, which `gitoggle plan -o json` has written. Any other change is held (exit 4).") }
    forge_url: Option<ApiUrl> {
        "forge_url" => parsed::<ApiUrl>, Text("URL"), "Call the API of the forge at this https URL"
            .of(Forge, FORGE).default("that of the CI job").trusted()
            .more("Such as `https://api.github.com`, `https://gitlab.example.com/api/v4` or `https://gitea.example.com/api/v1`.") }
    forge_repo: Option<String> {
        "forge_repo" => any_text, Text("OWNER/NAME"), "The repository on the forge"
            .of(Forge, FORGE).default("that of the CI job").trusted() }
    forge_number: Option<u64> {
        "forge_number" => count, Count, "The number of the pull request"
            .of(Forge, &[Plan]).only_from(Sources::Flag).default("that of the CI job") }
    forge_token: Option<SecretSource> {
        "forge_token" => secret, Secret, "The token for the forge"
            .of(Forge, FORGE);
        "forge_token_file" => secret_file, Path("FILE"), "Read the token for the forge from this file"
            .of(Forge, FORGE).trusted()
            .more("Or give it in GITOGGLE_FORGE_TOKEN. By default, the token of the CI job: GITHUB_TOKEN, GITLAB_TOKEN, CI_JOB_TOKEN or GITEA_TOKEN. It is sent only to the host of the API.") }
    sandbox_token: SecretSource {
        "sandbox_token" => secret = "sandbox-token", Secret, "The token that the sandbox accepts"
            .of(Service, &[Sandbox]) }
    output: OutputFormat {
        "output" => parsed::<OutputFormat> = "human", Choice(OutputFormat::WORDS), "Print the result in this form"
            .of(Output, REPORTING) }
    color: ColorChoice {
        "color" => parsed::<ColorChoice> = "auto", Choice(ColorChoice::WORDS), "Choose when to use color".of(Output, ALL)
            .more("`auto` uses color on a terminal unless NO_COLOR is set.") }
    log_format: Option<LogFormat> {
        "log_format" => parsed::<LogFormat>, Choice(LogFormat::WORDS), "Write log lines in this form"
            .of(Output, ALL).default("`pretty` on a terminal, else `json` for `run`") }
    log_level: Option<LogLevel> {
        "log_level" => parsed::<LogLevel>, Choice(LogLevel::WORDS), "Log at this level and above"
            .of(Output, ALL).default("`info` for `run`, else `warn`") }
}
