#![doc = include_str!("README.md")]

pub mod args;
mod audience;
mod commands;
mod daemon;
mod failure;
mod forge;
mod observer;
mod output;
mod setup;
mod targets;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use args::Invocation;
use failure::{ExitStatus, Failure};
use output::{show_failure, unsupported};

use crate::config::{self, Command, Flags, Mark, OutputFormat, ProcessEnvironment, SettingInfo, Settings};
use crate::git::RepoUrl;
use crate::model::{DEFAULT_URL, RunFlags};
use crate::source::worktree::is_bare;
use crate::telemetry::{self, Stream};

/// Runs the program with the arguments `typed`, the program's name first, and returns the exit code
/// (src/cli/README.md, "Exit codes").
pub fn main(typed: impl IntoIterator<Item = OsString>) -> ExitCode {
    let typed: Vec<OsString> = typed.into_iter().collect();
    let invocation = match args::parse(typed.iter().cloned()) {
        Ok(invocation) => invocation,
        Err(error) => return unparsed(&error, &typed),
    };
    let status = run(&invocation).unwrap_or_else(|failure| {
        // A closed stderr does not change the exit code.
        let _ = Stream::Stderr.print(&failure.to_string());
        failure.status()
    });
    // What a thread that nobody waits for still runs or has on disk ends with this process.
    crate::git::kill_all();
    ExitCode::from(status.code())
}

/// Prints the requested help or version, or a usage error.
fn unparsed(error: &clap::Error, typed: &[OsString]) -> ExitCode {
    let stream = if error.use_stderr() { Stream::Stderr } else { Stream::Stdout };
    let command = args::command_in(typed);
    let is_printed = |output: &OutputFormat| {
        error.use_stderr() && command.is_none_or(|command| is_offered(command, *output))
    };
    if let Some(output) = output(typed).filter(is_printed) {
        let _ = show_failure(command, output, &misused(error));
    }
    let _ = stream.print(&error.render().to_string());
    ExitCode::from(args::exit_code(error))
}

/// Returns the output that arguments with a usage error ask for. The file of settings is not read then.
fn output(typed: &[OsString]) -> Option<OutputFormat> {
    let variable = std::env::var("GITOGGLE_OUTPUT").ok();
    let mut words = typed.iter().filter_map(|word| word.to_str());
    let mut found = variable.and_then(|word| word.parse().ok());
    while let Some(word) = words.next() {
        let value = match word {
            "--" => break,
            "-o" | "--output" => words.next(),
            word => (word.strip_prefix("--output=")).or_else(|| word.strip_prefix("-o")),
        };
        let value = value.map(|value| value.trim_start_matches('='));
        found = value.and_then(|value| value.parse().ok()).or(found);
    }
    found
}

/// Returns a usage error with its tip, without the usage.
fn misused(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(str::trim);
    let message = paragraphs.next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message).to_owned();
    let tip = paragraphs.find_map(|paragraph| paragraph.strip_prefix("tip: "));
    Failure::new(ExitStatus::Usage, message).maybe_hint(tip)
}

fn run(invocation: &Invocation) -> Result<ExitStatus, Failure> {
    let Invocation { command, args, flags, verbosity } = invocation;
    let command = *command;
    let mut environment =
        ProcessEnvironment::of_process().map_err(Failure::could_not("find the current folder"))?;
    if !command.takes_settings() {
        // An error in a setting must not break the completions of a shell.
        environment.variables.clear();
    }
    let config::LoadedSettings { settings, warnings } = match config::load(command, flags, &environment) {
        Ok(loaded) => loaded,
        Err(errors) => {
            run_flags(command, &flags_of_run(command, flags, &environment), None).install();
            let output = errors.output;
            let failure = Failure::from(errors);
            if command == Command::Plan {
                forge::comment_misconfigured(flags, &environment, &failure)?;
            }
            return finished(command, output, Err(failure));
        }
    };
    run_flags(command, &flags_of_run(command, flags, &environment), Some(&settings)).install();
    let level = verbosity.level(command, settings.log_level);
    telemetry::start(command, settings.log_format, level, settings.color);
    for warning in &warnings {
        tracing::warn!(name: "settings_warning", "{warning}");
    }
    let may_run_git = settings.repo.local_path().is_none() || settings.state_remote.is_some();
    if may_run_git && !command.handles_signals() {
        setup::exit_on_signal().map_err(Failure::failed)?;
    }
    // Before the command: a missing secret file is reported at startup (src/config/README.md, "Secrets and
    // trust").
    let result = match setup::check_secrets(command, &settings) {
        // Before the command, too: a pass must not end without a report.
        Ok(()) if !is_offered(command, settings.output) => Err(unsupported(settings.output)),
        Ok(()) => args.run(&settings),
        Err(failure) if command == Command::Plan => commands::unable(&settings, failure),
        Err(failure) => Err(failure),
    };
    finished(command, settings.output, result)
}

fn finished(
    command: Command,
    output: OutputFormat,
    result: Result<ExitStatus, Failure>,
) -> Result<ExitStatus, Failure> {
    if let Err(failure) = &result
        && is_offered(command, output)
    {
        show_failure(Some(command), output, failure)?;
    }
    result
}

/// Returns whether a command prints in this form. One that takes no `--output` ignores the variable.
fn is_offered(command: Command, output: OutputFormat) -> bool {
    let formats = commands::formats(command);
    formats.is_empty() || formats.contains(&output)
}

impl From<crate::pass::Error> for Failure {
    fn from(error: crate::pass::Error) -> Self {
        Self::of(&std::sync::Arc::new(error))
    }
}

impl Failure {
    /// Converts the error that prevented or ended a pass.
    fn of(error: &std::sync::Arc<crate::pass::Error>) -> Self {
        let status = if error.is_hold() { ExitStatus::Held } else { ExitStatus::Failed };
        Self::new(status, std::sync::Arc::clone(error)).maybe_hint(error.hint())
    }
}

/// Returns the counts that are not zero, each with its word.
fn nonzero(counts: &[(usize, &str)]) -> Vec<String> {
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, what)| format!("{count} {what}")).collect()
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
