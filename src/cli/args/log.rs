//! Arguments of `log`.

use clap::{Arg, ArgAction, ArgMatches, value_parser};

use super::import::glob;
use super::option;

/// The number of deployments if `--limit` is not given.
const LIMIT: usize = 20;

/// The arguments of `log`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LogArgs {
    /// A toggle or a valid glob; none means everything.
    pub toggle: Option<String>,
    /// Whether to show what each deployment changed.
    pub detail: LogDetail,
    /// The most deployments to show; none means all.
    pub limit: Option<usize>,
}

/// What is shown of a deployment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LogDetail {
    /// The names of toggles.
    Names,
    /// The changes of each toggle.
    Patch,
}

/// Returns the arguments that are not settings.
pub(super) fn own() -> Vec<Arg> {
    vec![
        Arg::new("toggle")
            .value_name("TOGGLE")
            .help("Show only the deployments of this toggle, or of those that this glob matches [everything]")
            .value_parser(glob),
        Arg::new("patch")
            .short('p')
            .long("patch")
            .help("Show what each deployment changed")
            .action(ArgAction::SetTrue),
        option("limit", "N", "Show at most this many deployments; 0 for all [20]")
            .short('n')
            .value_parser(value_parser!(usize)),
    ]
}

pub(super) fn args(matches: &ArgMatches) -> LogArgs {
    let limit = matches.get_one("limit").copied().unwrap_or(LIMIT);
    LogArgs {
        toggle: matches.get_one("toggle").cloned(),
        detail: match matches.get_flag("patch") {
            true => LogDetail::Patch,
            false => LogDetail::Names,
        },
        limit: (limit > 0).then_some(limit),
    }
}
