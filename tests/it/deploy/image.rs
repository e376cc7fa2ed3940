//! The image: its files, and the program in a root folder that contains only them.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{document, invoked, items, port, text, words};

const PROGRAM: &str = env!("CARGO_BIN_EXE_gitoggle");
const USER: u32 = 65532;

/// The libraries in the runtime stage of the image.
const LIBRARIES: &[&str] = &["ld-linux", "libc.so", "libgcc_s.so", "libm.so"];

/// The instructions of the Dockerfile, each joined to one line.
fn instructions() -> Vec<String> {
    let joined = text("Dockerfile").replace("\\\n", " ");
    let lines = joined
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(str::to_owned).collect()
}

fn arguments(instruction: &str) -> Vec<String> {
    let prefix = format!("{instruction} ");
    let lines = instructions();
    lines
        .iter()
        .filter_map(|line| line.strip_prefix(&prefix))
        .map(str::to_owned)
        .collect()
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
            let mut paths: Vec<&str> = line.split_whitespace().collect();
            paths.pop();
            paths
        })
        .collect();
    let sent: BTreeSet<&str> = ignored
        .lines()
        .filter_map(|line| line.strip_prefix('!'))
        .collect();
    assert_eq!(copied, sent);
    for path in copied {
        assert!(root.join(path).exists(), "{path}");
    }
}

#[test]
fn the_image_runs_the_daemon_as_an_unprivileged_user() {
    assert_eq!(arguments("USER"), [format!("{USER}:{USER}")]);
    assert_eq!(arguments("EXPOSE"), [port().to_string()]);
    assert_eq!(arguments("ENTRYPOINT"), ["[\"gitoggle\"]"]);
    let command: Vec<String> = serde_json::from_str(&arguments("CMD")[0]).unwrap();
    let mut variables: Vec<(String, String)> = arguments("ENV")
        .iter()
        .flat_map(|line| line.split_whitespace())
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    for (name, value) in [
        ("BASE_URL", "https://toggles.example"),
        ("TOKEN_FILE", "/run/token"),
    ] {
        variables.push((format!("GITOGGLE_{name}"), value.to_owned()));
    }
    let settings = invoked(&command, &variables, &arguments("WORKDIR")[1], None).settings;
    let state = arguments("VOLUME").remove(0);
    assert_eq!(settings.state_dir, Some(state.into()));
}

#[test]
fn the_health_check_passes_for_a_running_daemon_and_fails_for_a_stuck_one() {
    let check = arguments("HEALTHCHECK").remove(0);
    let (_, command) = check.split_once("CMD ").unwrap();
    let command: Vec<String> = serde_json::from_str(command).unwrap();
    for (answer, is_healthy) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", true),
        (
            "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n",
            false,
        ),
        ("", false),
    ] {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let served = std::thread::spawn(move || {
            let (client, _) = server.accept().unwrap();
            let lines = BufReader::new(&client).lines().map(Result::unwrap);
            let request: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            (&client).write_all(answer.as_bytes()).unwrap();
            request
        });
        let script = command[2].replace(&port().to_string(), &address.port().to_string());
        let status = Command::new(&command[0]).arg(&command[1]).arg(script).status();
        assert_eq!(status.unwrap().success(), is_healthy, "{answer}");
        let request = served.join().unwrap();
        assert_eq!(request[0], "GET /healthz HTTP/1.1");
    }
}

#[test]
fn compose_runs_the_daemon_with_the_sandbox() {
    let compose = document("compose.yaml");
    let services = &compose["services"];
    for (name, service) in services.as_object().unwrap() {
        let variables: Vec<(String, String)> = service["environment"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), super::word(value).to_owned()))
            .collect();
        invoked(
            &words(&service["command"]),
            &with_state(variables),
            "/var/lib/gitoggle",
            None,
        );
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(words(&service["cap_drop"]), ["ALL"], "{name}");
        for volume in words(&service["volumes"]) {
            let source = volume.split(':').next().unwrap();
            assert!(
                source.starts_with("${") || !compose["volumes"][source].is_null(),
                "{volume}"
            );
        }
    }
    let given = |service: &str, name: &str| services[service]["environment"][name].clone();
    assert_eq!(
        given("gitoggle", "GITOGGLE_TOKEN"),
        given("sandbox", "GITOGGLE_SANDBOX_TOKEN")
    );
    assert_eq!(services["gitoggle"]["stop_grace_period"], "30s");
    let waits = &services["gitoggle"]["depends_on"]["sandbox"]["condition"];
    assert_eq!(waits, "service_healthy", "the certificate has to be there first");
    let ports = words(&services["sandbox"]["ports"]);
    assert!(
        ports.iter().all(|port| port.starts_with("127.0.0.1:")),
        "{ports:?}"
    );
    assert!(items(&services["sandbox"]["healthcheck"]["test"]).count() > 1);
}

/// The variables of the image, overridden by those of a service.
fn with_state(mut variables: Vec<(String, String)>) -> Vec<(String, String)> {
    variables.push(("GITOGGLE_STATE_DIR".to_owned(), "/var/lib/gitoggle".to_owned()));
    variables
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

/// A command that runs its arguments in `root` as an unprivileged user. None if the tests lack the permission.
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
            skipped("this user may not change the root folder");
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
    let args =
        "plan --repo https://127.0.0.1:1/a.git --base-url https://toggles.example --state-dir /tmp/state";
    let Some(without) = run(folder.path(), args) else {
        skipped("this user may not change the root folder");
        return;
    };
    let complaint = "No CA certificates";
    let printed = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(printed(&without).contains(complaint), "{}", printed(&without));
    if !bundle.exists() {
        skipped("this machine has no certificate authorities where Debian puts them");
        return;
    }
    let inside = folder.path().join(bundle.strip_prefix("/").unwrap());
    std::fs::create_dir_all(inside.parent().unwrap()).unwrap();
    std::fs::copy(bundle, inside).unwrap();
    let with = run(folder.path(), args).unwrap();
    assert!(printed(&with).contains("refused"), "{}", printed(&with));
    assert!(!printed(&with).contains(complaint), "{}", printed(&with));
}

#[expect(
    clippy::print_stderr,
    reason = "who runs the tests should know what was not tested"
)]
fn skipped(reason: &str) {
    eprintln!("skipped: {reason}");
}
