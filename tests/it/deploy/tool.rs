//! Programs that not every machine has.

use std::io::Write as _;
use std::process::Command;

/// Returns a command that runs this program. Without the program, prints past the test harness that the test
/// is skipped, or fails if `REQUIRE_DEPLOY_TOOLS` is set.
pub(super) fn tool(name: &str) -> Option<Command> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    if let Some(found) = std::env::split_paths(&paths).map(|path| path.join(name)).find(|path| path.is_file())
    {
        return Some(Command::new(found));
    }
    skipped(&format!("`{name}` is not installed"));
    None
}

/// Prints that this test is skipped, or fails if `REQUIRE_DEPLOY_TOOLS` is set.
pub(super) fn skipped(reason: &str) {
    assert!(std::env::var_os("REQUIRE_DEPLOY_TOOLS").is_none(), "{reason}");
    note(&format!("skipped: {reason}"));
}

/// Prints a line about this test past the test harness, which captures only what the print macros write.
pub(super) fn note(line: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    let _ = writeln!(std::io::stderr(), "{test}: {line}");
}

/// Runs a command that has to succeed, and returns its output.
#[track_caller]
pub(super) fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {printed}{errors}");
    printed
}
