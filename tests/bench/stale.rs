//! `gitoggle stale` on 10,000 toggles and 100,000 commits, against `git log --name-only` of the same history.

use std::path::Path;
use std::process::Command;

use super::GITOGGLE;
use super::fixture::{Fixture, Size};
use super::measure::{report, side_by_side};

const LONG: Size =
    Size { projects: 2, environments: 5, toggles: 1_000, commits: 100_000, changes_per_commit: 1 };

pub(crate) fn measure(folder: &Path) {
    println!("generating {} toggles and {} commits …", LONG.total(), LONG.commits);
    let fixture = Fixture::generate(folder, LONG);
    let ours = || {
        let mut command = Command::new(GITOGGLE);
        command.args(["stale", "--older-than", "1d", "--repo"]).arg(&fixture.repo);
        command
    };
    let theirs = || {
        let mut command = Command::new("git");
        command.arg("-C").arg(&fixture.repo).args(["log", "--format=%H", "--name-only"]);
        command
    };
    let (ours, theirs) = side_by_side(3, ours, theirs);
    report("stale, 100,000 commits", ours, "git log --name-only", theirs, 1.5);
}
