//! One file a command: its arguments, the function that runs it, and what it prints. The comments of the
//! arguments are the help texts.

#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "the comments of arguments are help texts, which name defaults in brackets"
)]

mod allow;
mod apply;
mod completions;
mod demo;
mod diff;
mod drift;
mod explain;
mod fmt;
mod import;
mod init;
mod log;
mod man;
mod plan;
mod promote;
mod reconcile;
mod resume;
mod run;
mod sandbox;
mod schema;
mod stale;
mod status;
mod suspend;
mod test;
mod validate;

use clap::Subcommand;

pub(super) use plan::unable;

use super::failure::{ExitStatus, Failure};
use super::output::NO_FORMATS;
use crate::config::{Command, OutputFormat, Settings};

/// Declares the commands: the variant, its arguments, the function that runs it, and the forms of its result.
macro_rules! commands {
    ($($name:ident($args:ty) => $run:path, $formats:expr;)+) => {
        /// A command. In the order of the help, and named as in `Command`.
        #[derive(Clone, Debug, PartialEq, Subcommand)]
        pub(super) enum CommandArgs { $($name($args),)+ }

        impl CommandArgs {
            /// Runs the command.
            pub(super) fn run(&self, settings: &Settings) -> Result<ExitStatus, Failure> {
                match self { $(Self::$name(args) => $run(settings, args),)+ }
            }
        }

        /// Returns the forms in which a command prints its result; none if it takes no `--output`.
        pub(super) fn formats(command: Command) -> Vec<OutputFormat> {
            match command { $(Command::$name => $formats.iter().map(|(format, _)| *format).collect(),)+ }
        }
    };
}

commands! {
    Validate(validate::ValidateArgs) => validate::run, validate::FORMATS;
    Test(test::TestArgs) => test::run, test::FORMATS;
    Explain(explain::ExplainArgs) => explain::run, explain::FORMATS;
    Plan(plan::PlanArgs) => plan::run, plan::FORMATS;
    Apply(apply::ApplyArgs) => apply::run, apply::FORMATS;
    Run(run::RunArgs) => run::run, NO_FORMATS;
    Status(status::StatusArgs) => status::run, status::FORMATS;
    Drift(drift::DriftArgs) => drift::run, drift::FORMATS;
    Log(log::LogArgs) => log::run, log::FORMATS;
    Stale(stale::StaleArgs) => stale::run, stale::FORMATS;
    Import(import::ImportArgs) => import::run, import::FORMATS;
    Fmt(fmt::FmtArgs) => fmt::run, NO_FORMATS;
    Diff(diff::DiffArgs) => diff::run, diff::FORMATS;
    Promote(promote::PromoteArgs) => promote::run, diff::FORMATS;
    Init(init::InitArgs) => init::run, NO_FORMATS;
    Allow(allow::AllowArgs) => allow::run, NO_FORMATS;
    Suspend(suspend::SuspendArgs) => suspend::run, NO_FORMATS;
    Resume(resume::ResumeArgs) => resume::run, NO_FORMATS;
    Reconcile(reconcile::ReconcileArgs) => reconcile::run, NO_FORMATS;
    Schema(schema::SchemaArgs) => schema::run, NO_FORMATS;
    Sandbox(sandbox::SandboxArgs) => sandbox::run, NO_FORMATS;
    Completions(completions::CompletionsArgs) => completions::run, NO_FORMATS;
    Man(man::ManArgs) => man::run, NO_FORMATS;
    Demo(demo::DemoArgs) => demo::run, NO_FORMATS;
}
