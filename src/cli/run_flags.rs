//! The flags of this run that the commands in its messages need, too, so that each works as printed where it
//! is read.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::forge;
use crate::config::{self, Command, Flags, Mark, ProcessEnvironment, SettingInfo, Settings};
use crate::git::RepoUrl;
use crate::model::{DEFAULT_URL, RunFlags};
use crate::source::worktree::is_bare;

/// Completes the commands in the messages of this process from here on. Without settings, what they would add
/// is left out.
pub(super) fn install(
    this: Command,
    flags: &Flags,
    environment: &ProcessEnvironment,
    settings: Option<&Settings>,
) {
    let given = flags_of_run(this, flags, environment);
    let mut found = run_flags(this, &given, settings);
    // The variables of its forge are those of a job alone.
    if let Some((repository, url)) = settings.filter(|_| environment.is_job()).and_then(forge::reviews_at) {
        for (setting, flag, value) in
            [("forge_repo", "--forge-repo", repository), ("forge_url", "--forge-url", url)]
        {
            if !given.contains_key(setting) {
                found.add(Command::Apply.as_str(), flag, Some(&value));
            }
        }
    }
    found.install();
}

/// Returns the flags of this invocation, and for a daemon or a job of a CI system also what its variables set:
/// its messages are read where those variables are not.
fn flags_of_run(this: Command, flags: &Flags, environment: &ProcessEnvironment) -> Flags {
    let mut found = flags.clone();
    if this == Command::Run || environment.is_job() {
        let values = config::set_by_variables(environment).into_iter();
        for (setting, value) in values.filter(|(setting, value)| is_portable(setting, value)) {
            found.entry(setting.name.to_owned()).or_insert_with(|| vec![value]);
        }
    }
    found
}

/// Returns whether a value of a setting means the same on another machine. A file of settings may be in the
/// repository.
fn is_portable(setting: &SettingInfo, value: &str) -> bool {
    match setting.name {
        "config" => true,
        "repo" => value.parse::<RepoUrl>().is_ok_and(|url| url.local_path().is_none()),
        "state_dir" => false,
        _ => !matches!(setting.value_name(), Some("FILE" | "PEM")),
    }
}

/// Returns the flags of this invocation that the commands in its messages need, too. A daemon is reached where
/// it listens.
fn run_flags(this: Command, flags: &Flags, settings: Option<&Settings>) -> RunFlags {
    let is_daemon = this == Command::Run;
    let mut found = RunFlags::new(is_daemon);
    // What several processes share is read wherever a command is run, a daemon's folder only where it is.
    let has_own_folder = is_daemon && settings.is_some_and(|settings| settings.state_remote.is_some());
    let is_of_others = |setting: &&SettingInfo| {
        !(setting.is(Mark::Invocation) || has_own_folder && setting.name == "state_dir")
    };
    for setting in config::settings().iter().filter(is_of_others) {
        let Some(values) = flags.get(setting.name) else {
            continue;
        };
        let is_taken = |command: &&Command| match **command {
            // It is run in a clone, which a daemon's machine does not have.
            Command::Import => {
                !(setting.is(Mark::NotOfImport) || is_daemon && setting.value_name() == Some("FILE"))
            }
            // They are for a terminal that may be on another machine, so the daemon's files mean nothing
            // there.
            command => !command.is_sent_to_daemon() || this.is_sent_to_daemon(),
        };
        for command in setting.commands().iter().filter(is_taken) {
            for value in values {
                // An import writes into a work tree: into the clone where it is run.
                let value = match (*command, setting.name) {
                    (Command::Import, "repo") if is_daemon || !has_work_tree(value) => ".",
                    _ => value,
                };
                add_flag(&mut found, *command, setting, value);
            }
        }
    }
    let listen = settings.and_then(|settings| settings.listen.as_ref());
    if let Some(url) = listen.filter(|_| is_daemon).and_then(url_of) {
        for command in Command::ALL.into_iter().filter(|command| command.is_sent_to_daemon()) {
            found.add(command.as_str(), "--url", Some(&url));
            // Whoever reaches that address can read the file, too. A port that is forwarded leads to the default.
            for file in flags.get("admin_token_file").into_iter().flatten() {
                found.add(command.as_str(), "--admin-token-file", Some(file));
            }
        }
    }
    found
}

/// Returns whether the repository at this path or URL has files that a person edits.
fn has_work_tree(repo: &str) -> bool {
    let url: Result<RepoUrl, _> = repo.parse();
    url.is_ok_and(|url| url.local_path().is_some_and(|path| !is_bare(path)))
}

fn add_flag(found: &mut RunFlags, command: Command, setting: &SettingInfo, value: &str) {
    let Some(flag) = &setting.flag else {
        return;
    };
    if !setting.is_switch() {
        return found.add(command.as_str(), flag, Some(value));
    }
    let is_on = !flag.starts_with("--no-");
    match setting.opposite.as_deref().filter(|_| (value == "true") != is_on) {
        Some(opposite) => found.add(command.as_str(), opposite, None),
        None => found.add(command.as_str(), flag, None),
    }
}

/// Returns the URL at which a terminal on the daemon's machine reaches it; none if that is the default.
fn url_of(listen: &SocketAddr) -> Option<String> {
    let ip = match listen.ip() {
        ip if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        ip => ip,
    };
    let url = format!("http://{}", SocketAddr::new(ip, listen.port()));
    (listen.port() != 0 && url != DEFAULT_URL).then_some(url)
}
