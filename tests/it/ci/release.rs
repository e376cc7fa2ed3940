//! The scripts that pack a release and decide whether it is consistent.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use gitoggle::cli::args;

use super::mirror::{VERSION, built, program};
use super::{Job, here, read, yaml};

/// Packs a program, and returns the archive's path.
fn package(source: &Path, folder: &Path) -> Job {
    let mut package = Command::new(here(".ci/package"));
    package.arg(source).arg("x86_64-unknown-linux-gnu").arg(folder);
    Job::of(package.env("SOURCE_DATE_EPOCH", "1700000000"))
}

/// Copies the files that the scripts read or change.
fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    let mut copy = Command::new("cp");
    copy.args(["-R", "--parents", ".ci", ".github/CHANGELOG.md", "Cargo.toml", "README.md", "deploy"]);
    copy.arg(tree.path()).current_dir(here(""));
    Job::of(&mut copy).exits(0, &[]);
    let changelog = "# Changelog\n\n## Unreleased\n\n- Later.\n\n## VERSION - 2026-11-22\n\n### Added\n\n- A `thing`.\n\n## 0.0.1\n\n- Older.\n";
    let changelog = changelog.replace("VERSION", VERSION);
    std::fs::write(tree.path().join(".github/CHANGELOG.md"), changelog).unwrap();
    tree
}

fn script(tree: &Path, name: &str, typed: &[&str]) -> Job {
    Job::of(Command::new(tree.join(name)).args(typed))
}

/// Replaces the first occurrence of `old` in a file.
fn replace(tree: &Path, path: &str, old: &str, new: &str) {
    let text = std::fs::read_to_string(tree.join(path)).unwrap();
    assert!(text.contains(old), "{path}: {old}");
    std::fs::write(tree.join(path), text.replacen(old, new, 1)).unwrap();
}

/// An archive of a release, and the folder that it is in.
struct Archive {
    folder: tempfile::TempDir,
    name: String,
    path: PathBuf,
}

impl Archive {
    fn packed() -> Self {
        let folder = tempfile::tempdir().unwrap();
        built(&folder.path().join("program"));
        let name = format!("gitoggle-{VERSION}-x86_64-unknown-linux-gnu");
        let path = folder.path().join(format!("dist/{name}.tar.gz"));
        let archive = Self { folder, name, path };
        assert_eq!(archive.package().text, format!("{}\n", archive.path.display()));
        archive
    }

    fn package(&self) -> Job {
        package(&self.folder.path().join("program"), &self.folder.path().join("dist"))
    }

    /// Returns the paths of the files and folders, which belong to root and have the expected modes.
    fn files(&self) -> BTreeSet<String> {
        let listed = Job::of(Command::new("tar").arg("-tzvf").arg(&self.path)).text;
        let mut files = BTreeSet::new();
        for line in listed.lines() {
            let [mode, owner, .., path] = line.split_whitespace().collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            assert_eq!(owner, "0/0", "{line}");
            let path = path.strip_prefix(&self.name).unwrap();
            let expected = match path {
                "/gitoggle" => "-rwxr-xr-x",
                folder if folder.ends_with('/') => "drwxr-xr-x",
                _ => "-rw-r--r--",
            };
            assert_eq!(mode, expected, "{line}");
            files.insert(path.to_owned());
        }
        files
    }

    fn unpacked(&self, path: &str) -> String {
        let mut tar = Command::new("tar");
        let output = tar.arg("-xzOf").arg(&self.path).arg(format!("{}/{path}", self.name)).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }
}

#[test]
fn an_archive_has_the_program_its_completions_and_its_manual() {
    let archive = Archive::packed();
    let (pages, files): (BTreeSet<String>, _) =
        archive.files().into_iter().partition(|path| path.starts_with("/man/"));
    let commands = args::program();
    let commands =
        commands.get_subcommands().map(|command| format!("/man/gitoggle-{}.1", command.get_name()));
    let expected = ["/man/", "/man/gitoggle.1"].map(str::to_owned);
    assert_eq!(pages, commands.chain(expected).collect());
    let expected = [
        "/",
        "/CHANGELOG.md",
        "/LICENSE-APACHE",
        "/LICENSE-MIT",
        "/README.md",
        "/completions/",
        "/completions/_gitoggle",
        "/completions/gitoggle.bash",
        "/completions/gitoggle.fish",
        "/gitoggle",
    ];
    assert_eq!(files, expected.map(str::to_owned).into());
    let unpacked = |path| archive.unpacked(path);
    assert!(unpacked("completions/gitoggle.bash").contains("complete -F"));
    assert!(unpacked("completions/gitoggle.fish").contains("complete -c gitoggle"));
    assert!(unpacked("completions/_gitoggle").starts_with("#compdef gitoggle"));
    assert!(unpacked("man/gitoggle.1").contains(".TH GITOGGLE 1"));
}

#[test]
fn the_same_input_is_packed_as_the_same_bytes() {
    let archive = Archive::packed();
    let bytes = std::fs::read(&archive.path).unwrap();
    archive.package().exits(0, &[]);
    assert_eq!(bytes, std::fs::read(&archive.path).unwrap());
}

