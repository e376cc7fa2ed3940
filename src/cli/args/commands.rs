//! The commands with their arguments that are not settings. The comments of variants and fields are the help texts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args, Subcommand};
use clap_complete::Shell;

use super::{attribute, environment, glob, key_glob, part, place};
use crate::config::{Command, LogLevel, count, ratio};
use crate::model::{EnvironmentId, Override, ToggleId, duration, seconds};

/// A command. In the order of the help, and named as in `Command`.
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub(crate) enum CommandArgs {
    /// Check documents
    #[command(
        long_about = "Checks documents: the work tree by default, a revision with --ref. A PATH inside a repository \
                      filters, a folder outside one is a root. Needs no base URL, network or token."
    )]
    Validate {
        /// Check these files and folders only
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Test what users are served
    #[command(
        long_about = "Tests documents: compares what they serve with the expectations in NAME.test.yaml next to \
                      NAME.yaml. Needs no base URL, network or token."
    )]
    Test(TestArgs),
    /// Explain what a user is served
    #[command(
        long_about = "Traces one user through the rules of a toggle: which conditions match, which do not and why, and \
                      what is served. Evaluates by the rules of FeatureProbe's Rust SDK, from 2.3. Needs no base URL, network or token."
    )]
    Explain(ExplainArgs),
    /// Show what would be published, and why
    #[command(
        long_about = "Shows what would be published, and why. Takes no lock and writes nothing. May contact the Git \
                      hosts, but contacts the service only with --live, and needs no token otherwise. With \
                      --pull-request, or with --from, compares two revisions of a local repository instead of the source \
                      with the state, and needs neither state nor network."
    )]
    Plan {
        /// Read uncommitted files
        #[arg(long, conflicts_with_all = ["from_revision", "to", "pull_request", "target"])]
        worktree: bool,
        /// Exit with 2 if there are changes
        #[arg(long)]
        detailed_exitcode: bool,
        #[command(flatten)]
        audience: Option<AudienceArgs>,
    },
    /// Make one pass, then exit
    #[command(long_about = "Makes one complete pass, then exits: the command for CI.")]
    Apply,
    /// Run continuously, as a daemon or a sidecar
    #[command(
        long_about = "Makes a pass whenever the source changes, a webhook arrives or the poll interval ends: as a \
                      daemon or a sidecar."
    )]
    Run,
    /// Show the state of every toggle
    #[command(
        long_about = "Shows which toggles are not in sync: pending, held, failed, drifted or an orphan, and why, with \
                      the applied revision. Counts all toggles; --all and -o json list them. Has no side effects, like \
                      plan."
    )]
    Status {
        /// List the toggles that are in sync as well
        #[arg(long)]
        all: bool,
    },
    /// Show what was changed on the service
    #[command(
        long_about = "Compares the service with what was last applied, and shows what differs: which toggles were \
                      changed there, by whom, when and how, and what to do. Also lists toggles without a document, \
                      documents without a toggle, drafts that await approval, and archived toggles. Writes only what it \
                      found equal, for the next run. Needs --service-kind featureprobe."
    )]
    Drift(DriftArgs),
    /// Show what was deployed, when, and why
    #[command(
        long_about = "Shows the deployment history: when each revision was applied, its subject, which toggles it \
                      changed and how, and who allowed it. Each line begins with what was done: create, update and \
                      disable were published; overwrite was published over a change made on the service; adopt, \
                      converge (the service had it already, as after an import) and record (same meaning) were recorded \
                      without a publish; forget dropped the toggle. Reads the state only: takes no lock, writes \
                      nothing, and never contacts the service."
    )]
    Log(LogArgs),
    /// List the toggles that no longer decide anything
    #[command(
        long_about = "Lists the toggles that no longer decide anything: settled (enabled, and everyone is served the same \
                      variation) or off (disabled), with the last commit that changed their meaning, its author and the \
                      CODEOWNERS entry. Reads the committed documents and their history only. The age counts from when \
                      the change reached the branch; reformatting, comments and moving the file are not changes. The \
                      comment `# gitoggle: allow(stale) reason` in a document excludes its toggle."
    )]
    Stale(StaleArgs),
    /// Write the documents of toggles that exist on the service
    #[command(
        long_about = "Writes the documents of toggles that exist on the service into the work tree of --repo, in \
                      canonical form, at the path that the layout gives: everything that the token can read, or the \
                      toggles that a GLOB over project/environment/toggle matches. Commits nothing. A document that \
                      means the same stays as it is; one that means something else stays too, unless --overwrite is \
                      given, and does not change the exit code. Run it again to continue after an interruption. Needs \
                      --service-kind featureprobe, or --from. With --drifted, compares the service with what was last \
                      applied, as drift does, and imports exactly the toggles that differ. A document that was changed \
                      in the repository as well stays, unless --overwrite is given."
    )]
    Import(ImportArgs),
    /// Rewrite documents in one layout
    #[command(
        long_about = "Rewrites the documents of a work tree in one canonical layout, that of import. Keeps every \
                      comment, and leaves the meaning and the spelling of scalars as they are. Invalid documents and \
                      other files stay as they are."
    )]
    Fmt {
        /// Format these files and folders only
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Write nothing; list the documents with another layout, and exit with 1
        #[arg(long)]
        check: bool,
    },
    /// Compare two environments
    #[command(
        long_about = "Compares two environments of a work tree, toggle by toggle: what would change for users of A if \
                      it had the documents of B."
    )]
    Diff {
        /// The environment before, as project/environment
        #[arg(value_name = "A", value_parser = environment)]
        before: EnvironmentId,
        /// The environment after
        #[arg(value_name = "B", value_parser = environment)]
        after: EnvironmentId,
        /// Exit with 2 if they differ
        #[arg(long)]
        detailed_exitcode: bool,
    },
    /// Copy documents to another environment
    #[command(
        long_about = "Copies the documents of FROM to TO in a work tree, comments included, and shows what changes. A \
                      document is replaced only by one of the same toggle; toggles that only TO has stay. If TO has \
                      no document yet, asks on a terminal, and elsewhere needs --create. Commits nothing."
    )]
    Promote {
        /// The environment to copy from, as project/environment
        #[arg(value_name = "FROM", value_parser = environment)]
        before: EnvironmentId,
        /// The environment to copy to
        #[arg(value_name = "TO", value_parser = environment)]
        after: EnvironmentId,
        /// Copy only the toggles whose key this glob matches [everything]
        #[arg(value_name = "GLOB", value_parser = key_glob)]
        globs: Vec<String>,
        /// Create TO if it has no document yet
        #[arg(long)]
        create: bool,
    },
    /// Create a starter repository
    #[command(
        long_about = "Creates a repository with one toggle, its test, editor settings, a CI workflow, a CODEOWNERS \
                      skeleton and a pre-commit configuration. Replaces no file, and commits nothing."
    )]
    Init {
        /// Create the repository in this folder [.]
        #[arg(value_name = "DIR", default_value = ".")]
        folder: PathBuf,
    },
    /// Release what a running daemon holds
    #[command(
        long_about = "Releases the toggles that a rail or a first pass holds in one environment of a running daemon, \
                      without a restart, and prints them. The decision is valid once, for one revision, and is recorded \
                      with the caller and the time. history lets the daemon continue from a revision that does not \
                      descend from the recorded one."
    )]
    Allow(AllowArgs),
    /// Keep a running daemon from publishing
    #[command(
        long_about = "Keeps a running daemon from publishing, either all toggles or those that a glob over \
                      project/environment/toggle matches. Planning continues. Survives a restart of the daemon."
    )]
    Suspend(SuspendArgs),
    /// Let a suspended daemon publish again
    #[command(
        long_about = "Ends the suspensions of a running daemon: all of them, or the one with the same globs."
    )]
    Resume(ResumeArgs),
    /// Request a pass from a running daemon
    #[command(long_about = "Requests a pass from a running daemon. The pass also retries refused toggles.")]
    Reconcile,
    /// Print the JSON Schema of a document or an output
    #[command(
        long_about = "Prints the JSON Schema of a document, for editors, or of what a command prints with -o json."
    )]
    Schema {
        /// Describe a document or what this command prints with -o json [document]
        #[arg(long, value_name = "WHAT", default_value = "document", value_parser = PossibleValuesParser::new(SUBJECTS))]
        of: String,
    },
    /// Serve a local toggle service for experiments
    #[command(
        long_about = "Serves a local toggle service with the documented endpoint, over HTTPS, for experiments and \
                      tests. It accepts the token in GITOGGLE_SANDBOX_TOKEN, by default sandbox-token. With \
                      --service-kind featureprobe, it answers as FeatureProbe does, reads included, and keeps everything \
                      in memory. It starts with a sample, or with the projects in the --data file: {\"projects\": \
                      [{\"key\", \"environments\": [{\"key\"}], \"segments\": [{\"key\", \"rules\"}], \"toggles\": \
                      [{\"key\", \"returnType\", \"variations\", \"targeting\": {ENVIRONMENT: {\"comment\", \
                      \"disabled\", \"content\"}}}]}]}."
    )]
    Sandbox(SandboxArgs),
    /// Print the completions of a shell
    #[command(
        long_about = "Prints the completions of bash, elvish, fish, powershell or zsh: commands, flags and the words of \
                      choices."
    )]
    Completions {
        /// bash, elvish, fish, powershell or zsh
        #[arg(value_name = "SHELL", hide_possible_values = true)]
        shell: Shell,
    },
    /// Print the manual page
    #[command(
        long_about = "Prints the manual page of the program, or of a command. With --out, writes the pages of the \
                      program and of all commands, as packages need them."
    )]
    Man {
        /// Print the page of this command [the program]
        #[arg(
            value_name = "COMMAND",
            hide_possible_values = true,
            value_parser = PossibleValuesParser::new(Command::WORDS)
        )]
        command: Option<String>,
        /// Write the pages of all commands into this folder
        #[arg(long, value_name = "DIR", conflicts_with = "command")]
        out: Option<PathBuf>,
    },
    /// Watch the whole loop on this machine
    #[command(
        long_about = "Creates a sample repository, serves the sandbox and makes several passes, all on loopback and in \
                      one process. Prints each step."
    )]
    Demo(DemoArgs),
}

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct DriftArgs {
    /// Compare only the toggles that this glob matches [everything]
    #[arg(value_name = "GLOB", value_parser = glob)]
    pub(crate) globs: Vec<String>,
    /// Exit with 2 if there is drift
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
    /// Read every toggle, as every 20th scan does
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct StaleArgs {
    /// List only the toggles that this glob matches [everything]
    #[arg(value_name = "GLOB", value_parser = glob)]
    pub(crate) globs: Vec<String>,
    /// List the toggles whose meaning has not changed for this long [90d]
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = duration)]
    pub(crate) older_than: Duration,
    /// Exit with 2 if there are any
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
}

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct ImportArgs {
    /// Import only the toggles that this glob matches [everything]
    #[arg(value_name = "GLOB", value_parser = glob)]
    pub(crate) globs: Vec<String>,
    /// Import exactly the toggles that were changed on the service since they were last applied
    #[arg(long, conflicts_with = "from")]
    pub(crate) drifted: bool,
    /// Write a commit message to this file: who changed what, when, and why; empty if nothing was imported
    #[arg(long, value_name = "FILE", requires = "drifted")]
    pub(crate) message_file: Option<PathBuf>,
}

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct ExplainArgs {
    /// The toggle, written project/environment/toggle
    #[arg(value_name = "TOGGLE")]
    pub(crate) toggle: ToggleId,
    /// Give the user this attribute; repeat it for others
    #[arg(long = "attr", value_name = "NAME=VALUE", value_parser = attribute)]
    pub(crate) attributes: Vec<(String, String)>,
    /// Give the user this key, which decides on splits
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Evaluate at this time, such as 2024-12-31T23:59:59Z [now]
    // In seconds since 1970-01-01 UTC.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) at: Option<i64>,
}

