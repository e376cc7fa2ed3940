//! Secrets, and the settings that a file in the work tree may not change.

use std::path::PathBuf;

use super::*;
use crate::transport::SecretSource;

#[test]
fn a_secret_is_in_a_variable_or_a_file_and_never_printed() {
    let secrets = settings().iter().filter(|setting| setting.is_secret());
    for secret in secrets {
        assert_eq!((secret.flag.as_deref(), secret.key), (None, None), "{}", secret.name);
        let variable = secret.variable.as_deref().unwrap();
        let loaded = Case::new(Command::Plan).variable(variable, "hunter2").load().unwrap();
        let shown = format!("{loaded:?}");
        assert!(!shown.contains("hunter2") && shown.contains("***"), "{shown}");
        for message in [
            Case::new(Command::Plan).variable(variable, "hunter2\n").errors(),
            Case::new(Command::Plan).file(&format!("{}: hunter2\n", secret.name)).errors(),
        ] {
            assert!(!message.contains("hunter2"), "{message}");
        }
    }
    let both = Case::new(Command::Run)
        .variable("GITOGGLE_TOKEN", "hunter2")
        .flag("token_file", "/t")
        .flag("base_url", "https://t.example");
    assert_eq!(both.errors(), "--token-file: GITOGGLE_TOKEN also sets this secret; keep one of them");
    let file = Case::new(Command::Plan).file("token_file: /t\n").settings();
    assert_eq!(file.token, Some(SecretSource::File(PathBuf::from("/t"))));
}

#[test]
fn a_file_in_the_work_tree_changes_only_the_plan() {
    let shaping = "root: toggles\nlayout: '{environment}/{project}/{toggle}.yaml'\nmax_change_ratio: 0.5\n";
    let loaded = Case::new(Command::Plan).file(shaping).load_at("repo/c.yaml").unwrap();
    assert_eq!(loaded.settings.root, "toggles");
    for key in [
        "base_url: https://evil.example",
        "token_file: /t",
        "ca_file: /c",
        "state_remote: https://evil.example/a",
        "state_dir: /s",
        "git_username: me",
        "git_password_file: /p",
        "state_git_password_file: /p",
        "listen: 0.0.0.0:80",
        "admin_token_file: /a",
        "webhook_secret_file: /w",
        "notify_url: https://evil.example",
        "repo: https://evil.example/a",
        "allowed_signers: /k",
        "gpg_keyring: /k",
    ] {
        assert!(Case::new(Command::Plan).file(key).load().is_ok(), "{key}");
        let error = Case::new(Command::Plan).file(key).load_at("repo/c.yaml").unwrap_err();
        assert!(error.to_string().contains("work tree"), "{key}: {error}");
    }
    // The working directory is in that repository, whatever the source is.
    let elsewhere = || Case::new(Command::Plan).flag("repo", "https://git.example/a");
    let file = "base_url: https://t.example";
    assert!(elsewhere().file(file).load_at("repo/c.yaml").is_err());
    assert!(elsewhere().file(file).load_at("elsewhere/c.yaml").is_ok());
}

/// A value that is a number, a time or a choice sends nothing to another place. Any other does, or says why not.
#[test]
fn every_setting_of_an_address_or_a_file_is_trusted() {
    let harmless = ["GLOB", "N", "RATIO", "REF", "SDK", "TEMPLATE", "TIME"];
    let others = [("root", "a folder within the source")];
    let is_open = |setting: &&SettingInfo| {
        let name = setting.value_name().unwrap_or_default();
        setting.key.is_some()
            && !setting.is_switch()
            && setting.words().is_empty()
            && !harmless.contains(&name)
            && !setting.is(Mark::Trusted)
    };
    let open: Vec<&str> = settings().iter().filter(is_open).map(|setting| setting.name).collect();
    assert_eq!(open, others.map(|(name, _)| name), "mark it `is(Trusted)`, or give the reason here");
}

#[test]
fn every_secret_with_a_file_is_read_from_it() {
    for secret in settings().iter().filter(|setting| setting.is_secret()) {
        let file = format!("{}_file", secret.name);
        if settings().iter().any(|setting| setting.name == file) {
            let loaded = Case::new(Command::Plan).flag(&file, "/t").settings();
            let mut found = loaded.secrets().filter(|(name, _)| *name == secret.name);
            let expected = SecretSource::File(PathBuf::from("/t"));
            assert_eq!(found.next(), Some((secret.name, &expected)), "add it to `secrets!`");
        }
    }
}

#[test]
fn a_state_folder_is_not_in_a_work_tree() {
    let case = |dir: &str| Case::new(Command::Plan).flag("state_dir", dir).load();
    let error = case("state").unwrap_err();
    assert!(error.to_string().starts_with("--state-dir: "), "{error}");
    for dir in [".git/gitoggle", "../elsewhere/state"] {
        assert!(case(dir).is_ok(), "{dir}");
    }
}

#[test]
fn the_state_remote_origin_of_a_url_is_that_url() {
    let remote = |repo| {
        let case = Case::new(Command::Plan).flag("repo", repo).flag("state_remote", "origin");
        case.settings().state_remote
    };
    let url = "https://git.example/a";
    assert_eq!(remote(url), Some(StateRemote::Url(url.parse().unwrap())));
    assert_eq!(remote("."), Some(StateRemote::Origin));
}
