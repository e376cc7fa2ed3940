//! The effect of 100 changed toggles on a million users: evaluations per second and core, and the memory.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::fixture::as_ann;
use super::measure::{peak_mib, side_by_side};
use super::{BASE_URL, GITOGGLE, run};

const TOGGLES: usize = 100;

/// Measures plans with audiences of 100,000 and 1,000,000 users, against the same plan without one.
pub(crate) fn measure(folder: &Path) {
    let repo = folder.join("repo");
    let git = |args: &[&str]| run(as_ann(&repo).args(args));
    std::fs::create_dir(&repo).expect("a folder can be made");
    git(&["init", "-q", "-b", "main"]);
    let commit = |age| {
        for toggle in 0..TOGGLES {
            let path = repo.join(format!("shop/prod/toggle-{toggle}.yaml"));
            std::fs::create_dir_all(path.parent().expect("it has folders")).expect("a folder can be made");
            std::fs::write(path, document(toggle, age)).expect("a file can be written");
        }
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "Change all toggles"]);
    };
    let gitoggle = |verb: &str| {
        let mut command = Command::new(GITOGGLE);
        let state = folder.join("state");
        command
            .args([verb, "--service-kind", "featureprobe", "--base-url", BASE_URL])
            .args(["--repo".as_ref(), repo.as_os_str(), "--state-dir".as_ref(), state.as_os_str()])
            .env("GITOGGLE_TOKEN", "never-sent")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    };
    commit(30);
    run(gitoggle("apply").args(["--first-pass", "adopt", "--on-drift", "ignore"]));
    commit(31);
    for users in [100_000, 1_000_000] {
        let file = folder.join(format!("users-{users}.jsonl"));
        write_users(&file, users);
        let with = || {
            let mut command = gitoggle("plan");
            command.args(["--at", "2026-01-01T00:00:00Z", "--audience"]).arg(&file);
            command
        };
        let (ours, theirs) = side_by_side(3, with, || gitoggle("plan"));
        print(users, ours.saturating_sub(theirs), peak_mib(&mut with()));
    }
}

fn print(users: usize, time: Duration, peak_mib: u64) {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    // Each user is evaluated with the old and with the new document.
    let evaluations = (2 * users * TOGGLES) as f64 / time.as_secs_f64() / cores as f64 / 1e6;
    let verdict = if evaluations >= 5.0 { "ok" } else { "UNDER" };
    println!(
        "{:<44} {time:>9.2?}   {evaluations:.1} million evaluations a second and core (limit 5), {peak_mib} MiB  {verdict}",
        format!("an audience of {users}, {TOGGLES} changes")
    );
}

/// An ordinary document: three rules of different types, and a split.
fn document(toggle: usize, age: usize) -> String {
    let mut text = String::from(
        "disabled: false\ncontent:\n  variations:\n    - { name: \"off\", value: \"false\" }\n    - { name: \"on\", value: \"true\" }\n  rules:\n",
    );
    let city = |number: usize| format!("city-{}", (toggle + number) % 200);
    let _ = write!(
        text,
        "    - name: cities\n      conditions:\n        - {{ type: string, subject: city, predicate: is one of, objects: [{}, {}, {}] }}\n      serve: {{ select: 1 }}\n",
        city(0),
        city(7),
        city(31)
    );
    let _ = write!(
        text,
        "    - name: adults\n      conditions:\n        - {{ type: number, subject: age, predicate: \">\", objects: [\"{}\"] }}\n        - {{ type: string, subject: email, predicate: ends with, objects: [\"@example.com\"] }}\n      serve: {{ select: {} }}\n",
        age + toggle % 40,
        toggle % 2
    );
    text.push_str("    - name: recent\n      conditions:\n        - { type: semver, subject: app, predicate: \">=\", objects: [\"2.5.0\"] }\n      serve: { select: 1 }\n");
    let _ = write!(
        text,
        "  disabledServe: {{ select: 0 }}\n  defaultServe: {{ split: [{}, {}] }}\n  prerequisites: []\n",
        10 * age,
        10_000 - 10 * age
    );
    text
}

fn write_users(path: &Path, users: usize) {
    let mut file = BufWriter::new(File::create(path).expect("a file can be made"));
    for user in 0..users {
        let domain = if user % 3 == 0 { "example.com" } else { "example.org" };
        writeln!(
            file,
            r#"{{"key":"user-{user}","city":"city-{}","age":{},"email":"user-{user}@{domain}","app":"2.{}.{}","plan":"free"}}"#,
            user % 500,
            user % 90,
            user % 8,
            user % 13
        )
        .expect("a file can be written");
    }
    file.flush().expect("a file can be written");
}
