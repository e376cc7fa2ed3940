//! Verifies who signed a commit, by `git verify-commit` (src/git/README.md, "Signatures").
//!
//! The commit is copied into an empty repository in a temporary folder, beside copies of the files of keys.
//! So the configuration of the source executes nothing, and only the configured keys count, whatever keys a
//! user has.

use std::error::Error;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use git2::ObjectType;

use super::error::Libgit2Error;
use super::host_error::GitError;
use super::process::{Output, isolate, local, run, version};
use super::process_group::StepKind;
use super::repository::init_bare;
use super::temporary_folder::TemporaryFolder;
use super::words::GitWords;
use crate::model::{CommitId, escaped};

/// How long a program may be silent.
const VERIFY_TIMEOUT: Duration = Duration::from_secs(60);

/// The first version of Git that verifies SSH signatures.
const SSH_SINCE: (u32, u32) = (2, 34);

/// The files of the keys, one of which must have signed a revision. Without a file, no signature is needed.
#[derive(Clone, Debug, Default)]
pub struct TrustedKeys {
    /// The SSH keys, as `ssh-keygen` reads them.
    pub allowed_signers: Option<PathBuf>,
    /// The OpenPGP keys, as `gpg --export` writes them.
    pub gpg_keyring: Option<PathBuf>,
}

