//! The benchmark: `cargo bench`. Every figure is a ratio against a tool that runs beside it on the same
//! generated repository, because absolute times say more about the machine than about the program.
//!
//! `cargo bench -- cold` runs only what has `cold` in its name.

#![allow(clippy::print_stdout, reason = "a benchmark is there to print")]

mod audience;
mod authoring;
mod daemon;
mod drift;
mod fixture;
mod import;
mod measure;
mod page;
mod sandbox;
mod stale;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gitoggle::document::{self, LARGEST_DOCUMENT};
use gitoggle::git::{GitAccess, RepoUrl, UserConfig};
use gitoggle::model::{ServiceKind, Thresholds, Trees as _};
use gitoggle::source::{CacheMode, Error, Parents, Reader, Source, SourceConfig};
use gitoggle::transport::Network;

use fixture::{Fixture, LARGE, run};
use measure::{median, report, side_by_side};
use sandbox::Sandbox;

/// The program's own allocator, so that what is measured in this process costs what it costs there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const GITOGGLE: &str = env!("CARGO_BIN_EXE_gitoggle");
const BASE_URL: &str = "https://toggles.invalid";

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let measures = [
        ("noop pass", Bench::noop_pass as fn(&Bench)),
        ("small plan", Bench::small_plan),
        ("range plan", Bench::range_plan),
        ("cold plan", Bench::cold_plan),
        ("adopt", Bench::adopt),
        ("commits", Bench::commits),
        ("apply", Bench::apply),
        ("authoring", Bench::authoring),
    ];
    if measures.iter().any(|(name, _)| wants(name)) {
        println!("generating {} toggles and {} commits …", LARGE.total(), LARGE.commits);
        let bench =
            Bench { folder: folder.path().to_owned(), fixture: Fixture::generate(folder.path(), LARGE) };
        for (_, measure) in measures.iter().filter(|(name, _)| wants(name)) {
            measure(&bench);
        }
    }
    if wants("audience") {
        let folder = folder.path().join("audience");
        std::fs::create_dir(&folder).expect("a folder can be made");
        audience::measure(&folder);
    }
    if wants("import") {
        let folder = folder.path().join("import");
        std::fs::create_dir(&folder).expect("a folder can be made");
        import::measure(&folder);
    }
    if wants("drift") {
        let folder = folder.path().join("drift");
        std::fs::create_dir(&folder).expect("a folder can be made");
        drift::measure(&folder);
    }
    if wants("page") {
        let folder = folder.path().join("page");
        std::fs::create_dir(&folder).expect("a folder can be made");
        page::measure(&folder);
    }
    if wants("stale") {
        let folder = folder.path().join("stale");
        std::fs::create_dir(&folder).expect("a folder can be made");
        stale::measure(&folder);
    }
    if wants("daemon") {
        let folder = folder.path().join("daemon");
        std::fs::create_dir(&folder).expect("a folder can be made");
        daemon::measure(&folder);
    }
}

struct Bench {
    folder: PathBuf,
    fixture: Fixture,
}

impl Bench {
    /// A pass with nothing to do, against `git diff --name-only` over one commit.
    fn noop_pass(&self) {
        let state = self.adopted("noop", "main");
        let ours = || self.apply_command(&state, "main");
        let (ours, theirs) = side_by_side(21, ours, || self.name_only("main~1", "main"));
        report("a pass with nothing to do", ours, "git diff --name-only A B", theirs, 1.0);
    }

    /// A plan with ten changed documents, against `git diff --name-only` over the same commit.
    fn small_plan(&self) {
        let before = self.fixture.git(&["rev-parse", "main~1"]);
        let state = self.adopted("small", &before);
        let ours = || self.plan(&state, "main");
        let (ours, theirs) = side_by_side(21, ours, || self.name_only("main~1", "main"));
        report("a plan with 10 changed documents", ours, "git diff --name-only A B", theirs, 1.0);
    }

