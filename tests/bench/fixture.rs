//! The generated repository that everything is measured on.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// How large the repository is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) projects: usize,
    pub(crate) environments: usize,
    pub(crate) toggles: usize,
    pub(crate) commits: usize,
    pub(crate) changes_per_commit: usize,
}

/// What the issue of speed is measured on: 100,000 toggles in 20 projects × 10 environments, 1,000 commits.
pub(crate) const LARGE: Size =
    Size { projects: 20, environments: 10, toggles: 500, commits: 1_000, changes_per_commit: 10 };

impl Size {
    pub(crate) fn total(self) -> usize {
        self.projects * self.environments * self.toggles
    }

    fn path(self, index: usize) -> String {
        let toggle = index % self.toggles;
        let environment = index / self.toggles % self.environments;
        let project = index / self.toggles / self.environments;
        format!("project-{project:02}/env-{environment:02}/toggle-{toggle:04}.yaml")
    }
}

/// A bare repository made by `git fast-import`.
pub(crate) struct Fixture {
    pub(crate) repo: PathBuf,
}

impl Fixture {
    /// Generates the repository in `folder`. The branch `main` ends after the last commit.
    pub(crate) fn generate(folder: &Path, size: Size) -> Self {
        let repo = folder.join("repo.git");
        run(Command::new("git").args(["init", "-q", "--bare", "-b", "main"]).arg(&repo));
        let mut import = Command::new("git")
            .arg("-C")
            .arg(&repo)
            .args(["fast-import", "--quiet"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("git is installed");
        let mut stream = std::io::BufWriter::new(import.stdin.take().expect("stdin is piped"));
        let mut random = Random(1);
        for commit in 0..size.commits {
            let changed: Vec<usize> = match commit {
                0 => (0..size.total()).collect(),
                _ => (0..size.changes_per_commit).map(|_| random.below(size.total())).collect(),
            };
            write_commit(
                &mut stream,
                commit,
                changed.iter().map(|index| (size.path(*index), document(*index, commit))),
            );
        }
        stream.flush().expect("fast-import reads everything");
        drop(stream);
        assert!(import.wait().expect("it was started").success());
        run(Command::new("git").arg("-C").arg(&repo).args(["repack", "-adq"]));
        Self { repo }
    }

    /// Clones the repository, and returns the path of the checkout.
    pub(crate) fn cloned(&self, folder: &Path) -> PathBuf {
        let checkout = folder.join("checkout");
        run(Command::new("git").args(["clone", "-q"]).args([&self.repo, &checkout]));
        checkout
    }

    /// Returns the output of a git command in the repository, trimmed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output =
            Command::new("git").arg("-C").arg(&self.repo).args(args).output().expect("git is installed");
        assert!(output.status.success(), "git {args:?}");
        String::from_utf8(output.stdout).expect("ids and paths are text").trim().to_owned()
    }
}

/// Returns a git command in `repo` with an identity.
pub(crate) fn as_ann(repo: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(repo).args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]);
    command
}

/// Returns the data of a sandbox: one project with toggles `t0000…`, whose targeting has these rules in each
/// of the environments `e0…`.
pub(crate) fn projects(environments: usize, toggles: usize, rules: &Value) -> Value {
    let keys: Vec<String> = (0..environments).map(|number| format!("e{number}")).collect();
    let content =
        json!({ "rules": rules, "disabledServe": { "select": 0 }, "defaultServe": { "select": 1 } });
    let publish = json!({ "comment": "c", "disabled": false, "content": content });
    let targeting: serde_json::Map<String, Value> =
        keys.iter().map(|key| (key.clone(), publish.clone())).collect();
    let toggle = |number| {
        json!({
            "key": format!("t{number:04}"),
            "returnType": "boolean",
            "variations": [{ "name": "off", "value": "false" }, { "name": "on", "value": "true" }],
            "targeting": targeting,
        })
    };
    let toggles: Vec<Value> = (0..toggles).map(toggle).collect();
    let environments: Vec<Value> = keys.iter().map(|key| json!({ "key": key })).collect();
    json!({ "projects": [{ "key": "shop", "environments": environments, "toggles": toggles }] })
}

pub(crate) fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}");
}

fn write_commit(stream: &mut impl Write, number: usize, files: impl Iterator<Item = (String, String)>) {
    let message = format!("Change number {number}");
    let time = 1_700_000_000 + number * 60;
    write!(
        stream,
        "commit refs/heads/main\ncommitter Ann <ann@example.com> {time} +0000\ndata {}\n{message}\n",
        message.len()
    )
    .expect("fast-import reads");
    for (path, content) in files {
        write!(stream, "M 100644 inline {path}\ndata {}\n{content}\n", content.len())
            .expect("fast-import reads");
    }
}

/// A document of ordinary size, different for every toggle and every commit.
fn document(index: usize, commit: usize) -> String {
    let mut text = format!(
        "# Owned by team {}\ndisabled: {}\ncontent:\n  variations:\n",
        index % 17,
        index.is_multiple_of(3)
    );
    for variation in 0..2 {
        let _ = writeln!(
            text,
            "    - {{ name: \"v{variation}\", value: \"{}\", description: \"variation {variation} of {index}\" }}",
            variation * 10 + commit
        );
    }
    text.push_str("  rules:\n");
    for rule in 0..1 + index % 4 {
        let _ = write!(
            text,
            "    - name: rule-{rule}\n      conditions:\n        - type: string\n          subject: city\n          \
             predicate: is one of\n          objects: [\"city-{index}\", \"city-{commit}\", \"Paris\"]\n        \
             - {{ type: number, subject: age, predicate: \">\", objects: [\"{}\"] }}\n      serve: {{ select: {} }}\n",
            18 + rule,
            rule % 2
        );
    }
    text.push_str("  disabledServe: { select: 0 }\n  defaultServe: { select: 1 }\n");
    text
}

/// A small generator (splitmix64): the same repository on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % limit as u64).expect("below a usize")
    }
}
