//! `gitoggle stale`: lists the toggles that no longer decide anything. It needs no service, state or token.

use super::args::StaleArgs;
use super::failure::{ExitStatus, Failure};
use super::{color, setup, show};
use crate::config::Settings;
use crate::model::Scope;
use crate::pass::{StaleQuery, stale};
use crate::report::{stale_json, stale_markdown, stale_text};
use crate::source::CacheMode;

pub(super) fn run(settings: &Settings, args: &StaleArgs) -> Result<ExitStatus, Failure> {
    let globs = Scope::new(&args.globs).map_err(Failure::failed)?;
    let query = StaleQuery {
        layout: &settings.layout,
        kind: settings.service_kind,
        scopes: [&settings.only, &globs],
        older_than: args.older_than,
        now: jiff::Timestamp::now().as_second(),
    };
    let report = stale(&setup::source(settings, CacheMode::Untouched), query)?;
    show::result(
        settings.output,
        || stale_text(&report, color(settings)),
        || stale_json(&report),
        |limit| stale_markdown(&report, limit),
    )?;
    let found = ExitStatus::Changes.when(args.detailed_exitcode && !report.stale.is_empty());
    Ok(found.and(ExitStatus::Invalid.when(!report.invalid.is_empty())))
}