    /// The plan of a branch that changes ten documents, without any state, against `git diff` over the same
    /// commit.
    fn range_plan(&self) {
        let ours = || {
            let mut command = Command::new(GITOGGLE);
            command
                .args(["plan", "--from", "main~1", "--to", "main"])
                .args(["--repo".as_ref(), self.fixture.repo.as_os_str()]);
            command
        };
        let theirs = || {
            let mut command = Command::new("git");
            command.arg("-C").arg(&self.fixture.repo);
            command.args(["diff", "main~1", "main"]);
            command
        };
        let (ours, theirs) = side_by_side(21, ours, theirs);
        report("a plan of two revisions, 10 changed documents", ours, "git diff A B", theirs, 1.0);
    }

    /// A plan without any state: everything is read, parsed and checked.
    fn cold_plan(&self) {
        let repo = self.fixture.repo.display();
        let shell = format!(
            "git -C {repo} ls-tree -r --format='%(objectname)' HEAD | git -C {repo} cat-file --batch > /dev/null"
        );
        let theirs = || {
            let mut command = Command::new("sh");
            command.args(["-c", &shell]);
            command
        };
        let nowhere = self.folder.join("nothing-here");
        let (ours, theirs) = side_by_side(5, || self.plan(&nowhere, "main"), theirs);
        report("a cold plan", ours, "git ls-tree | git cat-file --batch", theirs, None);
        let peak = measure::peak_mib(&mut self.plan(&nowhere, "main"));
        println!("{:<44} {peak:>6} MiB peak", "");
        let mut assert = self.plan(&nowhere, "main");
        assert.args(["--first-pass", "assert"]);
        println!("{:<44} {:>6} MiB peak, every toggle a create", "", measure::peak_mib(&mut assert));
    }

    /// A first pass that records everything, against a plan that has the same to read.
    fn adopt(&self) {
        let nowhere = self.folder.join("nothing-here");
        let mut rounds = 0;
        let ours = || {
            rounds += 1;
            let state = self.folder.join(format!("state-adopt-{rounds}"));
            let mut command = self.apply_command(&state, "main");
            command.args(["--first-pass", "adopt"]);
            command
        };
        let (ours, theirs) = side_by_side(3, ours, || self.plan(&nowhere, "main"));
        report("adopting everything", ours, "a cold plan", theirs, 2.0);
    }

    /// The newest commit of 1,000 changed documents spread over 1,000 commits, against one `git log`.
    fn commits(&self) {
        let log = self.fixture.git(&["log", "--format=", "--name-only", "main~999..main"]);
        let all: BTreeSet<String> = log.lines().map(ToOwned::to_owned).collect();
        let every = (all.len() / 1_000).max(1);
        let paths: BTreeSet<String> = all.into_iter().step_by(every).take(1_000).collect();
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        // A plan has read what the documents ask for before it looks for commits.
        let meaning = |reader: &Reader, id| {
            let blob = reader.blob(id, LARGEST_DOCUMENT)?;
            let read = document::read("", &blob, ServiceKind::Documented);
            Ok::<_, Error>(read.payload)
        };
        let snapshot = self.source().snapshot().expect("the fixture is sound");
        let now = |path: &String| {
            let reader = snapshot.reader()?;
            let file = snapshot.file_at(path)?.expect("the fixture removes nothing");
            Ok((path.clone(), meaning(&reader, file)?))
        };
        let now: Result<BTreeMap<_, _>, Error> = paths.iter().map(now).collect();
        let now = now.expect("the fixture is sound");
        for _ in 0..9 {
            let started = Instant::now();
            let snapshot = self.source().snapshot().expect("the fixture is sound");
            let reader = snapshot.reader().expect("the fixture is sound");
            let is_same = |path: &str, id| Ok(meaning(&reader, id)? == now[path]);
            let found = snapshot.last_commits(&paths, is_same);
            ours.push(started.elapsed());
            assert_eq!(found.expect("the fixture is sound").len(), paths.len());
            let started = Instant::now();
            let status = Command::new("git")
                .arg("-C")
                .arg(&self.fixture.repo)
                .args(["log", "--format=%H", "--name-only", "main~999..main"])
                .stdout(Stdio::null())
                .status();
            assert!(status.expect("git is installed").success());
            theirs.push(started.elapsed());
        }
        let what = format!("the commits of {} documents", paths.len());
        report(&what, median(&mut ours), "git log --name-only A..B", median(&mut theirs), 4.0);
    }

