//! `gitoggle import` writes the documents of toggles that exist into the work tree, and nothing else.

mod faults;
mod from;
mod input;
mod live;
mod live_service;
mod meaning;
mod recorded;
mod spellings;
mod worktree;

use serde_json::{Value, json};

use crate::support::{Gitoggle, TOKEN, World, content};

/// Begins `gitoggle import` into the repository of `world`.
fn import(world: &World) -> Gitoggle {
    world.bare("import").set("repo", world.repo.path())
}

/// Begins `gitoggle import --from -` with `lines` as its input.
fn import_lines(world: &World, lines: &str) -> Gitoggle {
    let path = world.write("input.jsonl", lines);
    import(world).arg("--from=-").after(&format!("exec < '{}'", path.display()))
}

/// Begins `gitoggle import` from the service of `world`.
fn import_live(world: &World) -> Gitoggle {
    import(world)
        .set("base-url", world.service.url())
        .set("ca-file", world.ca())
        .set("service-kind", "featureprobe")
        .env("GITOGGLE_TOKEN", TOKEN)
}

/// Returns a line of input: the toggle is enabled for people older than `age`.
fn line(toggle: &str, age: u32) -> String {
    record(toggle, false, &content(age))
}

fn record(toggle: &str, disabled: bool, content: &Value) -> String {
    json!({ "toggle": toggle, "disabled": disabled, "content": content }).to_string() + "\n"
}

/// Returns the canonical document of `line(_, age)`.
fn canonical(age: u32) -> String {
    format!(
        r#"disabled: false
content:
  variations:
    - name: "off"
      value: "false"
    - name: "on"
      value: "true"
      description: New payment page
  rules:
    - name: adults
      conditions:
        - type: number
          subject: age
          predicate: ">"
          objects:
            - "{age}"
      serve: {{ variation: "on" }}
  disabledServe: {{ variation: "off" }}
  defaultServe: {{ variation: "off" }}
"#
    )
}

/// Returns the text of a file of the repository.
fn file(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.repo.path().join(path)).unwrap()
}

/// Returns the paths of the files in the work tree, sorted.
fn files(world: &World) -> Vec<String> {
    let top = world.repo.path();
    let listed = crate::support::files::listing(top).into_keys();
    let files = listed.filter(|path| !path.is_dir() || path.is_symlink());
    let files = files.map(|path| path.strip_prefix(top).unwrap().display().to_string());
    files.filter(|path| !path.starts_with(".git/")).collect()
}

/// Runs commands that the program printed in a shell, and returns what they print.
fn run_copied(world: &World, commands: &[&str]) -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_gitoggle"));
    let script = commands.join(" &&\n");
    let script = script
        .replace("$REPO", &world.repo.path().display().to_string())
        .replace("$TMP", &world.root().display().to_string())
        .replace("$SERVICE", &format!("127.0.0.1:{}", world.service.port()));
    let path = std::env::var("PATH").unwrap();
    let output = std::process::Command::new("sh")
        .args(["-ec", &script])
        .env_remove("XDG_STATE_HOME")
        .env("PATH", format!("{}:{path}", program.parent().unwrap().display()))
        .env("HOME", world.path("home"))
        .env("GITOGGLE_TOKEN", TOKEN)
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.org")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.org")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
