//! `gitoggle stale`: lists the toggles that no longer decide anything. Needs no service, state or token.

use std::time::Duration;

use clap::Args;

use crate::cli::args::glob;
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::{Formats, color, print, print_json, show, step_summary};
use crate::cli::setup;
use crate::config::{OutputFormat, Settings};
use crate::model::{Scope, StaleReport, duration};
use crate::pass::{self};
use crate::report::{self, ANY_COMMENT};
use crate::source::CacheMode;

/// List the toggles that no longer decide anything
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Lists the toggles that no longer decide anything: settled (enabled, and everyone is served the same \
                  variation), off (disabled), or passed (a rule whose time is over), with the last commit that \
                  changed their meaning, its author and the CODEOWNERS entry. Reads the committed documents and their history only. The age counts from when \
                  the change reached the branch; reformatting, comments and moving the file are not changes. The \
                  comment `# gitoggle: allow(stale) reason` in a document excludes its toggle."
)]
pub(crate) struct StaleArgs {
    /// List only the toggles that this glob matches [everything]
    #[arg(value_name = "GLOB", value_parser = glob)]
    pub(crate) globs: Vec<String>,
    /// List the toggles whose meaning has not changed for this long [90d]
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = age)]
    pub(crate) older_than: Duration,
    /// Exit with 2 if there are any
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
}

/// The forms of the toggles that were found.
pub(super) const FORMATS: Formats<StaleReport> = &[
    (OutputFormat::Human, |report, settings| print(&report::stale_text(report, color(settings)))),
    (OutputFormat::Json, |report, _| print_json(&report::stale_json(report))),
    (OutputFormat::Markdown, |report, _| print(&report::stale_markdown(report, ANY_COMMENT))),
    (OutputFormat::Github, |report, _| step_summary(|limit| report::stale_markdown(report, limit))),
];

/// Parses the time since a change, which people count in days.
fn age(text: &str) -> Result<Duration, String> {
    duration(text).map_err(|_| match text.trim().parse::<u32>() {
        Ok(days) => format!("`{days}` needs a unit: write `{days}d` for days"),
        Err(_) => {
            format!(
                "`{text}` is not a duration: write it in days and hours, such as `90d`, `12h` or `1d12h`, the longest unit \
                 first"
            )
        }
    })
}

pub(super) fn run(settings: &Settings, args: &StaleArgs) -> Result<ExitStatus, Failure> {
    let globs = Scope::new(&args.globs).map_err(Failure::failed)?;
    let query = pass::StaleQuery {
        layout: &settings.layout,
        kind: settings.service_kind,
        scopes: [&settings.only, &globs],
        older_than: args.older_than,
        now: jiff::Timestamp::now().as_second(),
    };
    let report = pass::stale(&setup::source(settings, CacheMode::Untouched), query)?;
    show(FORMATS, &report, settings)?;
    let found = ExitStatus::Changes.when(args.detailed_exitcode && !report.stale.is_empty());
    Ok(found.and(ExitStatus::Invalid.when(!report.invalid.is_empty())))
}
