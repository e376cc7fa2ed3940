//! Arguments of `drift`.

use clap::{Arg, ArgMatches};

use super::import::glob;
use super::{PlanExit, plan_exit, toggle};
use crate::pass::drift::ScanDepth;

/// The arguments of `drift`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DriftArgs {
    /// Valid globs over the toggles to compare; none means everything.
    pub globs: Vec<String>,
    /// The meaning of the exit code.
    pub exit: PlanExit,
    /// The toggles that are read.
    pub depth: ScanDepth,
}

/// Returns the arguments that are not settings.
pub(super) fn own() -> Vec<Arg> {
    vec![
        Arg::new("globs")
            .value_name("GLOB")
            .help("Compare only the toggles that this glob matches [everything]")
            .num_args(0..)
            .value_parser(glob),
        toggle("detailed-exitcode", "Exit with 2 if there is drift"),
        toggle(
            "full",
            "Read every toggle, even where the service reports no change",
        ),
    ]
}

pub(super) fn args(matches: &ArgMatches) -> DriftArgs {
    DriftArgs {
        globs: matches.get_many("globs").into_iter().flatten().cloned().collect(),
        exit: plan_exit(matches),
        depth: match matches.get_flag("full") {
            true => ScanDepth::Everything,
            false => ScanDepth::Changes,
        },
    }
}
