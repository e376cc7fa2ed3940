//! Running the built program in an environment that holds nothing but what a test put there.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::ran::{Output, Ran};
use super::text::Normaliser;
use super::wait::DEADLINE;

/// One run of the program, being put together. Ends with [`Gitoggle::exit`].
#[must_use = "a run that is not started tests nothing"]
#[derive(Clone, Debug)]
pub(crate) struct Gitoggle {
    verb: Vec<String>,
    settings: Vec<(String, String)>,
    args: Vec<String>,
    environment: BTreeMap<String, String>,
    folder: PathBuf,
    normaliser: Normaliser,
    before: Vec<String>,
    patience: Duration,
}

impl Gitoggle {
    /// Begins a run of `gitoggle VERB` with `home` as its home and working folder.
    pub(crate) fn new(verb: &str, home: &Path) -> Self {
        let mut environment = BTreeMap::new();
        environment.insert("HOME".to_owned(), home.display().to_string());
        environment.insert("LANG".to_owned(), "C.UTF-8".to_owned());
        environment.insert("PATH".to_owned(), std::env::var("PATH").unwrap_or_default());
        environment.insert("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned());
        environment.insert("XDG_STATE_HOME".to_owned(), home.join("xdg-state").display().to_string());
        Self {
            verb: verb.split_whitespace().map(str::to_owned).collect(),
            settings: Vec::new(),
            args: Vec::new(),
            environment,
            folder: home.to_owned(),
            normaliser: Normaliser::default(),
            before: Vec::new(),
            patience: 2 * DEADLINE,
        }
    }

    /// Names what the outputs are normalised with.
    pub(crate) fn normalised(mut self, normaliser: Normaliser) -> Self {
        self.normaliser = normaliser;
        self
    }

    /// Also replaces `text` in the outputs.
    pub(crate) fn also(mut self, text: &str, with: &str) -> Self {
        self.normaliser = self.normaliser.text(text, with);
        self
    }

    /// Gives a setting as `--name=value`, in place of what it was.
    pub(crate) fn set(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self = self.unset(name);
        let value = value.as_ref().to_str().expect("tests give UTF-8").to_owned();
        self.settings.push((name.to_owned(), value));
        self
    }

    /// Does not give that setting.
    pub(crate) fn unset(mut self, name: &str) -> Self {
        self.settings.retain(|(known, _)| known != name);
        self
    }

    /// Gives an argument as it is.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_str().expect("tests give UTF-8").to_owned());
        self
    }

    /// Gives arguments, written with white space between them.
    pub(crate) fn args(mut self, args: &str) -> Self {
        self.args.extend(args.split_whitespace().map(str::to_owned));
        self
    }

    /// Returns the names of the settings that it gives.
    pub(crate) fn setting_names(&self) -> Vec<&str> {
        self.settings.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        let value = value.as_ref().to_str().expect("tests give UTF-8").to_owned();
        self.environment.insert(name.to_owned(), value);
        self
    }

