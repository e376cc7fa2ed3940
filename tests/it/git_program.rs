//! The `git` program, which does the network: what it is given, what it may execute, and when it ends.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::command::Running;
use crate::support::files;
use crate::support::git_host::{self, Door};
use crate::support::{Answer, Daemon, Gitoggle, Remote, Repo, Request, Sshd, TOKEN, World, body, eventually};

/// The header value of `ada:pw-5678`.
const ADA: &str = "Basic YWRhOnB3LTU2Nzg=";

fn is_push(request: &Request) -> bool {
    request.method == "POST" && request.path.ends_with("/git-receive-pack")
}

/// Returns a folder in which `git` is this script, and nothing else.
fn with_git(world: &World, name: &str, script: Option<&str>) -> String {
    std::fs::create_dir(world.path(name)).unwrap();
    if let Some(script) = script {
        world.write_program(&format!("{name}/git"), script);
    }
    world.path(name).display().to_string()
}

#[test]
fn without_a_new_enough_git_a_url_is_an_error_that_names_the_version_and_local_work_goes_on() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let none = with_git(&world, "none", None);
    let old = with_git(&world, "old", Some("#!/bin/sh\necho git version 2.30.9\n"));
    for (path, said) in [(&none, "could not run `git`"), (&old, "`git` is version 2.30.9")] {
        for run in [world.apply().set("first-pass", "assert"), world.plan()] {
            run.set("repo", "https://git.nowhere.invalid/toggles.git").env("PATH", path).exit(1).says(&[
                said,
                "2.31 or later",
                "install a newer Git",
            ]);
        }
        let daemon = Daemon::start(&world, |run| {
            run.set("repo", "https://git.nowhere.invalid/toggles.git")
                .set("state-dir", world.path("daemon"))
                .env("PATH", path)
        });
        daemon.is_unready_for(&["2.31 or later"]);
        daemon.stops_cleanly();
        std::fs::remove_dir_all(world.path("daemon")).unwrap();
    }
    world.apply().set("first-pass", "assert").env("PATH", &none).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
    world.status().env("PATH", &none).exit(0).any_output();
}

#[test]
fn a_git_that_ends_without_a_word_is_reported_with_its_end() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let fails =
        |ends: &str| format!("#!/bin/sh\ncase $1 in version) echo git version 2.40.0;; *) {ends};; esac\n");
    for (name, script, said) in [
        ("exits", fails("exit 3"), "`git` exited with 3, and said nothing"),
        ("killed", fails("kill -9 $$"), "a signal ended `git`"),
        ("broken", "#!/bin/sh\nexit 5\n".to_owned(), "`git version` ended with exit status: 5"),
    ] {
        let path = with_git(&world, name, Some(&script));
        let run = world.plan().set("repo", "https://git.nowhere.invalid/toggles.git").env("PATH", path);
        run.exit(1).says(&[said]).never_says(&["`git` is version ,"]);
    }
}

/// Returns the arguments and the variables of the processes that descend from `id`, and how many there are.
fn descendants(id: u32) -> (usize, String) {
    let mut known = vec![id.to_string()];
    let mut text = String::new();
    for _ in 0..8 {
        for process in std::fs::read_dir("/proc").unwrap().flatten() {
            let name = process.file_name().to_string_lossy().into_owned();
            let read = |file: &str| std::fs::read(process.path().join(file)).unwrap_or_default();
            let stat = String::from_utf8_lossy(&read("stat")).into_owned();
            let parent = stat
                .rsplit(") ")
                .next()
                .and_then(|rest| rest.split(' ').nth(1))
                .unwrap_or_default()
                .to_owned();
            if known.contains(&parent) && !known.contains(&name) {
                for file in ["cmdline", "environ"] {
                    text.push_str(&String::from_utf8_lossy(&read(file)).replace('\0', "\n"));
                }
                known.push(name);
            }
        }
    }
    (known.len() - 1, text)
}

/// A world in which the state's host hangs at each push.
fn hanging_host() -> Remote {
    let remote = Remote::new(Door::Guarded(ADA.to_owned()));
    let root = remote.world.path("hosted");
    Repo::bare(&root.join("state.git"));
    remote.host.always(move |request| {
        if is_push(request) {
            return Answer::stores_and_hangs();
        }
        git_host::answer(&root, &Door::Guarded(ADA.to_owned()), request)
    });
    remote
}