    /// 20,000 changes to the sandbox with the lanes wide open, against `h2load` with the same concurrency.
    fn apply(&self) {
        let sandbox = Sandbox::start(&self.folder);
        let state = self.folder.join("state-apply");
        let mut command = Command::new(GITOGGLE);
        command
            .args(["apply", "--first-pass", "assert", "--only", "project-0[0-3]/**"])
            .args(["--max-in-flight", "64", "--max-in-flight-per-environment", "64"])
            .args(["--ca-file".as_ref(), sandbox.ca.as_os_str(), "--base-url".as_ref(), sandbox.url.as_ref()])
            .args(["--repo".as_ref(), self.fixture.repo.as_os_str()])
            .args(["--state-dir".as_ref(), state.as_os_str()])
            .env("GITOGGLE_TOKEN", "sandbox-token")
            .stdout(Stdio::null());
        run(&mut command);
        let (count, took) = sandbox.first_to_last();
        let ours = count as f64 / took.as_secs_f64();
        println!("apply: {count} requests in {took:.2?}, {ours:.0}/s between the first and the last PATCH");
        match sandbox.load(&self.folder, count) {
            Some(theirs) => {
                let ratio = ours / theirs;
                let verdict = if ratio >= 0.5 { "ok" } else { "UNDER" };
                println!("h2load: {theirs:.0}/s   ratio {ratio:.2} (at least 0.5)  {verdict}");
            }
            None => println!("h2load is not installed: nothing to compare with"),
        }
    }

    fn authoring(&self) {
        authoring::measure(&self.folder, &self.fixture);
    }

    fn source(&self) -> Source {
        Source::new(SourceConfig {
            location: RepoUrl::local(&self.fixture.repo),
            reference: None,
            root: String::new(),
            parents: Parents::All,
            access: GitAccess {
                network: Network::default(),
                credentials: None,
                timeout: Duration::from_secs(60),
                user_config: UserConfig::Ignored,
            },
            cache: None,
            mode: CacheMode::Untouched,
            thresholds: Thresholds::default(),
        })
    }

    /// Returns a state in which everything at `revision` is applied.
    fn adopted(&self, name: &str, revision: &str) -> PathBuf {
        let state = self.folder.join(format!("state-{name}"));
        let mut command = self.apply_command(&state, revision);
        run(command.args(["--first-pass", "adopt"]).stdout(Stdio::null()).stderr(Stdio::null()));
        // The pass after the first one remembers that there was nothing to do.
        run(self.apply_command(&state, revision).stdout(Stdio::null()).stderr(Stdio::null()));
        state
    }

    fn apply_command(&self, state: &Path, revision: &str) -> Command {
        let mut command = Command::new(GITOGGLE);
        command
            .args(["apply", "--base-url", BASE_URL, "--ref", revision])
            .args(["--repo".as_ref(), self.fixture.repo.as_os_str()])
            .args(["--state-dir".as_ref(), state.as_os_str()])
            .env("GITOGGLE_TOKEN", "never-sent");
        command
    }

    fn plan(&self, state: &Path, revision: &str) -> Command {
        let mut command = Command::new(GITOGGLE);
        command
            .args(["plan", "--ref", revision])
            .args(["--repo".as_ref(), self.fixture.repo.as_os_str()])
            .args(["--state-dir".as_ref(), state.as_os_str()]);
        command
    }

    fn name_only(&self, from: &str, to: &str) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.fixture.repo).args(["diff", "--name-only", from, to]);
        command
    }
}
