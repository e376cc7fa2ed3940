//! The table of settings. A setting that is not here does not exist.

use super::address::{
    check_base_url, check_notify_url, check_ref, check_repo, check_state_name, check_state_remote, check_url,
};
use super::definition::{Command, Definition, Group, Reach, Shape, Sources};
use super::value::{any_text, check_layout, check_listen, check_only, check_root};

use Command::{Allow, Apply, Demo, Plan, Reconcile, Resume, Run, Sandbox, Schema, Status, Suspend, Validate};
use Shape::{Choice, Count, Duration, Path, Ratio, Secret, Switch, Text, Texts};

const ALL: &[Command] = &[
    Validate, Plan, Apply, Run, Status, Allow, Suspend, Resume, Reconcile, Schema, Sandbox, Demo,
];
const READING: &[Command] = &[Validate, Plan, Apply, Run, Status];
const PLANNING: &[Command] = &[Plan, Apply, Run, Status];
const PUBLISHING: &[Command] = &[Apply, Run];
const DAEMON: &[Command] = &[Run];
/// The commands that a running daemon carries out.
const REMOTE: &[Command] = &[Allow, Suspend, Resume, Reconcile];
const ADMIN: &[Command] = &[Run, Allow, Suspend, Resume, Reconcile];
const CONNECTING: &[Command] = &[Plan, Apply, Run, Status, Allow, Suspend, Resume, Reconcile];
const REPORTING: &[Command] = &[Validate, Plan, Apply, Status];

/// Begins a row; what most settings have in common is filled in.
const fn setting(name: &'static str, shape: Shape, help: &'static str) -> Definition {
    Definition {
        name,
        shape,
        default: None,
        said: "",
        group: Group::Source,
        commands: READING,
        sources: Sources::All,
        reach: Reach::Plan,
        help,
        more: "",
    }
}

impl Definition {
    const fn of(mut self, group: Group, commands: &'static [Command]) -> Self {
        self.group = group;
        self.commands = commands;
        self
    }

    const fn default(mut self, value: &'static str) -> Self {
        self.default = Some(value);
        self
    }

    const fn said(mut self, words: &'static str) -> Self {
        self.said = words;
        self
    }

    const fn more(mut self, more: &'static str) -> Self {
        self.more = more;
        self
    }

    const fn only_from(mut self, sources: Sources) -> Self {
        self.sources = sources;
        self
    }

    /// It decides where secrets and data go, or whom to trust.
    const fn trusted(mut self) -> Self {
        self.reach = Reach::Trust;
        self
    }
}

