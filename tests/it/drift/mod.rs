//! Drift: what was changed on the service since it was last applied.

#![expect(clippy::needless_pass_by_value, reason = "bodies are written where they are sent")]

mod command;
mod daemon;
mod faults;
mod import;
mod live;
mod missing;
mod notifications;
mod orders;
mod overwrite;
mod restarts;
mod stand;
