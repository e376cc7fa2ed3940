//! Arguments of the commands for authors.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};

use super::{CommandArgs, toggle};
use crate::pass::authoring::FormatMode;

/// The examples in the help of `fmt`.
pub(super) const FMT_EXAMPLES: &str = "\
Examples:
  gitoggle fmt                               all documents of the work tree
  gitoggle fmt shop/production/pay.yaml      one document
  gitoggle fmt --check                       for CI: change nothing, and exit with 1 if a
                                             document has another layout";

/// Returns the arguments of `fmt` that are not settings.
pub(super) fn fmt() -> Vec<Arg> {
    vec![
        Arg::new("paths")
            .value_name("PATH")
            .help("Format these files and folders only")
            .num_args(0..)
            .value_parser(value_parser!(PathBuf)),
        toggle(
            "check",
            "Write nothing; list the documents with another layout, and exit with 1",
        ),
    ]
}

pub(super) fn fmt_args(matches: &ArgMatches) -> CommandArgs {
    CommandArgs::Fmt {
        paths: matches.get_many("paths").into_iter().flatten().cloned().collect(),
        mode: match matches.get_flag("check") {
            true => FormatMode::Check,
            false => FormatMode::Write,
        },
    }
}
