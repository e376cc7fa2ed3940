//! Settings: one definition each, which determines its flag, variable and file key.
//!
//! Flags take precedence over variables, and variables over the file. [`load`] collects the errors of all three in one
//! [`ConfigErrors`]; a [`Settings`] exists only if there are none. Secrets come only from a variable or a separate file.
//! A configuration file in the source's work tree cannot set where secrets go, because anyone who can open a pull
//! request could redirect them.

mod address;
mod choices;
mod definition;
mod error;
mod file;
mod merge;
mod place;
mod repository;
mod reviewed;
mod settings;
mod table;
mod trust;
mod value;

pub use address::StateRemote;
pub use choices::{ColorChoice, LogFormat, LogLevel, OutputFormat};
pub use definition::{Command, SettingInfo, ValueShape};
pub use error::{ConfigError, ConfigErrors};
pub use merge::{Flags, ProcessEnvironment};
pub use reviewed::Reviewed;
pub use settings::{LoadedSettings, forge_settings, load};
pub use table::{Settings, settings};
pub use value::{count, ratio};

#[cfg(test)]
mod tests;
