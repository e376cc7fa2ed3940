//! Compiles and runs the build script in separate folders, and checks the commit that it reports.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::support::World;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/build.rs");

/// A folder with the files of a package and perhaps a repository.
struct Package {
    folder: tempfile::TempDir,
    variables: Vec<(&'static str, &'static str)>,
}

impl Package {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("src/lib.rs"), "").unwrap();
        std::fs::write(folder.path().join("Cargo.toml"), "").unwrap();
        let variables = vec![("PROFILE", "release"), ("TARGET", "a-target")];
        Self { folder, variables }
    }

    /// Commits everything in `folder` on a fixed day.
    fn committed(self, folder: &str) -> Self {
        for line in ["init -q -b main", "add .", "-c user.name=a -c user.email=a@b commit -qm first"] {
            let mut git = Command::new("git");
            git.args(line.split(' ')).current_dir(self.path(folder));
            git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_COMMITTER_DATE", "2026-11-22T12:00:00Z");
            assert!(git.status().unwrap().success(), "{line}");
        }
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    fn head(&self) -> String {
        let mut git = Command::new("git");
        let output = git.args(["rev-parse", "HEAD"]).current_dir(&self.folder).output();
        String::from_utf8(output.unwrap().stdout).unwrap()[..10].to_owned()
    }

    /// Runs the build script in `folder` and returns the lines for cargo.
    fn built(&self, folder: &str) -> Vec<String> {
        let mut script = Command::new(script());
        script.current_dir(self.path(folder)).env_clear();
        script.env("PATH", std::env::var("PATH").unwrap());
        script.envs(self.variables.iter().copied());
        let output = script.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Returns what the script says about the program.
    fn shown(&self, folder: &str) -> String {
        let lines = self.built(folder).into_iter();
        let mut shown = lines.filter_map(|line| Some(line.split_once("BUILD_TEXT=")?.1.to_owned()));
        shown.next().unwrap()
    }
}

/// Compiles the script once.
fn script() -> &'static Path {
    static COMPILED: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, program) = COMPILED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("script");
        let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
        let mut compiler = Command::new(compiler);
        compiler.args(["--edition", "2024", "--cap-lints", "allow", SCRIPT, "-o"]).arg(&program);
        assert!(compiler.status().unwrap().success());
        (folder, program)
    });
    program
}

#[test]
fn the_commit_its_day_and_the_target_are_named() {
    let package = Package::new().committed("");
    assert_eq!(package.shown(""), format!("({} 2026-11-22, a-target)", package.head()));
}

#[test]
fn no_variable_of_the_build_is_a_setting() {
    // `cargo run` passes them to the program, which warns about an unknown setting.
    let lines = Package::new().committed("").built("");
    let names: Vec<_> = lines.iter().filter_map(|line| line.strip_prefix("cargo::rustc-env=")).collect();
    assert_eq!(names.len(), 4, "{lines:?}");
    assert!(!names.iter().any(|name| name.starts_with("GITOGGLE_")), "{names:?}");
}

#[test]
fn changed_sources_are_marked() {
    let package = Package::new().committed("").file("src/lib.rs", "//! Changed.");
    let head = package.head();
    assert_eq!(package.shown(""), format!("({head}-dirty 2026-11-22, a-target)"));
    let package = Package::new().file("notes", "1").committed("").file("notes", "2");
    let head = package.head();
    assert_eq!(package.shown(""), format!("({head} 2026-11-22, a-target)"));
}

#[test]
fn an_archive_names_no_commit_even_inside_another_repository() {
    assert_eq!(Package::new().shown(""), "(a-target)");
    assert_eq!(Package::new().committed("").shown("src"), "(a-target)");
}

#[test]
fn a_published_crate_names_its_commit() {
    let info = |more: &str| {
        format!(
            "{{\n  \"git\": {{\n    \"sha1\": \"73a34cc0123456789abcdef0123456789abcdef0\"{more}\n  }}\n}}"
        )
    };
    for (more, shown) in
        [("", "(73a34cc012, a-target)"), (",\n    \"dirty\": true", "(73a34cc012-dirty, a-target)")]
    {
        let package = Package::new().file(".cargo_vcs_info.json", &info(more));
        assert_eq!(package.shown(""), shown);
    }
}

#[test]
fn the_variable_names_the_commit_of_a_build_without_a_repository() {
    for (value, shown) in [
        ("73a34cc0123456789abcdef0123456789abcdef0 2026-11-22", "(73a34cc012 2026-11-22, a-target)"),
        ("73a34cc\n", "(73a34cc, a-target)"),
        (" ", "(a-target)"),
    ] {
        let package = Package::new().variable("GITOGGLE_BUILD_COMMIT", value);
        assert_eq!(package.shown(""), shown, "{value}");
    }
    for value in ["main", "73a34", "73a34cc yesterday", "73a34cc 2026-11-22 b"] {
        let package = Package::new().variable("GITOGGLE_BUILD_COMMIT", value);
        let lines = package.built("");
        assert!(
            lines.iter().any(|line| line.starts_with("cargo::error=GITOGGLE_BUILD_COMMIT is not")),
            "{value}: {lines:?}"
        );
    }
}

#[test]
fn a_release_build_is_repeated_if_head_moves() {
    let watched = |package: &Package| -> Vec<String> {
        let lines = package.built("").into_iter();
        let paths = lines.filter_map(|line| Some(line.strip_prefix("cargo::rerun-if-changed=")?.to_owned()));
        paths.filter(|path| path.starts_with(".git")).collect()
    };
    let package = Package::new().committed("");
    assert_eq!(watched(&package), [".git/HEAD", ".git/logs/HEAD"]);
    std::fs::remove_dir_all(package.path(".git/logs")).unwrap();
    assert_eq!(watched(&package), [".git/HEAD", ".git/refs/heads/main"]);
    let package = package.variable("PROFILE", "debug");
    assert!(watched(&package).is_empty());
}

#[test]
fn the_program_prints_its_version_commit_and_target() {
    let world = World::new();
    let build = gitoggle::model::BUILD;
    let printed = format!("gitoggle {}\n", build.text);
    for flag in ["--version", "-V"] {
        world.bare(flag).exit(0).stderr("").stdout(&printed);
    }
    let (version, rest) = build.text.split_once(" (").unwrap();
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    assert!(rest.ends_with(&format!("{})", build.target)), "{rest}");
    assert!(rest.starts_with(build.commit.unwrap_or_default()), "{rest}");
}
