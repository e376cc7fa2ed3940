//! One file a command: its arguments, the function that runs it, and what it prints. The comments of the arguments are the
//! help texts.

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
use crate::config::Settings;

/// A command. In the order of the help, and named as in `Command`.
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub(super) enum CommandArgs {
    Validate(validate::ValidateArgs),
    Test(test::TestArgs),
    Explain(explain::ExplainArgs),
    Plan(plan::PlanArgs),
    Apply(apply::ApplyArgs),
    Run(run::RunArgs),
    Status(status::StatusArgs),
    Drift(drift::DriftArgs),
    Log(log::LogArgs),
    Stale(stale::StaleArgs),
    Import(import::ImportArgs),
    Fmt(fmt::FmtArgs),
    Diff(diff::DiffArgs),
    Promote(promote::PromoteArgs),
    Init(init::InitArgs),
    Allow(allow::AllowArgs),
    Suspend(suspend::SuspendArgs),
    Resume(resume::ResumeArgs),
    Reconcile(reconcile::ReconcileArgs),
    Schema(schema::SchemaArgs),
    Sandbox(sandbox::SandboxArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Demo(demo::DemoArgs),
}

impl CommandArgs {
    /// Runs the command.
    pub(super) fn run(&self, settings: &Settings) -> Result<ExitStatus, Failure> {
        match self {
            Self::Validate(args) => validate::run(settings, args),
            Self::Test(args) => test::run(settings, args),
            Self::Explain(args) => explain::run(settings, args),
            Self::Plan(args) => plan::run(settings, args),
            Self::Apply(args) => apply::run(settings, args),
            Self::Run(args) => run::run(settings, args),
            Self::Status(args) => status::run(settings, args),
            Self::Drift(args) => drift::run(settings, args),
            Self::Log(args) => log::run(settings, args),
            Self::Stale(args) => stale::run(settings, args),
            Self::Import(args) => import::run(settings, args),
            Self::Fmt(args) => fmt::run(settings, args),
            Self::Diff(args) => diff::run(settings, args),
            Self::Promote(args) => promote::run(settings, args),
            Self::Init(args) => init::run(settings, args),
            Self::Allow(args) => allow::run(settings, args),
            Self::Suspend(args) => suspend::run(settings, args),
            Self::Resume(args) => resume::run(settings, args),
            Self::Reconcile(args) => reconcile::run(settings, args),
            Self::Schema(args) => schema::run(settings, args),
            Self::Sandbox(args) => sandbox::run(settings, args),
            Self::Completions(args) => completions::run(args),
            Self::Man(args) => man::run(args),
            Self::Demo(args) => demo::run(settings, args),
        }
    }
}