/// Why a revision does not count as signed by a trusted key.
#[derive(Debug, thiserror::Error)]
#[error("{fact}")]
pub struct UnverifiedCommit {
    fact: String,
    hint: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl UnverifiedCommit {
    fn new(fact: String, hint: impl Into<String>) -> Self {
        Self { fact, hint: hint.into(), source: None }
    }

    fn because(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Returns the way out.
    pub(crate) fn hint(&self) -> &str {
        &self.hint
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum SignatureKind {
    OpenPgp,
    Ssh,
}

impl SignatureKind {
    /// Returns its name, its setting, and the program that Git runs, with its package.
    const fn words(self) -> [&'static str; 4] {
        match self {
            Self::OpenPgp => ["OpenPGP", "--gpg-keyring", "gpg", "gnupg"],
            Self::Ssh => ["SSH", "--allowed-signers", "ssh-keygen", "openssh-client"],
        }
    }
}

#[derive(Debug, Eq, PartialEq)]
struct KeyFile {
    kind: SignatureKind,
    path: PathBuf,
    content: Vec<u8>,
}

impl TrustedKeys {
    pub(crate) fn is_empty(&self) -> bool {
        self.allowed_signers.is_none() && self.gpg_keyring.is_none()
    }

    fn read(&self) -> Result<Vec<KeyFile>, UnverifiedCommit> {
        let files =
            [(SignatureKind::Ssh, &self.allowed_signers), (SignatureKind::OpenPgp, &self.gpg_keyring)];
        let given = files.into_iter().filter_map(|(kind, path)| Some((kind, path.clone()?)));
        let read = |(kind, path): (SignatureKind, PathBuf)| match fs::read(&path) {
            Ok(content) => Ok(KeyFile { kind, path, content }),
            Err(error) => {
                let [name, flag, ..] = kind.words();
                let fact = format!("could not read the trusted {name} keys in {}", shown(&path));
                Err(UnverifiedCommit::new(fact, format!("check `{flag}`")).because(error))
            }
        };
        given.map(read).collect()
    }
}

/// Verifies revisions. Remembers the last signer as long as neither the revision nor the files of keys
/// change.
#[derive(Debug)]
pub(crate) struct CommitVerifier {
    keys: TrustedKeys,
    last: Option<(CommitId, Vec<KeyFile>, String)>,
}

impl CommitVerifier {
    pub(crate) fn new(keys: TrustedKeys) -> Self {
        Self { keys, last: None }
    }

    /// Returns whether every revision is accepted.
    pub(crate) fn is_off(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the signer of the commit `id` with the bytes `raw`.
    pub(crate) fn signer(&mut self, id: CommitId, raw: &[u8]) -> Result<String, UnverifiedCommit> {
        let files = self.keys.read()?;
        if let Some((known, same, signer)) = &self.last
            && (*known, same) == (id, &files)
        {
            return Ok(signer.clone());
        }
        let signer = SignedCommit { id, raw, files: &files }.verify()?;
        tracing::info!(name: "verified", revision = %id, signer, "the revision is signed by a trusted key");
        self.last = Some((id, files, signer.clone()));
        Ok(signer)
    }
}

struct SignedCommit<'a> {
    id: CommitId,
    raw: &'a [u8],
    files: &'a [KeyFile],
}

impl SignedCommit<'_> {
    fn verify(&self) -> Result<String, UnverifiedCommit> {
        let file = self.key_file()?;
        let version = version().map_err(|error| self.failed(error))?;
        if file.kind == SignatureKind::Ssh && version < SSH_SINCE {
            let (major, minor) = version;
            let fact = format!("`git` is version {major}.{minor}, which cannot verify SSH signatures");
            return Err(UnverifiedCommit::new(fact, "install Git 2.34 or later"));
        }
        let folder = TemporaryFolder::create(None).map_err(|error| self.failed(error))?;
        let (folder, keys) = (folder.path(), folder.path().join("keys"));
        let (repository, home) = (folder.join("repository"), folder.join("gnupg"));
        self.prepare(file, &repository, &home, &keys).map_err(|error| self.failed(error))?;
        let mut allowed = Path::new("/dev/null");
        match file.kind {
            SignatureKind::Ssh => allowed = &keys,
            SignatureKind::OpenPgp => {
                let mut import = Command::new("gpg");
                isolate(&mut import, &repository);
                import.env("GNUPGHOME", &home).args(["--batch", "--quiet", "--import", "--"]).arg(&keys);
                let output = self.run(import, file.kind)?;
                if !output.is_success {
                    let (path, words) = (shown(&file.path), GitWords::of(&output.stderr));
                    let fact = format!("could not import the trusted OpenPGP keys in {path}{words}");
                    let hint = "write the file with `gpg --armor --export KEY …`";
                    return Err(UnverifiedCommit::new(fact, hint));
                }
            }
        }
        let mut git = local(&repository);
        git.env("GNUPGHOME", &home);
        for entry in [
            "gpg.program=gpg",
            "gpg.openpgp.program=gpg",
            "gpg.ssh.program=ssh-keygen",
            "gpg.x509.program=false",
            "gpg.minTrustLevel=undefined",
        ] {
            git.args(["-c", entry]);
        }
        git.arg("-c").arg(format!("gpg.ssh.allowedSignersFile={}", allowed.display()));
        git.args(["verify-commit", "--raw"]).arg(self.id.to_string());
        let output = self.run(git, file.kind)?;
        let said = output.stderr.replace(&keys.display().to_string(), &file.path.display().to_string());
        let signer = signer(&said).filter(|_| output.is_success);
        signer.ok_or_else(|| self.refused(file, &said))
    }

    /// Returns the file of trusted keys for the kind of the signature.
    fn key_file(&self) -> Result<&KeyFile, UnverifiedCommit> {
        let refused = |fact: &str, hint| UnverifiedCommit::new(format!("revision {} {fact}", self.id), hint);
        let header = self.raw.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
        let mark = header.filter_map(|line| line.strip_prefix(b"gpgsig ")).next();
        let kind = match mark {
            None => return Err(refused("is not signed", self.way_out())),
            Some(b"-----BEGIN SSH SIGNATURE-----") => SignatureKind::Ssh,
            Some(b"-----BEGIN PGP SIGNATURE-----" | b"-----BEGIN PGP MESSAGE-----") => SignatureKind::OpenPgp,
            Some(_) => {
                return Err(refused("is signed with neither an OpenPGP nor an SSH key", self.way_out()));
            }
        };
        self.files.iter().find(|file| file.kind == kind).ok_or_else(|| {
            let [name, flag, ..] = kind.words();
            let hint = format!("to trust {name} keys, pass their file as `{flag}`; or {}", self.way_out());
            refused(&format!("is signed with an {name} key, and no {name} key is trusted"), hint)
        })
    }

    fn prepare(
        &self,
        file: &KeyFile,
        repository: &Path,
        home: &Path,
        keys: &Path,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let copy = init_bare(repository)?;
        let objects = copy.odb().map_err(Libgit2Error::from)?;
        objects.write(ObjectType::Commit, self.raw).map_err(Libgit2Error::from)?;
        fs::DirBuilder::new().mode(0o700).create(home)?;
        // A key that is not in the keyring must not be downloaded, and nothing needs the agent.
        fs::write(home.join("gpg.conf"), "no-autostart\nno-auto-key-retrieve\n")?;
        Ok(fs::write(keys, &file.content)?)
    }

    fn run(&self, command: Command, kind: SignatureKind) -> Result<Output, UnverifiedCommit> {
        let is_git = command.get_program() == "git";
        let output = run(command, StepKind::Read, VERIFY_TIMEOUT, format_args!("commit {}", self.id));
        match output {
            Err(GitError::NoGit(error)) if !is_git => Err(no_program(kind).because(error)),
            Ok(output) if !output.is_success && output.stderr.contains("cannot run ") => {
                Err(no_program(kind))
            }
            output => output.map_err(|error| self.failed(error)),
        }
    }

    fn failed(&self, error: impl Into<Box<dyn Error + Send + Sync>>) -> UnverifiedCommit {
        let fact = format!("could not verify the signature of revision {}", self.id);
        UnverifiedCommit::new(fact, "run it again").because(error)
    }

    /// Explains what `git verify-commit` printed.
    fn refused(&self, file: &KeyFile, said: &str) -> UnverifiedCommit {
        let (path, way_out) = (shown(&file.path), self.way_out());
        let trust = format!("if that key is trusted, add it to {path}; otherwise {way_out}");
        let renew = format!("if that key was renewed, update {path}; otherwise {way_out}");
        let (fact, hint) = if gpg_status(said, "BADSIG").is_some() || said.contains("incorrect signature") {
            ("was changed after it was signed: the signature is wrong".to_owned(), way_out)
        } else if let Some(key) = gpg_signer(said, "REVKEYSIG") {
            (format!("is signed by the key of {key}, which was revoked"), renew)
        } else if let Some(key) = gpg_signer(said, "EXPKEYSIG").or_else(|| gpg_signer(said, "EXPSIG")) {
            (format!("is signed by the key of {key}, which has expired"), renew)
        } else if let Some(key) = unknown_gpg_key(said).or_else(|| untrusted_ssh_key(said, &file.path)) {
            (format!("is signed by a key that is not trusted, {key}"), trust)
        } else {
            (format!("has a signature that could not be verified{}", GitWords::of(said)), way_out)
        };
        UnverifiedCommit::new(format!("revision {} {fact}", self.id), hint)
    }

    fn way_out(&self) -> String {
        let files: Vec<String> = self.files.iter().map(|file| shown(&file.path)).collect();
        format!(
            "to publish it, add a commit that a key in {} signs: `git commit --allow-empty --gpg-sign --message 'Approve {}'`",
            files.join(" or "),
            self.id.short()
        )
    }
}

fn no_program(kind: SignatureKind) -> UnverifiedCommit {
    let [name, _, program, package] = kind.words();
    let fact = format!("could not run `{program}`, which verifies {name} signatures");
    UnverifiedCommit::new(fact, format!("install the package `{package}`"))
}

/// Returns the key of a line `ERRSIG KEY … FINGERPRINT`; older versions of GnuPG leave the fingerprint out.
fn unknown_gpg_key(said: &str) -> Option<String> {
    let fields = gpg_status(said, "ERRSIG").filter(|_| gpg_status(said, "NO_PUBKEY").is_some())?;
    let fingerprint = fields.rsplit(' ').next().filter(|last| last.len() >= 40);
    Some(escaped(fingerprint.or(fields.split(' ').next())?).to_string())
}

/// Returns the key of a valid signature that no line of the file at `path` allows, with remarks such as
/// `FILE:1: key has expired: …`.
fn untrusted_ssh_key(said: &str, path: &Path) -> Option<String> {
    let rest = said.lines().find_map(|line| line.strip_prefix("Good \"git\" signature with "))?;
    let in_file = format!("{}:", path.display());
    let remarks = said.lines().filter(|line| line.starts_with(&in_file)).map(|line| format!(" ({line})"));
    let key = rest.rsplit(' ').next()?.to_owned() + &remarks.collect::<String>();
    Some(escaped(&key).to_string())
}

/// Returns the signer that `git verify-commit --raw` names.
fn signer(said: &str) -> Option<String> {
    let of_ssh = said.lines().find_map(|line| {
        let (principal, key) = line.strip_prefix("Good \"git\" signature for ")?.rsplit_once(" with ")?;
        let signer = format!("{principal} ({})", key.rsplit(' ').next()?);
        Some(escaped(&signer).to_string())
    });
    of_ssh.or_else(|| gpg_signer(said, "GOODSIG"))
}

/// Returns the rest of the line `[GNUPG:] WORD …`.
fn gpg_status<'a>(said: &'a str, word: &str) -> Option<&'a str> {
    said.lines().find_map(|line| line.strip_prefix("[GNUPG:] ")?.strip_prefix(word)?.strip_prefix(' '))
}

/// Returns the user and the fingerprint of the key that a line `[GNUPG:] WORD KEY USER` names.
fn gpg_signer(said: &str, word: &str) -> Option<String> {
    let (key, user) = gpg_status(said, word)?.split_once(' ')?;
    // The last field is the fingerprint of the primary key.
    let fingerprint = gpg_status(said, "VALIDSIG").and_then(|fields| fields.rsplit(' ').next());
    Some(escaped(&format!("{user} ({})", fingerprint.unwrap_or(key))).to_string())
}

fn shown(path: &Path) -> String {
    format!("`{}`", escaped(&path.display().to_string()))
}
