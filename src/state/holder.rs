//! Names a process for the users of other processes.

use std::fmt;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::model::escaped;

/// The holder of a lock, as it described itself in the lock file.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Holder {
    /// The process id; 0 if the lock file cannot be read.
    pub pid: u32,
    /// The host name.
    pub host: String,
    /// The start, in seconds since 1970-01-01 UTC.
    pub since: i64,
}

impl Holder {
    /// Returns this process with the start `now`.
    #[must_use]
    pub fn this(now: i64) -> Self {
        Self {
            pid: std::process::id(),
            host: host(),
            since: now,
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid == 0 {
            return f.write_str("another process");
        }
        write!(f, "process {} on `{}`", self.pid, escaped(&self.host))?;
        match jiff::Timestamp::from_second(self.since) {
            Ok(since) => write!(f, " since {since}"),
            Err(_) => Ok(()),
        }
    }
}

/// Returns the name of this process in announcements.
#[must_use]
pub fn this_process() -> String {
    format!("pid {} on {}", std::process::id(), host())
}

/// Returns the host name, as far as the environment or Linux provides it.
fn host() -> String {
    std::env::var("HOSTNAME")
        .ok()
        .or_else(|| fs::read_to_string("/proc/sys/kernel/hostname").ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned())
}
