//! The commands with their arguments that are not settings. The comments of variants and fields are the help texts.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Subcommand};
use clap_complete::Shell;

use super::drift::DriftArgs;
use super::evaluation::{AudienceArgs, ExplainArgs, TestArgs};
use super::local::{DemoArgs, SandboxArgs};
use super::log::LogArgs;
use super::parsers::{either, environment, glob, key_glob};
use super::plan_exit::PlanExit;
use super::remote::{AllowArgs, ResumeArgs, SuspendArgs};
use super::schema::{SchemaSubject, subject};
use crate::authoring::FormatMode;
use crate::config::Command;
use crate::model::EnvironmentId;
use crate::pass::Files;

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
                      what is served. Evaluates like the SDKs of FeatureProbe. Needs no base URL, network or token."
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
        #[arg(
            long = "worktree",
            action = ArgAction::SetTrue,
            value_parser = either(Files::WorkTree, Files::Committed),
            conflicts_with_all = ["from_revision", "to", "pull_request", "target"]
        )]
        files: Files,
        /// Exit with 2 if there are changes
        #[arg(long = "detailed-exitcode", action = ArgAction::SetTrue, value_parser = either(PlanExit::Detailed, PlanExit::Plain))]
        exit: PlanExit,
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
        #[arg(
            long = "all",
            action = ArgAction::SetTrue,
            value_parser = either(StatusList::All, StatusList::NotInSync)
        )]
        list: StatusList,
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
    /// Write the documents of toggles that exist on the service
    #[command(
        long_about = "Writes the documents of toggles that exist on the service into the work tree of --repo, in \
                      canonical form, at the path that the layout gives: everything that the token can read, or the \
                      toggles that a GLOB over project/environment/toggle matches. Commits nothing. A document that \
                      means the same stays as it is; one that means something else stays too, unless --overwrite is \
                      given, and does not change the exit code. Run it again to continue after an interruption. Needs \
                      --service-kind featureprobe, or --from."
    )]
    Import {
        /// Import only the toggles that this glob matches [everything]
        #[arg(value_name = "GLOB", value_parser = glob)]
        globs: Vec<String>,
    },
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
        #[arg(
            long = "check",
            action = ArgAction::SetTrue,
            value_parser = either(FormatMode::Check, FormatMode::Write)
        )]
        mode: FormatMode,
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
        #[arg(long = "detailed-exitcode", action = ArgAction::SetTrue, value_parser = either(PlanExit::Detailed, PlanExit::Plain))]
        exit: PlanExit,
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
        #[arg(long, value_name = "WHAT", default_value = "document", value_parser = subject())]
        of: SchemaSubject,
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

/// The toggles that `status` lists as text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StatusList {
    All,
    NotInSync,
}