/// Makes a run publish with the state on that host.
fn pushing(remote: &Remote, run: Gitoggle) -> Gitoggle {
    run.set("repo", remote.url())
        .set("state-remote", format!("{}/state.git", remote.host.url()))
        .set("first-pass", "assert")
        .set("git-username", "ada")
        .env("GITOGGLE_GIT_PASSWORD", "pw-5678")
}

fn wait_for_push(remote: &Remote) {
    eventually("a push", || remote.host.requests().iter().any(is_push).then_some(()));
}

/// Sends `signal` to a job while `git` hangs, and asserts that both end, and that no process of `git` shows a
/// secret.
fn is_ended_by(signal: &str, mut job: Running) {
    let (count, shown) = descendants(job.id());
    assert!(count >= 2 && shown.contains("git"), "{count} {shown}");
    for secret in ["pw-5678", "YWRhOnB3LTU2Nzg=", TOKEN, "GITOGGLE_"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
    let children = running_git(job.id());
    let began = Instant::now();
    let sent = std::process::Command::new("kill").args([signal, &job.id().to_string()]).status();
    assert!(sent.unwrap().success());
    while !job.has_ended() {
        assert!(began.elapsed() < Duration::from_secs(25), "{signal}");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(job.wait(), Some(1), "{signal}");
    eventually("the children to end", || children.iter().all(|id| !is_git(*id)).then_some(()));
}

#[test]
fn a_hanging_push_shows_no_secret_and_a_signal_ends_it_with_its_children() {
    for signal in ["-TERM", "-INT"] {
        let remote = hanging_host();
        let job = pushing(&remote, remote.world.apply()).start();
        wait_for_push(&remote);
        is_ended_by(signal, job);
        remote.world.nothing_sent();
    }
}

#[test]
fn a_daemon_whose_push_hangs_ends_with_its_children_within_the_grace_period() {
    let remote = hanging_host();
    let daemon = Daemon::start(&remote.world, |run| pushing(&remote, run));
    wait_for_push(&remote);
    let children = running_git(daemon.id());
    assert!(children.len() >= 2, "{children:?}");
    let began = Instant::now();
    daemon.stops_cleanly();
    assert!(began.elapsed() < Duration::from_secs(26), "{:?}", began.elapsed());
    eventually("the children to end", || children.iter().all(|id| !is_git(*id)).then_some(()));
    remote.world.nothing_sent();
}

fn a_push_that_hangs_over_ssh_is_ended_by(signal: &str) {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let state = Repo::bare(&world.path("state.git"));
    let Some(server) = Sshd::hanging(world.path("sshd")) else {
        return;
    };
    let job = world.apply().set("state-remote", server.url(state.path())).set("first-pass", "assert");
    let job = job.env("GIT_SSH_COMMAND", server.command()).start();
    eventually("a push", || world.path("sshd/pushed").exists().then_some(()));
    let (_, shown) = descendants(job.id());
    assert!(shown.contains("git-receive-pack") && shown.contains("BatchMode=yes"), "{shown}");
    is_ended_by(signal, job);
    world.nothing_sent();
}

#[test]
fn a_push_that_hangs_over_ssh_is_ended_with_its_children_by_sigterm() {
    a_push_that_hangs_over_ssh_is_ended_by("-TERM");
}

#[test]
fn a_push_that_hangs_over_ssh_is_ended_with_its_children_by_ctrl_c() {
    a_push_that_hangs_over_ssh_is_ended_by("-INT");
}

#[test]
fn a_lookup_that_hangs_over_ssh_is_ended_with_its_children_at_once() {
    // Accepts connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ssh://{}/toggles.git", silent.local_addr().unwrap());
    for signal in ["-TERM", "-INT"] {
        let world = World::new();
        let job = world.apply().set("repo", &url).env("GIT_SSH_COMMAND", "ssh -F none").start();
        let connection = silent.accept().unwrap();
        let began = Instant::now();
        is_ended_by(signal, job);
        assert!(
            began.elapsed() < Duration::from_secs(8),
            "before ssh itself gives up: {:?}",
            began.elapsed()
        );
        drop(connection);
    }
    let world = World::new();
    let daemon = Daemon::start(&world, |run| run.set("repo", &url).env("GIT_SSH_COMMAND", "ssh -F none"));
    let connection = silent.accept().unwrap();
    let children = running_git(daemon.id());
    assert!(children.len() >= 2, "{children:?}");
    daemon.stops_cleanly();
    eventually("the children to end", || children.iter().all(|id| !is_git(*id)).then_some(()));
    drop(connection);
}

fn is_git(id: u32) -> bool {
    let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains("git")
}

/// Returns the processes of `git` in the process groups of the children of `id`.
fn running_git(id: u32) -> Vec<u32> {
    let listed = std::process::Command::new("ps").args(["-e", "-o", "pid=,ppid=,pgid="]).output().unwrap();
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let rows: Vec<Vec<u32>> = text
        .lines()
        .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
        .collect();
    let groups: Vec<u32> = rows.iter().filter(|row| row[1] == id).map(|row| row[2]).collect();
    rows.iter().filter(|row| groups.contains(&row[2])).map(|row| row[0]).collect()
}

#[test]
fn a_second_signal_leaves_no_process_of_git() {
    let remote = hanging_host();
    let job = pushing(&remote, remote.world.apply()).start();
    wait_for_push(&remote);
    let children = running_git(job.id());
    assert!(children.len() >= 2, "{children:?}");
    job.terminate();
    std::thread::sleep(Duration::from_millis(300));
    job.terminate();
    assert_eq!(job.wait(), Some(143));
    eventually("the children to end", || children.iter().all(|id| !is_git(*id)).then_some(()));
}

#[test]
fn a_plan_that_is_interrupted_leaves_no_process_of_git() {
    let remote = Remote::new(Door::Open);
    remote.host_answers(|_| Some(Answer::hangs()));
    let plan = remote.plan().start();
    remote.host.wait_for(1);
    let children = running_git(plan.id());
    assert!(!children.is_empty());
    plan.terminate();
    assert_eq!(plan.wait(), Some(143));
    eventually("the children to end", || children.iter().all(|id| !is_git(*id)).then_some(()));
}

/// Makes whatever a repository can configure to be executed write the file `marker`.
fn arm(repository: &Repo, git_folder: &Path, marker: &Path) {
    let program = git_folder.join("program");
    files::program(&program, &format!("#!/bin/sh\necho \"$0 $*\" >> {}\nexit 1\n", marker.display()));
    std::fs::create_dir_all(git_folder.join("hooks")).unwrap();
    for hook in [
        "pre-push",
        "pre-receive",
        "update",
        "post-receive",
        "post-update",
        "reference-transaction",
        "proc-receive",
        "push-to-checkout",
        "post-checkout",
        "fsmonitor-watchman",
    ] {
        std::fs::copy(&program, git_folder.join("hooks").join(hook)).unwrap();
    }
    let program = program.display().to_string();
    std::fs::write(git_folder.join("included"), format!("[core]\n\tsshCommand = {program}\n")).unwrap();
    for (key, value) in [
        ("core.alternateRefsCommand", program.as_str()),
        ("core.fsmonitor", &program),
        ("core.sshCommand", &program),
        ("core.askPass", &program),
        ("credential.helper", &program),
        // A push of any size would start a garbage collection.
        ("gc.auto", "1"),
        ("gc.recentObjectsHook", &program),
        ("uploadpack.packObjectsHook", &program),
        ("include.path", "included"),
        ("protocol.ext.allow", "always"),
        ("remote.origin.uploadpack", &program),
        ("remote.origin.receivepack", &program),
    ] {
        repository.git(&["config", key, value]);
    }
}

#[test]
fn the_configuration_of_a_repository_executes_nothing() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let marker = world.path("marker");
    let state = Repo::bare(&world.path("state-remote.git"));
    arm(&state, state.path(), &marker);
    world.repo.git(&["remote", "add", "origin", &state.path().display().to_string()]);
    arm(&world.repo, &world.repo.path().join(".git"), &marker);
    for disk in ["one", "two"] {
        world
            .apply()
            .set("state-remote", "origin")
            .set("state-dir", world.path(disk))
            .set("first-pass", "assert")
            .exit(0)
            .any_output();
    }
    world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
    let executed = std::fs::read_to_string(&marker).unwrap_or_default();
    assert_eq!(executed, "");
    let log = state.path().join("gc.log");
    assert!(!log.exists() && state.git(&["count-objects"]) != "0 objects, 0 kilobytes", "no collection");
    // A rewritten address is refused, too.
    world
        .apply()
        .set("repo", "https://git.example.com/toggles.git")
        .set("state-dir", world.path("three"))
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "url.ext::touch.insteadOf")
        .env("GIT_CONFIG_VALUE_0", "https://git.example.com")
        .exit(1)
        .says(&["transport 'ext' not allowed"]);
}

