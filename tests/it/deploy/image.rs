//! The image: its files, and the program in a root folder that contains only them.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::tool::note;
use super::{invoked, port, text};

const PROGRAM: &str = env!("CARGO_BIN_EXE_gitoggle");
const USER: u32 = 65532;

/// The libraries in the runtime stage of the image.
const LIBRARIES: &[&str] = &["ld-linux", "libc.so", "libgcc_s.so", "libm.so"];

/// The instructions of the Dockerfile, each joined to one line.
fn instructions() -> Vec<String> {
    let joined = text("Dockerfile").replace("\\\n", " ");
    let lines = joined.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(str::to_owned).collect()
}

pub(super) fn arguments(instruction: &str) -> Vec<String> {
    let prefix = format!("{instruction} ");
    let lines = instructions();
    lines.iter().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).collect()
}

#[test]
fn copied_files_exist_and_are_in_the_build_context() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ignored = text("Dockerfile.dockerignore");
    let copies = arguments("COPY");
    let copied: BTreeSet<&str> = copies
        .iter()
        .filter(|line| !line.starts_with("--from"))
        .flat_map(|line| {
            let words = line.split_whitespace();
            let mut paths: Vec<&str> = words.filter(|word| !word.starts_with("--")).collect();
            paths.pop();
            paths
        })
        .collect();
    let sent: BTreeSet<&str> = ignored.lines().filter_map(|line| line.strip_prefix('!')).collect();
    assert_eq!(copied, sent);
    for path in copied {
        assert!(root.join(path).exists(), "{path}");
    }
}

#[test]
fn the_image_runs_the_daemon_as_an_unprivileged_user() {
    assert_eq!(arguments("USER"), [format!("{USER}:{USER}")]);
    assert_eq!(arguments("EXPOSE"), [port().to_string()]);
    // The first process of a container must reap what others leave behind.
    assert_eq!(arguments("ENTRYPOINT"), [r#"["tini", "-s", "--", "gitoggle"]"#]);
    assert!(arguments("RUN").iter().any(|line| line.contains(" tini ")), "the image has it");
    let command: Vec<String> = serde_json::from_str(&arguments("CMD")[0]).unwrap();
    let mut variables: Vec<(String, String)> = arguments("ENV")
        .iter()
        .flat_map(|line| line.split_whitespace())
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    for (name, value) in [("BASE_URL", "https://toggles.example"), ("TOKEN_FILE", "/run/token")] {
        variables.push((format!("GITOGGLE_{name}"), value.to_owned()));
    }
    let settings = invoked(&command, &variables, &arguments("WORKDIR")[1], None).settings;
    let state = arguments("VOLUME").remove(0);
    assert_eq!(settings.state_dir, Some(state.into()));
}

#[test]
fn base_images_are_pinned_by_digest() {
    let images = arguments("FROM");
    assert_eq!(images.len(), 2);
    for image in images {
        let (_, digest) = image.split_once("@sha256:").expect(&image);
        let digest = digest.split(' ').next().unwrap_or_default();
        assert!(digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit()), "{image}");
    }
}

/// The libraries of the program and their loader.
fn libraries() -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(PROGRAM).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let paths = text.split_whitespace().filter(|word| word.starts_with('/'));
    paths.map(PathBuf::from).collect()
}

