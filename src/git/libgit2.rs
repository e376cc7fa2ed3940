//! Sets the process-wide options of libgit2. Contains the only unsafe code of this crate.

use std::sync::OnceLock;

use git2::ConfigLevel;

/// Sets the options of libgit2 once. Every function that uses libgit2 first calls this.
pub(super) fn libgit2() -> Result<(), git2::Error> {
    static SETUP: OnceLock<Result<(), String>> = OnceLock::new();
    SETUP
        .get_or_init(|| setup().map_err(|error| error.message().to_owned()))
        .clone()
        .map_err(|message| git2::Error::from_str(&message))
}

#[expect(unsafe_code, reason = "libgit2's process-wide settings have no safe interface in git2")]
fn setup() -> Result<(), git2::Error> {
    // As git itself: objects are not hashed again at every read.
    git2::opts::strict_hash_verification(false);
    // A caller keeps the objects that it needs twice, so the memory of a daemon does not grow.
    git2::opts::enable_caching(false);
    // SAFETY: these functions must not run concurrently with uses of the values that they set: the search paths of
    // configurations, and the check of owners. They run once, inside a `OnceLock` that every user of Git in this process
    // passes before its first repository or remote.
    unsafe {
        // The configuration of the user and the machine is for people who type `git`.
        for level in [ConfigLevel::System, ConfigLevel::Global, ConfigLevel::XDG] {
            git2::opts::set_search_path(level, "")?;
        }
        // The checkout of a sidecar belongs to another user. Nothing in a repository is executed.
        git2::opts::set_verify_owner_validation(false)
    }
}
