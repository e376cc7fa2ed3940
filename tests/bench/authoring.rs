//! The commands for authors: `validate` of everything, against reading it, and `fmt --check` of 10,000
//! documents.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::GITOGGLE;
use super::fixture::Fixture;
use super::measure::{report, side_by_side};

/// The longest time of `fmt --check` of 10,000 documents on two cores.
const FORMATTED_WITHIN: Duration = Duration::from_secs(1);

/// Measures both commands in a clone of `fixture`, and `validate` at a revision.
pub(crate) fn measure(folder: &Path, fixture: &Fixture) {
    let clone = fixture.cloned(folder);
    let validate = |repo: &Path| {
        let mut command = Command::new(GITOGGLE);
        command.arg("validate").arg("--repo").arg(repo);
        command
    };
    let repo = fixture.repo.display();
    let objects = shell(&format!(
        "git -C {repo} ls-tree -r --format='%(objectname)' HEAD | git -C {repo} cat-file --batch"
    ));
    let (ours, theirs) = side_by_side(5, || validate(&fixture.repo), objects);
    let beside = "git ls-tree | git cat-file --batch";
    report("validate of a revision, 100,000 documents", ours, beside, theirs, 2.5);

    let (ours, theirs) = side_by_side(5, || validate(&clone), read(&clone));
    report("validate of files, 100,000 documents", ours, "find | xargs cat", theirs, 2.5);

    let part = clone.join("project-00");
    let also = clone.join("project-01");
    let fmt = || {
        let mut command = Command::new(GITOGGLE);
        command.args(["fmt", "--check"]).args([&part, &also]);
        command
    };
    let (ours, theirs) = side_by_side(5, fmt, read(&part));
    let verdict = if ours <= FORMATTED_WITHIN { "ok" } else { "OVER" };
    println!(
        "{:<44} {:>9.2?}   {:<34} {:>9.2?}   limit {FORMATTED_WITHIN:?}  {verdict}",
        "fmt --check of 10,000 documents", ours, "find | xargs cat, of 5,000", theirs,
    );
}

/// Reads every document below a folder.
fn read(folder: &Path) -> impl FnMut() -> Command + use<> {
    shell(&format!("find {} -name '*.yaml' -print0 | xargs -0 cat", folder.display()))
}

fn shell(script: &str) -> impl FnMut() -> Command + use<> {
    let script = format!("{script} > /dev/null");
    move || {
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        command
    }
}
