//! Settings: a field each, which determines its flag, variable and file key.
//!
//! Flags take precedence over variables, and variables over the file. [`load`] collects the errors of all three in one
//! [`ConfigErrors`]; a [`Settings`] exists only if there are none. Secrets come only from a variable or a separate file.
//! A configuration file in the source's work tree cannot set where secrets go, because anyone who can open a pull
//! request could redirect them.

mod attributes;
mod checks;
mod definition;
mod error;
mod file;
mod merge;
mod place;
mod settings;
mod values;

pub use attributes::Command;
pub use checks::{LoadedSettings, forge_settings, load};
pub use definition::{SettingInfo, settings};
pub use error::{ConfigError, ConfigErrors};
pub use merge::{Flags, ProcessEnvironment};
pub use settings::Settings;
pub use values::{ColorChoice, LogFormat, LogLevel, OutputFormat, Reviewed, StateRemote, count, ratio};

#[cfg(test)]
mod tests;