/// Every setting, in the order of the help.
pub(crate) const TABLE: &[Definition] = &[
    setting("config", Path("FILE"), "Read settings from this flat YAML file")
        .of(Group::Source, ALL)
        .only_from(Sources::FlagAndVariable)
        .more("Flags win over variables, variables over the file. A file inside the source's work tree may shape the plan but not say where secrets go."),
    setting("repo", Text("URL|PATH", check_repo), "Take documents from this Git repository")
        .default(".")
        .trusted()
        .more("An https or ssh URL is mirrored into the state folder; a path or file URL is opened in place and never fetched."),
    setting("ref", Text("REF", check_ref), "Follow this branch, tag, commit or full ref")
        .said("the source's `HEAD`"),
    setting("root", Text("DIR", check_root), "Look for documents under this folder of the repository")
        .said("the top"),
    setting("layout", Text("TEMPLATE", check_layout), "Find documents at paths of this form")
        .default("{project}/{environment}/{toggle}.yaml")
        .more("Each placeholder stands once and is a whole component. `.yaml`, `.yml` and `.json` are all meant."),
    setting("only", Texts("GLOB", check_only), "Leave alone every toggle that no such glob matches")
        .said("everything")
        .more("Over `project/environment/toggle`; `*` does not cross `/`, `**` does. Repeat it, or separate globs by spaces."),
    setting("allow_empty", Switch, "Succeed even if no document was checked")
        .of(Group::Source, &[Validate])
        .default("false"),
    setting("first_parent", Switch, "Name the merge, not the branch's own commit")
        .of(Group::Source, PLANNING)
        .default("false"),
    setting("history", Choice(&["follow", "refuse"]), "Follow a rewritten history, or refuse it")
        .of(Group::Source, PLANNING)
        .default("follow")
        .more("Given explicitly, `follow` also allows an older commit than the shared state has seen."),
    setting("git_username", Text("NAME", any_text), "Sign in to the source's host as this user")
        .of(Group::Source, PLANNING)
        .trusted(),
    setting("git_password", Secret, "The password or token for the source's host")
        .of(Group::Source, PLANNING)
        .only_from(Sources::Variable),
    setting("git_password_file", Path("FILE"), "Read the Git password or token from this file")
        .of(Group::Source, PLANNING)
        .trusted()
        .more("Or give it in GITOGGLE_GIT_PASSWORD. It goes to the host of --repo only, and is read again at every attempt."),
    setting("base_url", Text("URL", check_base_url), "Publish to the service at this https URL")
        .of(Group::Service, PLANNING)
        .trusted()
        .more("It may have a path, but no user, query or fragment."),
    setting("token", Secret, "The service's token")
        .of(Group::Service, PUBLISHING)
        .only_from(Sources::Variable),
    setting("token_file", Path("FILE"), "Read the service's token from this file")
        .of(Group::Service, PUBLISHING)
        .trusted()
        .more("Or give it in GITOGGLE_TOKEN. The file is read again at every pass and after a refusal."),
    setting("ca_file", Path("PEM"), "Trust these certificate authorities as well as the system's")
        .of(Group::Service, CONNECTING)
        .trusted(),
    setting("service_kind", Choice(&["documented", "featureprobe"]), "Say what may be relied on beyond the documented endpoint")
        .of(Group::Service, READING)
        .default("documented"),
    setting("timeout", Duration, "Give up one publish after this time")
        .of(Group::Service, PUBLISHING)
        .default("10s")
        .more("From connecting to the last byte."),
    setting("max_in_flight", Count, "Send at most this many requests at once")
        .of(Group::Service, PUBLISHING)
        .default("16"),
    setting("max_in_flight_per_environment", Count, "Send at most this many at once within an environment")
        .of(Group::Service, PUBLISHING)
        .default("1"),
    setting("give_up_after", Duration, "Give up on a service without a useful response after this long")
        .of(Group::Service, PUBLISHING)
        .default("60s"),
    setting("comment_max_chars", Count, "Cut comments to this many characters")
        .of(Group::Service, PLANNING)
        .default("1024")
        .more("Unicode scalar values, ellipsis included."),
    setting("state_dir", Path("DIR"), "Keep state and clones in this folder")
        .of(Group::State, PLANNING)
        .said("the platform's state folder, by source")
        .trusted()
        .more("By default `gitoggle/<source>-<hash>` in the platform's state folder: the source as given, made absolute, links not resolved."),
    setting("state_remote", Text("URL|origin", check_state_remote), "Share state with other runs through this Git remote")
        .of(Group::State, PLANNING)
        .said("none: state stays local")
        .trusted()
        .more("`origin` means the source's own remote; for a URL source, that URL."),
    setting("state_name", Text("NAME", check_state_name), "Keep shared state under this name")
        .of(Group::State, PLANNING)
        .said("host of the base URL plus a short hash of it")
        .trusted(),
    setting("state_git_username", Text("NAME", any_text), "Sign in to the state remote's host as this user")
        .of(Group::State, PLANNING)
        .trusted(),
    setting("state_git_password", Secret, "The password or token for the state remote's host")
        .of(Group::State, PLANNING)
        .only_from(Sources::Variable),
    setting("state_git_password_file", Path("FILE"), "Read the state remote's password or token from this file")
        .of(Group::State, PLANNING)
        .trusted()
        .more("Or give it in GITOGGLE_STATE_GIT_PASSWORD. Only needed when the remote is on another host than the source."),
    setting("first_pass", Choice(&["assert", "adopt"]), "Decide about environments in which nothing is applied yet")
        .of(Group::Safety, PLANNING)
        .said("none: they are held")
        .more("`assert` publishes every toggle of them; `adopt` records the documents as applied without publishing."),
    setting("max_change_ratio", Ratio, "Hold an environment when more than this share of it would change")
        .of(Group::Safety, PLANNING)
        .default("0.3")
        .more("Updates and disables, divided by the toggles applied there; not below 10 of them."),
    setting("max_change_count", Count, "Hold an environment when more toggles of it would change")
        .of(Group::Safety, PLANNING)
        .said("none"),
    setting("allow_trailer", Switch, "Ignore the trailers `Gitoggle-Allow` and `Gitoggle-First-Pass`")
        .of(Group::Safety, PLANNING)
        .default("true")
        .more("Whoever can get a commit merged can write that trailer: review it, or switch it off."),
    setting("allow_mass_change", Switch, "Let this one pass change as much as it likes")
        .of(Group::Safety, &[Plan, Apply])
        .only_from(Sources::Flag)
        .default("false"),
    setting("exit_zero_when_held", Switch, "Exit with 0 instead of 4 if something is held")
        .of(Group::Safety, &[Apply])
        .default("false")
        .more("For a scheduled job, which would fail each time until someone decides. The output still lists what is held."),
    setting("on_remove", Choice(&["keep", "disable", "forget"]), "Choose what becomes of a toggle whose file is gone")
        .of(Group::Safety, PLANNING)
        .default("keep")
        .more("`keep` lists it, `disable` publishes it disabled once, `forget` drops it without publishing."),
    setting("on_invalid", Choice(&["hold", "stop"]), "Choose what an invalid document stops: itself, or everything")
        .of(Group::Safety, PLANNING)
        .default("hold"),
    setting("poll_interval", Duration, "Look at the source this often")
        .of(Group::Daemon, DAEMON)
        .default("30s")
        .more("A moved local ref, a webhook, `POST /reconcile` and SIGHUP are noticed sooner."),
    setting("stale_after", Duration, "Stop being ready this long after the last success")
        .of(Group::Daemon, DAEMON)
        .said("10 × the poll interval"),
    setting("listen", Text("ADDR|none", check_listen), "Serve health, metrics, status and webhooks here")
        .of(Group::Daemon, DAEMON)
        .default("127.0.0.1:8077")
        .trusted(),
    setting("admin_token", Secret, "The token for commands to a running daemon")
        .of(Group::Daemon, ADMIN)
        .only_from(Sources::Variable),
    setting("admin_token_file", Path("FILE"), "Read the token for commands to a running daemon from this file")
        .of(Group::Daemon, ADMIN)
        .trusted()
        .more("Or give it in GITOGGLE_ADMIN_TOKEN. Without one, the daemon refuses `POST /allow`, `/reconcile`, `/suspend` and `/resume`."),
    setting("url", Text("URL", check_url), "Send the command to the daemon at this http or https URL")
        .of(Group::Daemon, REMOTE)
        .default("http://127.0.0.1:8077")
        .trusted()
        .more("The admin token goes to this host only, and redirects are not followed."),
    setting("webhook_secret", Secret, "The secret that webhooks are signed with")
        .of(Group::Daemon, DAEMON)
        .only_from(Sources::Variable),
    setting("webhook_secret_file", Path("FILE"), "Read the secret of webhooks from this file")
        .of(Group::Daemon, DAEMON)
        .trusted()
        .more("Or give it in GITOGGLE_WEBHOOK_SECRET. Without one there are no webhooks."),
    setting("notify_url", Text("URL", check_notify_url), "Send notifications to this https URL")
        .of(Group::Notifications, DAEMON)
        .trusted()
        .more("A URL that is itself a secret belongs to --notify-slack-url-file or a variable."),
    setting("notify_secret", Secret, "The secret to sign notifications with")
        .of(Group::Notifications, DAEMON)
        .only_from(Sources::Variable),
    setting("notify_secret_file", Path("FILE"), "Sign notifications with the secret in this file")
        .of(Group::Notifications, DAEMON)
        .trusted()
        .more("Or give it in GITOGGLE_NOTIFY_SECRET."),
    setting("notify_slack_url", Secret, "The Slack webhook to send notifications to")
        .of(Group::Notifications, DAEMON)
        .only_from(Sources::Variable),
    setting("notify_slack_url_file", Path("FILE"), "Send notifications to the Slack webhook whose URL is in this file")
        .of(Group::Notifications, DAEMON)
        .trusted()
        .more("Or give it in GITOGGLE_NOTIFY_SLACK_URL: whoever knows that URL can post to it."),
    setting("sandbox_token", Secret, "The token that the sandbox accepts")
        .of(Group::Service, &[Sandbox])
        .said("sandbox-token")
        .only_from(Sources::Variable),
    setting("output", Choice(&["human", "json", "markdown", "github"]), "Print the result in this form")
        .of(Group::Output, REPORTING)
        .default("human"),
    setting("color", Choice(&["auto", "always", "never"]), "Choose when to use colour")
        .of(Group::Output, ALL)
        .default("auto")
        .more("`auto` looks for a terminal and honours NO_COLOR."),
    setting("log_format", Choice(&["pretty", "json"]), "Write log lines in this form")
        .of(Group::Output, ALL)
        .said("`pretty` on a terminal, else `json` for `run`"),
    setting("log_level", Choice(&["error", "warn", "info", "debug", "trace"]), "Log at this level and above")
        .of(Group::Output, ALL)
        .said("`info` for `run`, else `warn`"),
];