/// Creates a root folder with the program, its libraries and the two folders that it writes to.
fn root(folder: &Path) {
    let place = |path: &Path| folder.join(path.strip_prefix("/").unwrap());
    let copy = |from: &Path, to: &Path| {
        let to = place(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    };
    copy(Path::new(PROGRAM), Path::new("/usr/local/bin/gitoggle"));
    libraries().iter().for_each(|library| copy(library, library));
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for path in super::files(&examples.join("toggles")).into_keys() {
        copy(&path, &Path::new("/").join(path.strip_prefix(&examples).unwrap()));
    }
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    for writable in ["/tmp", "/var/lib/gitoggle"] {
        let writable = place(Path::new(writable));
        std::fs::create_dir_all(&writable).unwrap();
        std::fs::set_permissions(&writable, std::fs::Permissions::from_mode(0o1777)).unwrap();
    }
}

/// A command that runs its arguments in `root` as an unprivileged user. None if the tests lack the
/// permission.
fn change_root(root: &Path) -> Option<Command> {
    let is_root = std::fs::metadata("/proc/self").ok()?.uid() == 0;
    let line: &[&str] = match is_root {
        true => &["chroot", "--userspec=65532:65532"],
        false => &["unshare", "--user", "--map-root-user", "chroot"],
    };
    let command = || {
        let mut command = Command::new(line[0]);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env_clear().env("PATH", format!("{path}:/usr/sbin:/sbin"));
        command.args(&line[1..]).arg(root).arg("/usr/local/bin/gitoggle");
        command
    };
    let probe = command().arg("--version").output().ok()?;
    let is_forbidden = String::from_utf8_lossy(&probe.stderr).contains("not permitted");
    (!is_forbidden).then(command)
}

fn run(root: &Path, args: &str) -> Option<Output> {
    let mut command = change_root(root)?;
    Some(command.args(args.split_whitespace()).output().unwrap())
}

#[test]
fn the_program_needs_no_library_that_the_image_lacks() {
    for library in libraries() {
        let name = library.file_name().unwrap().to_str().unwrap();
        assert!(LIBRARIES.iter().any(|known| name.starts_with(known)), "{name}");
    }
}

#[test]
fn the_program_runs_from_a_root_folder_with_no_other_files() {
    let folder = tempfile::tempdir().unwrap();
    root(folder.path());
    for (args, expected) in [
        ("--version", concat!("gitoggle ", env!("CARGO_PKG_VERSION"))),
        ("schema", "\"$schema\""),
        ("validate /toggles", "no findings"),
        ("demo --no-pause", "never two open for one toggle"),
    ] {
        let Some(output) = run(folder.path(), args) else {
            note("skipped: this user may not change the root folder");
            return;
        };
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args}: {printed}{errors}");
        assert!(printed.contains(expected), "{args}: {printed}{errors}");
    }
}

/// In the image, the package `ca-certificates` installs them.
#[test]
fn https_works_with_the_certificate_authorities_of_the_image() {
    let bundle = Path::new("/etc/ssl/certs/ca-certificates.crt");
    let folder = tempfile::tempdir().unwrap();
    root(folder.path());
    std::fs::create_dir(folder.path().join("repo")).unwrap();
    crate::support::Repo::new(&folder.path().join("repo")).commit_pay(18, "Add pay");
    std::fs::write(folder.path().join("tmp/token"), "api-1").unwrap();
    let args = "apply --repo /repo --base-url https://127.0.0.1:1 --token-file /tmp/token --state-dir /tmp/state \
                --first-pass assert --give-up-after 1s";
    let Some(without) = run(folder.path(), args) else {
        note("skipped: this user may not change the root folder");
        return;
    };
    let complaint = "No CA certificates";
    let printed = |output: &Output| {
        let outputs = [&output.stdout, &output.stderr];
        outputs.map(|output| String::from_utf8_lossy(output).into_owned()).concat()
    };
    assert!(printed(&without).contains(complaint), "{}", printed(&without));
    if !bundle.exists() {
        note("skipped: this machine has no certificate authorities where Debian puts them");
        return;
    }
    let inside = folder.path().join(bundle.strip_prefix("/").unwrap());
    std::fs::create_dir_all(inside.parent().unwrap()).unwrap();
    std::fs::copy(bundle, inside).unwrap();
    let with = run(folder.path(), args).unwrap();
    assert!(printed(&with).contains("refused"), "{}", printed(&with));
    assert!(!printed(&with).contains(complaint), "{}", printed(&with));
}
