//! Each command that the program prints, run as printed in the place where it is read.
//!
//! [`HINTS`] has a row for each command in the sources. A row arranges that the built program prints it, runs
//! it by a shell in the same folder and with the same variables, and states what it has to bring about.

use std::path::{Path, PathBuf};

use gitoggle::cli::args;
use serde_json::json;

use super::{command_templates, printed};
use crate::live_publish::{by_hand, toggle, with_pay_changed};
use crate::support::{ADMIN, Answer, Daemon, Gitoggle, LiveService, Repo, World, content, doc, eventually};

/// A command in a message of the sources.
struct Hint {
    file: &'static str,
    command: &'static str,
    /// Words of the same line of output.
    beside: &'static str,
    place: fn() -> Place,
    /// What the message says to do before.
    before: fn(&Place),
    code: i32,
    /// What the message says to do after.
    after: fn(&Place),
    effect: Effect,
}

enum Effect {
    /// The place does not print the command anymore.
    Gone,
    /// The command prints this.
    Prints(&'static str),
}
use Effect::{Gone, Prints};

/// Where a command is printed, and where it is run.
struct Place {
    printer: Printer,
    /// The folder and the variables of the terminal.
    terminal: Gitoggle,
    /// A daemon that runs meanwhile.
    _daemon: Option<Daemon>,
    // Last, because the others use it until they are dropped.
    world: Kept,
}

enum Kept {
    Live(LiveService),
    World(World),
}

enum Printer {
    Command(Gitoggle),
    Daemon(Daemon, Gitoggle),
}

impl Place {
    fn of(world: World, run: impl FnOnce(&World) -> Gitoggle) -> Self {
        let run = run(&world);
        Self {
            printer: Printer::Command(run.clone()),
            terminal: run,
            _daemon: None,
            world: Kept::World(world),
        }
    }

    fn live(service: LiveService, run: impl FnOnce(&LiveService) -> Gitoggle) -> Self {
        let run = run(&service);
        Self {
            printer: Printer::Command(run.clone()),
            terminal: run,
            _daemon: None,
            world: Kept::Live(service),
        }
    }

    fn daemon(world: World, change: impl FnOnce(&World, Gitoggle) -> Gitoggle) -> Self {
        let (daemon, run) = started(&world, |run| change(&world, run));
        Self {
            printer: Printer::Daemon(daemon, run.clone()),
            terminal: run,
            _daemon: None,
            world: Kept::World(world),
        }
    }

    fn live_daemon(service: LiveService) -> Self {
        Self::live_daemon_with(service, |run| run)
    }

    fn live_daemon_with(service: LiveService, change: fn(Gitoggle) -> Gitoggle) -> Self {
        let often = |run: Gitoggle| run.set("poll-interval", "200ms").set("drift-interval", "1s");
        let (daemon, run) = started(&service.world, |run| change(often(service.connected(run))));
        Self {
            printer: Printer::Daemon(daemon, run.clone()),
            terminal: run,
            _daemon: None,
            world: Kept::Live(service),
        }
    }

    fn within(mut self, folder: &str) -> Self {
        let folder = self.world().path(folder);
        self.terminal = self.terminal.within(&folder);
        self
    }

    fn world(&self) -> &World {
        match &self.world {
            Kept::Live(service) => &service.world,
            Kept::World(world) => world,
        }
    }

    fn service(&self) -> &LiveService {
        match &self.world {
            Kept::Live(service) => service,
            Kept::World(_) => panic!("this service cannot be read"),
        }
    }