    /// Removes an environment variable.
    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.environment.remove(name);
        self
    }

    /// Runs it in that folder.
    pub(crate) fn within(mut self, folder: &Path) -> Self {
        folder.clone_into(&mut self.folder);
        self
    }

    /// Runs it as a user who owns nothing, if these tests run as root; else as who we are.
    pub(crate) fn by_nobody(mut self) -> Self {
        if is_root() {
            self.before =
                ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"].map(str::to_owned).to_vec();
        }
        self
    }

    /// Gives it this long before it is taken as hung.
    pub(crate) fn within_seconds(mut self, seconds: u64) -> Self {
        self.patience = Duration::from_secs(seconds);
        self
    }

    /// Runs it through a shell that first does `script` (such as `ulimit -f 8`).
    pub(crate) fn after(mut self, script: &str) -> Self {
        self.before = vec!["sh".into(), "-c".into(), format!("{script}; exec \"$@\""), "sh".into()];
        self
    }

    /// Runs it in its own namespace of users and mounts, after `script`, which may set its limits.
    pub(crate) fn within_user_namespace(self, script: &str) -> Self {
        let mut run = self.after(script);
        let unshare = ["unshare", "--user", "--map-root-user", "--mount"].map(str::to_owned);
        run.before.splice(0..0, unshare);
        run
    }

    /// Runs it and states its exit code; what it printed is to be stated on what this returns.
    #[track_caller]
    pub(crate) fn exit(self, code: i32) -> Ran {
        self.exit_in(&[code])
    }

    /// Runs it where more than one exit code keeps the promise.
    #[track_caller]
    pub(crate) fn exit_in(self, codes: &[i32]) -> Ran {
        let command_line = self.command_line();
        let normaliser = self.normaliser.clone();
        let self_settings = OwnFlags::of(&self);
        let patience = self.patience;
        let child = self.start_piped();
        let id = child.id();
        let watch = Watch::over(id, patience);
        let output = child.wait_with_output().expect("a child can be waited for");
        let in_time = watch.disarm();
        let stdout = String::from_utf8(output.stdout).expect("stdout is UTF-8");
        let stderr = String::from_utf8(output.stderr).expect("stderr is UTF-8");
        let found = output.status.code();
        assert!(
            in_time && found.is_some_and(|found| codes.contains(&found)),
            "{command_line}\nexit code: expected {codes:?}, found {} {}\n--- stdout:\n{stdout}\n--- stderr:\n{stderr}",
            output.status,
            if in_time { "" } else { "(it hung)" },
        );
        Ran {
            command_line,
            stdout: Output::new(self_settings.without(&normaliser.apply(&stdout))),
            stderr: Output::new(self_settings.without(&normaliser.apply(&stderr))),
        }
    }

    /// Starts it with its outputs going nowhere, for a test that ends it.
    pub(crate) fn start(self) -> Running {
        let child = self
            .command()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program can be started");
        Running { child }
    }

    /// Starts it with all that it says going to a file.
    pub(crate) fn start_logged(self, log: &Path) -> Running {
        let file = std::fs::File::create(log).expect("a log can be made");
        let child = self
            .command()
            .stdout(file.try_clone().expect("a file can be shared"))
            .stderr(file)
            .spawn()
            .expect("the program can be started");
        Running { child }
    }

    /// Returns the digest of its plan, which other outputs of tests show as a placeholder.
    pub(crate) fn digest(self) -> String {
        let output = self.set("output", "json").start_piped().wait_with_output().unwrap();
        let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        plan["digest"].as_str().unwrap().to_owned()
    }

    /// Starts it with its outputs kept.
    pub(crate) fn start_piped(&self) -> Child {
        self.command()
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started")
    }

    fn command(&self) -> Command {
        let program = env!("CARGO_BIN_EXE_gitoggle").to_owned();
        let mut words = self.before.clone();
        words.push(program);
        words.extend(self.verb.iter().cloned());
        words.extend(self.settings.iter().map(|(name, value)| format!("--{name}={value}")));
        words.extend(self.args.iter().cloned());
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .env_clear()
            .envs(&self.environment)
            .current_dir(&self.folder)
            .stdin(Stdio::null());
        command
    }

    /// Runs a line of a shell in its folder and its environment, in which `gitoggle` is this program.
    pub(crate) fn shell(&self, line: &str) -> std::process::Output {
        let program = Path::new(env!("CARGO_BIN_EXE_gitoggle")).parent().expect("it is in a folder");
        let path = format!("{}:{}", program.display(), self.environment["PATH"]);
        let mut command = Command::new("sh");
        command.args(["-c", line]).env_clear().envs(&self.environment).env("PATH", path);
        let command = command.current_dir(&self.folder).stdin(Stdio::null());
        command.output().expect("a shell can be run")
    }

    fn command_line(&self) -> String {
        let mut command_line = format!("gitoggle {}", self.verb.join(" "));
        for (name, value) in &self.settings {
            command_line.push_str(&format!(" --{name}={value}"));
        }
        for arg in &self.args {
            command_line.push_str(&format!(" {arg}"));
        }
        self.normaliser.apply(&command_line)
    }
}

/// The flags that each run of a test has, which the program adds to the commands that it prints in backticks.
/// They are left out of what a test states; `hints` tests them.
struct OwnFlags(Vec<String>);

impl OwnFlags {
    fn of(run: &Gitoggle) -> Self {
        let words = |(name, value): &(String, String)| {
            let value = run.normaliser.apply(value);
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
            // The placeholder of a path is plain before it is normalised.
            let is_plain = value.chars().all(|c| is_plain(c) || c == '$');
            if is_plain { format!(" --{name} {value}") } else { format!(" --{name} '{value}'") }
        };
        Self(run.settings.iter().map(words).collect())
    }

    fn without(&self, text: &str) -> String {
        let parts = text.split('`').map(|part| match part.starts_with("gitoggle ") && !part.contains('\n') {
            true => self.0.iter().fold(part.to_owned(), |part, words| part.replace(words.as_str(), "")),
            false => part.to_owned(),
        });
        parts.collect::<Vec<_>>().join("`")
    }
}

/// A run that goes on while a test does something else; killed when dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
}

impl Running {
    /// Ends it as a power cut would, and waits until it is gone.
    pub(crate) fn kill(mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Asks it to end, as a supervisor would.
    pub(crate) fn terminate(&self) {
        let status = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()
            .expect("kill can be run");
        assert!(status.success(), "the process exists");
    }

    /// Waits until it ends and returns its exit code (`None` after a signal).
    pub(crate) fn wait(mut self) -> Option<i32> {
        let watch = Watch::over(self.child.id(), 2 * DEADLINE);
        let code = self.child.wait().expect("a child can be waited for").code();
        assert!(watch.disarm(), "the program hung");
        code
    }

    /// Returns whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be asked").is_some()
    }

    /// Returns its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Kills a process that takes longer than anything may, so that a test fails instead of hanging.
struct Watch {
    done: std::sync::mpsc::Sender<()>,
    thread: std::thread::JoinHandle<bool>,
}

impl Watch {
    fn over(process: u32, patience: Duration) -> Self {
        let (done, wait) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let in_time = wait.recv_timeout(patience) != Err(std::sync::mpsc::RecvTimeoutError::Timeout);
            if !in_time {
                drop(Command::new("kill").args(["-KILL", &process.to_string()]).status());
            }
            in_time
        });
        Self { done, thread }
    }

    fn disarm(self) -> bool {
        drop(self.done);
        self.thread.join().expect("the watch does not panic")
    }
}

/// Returns whether these tests run as root.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}
