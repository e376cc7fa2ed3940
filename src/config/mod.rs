//! Settings: one definition each, from which its flag, variable and file key follow.
//!
//! Flags win over variables, variables over the file. Whatever is wrong in any of the three is collected and
//! told in one [`Mistakes`]; a [`Settings`] exists only when nothing is. Secrets are taken from a variable or a
//! file of their own and from nowhere else, and a configuration file that lies in the source's work tree
//! cannot say where they go: whoever can open a pull request could redirect them.

mod address;
mod choices;
mod definition;
mod file;
mod merge;
mod mistake;
mod place;
mod repository;
mod settings;
mod table;
mod trust;
mod value;

pub use address::StateRemote;
pub use choices::{ColorChoice, LogFormat, LogLevel, OutputFormat};
pub use definition::{Command, Group, SettingInfo, Shape};
pub use merge::{Flags, World};
pub use mistake::{Mistake, Mistakes};
pub use settings::{Loaded, load};
pub use table::{Settings, settings};
pub use trust::Trust;
pub use value::{Listen, count, ratio};

#[cfg(test)]
mod tests;