#[test]
fn a_look_at_a_remote_with_20_000_pull_requests_costs_3_kb() {
    let remote = Remote::settled(Door::Open);
    let hosted = remote.world.path("hosted/toggles.git");
    let id = remote.world.repo.head();
    let refs: String = (0..20_000).map(|number| format!("{id} refs/pull/{number}/head\n")).collect();
    let main = Repo::at(&hosted).id("refs/heads/main");
    std::fs::write(hosted.join("packed-refs"), format!("{main} refs/heads/main\n{refs}")).unwrap();
    let received = Arc::new(AtomicUsize::new(0));
    let (root, counted) = (remote.world.path("hosted"), Arc::clone(&received));
    remote.host.always(move |request| {
        let answer = git_host::answer(&root, &Door::Open, request);
        counted.fetch_add(answer.length(), Ordering::SeqCst);
        answer
    });
    remote.apply().exit(0).any_output();
    assert_eq!(remote.host.take().len(), 2);
    let received = received.load(Ordering::SeqCst);
    assert!((1..=3_000).contains(&received), "{received} bytes");
}

#[test]
fn a_daemon_reads_no_configuration_of_the_user_unless_a_variable_names_it() {
    let remote = Remote::settled(Door::Open);
    let config = format!("[url \"{}/\"]\n\tinsteadOf = https://git.example.invalid/\n", remote.host.url());
    remote.world.write("home/.gitconfig", &config);
    let url = "https://git.example.invalid/toggles.git";
    remote.world.apply().set("repo", url).exit(0).any_output();
    let daemon = Daemon::start(&remote.world, |run| run.set("repo", url));
    daemon.is_unready_for(&["git.example.invalid"]);
    daemon.stops_cleanly();
    let daemon = Daemon::ready(&remote.world, |run| {
        run.set("repo", url)
            .env("GIT_CONFIG_GLOBAL", remote.world.path("home/.gitconfig").display().to_string())
    });
    daemon.stops_cleanly();
    remote.world.nothing_sent();
}

