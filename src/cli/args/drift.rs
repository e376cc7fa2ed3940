//! Arguments of `drift`.

use clap::{ArgAction, Args};

use super::parsers::{either, glob};
use super::plan_exit::PlanExit;
use crate::drift::ScanDepth;

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct DriftArgs {
    /// Compare only the toggles that this glob matches [everything]
    #[arg(value_name = "GLOB", value_parser = glob)]
    pub(crate) globs: Vec<String>,
    /// Exit with 2 if there is drift
    #[arg(long = "detailed-exitcode", action = ArgAction::SetTrue, value_parser = either(PlanExit::Detailed, PlanExit::Plain))]
    pub(crate) exit: PlanExit,
    /// Read every toggle, as every 20th scan does
    #[arg(
        long = "full",
        action = ArgAction::SetTrue,
        value_parser = either(ScanDepth::Everything, ScanDepth::Changes)
    )]
    pub(crate) depth: ScanDepth,
}