#[test]
fn a_program_of_another_version_is_not_packed() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("program");
    program(&source, "echo gitoggle 9.9.9");
    let named = format!("is `gitoggle 9.9.9`, but Cargo.toml has version {VERSION}");
    package(&source, &folder.path().join("dist")).exits(1, &[&named]);
    assert!(!folder.path().join("dist").exists());
    Job::of(&mut Command::new(here(".ci/package"))).exits(64, &["usage: .ci/package"]);
}

#[test]
fn a_consistent_tag_gets_its_section_of_the_changelog() {
    let tree = tree();
    let tag = format!("v{VERSION}");
    script(tree.path(), ".ci/address", &["Shop/toggle-tool"]).exits(0, &["changed deploy/ci/github.yaml"]);
    let notes = script(tree.path(), ".ci/release", &[&tag, "Shop/toggle-tool"]);
    assert_eq!((notes.code, notes.text.trim()), (0, "### Added\n\n- A `thing`."));
    let written = |path: &str| std::fs::read_to_string(tree.path().join(path)).unwrap();
    let workflow = written("deploy/ci/github.yaml");
    let own: Vec<&str> =
        workflow.lines().filter(|line| line.contains("uses: Shop/toggle-tool/deploy/ci@")).collect();
    assert!(own.len() == 4 && own.iter().all(|line| line.ends_with(&format!(" # {tag}"))), "{own:?}");
    assert!(
        written("deploy/ci/install.sh")
            .contains("from=https://github.com/Shop/toggle-tool/releases/download\n")
    );
    // The names of images are in lower case.
    let values = written("deploy/helm/gitoggle/values.yaml");
    assert!(values.contains("ghcr.io/shop/toggle-tool"), "{values}");
    assert!(!tree.path().join("deploy/ci/install.sh.old").exists());
}

#[test]
fn an_inconsistent_tag_is_refused_with_all_reasons() {
    let tag = format!("v{VERSION}");
    let refused = |change: &dyn Fn(&Path), tag: &str, parts: &[&str]| {
        let tree = tree();
        script(tree.path(), ".ci/address", &["shop/tool"]).exits(0, &[]);
        change(tree.path());
        script(tree.path(), ".ci/release", &[tag, "shop/tool"]).exits(1, parts);
    };
    let chart = "deploy/helm/gitoggle/Chart.yaml";
    refused(
        &|_| {},
        "v9.9.9",
        &[
            &format!("version in Cargo.toml is {VERSION}, but the tag is v9.9.9"),
            &format!("version in {chart} is {VERSION}, but"),
            &format!("appVersion in {chart} is {VERSION}, but"),
            "CHANGELOG.md has no section `## 9.9.9`",
        ],
    );
    refused(&|_| {}, VERSION, &[&format!("but the tag is {VERSION}\n")]);
    let app = |tree: &Path| replace(tree, chart, "appVersion: ", "appVersion: 1");
    refused(&app, &tag, &["appVersion in"]);
    let cargo = |tree: &Path| replace(tree, "Cargo.toml", "version = \"", "version = \"1");
    refused(&cargo, &tag, &["version in Cargo.toml is 1"]);
    let log = ".github/CHANGELOG.md";
    let empty = |tree: &Path| replace(tree, log, "### Added\n\n- A `thing`.\n", "");
    refused(&empty, &tag, &["has no section"]);
    let address = |tree: &Path| replace(tree, "README.md", "# gitoggle", "# acme/gitoggle");
    refused(&address, &tag, &["run `.ci/address shop/tool` and commit", "README.md"]);
    let usage =
        |name: &str, typed: &[&str]| Job::of(Command::new(here(name)).args(typed)).exits(64, &["usage: "]);
    usage(".ci/release", &[&tag]);
    usage(".ci/address", &[]);
    usage(".ci/address", &["no-owner"]);
    usage(".ci/address", &["a/b|c"]);
}

#[test]
fn every_file_names_the_same_versions() {
    let chart = yaml("deploy/helm/gitoggle/Chart.yaml");
    assert_eq!((&chart["version"], &chart["appVersion"]), (&VERSION.into(), &VERSION.into()));
    let dockerfile = read("deploy/Dockerfile");
    let rust = dockerfile.split_once("rust:").unwrap().1.split('-').next().unwrap();
    for path in [".github/workflows/ci.yaml", ".github/workflows/release.yaml"] {
        let text = read(path);
        for begin in ["container: rust:", "rustup default ", "rustup toolchain install "] {
            for (_, rest) in text.split('\n').filter_map(|line| line.split_once(begin)) {
                // The oldest supported version comes from Cargo.toml.
                let found = rest.split([' ', '-']).next().unwrap();
                assert!(found == rust || found == "\"$version\"", "{path}: {rest}");
            }
        }
    }
}

#[test]
fn the_image_of_a_release_sets_what_the_dockerfile_declares() {
    let workflow = yaml(".github/workflows/release.yaml");
    let steps = workflow["jobs"]["image-platform"]["steps"].as_array().unwrap().clone();
    let build = steps.iter().find(|step| step["id"] == "build").unwrap();
    assert_eq!(build["with"]["file"], "deploy/Dockerfile");
    let dockerfile = read("deploy/Dockerfile");
    let declared: BTreeSet<&str> =
        dockerfile.lines().filter_map(|line| line.strip_prefix("ARG ")?.split('=').next()).collect();
    let arguments = build["with"]["build-args"].as_str().unwrap();
    let set = arguments.lines().filter_map(|line| line.split('=').next());
    assert_eq!(set.collect::<BTreeSet<_>>(), declared);
}
