//! The flag `--detailed-exitcode`.

/// The meaning of a plan's exit code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PlanExit {
    /// It also shows whether there are changes.
    Detailed,
    /// It shows only errors and holds.
    Plain,
}
