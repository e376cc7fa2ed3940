#![doc = include_str!("README.md")]

mod checks;
mod command;
mod definition;
mod error;
mod file;
mod folders;
mod merge;
mod settings;
#[cfg(test)]
mod tests;
mod values;

pub use checks::{LoadedSettings, forge_settings, load};
pub use command::Command;
pub(crate) use definition::{Mark, long_help};
pub use definition::{SettingInfo, settings};
pub use error::{ConfigError, ConfigErrors};
pub use merge::{Flags, ProcessEnvironment, set_by_variables};
pub use settings::Settings;
pub use values::{ColorChoice, LogFormat, LogLevel, OutputFormat, Reviewed, StateRemote, count, ratio};
