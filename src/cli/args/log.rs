//! Arguments of `log`.

use clap::{ArgAction, Args};

use super::parsers::{either, glob};

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct LogArgs {
    /// Show only the deployments of this toggle, or of those that this glob matches [everything]
    #[arg(value_name = "TOGGLE", value_parser = glob)]
    pub(crate) toggle: Option<String>,
    /// Show what each deployment changed
    #[arg(
        short = 'p',
        long = "patch",
        action = ArgAction::SetTrue,
        value_parser = either(LogDetail::Patch, LogDetail::Names)
    )]
    pub(crate) detail: LogDetail,
    /// Show at most this many deployments; 0 for all [20]
    #[arg(short = 'n', long, value_name = "N", default_value = "20")]
    pub(crate) limit: usize,
}

/// What is shown of a deployment: the names of toggles, or their changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum LogDetail {
    Names,
    Patch,
}