    /// Returns the texts of each channel.
    fn channels(&self) -> Vec<String> {
        match &self.printer {
            Printer::Command(run) => {
                let output = run.start_piped().wait_with_output().unwrap();
                vec![[output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat()]
            }
            Printer::Daemon(daemon, _) => {
                let get = |path: &str| daemon.endpoint.get(path).map(|reply| reply.body).unwrap_or_default();
                vec![get("/readyz"), get("/api/status?limit=1000"), get("/")]
            }
        }
    }

    /// Returns the commands of `hint` that the channels have.
    fn commands(&self, hint: &Hint) -> Vec<String> {
        let channels = self.channels();
        let lines = channels.iter().flat_map(|text| text.lines()).filter(|line| line.contains(hint.beside));
        lines.flat_map(printed).filter(|command| is_of(command, hint.command)).collect()
    }

    fn settings(&self) -> Vec<&str> {
        match &self.printer {
            Printer::Command(run) | Printer::Daemon(_, run) => run.setting_names(),
        }
    }
}

fn started(world: &World, change: impl FnOnce(Gitoggle) -> Gitoggle) -> (Daemon, Gitoggle) {
    let mut kept = None;
    let daemon = Daemon::start(world, |run| {
        let run = change(run);
        kept = Some(run.clone());
        run
    });
    (daemon, kept.expect("it was started"))
}

/// Returns whether the words of `template` that are no placeholders are in `command`, in this order.
fn is_of(command: &str, template: &str) -> bool {
    let mut words = command.split_whitespace();
    let known = template.split(['{', '}']).step_by(2).flat_map(str::split_whitespace);
    known.into_iter().all(|known| words.any(|word| word.starts_with(known)))
}

/// The flags that decide which repository, state, service and toggles a command is about.
const KEPT: [&str; 12] = [
    "base-url",
    "ca-file",
    "config",
    "layout",
    "only",
    "ref",
    "repo",
    "root",
    "service-kind",
    "state-dir",
    "state-name",
    "state-remote",
];

/// Asserts that a command is about what the run that printed it was about.
fn assert_same_place(command: &str, place: &Place) {
    let mut program = args::program();
    program.build();
    let name = command.split_whitespace().nth(1).unwrap();
    let to_daemon = ["allow", "reconcile", "resume", "suspend"].contains(&name);
    let clap = program.find_subcommand(name).unwrap_or_else(|| panic!("no such command: {command}"));
    let settings = place.settings();
    let expected = KEPT.iter().filter(|flag| settings.contains(flag)).filter(|flag| match name {
        // It names the toggles, and has no folder with a state unless it is `--drifted`.
        "import" => !["only", "state-dir"].contains(flag),
        _ => !to_daemon && clap.get_arguments().any(|arg| arg.get_long() == Some(flag)),
    });
    for flag in expected {
        assert!(command.contains(&format!(" --{flag} ")), "`{command}` lacks --{flag}");
    }
    if let (Printer::Daemon(..), true) = (&place.printer, to_daemon) {
        assert!(command.contains(" --url http://127.0.0.1:"), "{command}");
    }
}

fn run_as_printed(hint: &Hint) {
    let place = (hint.place)();
    let what = format!("{}: `{}` beside \"{}\"", hint.file, hint.command, hint.beside);
    let command = match &place.printer {
        Printer::Command(_) => {
            let found = place.commands(hint);
            found.first().unwrap_or_else(|| panic!("{what}: not in {:#?}", place.channels())).clone()
        }
        Printer::Daemon(..) => eventually(&what, || place.commands(hint).first().cloned()),
    };
    assert_same_place(&command, &place);
    if let Printer::Daemon(daemon, _) = &place.printer {
        // Its state folder is locked as long as it runs, and elsewhere a run would have another one.
        for text in place.channels().into_iter().chain([daemon.log()]) {
            assert!(!text.contains("gitoggle apply"), "{what}: {text}");
        }
        // The log has the same command, if it has the message.
        let log = daemon.log();
        let lines = log.lines().filter(|line| line.contains(hint.beside) && line.contains("`gitoggle "));
        for line in lines.filter(|line| printed(line).iter().any(|other| is_of(other, hint.command))) {
            assert!(line.contains(&command), "{what}: `{command}` is not in the log: {line}");
        }
    }
    (hint.before)(&place);
    let ran = place.terminal.shell(&command);
    let text = [&ran.stdout, &ran.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat();
    assert_eq!(ran.status.code(), Some(hint.code), "{what}: {command}\n{text}");
    (hint.after)(&place);
    match (&hint.effect, &place.printer) {
        (Prints(words), _) => assert!(text.contains(words), "{what}: {command}\n{text}"),
        (Gone, Printer::Command(_)) => {
            assert_eq!(place.commands(hint), Vec::<String>::new(), "{what}: {command}\n{text}");
        }
        (Gone, Printer::Daemon(..)) => {
            eventually(&format!("{what} to have an effect: {command}\n{text}"), || {
                place.commands(hint).is_empty().then_some(())
            });
        }
    }
}

#[test]
fn every_printed_command_works_as_printed_where_it_is_read() {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failures = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(hint) = HINTS.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let only = std::env::var("GITOGGLE_HINT").unwrap_or_default();
                    if !hint.file.contains(&only) && !hint.command.contains(&only) {
                        continue;
                    }
                    let run = std::panic::AssertUnwindSafe(|| run_as_printed(hint));
                    if std::panic::catch_unwind(run).is_err() {
                        let name = format!("{}: `{}` beside \"{}\"", hint.file, hint.command, hint.beside);
                        failures.lock().unwrap().push(name);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "see the messages above: {failures:#?}");
}

#[test]
fn every_command_of_the_sources_has_a_place_in_which_it_is_run() {
    let mut known: Vec<(&str, &str)> = HINTS.iter().map(|hint| (hint.file, hint.command)).collect();
    known.extend(NOT_RUN.iter().map(|(file, command, _)| (*file, *command)));
    let mut missing = Vec::new();
    for (path, command) in command_templates() {
        match known.iter().position(|(file, known)| *file == path && *known == command) {
            Some(at) => drop(known.swap_remove(at)),
            None => missing.push((path, command)),
        }
    }
    assert!(missing.is_empty(), "without a row in HINTS: {missing:#?}");
    // A row more than the sources have is another case of the same message.
    let is_in_sources = |row: &&(&str, &str)| {
        command_templates().iter().any(|(path, command)| path == row.0 && command == row.1)
    };
    let outdated: Vec<_> = known.iter().filter(|row| !is_in_sources(row)).collect();
    assert!(outdated.is_empty(), "not in the sources: {outdated:#?}");
}

/// Commands in texts that no run of the program prints as a way out, and why.
const NOT_RUN: [(&str, &str, &str); 17] = [
    ("admin/page/toggles.rs", "gitoggle import {} --overwrite", "as in `plan/live.rs`, on a page"),
    ("admin/page/toggles.rs", "gitoggle log {id} -p", "a test of the page runs it"),
    ("cli/args/mod.rs", "gitoggle COMMAND {arg}", "the form of a command"),
    ("cli/args/program.rs", "gitoggle demo", "help has no run; `demo` has tests"),
    ("cli/args/program.rs", "gitoggle demo", "help has no run; `demo` has tests"),
    ("cli/args/program.rs", "gitoggle help COMMAND", "the form of a command"),
    ("cli/args/program.rs", "gitoggle man", "help has no run; `man` has tests"),
    ("cli/args/program.rs", "gitoggle man {name}", "help has no run; `man` has tests"),
    ("cli/args/program.rs", "gitoggle man {name}", "the same text, which a usage error leaves out"),
    ("cli/commands/man.rs", "gitoggle man{name} | man -l -", "only on a terminal"),
    ("cli/daemon.rs", "gitoggle run", "the daemon that should be running"),
    ("cli/forge.rs", "gitoggle plan -o json", "a comment on a forge, which is read elsewhere"),
    ("drift/scan.rs", "gitoggle drift", "the place of an argument"),
    ("pass/report.rs", "gitoggle reconcile", "as in `model/hold.rs`, for a daemon that may run elsewhere"),
    ("report/drift.rs", "gitoggle drift", "a commit message, which is read elsewhere"),
    ("report/markdown.rs", "gitoggle plan -o json", "a page for a forge, which is read elsewhere"),
    ("report/markdown.rs", "gitoggle validate -o json", "a page for a forge, which is read elsewhere"),
];

const HINT: Hint = Hint {
    file: "",
    command: "",
    beside: "",
    place: || Place::of(World::new(), World::plan),
    before: |_| {},
    code: 0,
    after: |_| {},
    effect: Gone,
};

/// Returns the settings of a state that other processes share, in a separate folder.
fn shared(world: &World, run: Gitoggle) -> Gitoggle {
    run.set("state-remote", world.path("remote.git")).set("state-name", "team-a")
}

/// A service that can be read, on which `pay` is applied from a shared state, and changed in the repository.
fn pay_changed() -> LiveService {
    let service = LiveService::start(&json!([toggle("pay"), toggle("other")]));
    Repo::bare(&service.world.path("remote.git"));
    service.commit("pay", doc(18), "Add pay");
    shared(&service.world, service.apply()).set("first-pass", "assert").exit(0).any_output();
    service.commit("pay", doc(20), "Raise the age");
    service
}

/// Begins a command with the shared state and with `--only`.
fn team(service: &LiveService, verb: &str) -> Gitoggle {
    let run = service.connected(service.world.connected(verb)).set("only", "shop/prod/*");
    shared(&service.world, run)
}

/// `pay` is changed in the repository and on the service.
fn drifted_and_changed(verb: &'static str) -> Place {
    let service = pay_changed();
    service.edit("pay", by_hand());
    Place::live(service, |service| team(service, verb))
}

/// `pay` is changed on the service alone.
fn drifted(verb: &'static str) -> Place {
    let service = pay_changed();
    team(&service, "apply").exit(0).any_output();
    service.edit("pay", by_hand());
    Place::live(service, |service| team(service, verb))
}

/// `pay` is removed on the service.
fn removed(verb: &'static str) -> Place {
    let service = pay_changed();
    team(&service, "apply").exit(0).any_output();
    let deletion = json!({ "delete_after": { "project": "shop", "toggle": "pay" } });
    service.script("GET", "environmentKey=prod", &deletion);
    team(&service, "drift").exit(0).any_output();
    Place::live(service, |service| team(service, verb))
}

fn commit(place: &Place) {
    place.world().repo.git(&["add", "--all"]);
    place.world().repo.commit("Follow the service");
    let apply = team(place.service(), "apply");
    apply.exit(0).any_output();
}

/// A change that no review lists.
fn not_reviewed() -> Place {
    let service = pay_changed();
    service.edit("pay", by_hand());
    let empty = service.world.write("old.json", r#"{"version": 1, "changes": [], "held": []}"#);
    Place::live(service, |service| {
        team(service, "apply").arg("--overwrite-drift").set("reviewed", empty.display().to_string())
    })
}

fn run_plan(place: &Place) {
    let plan = "gitoggle plan -o json >plan.json";
    let hint = HINTS.iter().find(|hint| hint.command == plan).unwrap();
    let command = place.commands(hint).first().unwrap().clone();
    let ran = place.terminal.shell(&command);
    assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// A first pass that adopts one toggle of two.
fn partly_adopted() -> Place {
    let service = LiveService::start(&json!([toggle("pay"), toggle("other")]));
    Repo::bare(&service.world.path("remote.git"));
    service.world.repo.file("shop/prod/other.yaml", doc(18)).commit_pay(18, "Add both");
    service.edit("other", json!({ "comment": "by hand", "disabled": false, "content": content(18) }));
    Place::live(service, |service| team(service, "apply").set("first-pass", "adopt"))
}

/// A repository of which nothing is applied, and a service that has its only toggle already.
fn not_applied(verb: &'static str) -> Place {
    let service = LiveService::start(&json!([toggle("pay")]));
    Repo::bare(&service.world.path("remote.git"));
    service.commit("pay", doc(18), "Add pay");
    service.edit("pay", json!({ "comment": "by hand", "disabled": false, "content": content(18) }));
    Place::live(service, |service| team(service, verb))
}

/// An invalid document beside a valid one.
fn with_an_invalid_one() -> World {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/bad.yaml", "nonsense").commit("Add bad");
    world
}

/// `count` changed documents with a warning each.
fn with_warnings(count: usize) -> World {
    let world = World::with_pay_applied();
    let twice = doc(21)
        .replace("  rules:\n", "  rules:\n    - { name: adults, conditions: [], serve: { select: 1 } }\n");
    for number in 0..count {
        world.repo.file(&format!("shop/prod/w{number:03}.yaml"), &twice);
    }
    world.repo.commit("Add warnings");
    world
}

/// A daemon on whose checkout history went back, with what `arrange` does to the recorded commit.
fn refused_history(arrange: fn(&World) -> PathBuf) -> Place {
    let world = World::new();
    Repo::bare(&world.path("remote.git"));
    let repo = arrange(&world);
    let change = |world: &World, run: Gitoggle| {
        shared(world, run).set("state-dir", world.path("disk")).set("repo", &repo)
    };
    Place::daemon(world, change)
}

fn applied_by_job(world: &World, repo: &Path) {
    let run = shared(world, world.apply()).set("state-dir", world.path("job")).set("repo", repo);
    run.set("first-pass", "assert").exit(0).any_output();
}

/// The checkout is older than what a job has applied.
fn older(world: &World) -> PathBuf {
    world.repo.commit_pay(18, "Add pay");
    let lagging = world.repo.linked("main", &world.path("lagging"));
    world.repo.commit_pay(21, "Change pay");
    applied_by_job(world, world.repo.path());
    lagging.path().to_owned()
}

/// The checkout does not have the commit that a job has applied.
fn unknown(world: &World) -> PathBuf {
    world.repo.commit_pay(18, "Add pay");
    let lagging = world.repo.clone_bare(&world.path("lagging.git"));
    world.repo.commit_pay(21, "Change pay");
    applied_by_job(world, world.repo.path());
    lagging.path().to_owned()
}

/// The checkout has what a job has applied, in another history.
fn unrelated(world: &World) -> PathBuf {
    world.repo.commit_pay(18, "Add pay");
    applied_by_job(world, world.repo.path());
    world.repo.git(&["checkout", "--quiet", "--orphan", "other"]);
    world.repo.commit_pay(21, "Start again");
    world.repo.git(&["branch", "--quiet", "applied", "main"]);
    world.repo.git(&["branch", "--quiet", "--force", "main", "other"]);
    world.repo.git(&["checkout", "--quiet", "main"]);
    world.repo.path().to_owned()
}

/// A daemon that refuses a rewritten history.
fn rewritten() -> Place {
    let world = World::with_pay_applied();
    let change = |_: &World, run: Gitoggle| run.set("history", "refuse").set("poll-interval", "200ms");
    let place = Place::daemon(world, change);
    if let Printer::Daemon(daemon, _) = &place.printer {
        daemon.is_ready();
    }
    let repo = &place.world().repo;
    repo.file("shop/prod/pay.yaml", doc(21));
    repo.git(&["commit", "--quiet", "--amend", "--all", "--message", "Rewrite"]);
    place
}

/// A daemon whose service refuses every change of `pay` with this status.
fn refusing(status: u16) -> Place {
    let world = World::with_pay_and_search_applied();
    world.service.always(move |request| match request.toggle().ends_with("pay") {
        true => Answer::json(status, r#"{"error": {"code": "invalid_request", "message": "no"}}"#),
        false => Answer::applied(),
    });
    world.repo.file("shop/prod/pay.yaml", doc(21)).file("shop/prod/search.yaml", doc(21)).commit("Both");
    Place::daemon(world, |_, run| run.set("give-up-after", "1s"))
}

fn service_is_well(place: &Place) {
    place.world().service.always(|_| Answer::applied());
}

/// A daemon with twelve changes, which are too many.
fn mass_change() -> Place {
    let world = World::new();
    let all = |age| {
        for number in 0..12 {
            world.repo.file(&format!("shop/prod/t{number}.yaml"), doc(age));
        }
        world.repo.commit("Change all");
    };
    all(18);
    world.settle();
    all(21);
    Place::daemon(world, |_, run| run)
}

fn repo_only(world: &World, verb: &str) -> Gitoggle {
    world.bare(verb).within(world.repo.path())
}

const HINTS: &[Hint] = &[
    Hint {
        file: "cli/args/mod.rs",
        command: "gitoggle plan",
        beside: "to compare the repository with what was applied",
        place: || {
            let world = World::with_pay_applied();
            Place::of(world, |world| repo_only(world, "diff"))
        },
        effect: Prints("create shop/prod/pay"),
        ..HINT
    },
    Hint {
        file: "cli/args/mod.rs",
        command: "gitoggle plan --from main --to HEAD",
        beside: "to compare two revisions",
        place: || {
            let world = World::with_pay_applied();
            world.repo.branch("change").commit_pay(21, "Raise the age");
            Place::of(world, |world| repo_only(world, "diff"))
        },
        effect: Prints("update shop/prod/pay"),
        ..HINT
    },
    Hint {
        file: "cli/commands/drift.rs",
        command: "gitoggle import --overwrite{}",
        beside: "gitoggle import",
        place: || drifted("drift"),
        after: commit,
        ..HINT
    },
    Hint {
        file: "cli/commands/drift.rs",
        command: "gitoggle apply --overwrite-drift{}",
        beside: "gitoggle apply",
        place: || drifted("drift"),
        ..HINT
    },
    Hint {
        file: "cli/commands/drift.rs",
        command: "gitoggle apply --overwrite-drift --on-missing create{}",
        beside: "gitoggle apply",
        place: || removed("drift"),
        ..HINT
    },
    Hint {
        file: "cli/commands/explain.rs",
        command: "gitoggle validate",
        beside: "shows whether documents are found",
        place: || Place::of(World::with_pay_applied(), |world| world.local("explain web/test/banner")),
        effect: Prints("checked 1 document"),
        ..HINT
    },
    Hint {
        file: "cli/commands/fmt.rs",
        command: "gitoggle fmt",
        beside: "rewrites them",
        place: || {
            let world = World::new();
            world
                .repo
                .file("shop/prod/pay.yaml", crate::support::document::reformatted(18))
                .commit("Add pay");
            Place::of(world, |world| repo_only(world, "fmt --check"))
        },
        ..HINT
    },
    Hint {
        file: "cli/commands/import.rs",
        command: "gitoggle drift",
        beside: "shows what to do",
        place: || {
            let service = pay_changed();
            service.commit("other", doc(18), "Add other");
            team(&service, "apply").arg("--overwrite-drift").exit(0).any_output();
            service.world.repo.remove("shop/prod/other.yaml").commit("Remove other");
            for toggle in ["pay", "other"] {
                service.edit(toggle, by_hand());
            }
            let message = service.world.path("message");
            Place::live(service, |service| {
                let run = service.connected(service.world.connected("import --drifted")).unset("timeout");
                shared(&service.world, run).set("message-file", message).arg("shop/prod/*")
            })
        },
        effect: Prints("shop/prod/other"),
        ..HINT
    },
    Hint {
        file: "cli/commands/import.rs",
        command: "gitoggle {words}{repo}{shared}",
        beside: "gitoggle plan",
        place: imported,
        before: commit_import,
        effect: Prints("1 to record once the first pass is decided"),
        ..HINT
    },
    Hint {
        file: "cli/commands/import.rs",
        command: "gitoggle {words}{repo}{shared}",
        beside: "gitoggle apply",
        place: imported,
        before: commit_import,
        effect: Prints("converged shop/prod/pay"),
        ..HINT
    },
    Hint {
        file: "cli/commands/import.rs",
        command: "gitoggle validate",
        beside: "about other documents",
        place: || {
            let world = World::new();
            let mut content = content(18);
            content["prerequisites"] = json!([{ "key": "base", "value": "true", "type": "boolean" }]);
            let line = json!({ "toggle": "shop/prod/pay", "disabled": false, "content": content });
            let from = world.write("input.jsonl", &(line.to_string() + "\n"));
            Place::of(world, |world| {
                let run = repo_only(world, "import --from=-").set("service-kind", "featureprobe");
                run.after(&format!("exec < '{}'", from.display()))
            })
        },
        effect: Prints("unknown-prerequisite"),
        ..HINT
    },
    Hint {
        file: "cli/commands/promote.rs",
        command: "gitoggle promote {from} {to} {needed}",
        beside: "which has no document in",
        place: || {
            let world = World::new();
            let needs = doc(18) + "  prerequisites: [{ key: base, type: boolean, value: \"true\" }]\n";
            world.repo.write("shop/staging/search.yaml", needs);
            world.repo.write("shop/staging/base.yaml", doc(18));
            Place::of(world, |world| {
                repo_only(world, "promote shop/staging shop/qa search --create")
                    .set("service-kind", "featureprobe")
            })
        },
        ..HINT
    },
    Hint {
        file: "cli/commands/init.rs",
        command: "gitoggle init",
        beside: "in the clone",
        place: || {
            let world = World::with_pay_applied();
            world.repo.clone_bare(&world.path("hosted.git"));
            let bare = world.path("hosted.git");
            Place::of(world, |world| world.bare("init").within(&bare)).within("clone")
        },
        before: |place| {
            let clone = place.world().path("clone");
            let hosted = place.world().path("hosted.git");
            place.world().repo.git(&["clone", "--quiet", hosted.to_str().unwrap(), clone.to_str().unwrap()]);
        },
        effect: Prints("created README.md"),
        ..HINT
    },
    Hint {
        file: "cli/commands/init.rs",
        command: "gitoggle init",
        beside: "in the top folder of the repository",
        place: || {
            let world = World::with_pay_applied();
            let below = world.repo.path().join("shop");
            Place::of(world, |world| world.bare("init").within(&below)).within("repo")
        },
        effect: Prints("created README.md"),
        ..HINT
    },
    Hint {
        file: "cli/commands/init.rs",
        command: "gitoggle {verb}{kind}{words}",
        beside: "gitoggle validate",
        place: initialized,
        before: commit_start,
        effect: Prints("checked 2 documents"),
        ..HINT
    },
    Hint {
        file: "cli/commands/init.rs",
        command: "gitoggle {verb}{kind}{words}",
        beside: "gitoggle test",
        place: initialized,
        before: commit_start,
        effect: Prints("all met"),
        ..HINT
    },
    Hint {
        file: "cli/commands/init.rs",
        command: "gitoggle {verb}{kind}{words}",
        beside: "gitoggle plan",
        place: initialized,
        before: commit_start,
        effect: Prints("create shop/production/new-homepage"),
        ..HINT
    },
    Hint {
        file: "cli/commands/init.rs",
        command: "gitoggle {verb}{kind}{words}",
        beside: "--first-pass assert",
        place: initialized,
        before: commit_start,
        effect: Prints("applied 2 of 2 changes"),
        ..HINT
    },
    Hint {
        file: "cli/commands/init.rs",
        command: "gitoggle {verb}{kind}{words}",
        beside: "--first-pass adopt",
        place: initialized,
        before: commit_start,
        effect: Prints("recorded without publishing: 2 toggles"),
        ..HINT
    },
    Hint {
        file: "cli/commands/log.rs",
        command: "gitoggle status --all{every}",
        beside: "lists the toggles",
        place: || {
            Place::of(World::with_pay_applied(), |world| {
                world
                    .local("log web/test/banner")
                    .set("state-dir", world.state())
                    .set("base-url", world.service.url())
            })
        },
        effect: Prints("shop/prod/pay"),
        ..HINT
    },
    Hint {
        file: "cli/commands/plan.rs",
        command: "gitoggle plan{comparison}",
        beside: "shows why",
        place: || drifted_and_changed("plan --live -o sarif"),
        code: 4,
        effect: Prints("changed on the service since it was last applied"),
        ..HINT
    },
    Hint {
        file: "pass/range.rs",
        command: "gitoggle plan --live --first-pass assert",
        beside: "an asserted first pass",
        place: || {
            let service = LiveService::start(&json!([toggle("pay")]));
            service.world.repo.write("README.md", "").commit("Begin");
            service.commit("pay", doc(18), "Add pay\n\nGitoggle-First-Pass: assert");
            service.edit("pay", by_hand());
            Place::live(service, |service| {
                service.connected(service.world.plan()).unset("timeout").args("--from HEAD~1")
            })
        },
        effect: Prints("by hand"),
        ..HINT
    },
    Hint {
        file: "cli/commands/plan.rs",
        command: "gitoggle plan --live",
        beside: "an asserted first pass",
        place: || {
            let service = LiveService::start(&json!([toggle("pay")]));
            service.commit("pay", doc(18), "Add pay");
            service.edit("pay", by_hand());
            Place::live(service, |service| {
                service.connected(service.world.plan()).unset("timeout").set("first-pass", "assert")
            })
        },
        effect: Prints("by hand"),
        ..HINT
    },
    Hint {
        file: "cli/commands/plan.rs",
        command: "gitoggle plan --live",
        beside: "tell its type",
        place: || {
            let service = LiveService::start(&json!([]));
            service.world.repo.file("shop/test/new.yaml", doc(18).replace("\"true\"", "\"red\""));
            service.commit("new", doc(18), "Add new");
            Place::live(service, |service| {
                let plan =
                    service.connected(service.world.plan()).unset("timeout").set("only", "shop/prod/*");
                plan.set("first-pass", "assert").set("on-missing", "create")
            })
        },
        code: 4,
        effect: Prints("values of different types"),
        ..HINT
    },
    Hint {
        file: "cli/commands/suspend.rs",
        command: "gitoggle resume{}",
        beside: "to publish again",
        place: || {
            let world = World::with_pay_applied();
            let daemon = Daemon::ready(&world, |run| run);
            let url = format!("http://{}", daemon.endpoint.address());
            let suspend = world.bare("suspend shop/prod").env("GITOGGLE_ADMIN_TOKEN", ADMIN).set("url", url);
            Place { _daemon: Some(daemon), ..Place::of(world, |_| suspend) }
        },
        effect: Prints("resumed shop/prod/**"),
        ..HINT
    },
    Hint {
        file: "cli/forge.rs",
        command: "gitoggle plan --pull-request",
        beside: "this job is for a pull request",
        place: || {
            let world = World::with_pay_applied();
            let main = world.repo.head();
            world.repo.commit_pay(20, "Move on");
            world.settle();
            world.repo.git(&["update-ref", "refs/remotes/origin/main", "main"]);
            world.repo.git(&["checkout", "--quiet", "-b", "feature", &main]);
            world.repo.file("shop/prod/new.yaml", doc(21)).commit("Add new");
            Place::of(world, |world| {
                world
                    .plan()
                    .env("GITHUB_ACTIONS", "true")
                    .env("GITHUB_BASE_REF", "main")
                    .env("GITHUB_HEAD_REF", "feature")
                    .env("GITHUB_REF", "refs/pull/7/merge")
                    .env("GITHUB_SHA", world.repo.head())
            })
        },
        effect: Prints("create shop/prod/new"),
        ..HINT
    },
    Hint {
        file: "cli/forge.rs",
        command: "gitoggle plan -o json",
        beside: "takes a file that",
        place: || {
            let service = pay_changed();
            let bad = service.world.write("bad.json", "nonsense");
            Place::live(service, |service| team(service, "apply").set("reviewed", bad))
        },
        effect: Prints("shop/prod/pay"),
        ..HINT
    },
    Hint {
        file: "config/checks.rs",
        command: "gitoggle validate",
        beside: "checks all files",
        place: || Place::of(World::with_pay_applied(), |world| world.plan().arg("--all-findings")),
        effect: Prints("checked 1 document"),
        ..HINT
    },
    Hint {
        file: "model/hold.rs",
        command: "gitoggle reconcile",
        beside: "tries it now",
        place: || refusing(500),
        before: service_is_well,
        ..HINT
    },
    Hint {
        file: "model/hold.rs",
        command: "gitoggle reconcile",
        beside: "correct the document or the service",
        place: || refusing(400),
        before: service_is_well,
        ..HINT
    },
    Hint {
        file: "document/waiver.rs",
        command: "gitoggle fmt",
        beside: "simplify it",
        place: || {
            let world = World::new();
            let text = format!("%YAML 1.2\n---\n# gitoggle: allow(unused-variation) later\n{}", doc(18));
            world.repo.file("shop/prod/pay.yaml", text).commit("Add pay");
            Place::of(world, |world| repo_only(world, "validate"))
        },
        before: |place| {
            let file = place.world().repo.path().join("shop/prod/pay.yaml");
            let text = std::fs::read_to_string(&file).unwrap().replace("%YAML 1.2\n---\n", "");
            std::fs::write(file, text).unwrap();
        },
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle allow mass-change {environment}",
        beside: "every document in this environment was removed",
        place: || {
            let world = World::with_pay_applied();
            world.repo.file("shop/test/pay.yaml", doc(18)).remove("shop/prod/pay.yaml").commit("Move");
            Place::daemon(world, |_, run| run.set("first-pass", "assert").set("on-remove", "disable"))
        },
        ..HINT
    },
    Hint {
        file: "pass/error.rs",
        command: "gitoggle validate",
        beside: "check `--ref`",
        place: || {
            let world = World::with_pay_applied();
            world.repo.git(&["rm", "--quiet", "-r", "shop"]);
            world.repo.file("README.md", "nothing here\n").commit("Remove all");
            Place::of(world, World::apply)
        },
        code: 1,
        effect: Prints("no document was checked"),
        ..HINT
    },
    Hint {
        file: "pass/error.rs",
        command: "gitoggle apply --first-pass adopt",
        beside: "record the documents of existing toggles",
        place: || not_applied("drift"),
        ..HINT
    },
    Hint {
        file: "pass/error.rs",
        command: "gitoggle allow history",
        beside: "an old job was run again",
        place: || refused_history(older),
        ..HINT
    },
    Hint {
        file: "pass/error.rs",
        command: "gitoggle allow history",
        beside: "an old checkout lacks newer commits",
        place: || refused_history(unknown),
        ..HINT
    },
    Hint {
        file: "pass/error.rs",
        command: "gitoggle allow history",
        beside: "check that `--repo` names the right repository",
        place: || refused_history(unrelated),
        ..HINT
    },
    Hint {
        file: "pass/error.rs",
        command: "gitoggle allow history",
        beside: "applies the rewritten history",
        place: rewritten,
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle apply --overwrite-drift --on-missing create --only {id}",
        beside: "the service does not have the toggle anymore",
        place: || removed("status --live"),
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle allow window {environment}",
        beside: "outside the change windows",
        place: || {
            let world = World::with_pay_applied();
            let windows = "windows:\n  - { deny: \"shop/**\", at: \"2020-01-01 - 2099-12-31\", zone: UTC }\n";
            let config = world.write("frozen.yaml", windows);
            world.repo.commit_pay(21, "Change pay");
            Place::daemon(world, |_, run| run.set("config", config))
        },
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle allow rename {environment}",
        beside: "renamed to that of",
        place: || {
            let world = World::with_pay_and_search_applied();
            world.repo.rename("shop/prod/pay.yaml", "shop/prod/payment.yaml").commit("Rename pay");
            Place::daemon(world, |_, run| run.set("on-remove", "disable"))
        },
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle resume{}",
        beside: "is suspended",
        place: || {
            let place = Place::daemon(World::with_pay_applied(), |_, run| run.set("poll-interval", "200ms"));
            if let Printer::Daemon(daemon, _) = &place.printer {
                daemon.is_ready();
                assert_eq!(daemon.order("/suspend", r#"{"reason": "freeze", "for": "2h"}"#), 200);
            }
            place.world().repo.commit_pay(21, "Change pay");
            place
        },
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle allow first-pass-{first} {environment}",
        beside: "nothing is applied here yet",
        place: || {
            let world = World::new();
            world.repo.commit_pay(18, "Add pay");
            Place::daemon(world, |_, run| run)
        },
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle plan -o json >plan.json",
        beside: "not reviewed",
        place: not_reviewed,
        after: |place| {
            let plan = place.world().path("home/plan.json");
            assert!(std::fs::read_to_string(plan).unwrap().contains("shop/prod/pay"));
        },
        effect: Prints(""),
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle apply --reviewed plan.json",
        beside: "not reviewed",
        place: not_reviewed,
        before: run_plan,
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle allow mass-change {environment}",
        beside: "if this is intended",
        place: mass_change,
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle apply --overwrite-drift --only {}",
        beside: "not adopted",
        place: partly_adopted,
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle allow overwrite-drift {}",
        beside: "not adopted",
        place: || {
            let service = LiveService::start(&json!([toggle("pay"), toggle("other")]));
            service.world.repo.file("shop/prod/other.yaml", doc(18)).commit_pay(18, "Add both");
            service.edit("other", json!({ "comment": "by hand", "disabled": false, "content": content(18) }));
            // The next pass plans an update in place of the adoption, and has another reason.
            Place::live_daemon_with(service, |run| {
                run.set("first-pass", "adopt").set("poll-interval", "1h").set("drift-interval", "1h")
            })
        },
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle allow overwrite-drift {id}",
        beside: "the service does not have the toggle anymore",
        place: || {
            let service = with_pay_changed("Raise the age");
            service.apply().exit(0).any_output();
            let deletion = json!({ "delete_after": { "project": "shop", "toggle": "pay" } });
            service.script("GET", "environmentKey=prod", &deletion);
            Place::live_daemon_with(service, |run| run.set("on-missing", "create"))
        },
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle apply --overwrite-drift --only {id}",
        beside: "changed on the service since it was last applied",
        place: || drifted_and_changed("apply"),
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle allow overwrite-drift {id}",
        beside: "changed on the service since it was last applied",
        place: || {
            let service = with_pay_changed("Raise the age");
            service.edit("pay", by_hand());
            Place::live_daemon(service)
        },
        ..HINT
    },
    Hint {
        file: "plan/live.rs",
        command: "gitoggle import {toggle} --overwrite",
        beside: "to keep that",
        place: || drifted("status --live"),
        after: commit,
        ..HINT
    },
    Hint {
        file: "plan/live.rs",
        command: "gitoggle import {toggle} --overwrite",
        beside: "to keep that",
        place: || drifted_and_changed("apply"),
        effect: Prints("replaced shop/prod/pay"),
        ..HINT
    },
    Hint {
        file: "plan/live.rs",
        command: "gitoggle import {toggle} --overwrite",
        beside: "to keep that",
        // A job or a daemon may read a repository without files.
        place: || {
            let service = pay_changed();
            service.edit("pay", by_hand());
            let bare = service.world.repo.clone_bare(&service.world.path("hosted.git"));
            Place::live(service, |service| team(service, "apply").set("repo", bare.path())).within("repo")
        },
        effect: Prints("replaced shop/prod/pay"),
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle apply --overwrite-drift --only {id}",
        beside: "to undo it",
        place: || drifted("status --live"),
        ..HINT
    },
    Hint {
        file: "plan/hold.rs",
        command: "gitoggle allow overwrite-drift {id}",
        beside: "to undo it",
        place: || {
            let service = with_pay_changed("Raise the age");
            service.apply().exit(0).any_output();
            service.edit("pay", by_hand());
            Place::live_daemon(service)
        },
        ..HINT
    },
    Hint {
        file: "report/stale.rs",
        command: "gitoggle validate",
        beside: "shows why documents are invalid",
        place: || Place::of(with_an_invalid_one(), |world| world.local("stale")),
        code: 3,
        effect: Prints("shop/prod/bad.yaml"),
        ..HINT
    },
    Hint {
        file: "report/text.rs",
        command: "gitoggle validate",
        beside: "more warning",
        place: || Place::of(with_warnings(40), World::plan),
        effect: Prints("shop/prod/w000.yaml"),
        ..HINT
    },
    Hint {
        file: "report/text.rs",
        command: "gitoggle validate",
        beside: "in changed documents",
        place: || Place::of(with_warnings(1), |world| world.apply().arg("--allow-mass-change")),
        effect: Prints("shop/prod/w000.yaml"),
        ..HINT
    },
];

/// Documents that an import has written, beside a repository that has an `origin`.
fn imported() -> Place {
    let service = LiveService::start(&json!([toggle("pay")]));
    service.edit("pay", json!({ "comment": "by hand", "disabled": false, "content": content(18) }));
    Repo::bare(&service.world.path("origin.git"));
    let origin = service.world.path("origin.git");
    let repo = &service.world.repo;
    repo.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
    repo.file("README.md", "toggles\n").commit("Start");
    Place::live(service, |service| {
        let run = service.connected(service.world.bare("import")).unset("timeout");
        run.set("repo", service.world.repo.path())
    })
}

fn commit_import(place: &Place) {
    place.world().repo.git(&["add", "--all"]);
    place.world().repo.commit("Import toggles");
}

/// A starter repository, with an `origin` and the settings as variables.
fn initialized() -> Place {
    let world = World::new();
    let url = world.service.url();
    let ca = world.ca();
    Place::of(world, |world| {
        world
            .bare("init")
            .within(world.repo.path())
            .env("GITOGGLE_BASE_URL", url)
            .env("GITOGGLE_CA_FILE", ca)
            .env("GITOGGLE_TOKEN", crate::support::TOKEN)
    })
}

fn commit_start(place: &Place) {
    let repo = &place.world().repo;
    Repo::bare(&place.world().path("origin.git"));
    repo.git(&["remote", "add", "origin", place.world().path("origin.git").to_str().unwrap()]);
    repo.git(&["add", "--all"]);
    repo.commit("Start with gitoggle");
}