#[test]
fn a_daemon_needs_no_home_folder() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote
        .daemon(|run| run.set("poll-interval", "200ms").without_env("HOME").without_env("XDG_STATE_HOME"));
    remote.push(21, "Ask for 21 years");
    eventually("a pass", || (remote.world.service.count() > 0).then_some(()));
    remote.world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
    daemon.stops_cleanly();
}

#[test]
fn a_missing_repository_behind_a_401_is_reported_with_a_hint_about_the_address() {
    let remote = Remote::new(Door::Guarded("Basic nobody".to_owned()));
    remote.apply().exit(1).says(&["requires credentials", "check the address"]);
    remote
        .apply()
        .env("GITOGGLE_GIT_PASSWORD", "pw-5678")
        .exit(1)
        .says(&["rejected the credentials", "the address"]);
    // What the host itself says about an account needs no guess.
    remote.host_answers(|_| {
        Some(
            Answer::status(401)
                .header("WWW-Authenticate", "Basic realm=\"git\"")
                .header("Content-Type", "text/plain")
                .body("Your account is disabled.\n"),
        )
    });
    let said = remote.apply().env("GITOGGLE_GIT_PASSWORD", "pw-5678").exit(1).both();
    assert!(said.contains("Your account is disabled.") && !said.contains("address"), "{said}");
}

