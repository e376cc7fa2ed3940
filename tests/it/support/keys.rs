//! Real keys that sign commits, made by `ssh-keygen` and `gpg`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::world::World;

/// Runs a program that must succeed, and returns what it prints.
#[track_caller]
fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    let output = output.unwrap_or_else(|error| panic!("{program}, which `.ci/run` installs: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// An SSH key.
pub(crate) struct SshKey(PathBuf);

impl SshKey {
    /// Makes one whose file has this name.
    pub(crate) fn new(world: &World, name: &str) -> Self {
        let path = world.path(name);
        run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", &path.display().to_string()]);
        Self(path)
    }

    /// Returns its line in a file of allowed signers.
    pub(crate) fn line(&self, principal: &str, options: &str) -> String {
        let public = std::fs::read_to_string(self.0.with_extension("pub")).unwrap();
        format!("{principal} {options} {public}")
    }

    /// Commits what is staged, and signs it.
    pub(crate) fn commit(&self, world: &World, message: &str) {
        let key = format!("user.signingkey={}", self.0.display());
        sign(world, &["-c", "gpg.format=ssh", "-c", &key], message);
    }
}

fn sign(world: &World, options: &[&str], message: &str) {
    let commit = ["commit", "--quiet", "--allow-empty", "--gpg-sign", "-m", message];
    world.repo.git(&[options, &commit].concat());
}

/// The folder of a user with OpenPGP keys.
pub(crate) struct Gnupg {
    home: PathBuf,
    /// A program that signs with these keys, at a time at which all of them are valid.
    program: PathBuf,
}

impl Gnupg {
    /// Makes an empty one.
    pub(crate) fn new(world: &World) -> Self {
        use std::os::unix::fs::DirBuilderExt as _;
        let home = world.path("gnupg");
        std::fs::DirBuilder::new().mode(0o700).create(&home).unwrap();
        let script = format!(
            "#!/bin/sh\nexec gpg --homedir '{}' --batch --quiet --pinentry-mode loopback --passphrase '' \
             --faked-system-time 20231201T000000 \"$@\"\n",
            home.display()
        );
        world.write_program("gpg-of-a-user", &script);
        Self { home, program: world.path("gpg-of-a-user") }
    }

    /// Runs `gpg` with the keys of the user.
    pub(crate) fn gpg(&self, args: &[&str]) -> String {
        run(&self.program.display().to_string(), args)
    }

    /// Makes a key, which may expire on a day, and returns it as it is exported.
    pub(crate) fn key(&self, user: &str, expires: &str) -> String {
        self.gpg(&["--quick-gen-key", user, "ed25519", "sign", expires]);
        self.export(user)
    }

    /// Returns the public key of a user.
    pub(crate) fn export(&self, user: &str) -> String {
        self.gpg(&["--armor", "--export", user])
    }

    /// Revokes the key of a user.
    pub(crate) fn revoke(&self, user: &str) {
        let certificate = self.home.join(format!("openpgp-revocs.d/{}.rev", self.fingerprint(user)));
        let text = std::fs::read_to_string(&certificate).unwrap().replace(":-----BEGIN", "-----BEGIN");
        std::fs::write(&certificate, text).unwrap();
        self.gpg(&["--import", &certificate.display().to_string()]);
    }

    /// Returns the fingerprint of the key of a user.
    pub(crate) fn fingerprint(&self, user: &str) -> String {
        let listed = self.gpg(&["--with-colons", "--list-keys", user]);
        let line = listed.lines().find_map(|line| line.strip_prefix("fpr:::::::::"));
        line.unwrap().trim_end_matches(':').to_owned()
    }

    /// Commits what is staged, and signs it as a user.
    pub(crate) fn commit(&self, world: &World, user: &str, message: &str) {
        let (program, key) =
            (format!("gpg.program={}", self.program.display()), format!("user.signingkey={user}"));
        sign(world, &["-c", "gpg.format=openpgp", "-c", &program, "-c", &key], message);
    }

    /// Returns the folder.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }
}

impl Drop for Gnupg {
    fn drop(&mut self) {
        // The agent, which outlives the program that started it.
        let home = self.home.display().to_string();
        drop(Command::new("gpgconf").args(["--homedir", &home, "--kill", "all"]).status());
    }
}

/// Changes the newest commit without its signature, and goes there.
pub(crate) fn tamper(world: &World, from: &str, to: &str) {
    let text = world.repo.git(&["cat-file", "commit", "HEAD"]);
    assert!(text.contains(from), "{text}");
    let file = world.write("tampered", &format!("{}\n", text.replace(from, to)));
    let id = world.repo.git(&["hash-object", "-t", "commit", "-w", &file.display().to_string()]);
    world.repo.force(&id);
}
