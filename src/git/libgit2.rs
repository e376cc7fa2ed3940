//! What is set in libgit2 once for the whole process. The only unsafe code of this crate.

use std::sync::OnceLock;

use git2::ConfigLevel;

use super::remote;

/// Sets libgit2 up, once: call it before it is entered.
///
/// * A repository may belong to another user (a sidecar's does): nothing in it is ever executed here.
/// * The configuration of the user and of the machine is not read: what is written there for a person who types `git`,
///   or is broken there, has no say here.
/// * Remotes can be reached through our own transports.
/// * Objects are not hashed again at every read, as git itself does not either.
/// * Objects are not kept in memory: who needs one twice keeps it, and a daemon does not grow.
///
/// # Errors
/// When libgit2 refuses a setting.
pub(super) fn libgit2() -> Result<(), git2::Error> {
    static SETUP: OnceLock<Result<(), String>> = OnceLock::new();
    SETUP
        .get_or_init(|| setup().map_err(|error| error.message().to_owned()))
        .clone()
        .map_err(|message| git2::Error::from_str(&message))
}

#[expect(
    unsafe_code,
    reason = "libgit2's process-wide settings have no safe interface in git2"
)]
fn setup() -> Result<(), git2::Error> {
    git2::opts::strict_hash_verification(false);
    git2::opts::enable_caching(false);
    // SAFETY: none may run beside other uses of what it sets: the table of transports, where configurations are looked
    // for, and the check of owners. They run once, inside a `OnceLock` that every user of Git in this process passes
    // before its first repository or remote. The factory is a function: it captures nothing that could end before the
    // process does.
    unsafe {
        git2::transport::register(remote::SCHEME, remote::transport)?;
        for level in [ConfigLevel::System, ConfigLevel::Global, ConfigLevel::XDG] {
            git2::opts::set_search_path(level, "")?;
        }
        git2::opts::set_verify_owner_validation(false)
    }
}
