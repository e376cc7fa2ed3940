//! Arguments of the commands that evaluate toggles.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use super::parsers::either;
use crate::model::{ToggleId, seconds};

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct ExplainArgs {
    /// The toggle, written project/environment/toggle
    #[arg(value_name = "TOGGLE")]
    pub(crate) toggle: ToggleId,
    /// Give the user this attribute; repeat it for others
    #[arg(long = "attr", value_name = "NAME=VALUE", value_parser = attribute)]
    pub(crate) attributes: Vec<(String, String)>,
    /// Give the user this key, which decides on splits
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Evaluate at this time, such as 2024-12-31T23:59:59Z [now]
    // In seconds since 1970-01-01 UTC.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) at: Option<i64>,
}

/// The audience of `plan`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Users")]
pub(crate) struct AudienceArgs {
    /// Count how many of these users each change affects: JSON lines or CSV
    #[arg(long = "audience", value_name = "FILE", required = false)]
    pub(crate) file: PathBuf,
    /// Evaluate the audience at this time, such as 2024-12-31T23:59:59Z
    // In seconds since 1970-01-01 UTC.
    #[arg(long, value_name = "TIME", value_parser = seconds, requires = "file")]
    pub(crate) at: Option<i64>,
}

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct TestArgs {
    /// Test these files and folders only
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// List the rules and serves that no test reaches
    #[arg(
        long,
        action = ArgAction::SetTrue,
        value_parser = either(Coverage::Listed, Coverage::Omitted)
    )]
    pub(crate) coverage: Coverage,
}

/// Whether `test` lists the serves that no test reaches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Coverage {
    Listed,
    Omitted,
}

fn attribute(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE, such as age=20".to_owned()),
    }
}