/// The audience of `plan`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Users")]
pub(crate) struct AudienceArgs {
    /// Count how many of these users each change affects: JSON lines or CSV
    #[arg(long = "audience", value_name = "FILE", required = false)]
    pub(crate) file: PathBuf,
    /// Evaluate the audience at this time, such as 2024-12-31T23:59:59Z
    // In seconds since 1970-01-01 UTC.
    #[arg(long, value_name = "TIME", value_parser = seconds, requires = "file")]
    pub(crate) at: Option<i64>,
}

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct TestArgs {
    /// Test these files and folders only
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// List the rules and serves that no test reaches
    #[arg(long)]
    pub(crate) coverage: bool,
}

#[derive(Args, Clone, Debug, PartialEq)]
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

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct SandboxArgs {
    /// Listen on this address; port 0 selects a free port [127.0.0.1:8443]
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8443")]
    pub(crate) listen: SocketAddr,
    /// Write the certificate authority to this PEM file
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_out: Option<PathBuf>,
    /// Append published documents to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub(crate) history_file: Option<PathBuf>,
    /// Start with the projects in this JSON file (with --service-kind featureprobe) [a sample]
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) faults: FaultArgs,
}

/// The faults that the sandbox injects.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Faults")]
pub(crate) struct FaultArgs {
    /// Answer this share of requests with a 500 [0]
    #[arg(long, value_name = "RATIO", default_value = "0", value_parser = ratio)]
    pub(crate) fail_rate: f64,
    /// Store this share of requests without a response [0]
    #[arg(long, value_name = "RATIO", default_value = "0", value_parser = ratio)]
    pub(crate) drop_rate: f64,
    /// Answer this share of requests with a 429 [0]
    #[arg(long, value_name = "RATIO", default_value = "0", value_parser = ratio)]
    pub(crate) too_many_rate: f64,
    /// Send this Retry-After with a 429 [1s]
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub(crate) retry_after: Duration,
    /// Delay every response by this duration [0s]
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    pub(crate) latency: Duration,
    /// Use this seed for the random faults [1]
    #[arg(long, value_name = "N", default_value = "1", value_parser = count)]
    pub(crate) seed: u64,
}

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct LogArgs {
    /// Show only the deployments of this toggle, or of those that this glob matches [everything]
    #[arg(value_name = "TOGGLE", value_parser = glob)]
    pub(crate) toggle: Option<String>,
    /// Show what each deployment changed
    #[arg(short, long)]
    pub(crate) patch: bool,
    /// Show at most this many deployments; 0 for all [20]
    #[arg(short = 'n', long, value_name = "N", default_value = "20")]
    pub(crate) limit: usize,
}

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct AllowArgs {
    /// first-pass-assert, first-pass-adopt, mass-change, overwrite-drift or history
    #[arg(value_name = "WHAT")]
    pub(crate) what: Override,
    /// The environment, written project/environment, or one toggle for overwrite-drift; history needs none
    // Every decision but `history` concerns one environment (DESIGN, section 9.2).
    #[arg(
        value_name = "ENVIRONMENT",
        value_parser = place,
        required_if_eq_any = [
            ("what", "first-pass-assert"),
            ("what", "first-pass-adopt"),
            ("what", "mass-change"),
            ("what", "overwrite-drift"),
        ]
    )]
    pub(crate) environment: Option<String>,
    /// Allow this revision only; at least 7 digits [the one that the daemon reports]
    #[arg(long, value_name = "REV")]
    pub(crate) revision: Option<String>,
}

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct SuspendArgs {
    /// Suspend only this environment, this toggle, or the toggles that this glob matches; repeatable [everything]
    #[arg(value_name = "SCOPE", value_parser = part)]
    pub(crate) scopes: Vec<String>,
    #[command(flatten)]
    pub(crate) flags: ScopeFlags,
    /// Resume after this time [never]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) lasts: Option<String>,
    /// Show this reason in the log, on the page and in /api/status
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct ResumeArgs {
    /// End only the suspension of this environment, toggle or glob; repeatable [all suspensions]
    #[arg(value_name = "SCOPE", value_parser = part)]
    pub(crate) scopes: Vec<String>,
    #[command(flatten)]
    pub(crate) flags: ScopeFlags,
}

/// The scope as it was written before it was a word.
#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct ScopeFlags {
    /// Another spelling of SCOPE
    #[arg(long = "scope", value_name = "SCOPE", value_parser = part, hide = true)]
    pub(crate) scope: Vec<String>,
}

/// What a schema describes: a document, or the output of one of these commands.
const SUBJECTS: [&str; 8] = ["document", "plan", "validate", "apply", "status", "drift", "log", "stale"];

#[derive(Args, Clone, Debug, Default, Eq, PartialEq)]
#[command(next_help_heading = "Output")]
pub(crate) struct Verbosity {
    /// Log more; -vv logs most
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "log_level")]
    pub(crate) verbose: u8,
    /// Log errors only
    #[arg(short, long, conflicts_with_all = ["verbose", "log_level"])]
    pub(crate) quiet: bool,
}

impl Verbosity {
    /// Returns the log level of `command`, given the setting `level`.
    pub(crate) fn level(&self, command: Command, level: Option<LogLevel>) -> Option<LogLevel> {
        // The default of `run` is already one level higher than that of the other commands.
        let usual = u8::from(command == Command::Run);
        match (self.quiet, self.verbose) {
            (true, _) => Some(LogLevel::Error),
            (false, 0) => level,
            (false, more) => Some(match usual + more.min(2) {
                1 => LogLevel::Info,
                2 => LogLevel::Debug,
                _ => LogLevel::Trace,
            }),
        }
    }
}