/// Makes `git fetch` fail after it has left an unfinished pack in the repository.
const BREAKING_OFF: &str = r#"#!/bin/sh
git=$(PATH=${PATH#*:} command -v git)
case " $* " in *" fetch "*)
    mkdir -p "$GIT_DIR/objects/pack"
    head -c 100000 /dev/zero > "$GIT_DIR/objects/pack/tmp_pack_$$"
    test -e "$BREAKS" && { echo 'fatal: early EOF' >&2; exit 128; }
esac
exec "$git" "$@"
"#;

#[test]
fn what_a_fetch_that_broke_off_left_is_removed() {
    let remote = Remote::settled(Door::Open);
    let world = &remote.world;
    let state = Repo::bare(&world.path("hosted/state.git"));
    state.git(&["config", "http.receivepack", "true"]);
    let breaks = world.write("breaks", "");
    let path = with_git(world, "wrapped", Some(BREAKING_OFF));
    let run = || {
        remote
            .apply()
            .set("state-remote", format!("{}/state.git", remote.host.url()))
            .set("state-dir", world.path("disk"))
            .set("first-pass", "assert")
            .env("BREAKS", breaks.display().to_string())
            .env("PATH", format!("{path}:{}", std::env::var("PATH").unwrap()))
    };
    let unfinished = || {
        let packs =
            ["state.git", "source.git"].map(|name| world.path("disk").join(name).join("objects/pack"));
        let files = packs.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
        files.filter(|file| file.file_name().to_string_lossy().contains("tmp")).count()
    };
    run().exit(1).says(&["early EOF"]);
    assert_eq!(unfinished(), 0, "after a failure");
    std::fs::remove_file(&breaks).unwrap();
    run().exit(0).any_output();
    assert_eq!(unfinished(), 0, "after a success");
    for name in ["state.git", "source.git"] {
        for file in ["pack/tmp_pack_killed", "pack/.tmp-7-pack-killed", "tmp_obj_killed"] {
            std::fs::write(world.path("disk").join(name).join("objects").join(file), "").unwrap();
        }
    }
    remote.push(21, "Change pay");
    run().exit(0).any_output();
    assert_eq!(unfinished(), 0, "of a process that was killed");
    for name in ["state.git", "source.git"] {
        assert!(!world.path("disk").join(name).join("objects/tmp_obj_killed").exists(), "{name}");
    }
}

#[test]
fn the_bundle_of_certificates_is_gone_however_the_process_ends() {
    let remote = Remote::settled(Door::Open);
    let world = &remote.world;
    let temporary = world.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    remote.host_answers(|request| (request.method == "POST").then(Answer::hangs));
    let waits = || {
        remote.host.wait_for(2);
        remote.host.take();
    };
    let plan = || remote.plan().env("TMPDIR", temporary.display().to_string());
    let files = || {
        let folders = std::fs::read_dir(&temporary).unwrap().flatten();
        folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten()).count()
    };
    let killed = plan().start();
    waits();
    assert_eq!(files(), 1, "it is on the disk while Git needs it");
    killed.kill();
    assert_eq!(files(), 1, "nothing could remove it");
    let asked = plan().start();
    waits();
    assert_eq!(files(), 1, "that of the killed process is gone");
    asked.terminate();
    assert_eq!(asked.wait(), Some(143));
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    let daemon = Daemon::start(world, |run| {
        run.set("repo", remote.url()).env("TMPDIR", temporary.display().to_string())
    });
    waits();
    daemon.stops_cleanly();
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn a_fetch_may_be_silent_for_as_long_as_a_step_may_take() {
    let remote = Remote::settled(Door::Open);
    let script = r#"#!/bin/sh
git=$(PATH=${PATH#*:} command -v git)
case " $* " in *" fetch "*) sleep 3;; esac
exec "$git" "$@"
"#;
    let path = with_git(&remote.world, "slow", Some(script));
    let run = || remote.apply().env("PATH", format!("{path}:{}", std::env::var("PATH").unwrap()));
    run().set("git-timeout", "1s").exit(1).says(&["did not finish", "within 1 s", "raise `--git-timeout`"]);
    run().set("git-timeout", "1m").exit(0).any_output();
}

#[test]
fn a_thread_or_process_that_cannot_start_is_an_error() {
    use std::os::unix::fs::PermissionsExt as _;
    if !crate::support::command::is_root() {
        // The limit counts all processes of a user, so it needs its own user.
        return;
    }
    let remote = Remote::new(Door::Guarded(ADA.to_owned()));
    let everyone =
        |path: &Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    everyone(remote.world.root());
    for (number, verb) in ["plan", "import", "run", "apply"].iter().enumerate() {
        for limit in 1..12 {
            let home = remote.world.path(&format!("{verb}-{limit}"));
            std::fs::create_dir(&home).unwrap();
            everyone(&home);
            let user = 61_000 + number * 100 + limit;
            let run = match *verb {
                "import" => remote.world.bare("import").set("from", remote.world.root()),
                verb => {
                    let run = remote.world.connected(verb).set("repo", remote.url());
                    run.set("git-username", "ada").env("GITOGGLE_GIT_PASSWORD", "pw-5678")
                }
            };
            // A daemon waits for a thread; what a person waits for ends.
            let (seconds, codes): (_, &[i32]) = match *verb {
                "run" => (3, &[0, 1, 3, 4, 64, 124, 126, 143]),
                _ => (60, &[0, 1, 3, 4, 64, 126]),
            };
            let said = run
                .set("state-dir", home.join("state"))
                .env("HOME", home.display().to_string())
                .within(&home)
                .after(&format!(
                    "exec prlimit --nproc={limit} timeout {seconds} setpriv --reuid={user} --regid={user} --clear-groups \"$@\""
                ))
                .exit_in(codes)
                .both();
            assert!(!said.contains("panicked"), "{verb} with {limit}: {said}");
        }
    }
}

#[test]
fn a_failure_of_unknown_cause_is_not_damage_and_damage_is() {
    let remote = Remote::settled(Door::Open);
    let world = &remote.world;
    let script = r#"#!/bin/sh
git=$(PATH=${PATH#*:} command -v git)
case " $* " in *" fetch "*)
    test -e "$BREAKS" && { cat "$BREAKS" >&2; exit 128; }
esac
case " $* " in *" fsck "*)
    test -e "$BREAKS.fsck" && { tail -n +2 "$BREAKS.fsck" >&2; exit "$(head -n 1 "$BREAKS.fsck")"; }
esac
exec "$git" "$@"
"#;
    let path = with_git(world, "wrapped", Some(script));
    let mirror = world.state().join("source.git");
    let run = |run: Gitoggle| {
        run.env("BREAKS", world.path("breaks").display().to_string())
            .env("PATH", format!("{path}:{}", std::env::var("PATH").unwrap()))
    };
    remote.push(21, "Change pay");
    for words in [
        "error: index-pack died of signal 9\nfatal: fetch-pack: invalid index-pack output\n",
        "fatal: cannot fork() for index-pack: Resource temporarily unavailable\n",
        "fatal: unable to create thread: Resource temporarily unavailable\n",
        "fatal: Out of memory, malloc failed (tried to allocate 1 bytes)\n",
        "fatal: something that nobody knows\n",
    ] {
        std::fs::write(mirror.join("kept"), "").unwrap();
        world.write("breaks", words);
        run(remote.apply())
            .exit(1)
            .stderr_contains(&[words.lines().last().unwrap().trim_start_matches("fatal: ")])
            .any_stdout();
        run(remote.plan()).exit(1).any_output();
        std::fs::remove_file(world.path("breaks")).unwrap();
        assert!(mirror.join("kept").exists(), "the mirror is tried again as it is: {words}");
    }
    // A look that fails shows nothing either.
    for fsck in [
        "1\ngit: 'fsck' is not a git command. See 'git --help'.\n",
        "127\nsh: 1: git-fsck: not found\n",
        "126\n",
        "1\n",
        "128\nfatal: Out of memory, malloc failed (tried to allocate 1 bytes)\n",
        "2\nerror: unable to open objects/pack: Too many open files\nmissing tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n",
    ] {
        world.write("breaks", "fatal: something that nobody knows\n");
        world.write("breaks.fsck", fsck);
        run(remote.apply()).exit(1).never_says(&["damaged"]).any_output();
        std::fs::remove_file(world.path("breaks.fsck")).unwrap();
        std::fs::remove_file(world.path("breaks")).unwrap();
        assert!(mirror.join("kept").exists(), "the mirror is tried again as it is: {fsck}");
    }
    run(remote.apply()).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    assert!(mirror.join("kept").exists());
    // The same failure of a repository that lacks an object.
    let git = Repo::at(&mirror);
    let tree = git.id("refs/gitoggle/source^{tree}");
    let pack = std::fs::read_dir(mirror.join("objects/pack")).unwrap().flatten();
    for pack in pack.map(|file| file.path()).filter(|path| path.extension().is_some_and(|end| end == "pack"))
    {
        let moved = world.path(&format!("{}", pack.file_name().unwrap().display()));
        std::fs::rename(&pack, &moved).unwrap();
        let _ = std::fs::remove_file(pack.with_extension("idx"));
        let _ = std::fs::remove_file(pack.with_extension("rev"));
        git.unpack(&moved);
    }
    std::fs::remove_file(mirror.join("objects").join(&tree[..2]).join(&tree[2..])).unwrap();
    world.write("breaks", "fatal: something that nobody knows\n");
    run(remote.apply()).exit(1).says(&["the mirror of the source is damaged; cloning it again"]);
    std::fs::remove_file(world.path("breaks")).unwrap();
    run(remote.apply()).exit(0).any_output();
}

#[test]
fn a_clone_for_one_command_is_on_the_disk_of_the_state_and_what_a_killed_one_left_is_removed() {
    let remote = Remote::new(Door::Open);
    let world = &remote.world;
    let state = Repo::bare(&world.path("hosted/state.git"));
    state.git(&["config", "http.receivepack", "true"]);
    let script = r#"#!/bin/sh
case " $* " in *" fetch "*) echo "$GIT_DIR" >> "$SEEN";; esac
exec "$(PATH=${PATH#*:} command -v git)" "$@"
"#;
    let path = with_git(world, "seeing", Some(script));
    let seen = world.path("seen");
    let disk = world.path("disk");
    for verb in ["plan", "status"] {
        let killed = disk.join(".clones/clone-killed");
        std::fs::create_dir_all(&killed).unwrap();
        std::fs::write(killed.join("pack"), "").unwrap();
        world
            .bare(verb)
            .set("repo", remote.url())
            .set("state-dir", &disk)
            .set("ca-file", world.ca())
            .set("base-url", world.service.url())
            .set("state-remote", format!("{}/state.git", remote.host.url()))
            .env("SEEN", &seen)
            .env("PATH", format!("{path}:{}", std::env::var("PATH").unwrap()))
            .exit_in(&[0, 4])
            .any_output();
        let places = std::fs::read_to_string(&seen).unwrap();
        assert!(places.lines().count() >= 2, "the source and the state: {places}");
        assert!(places.lines().all(|place| Path::new(place).starts_with(&disk)), "{places}");
        assert!(!disk.join(".clones").exists(), "{verb}");
    }
    // One that a signal ends removes its own.
    let root = world.path("hosted");
    remote.host.always(move |request| match request.method.as_str() {
        "POST" => Answer::hangs(),
        _ => git_host::answer(&root, &Door::Open, request),
    });
    remote.host.take();
    let plan = remote.plan().set("state-dir", &disk).start();
    remote.host.wait_for(2);
    assert!(disk.join(".clones").exists());
    plan.terminate();
    assert_eq!(plan.wait(), Some(143));
    assert!(!disk.join(".clones").exists());
}

#[test]
fn the_first_process_of_a_container_keeps_no_zombie_of_an_ssh_host_that_is_away() {
    let world = World::with_pay_applied();
    // As the first process of a container, it adopts the children of processes that end.
    let prctl = if cfg!(target_arch = "aarch64") { 167 } else { 157 };
    let adopt =
        format!("exec perl -e 'syscall({prctl}, 36, 1, 0, 0, 0) == 0 or exit 9; exec @ARGV' -- \"$@\"");
    let daemon = Daemon::start(&world, |run| {
        run.set("repo", "ssh://127.0.0.1:1/toggles.git").env("GIT_SSH_COMMAND", "ssh -F none").after(&adopt)
    });
    daemon.is_unready_for(&["127.0.0.1"]);
    eventually("three lookups", || {
        daemon.order("/reconcile", "");
        (daemon.passes() >= 3.0).then_some(())
    });
    let zombies = || {
        let listed =
            std::process::Command::new("ps").args(["-e", "-o", "ppid=,stat=,comm="]).output().unwrap();
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let own = |line: &&str| line.split_whitespace().next() == Some(daemon.id().to_string().as_str());
        text.lines().filter(own).filter(|line| line.contains(" Z")).map(str::to_owned).collect::<Vec<_>>()
    };
    // One that nothing reaps stays.
    eventually("no zombie", || zombies().is_empty().then_some(()));
    daemon.stops_cleanly();
}
