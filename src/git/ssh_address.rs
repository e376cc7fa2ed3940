//! Parses the ssh address of a repository: a URL or `user@host:path`.

use std::borrow::Cow;
use std::fmt;

use super::url_error::{RepoUrlError, parse};
use crate::model::escaped;

/// The user, host, port, and path of an ssh address. None of the texts begins with `-`, so `ssh` takes none for an option.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct SshAddress {
    pub(crate) user: Option<String>,
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
    pub(crate) path: String,
    /// Whether it was written as `host:path`, which determines how it is shown.
    scp: bool,
}

impl SshAddress {
    /// Parses `user@host:path`, split at the colon.
    pub(super) fn scp(host: &str, path: &str) -> Result<Self, RepoUrlError> {
        let (user, host) = match host.rsplit_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host),
            None => (None, host),
        };
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        Self {
            user,
            host: host.to_owned(),
            port: None,
            path: path.to_owned(),
            scp: true,
        }
        .checked()
    }

    /// Parses an `ssh://` URL.
    pub(super) fn url(text: &str) -> Result<Self, RepoUrlError> {
        let url = parse(text)?;
        if url.password().is_some() {
            return Err(RepoUrlError::Password);
        }
        let host = decoded(url.host_str().unwrap_or_default())?;
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(&host);
        let path = decoded(url.path())?;
        // As in git, `/~user/x` is relative to a home folder.
        let path = path
            .strip_prefix('/')
            .filter(|rest| rest.starts_with('~'))
            .unwrap_or(&path);
        let user = Some(url.username()).filter(|user| !user.is_empty());
        Self {
            user: user.map(|user| decoded(user).map(Cow::into_owned)).transpose()?,
            host: host.to_owned(),
            port: url.port(),
            path: path.to_owned(),
            scp: false,
        }
        .checked()
    }

    fn checked(self) -> Result<Self, RepoUrlError> {
        // In the form `user:password@host:path`, the password is part of the user.
        if self.user.as_deref().is_some_and(|user| user.contains(':')) {
            return Err(RepoUrlError::Password);
        }
        let user = self.user.as_deref().unwrap_or_default();
        for (what, text) in [("host", &*self.host), ("user", user), ("path", &*self.path)] {
            // ssh or the remote program would take the text for an option, which may run a command (CVE-2017-1000117).
            if text.starts_with('-') {
                return Err(RepoUrlError::OptionLike(what));
            }
            if text.contains(['\0', '\n', '\r']) {
                return Err(RepoUrlError::Malformed(format!(
                    "the {what} contains a control character"
                )));
            }
        }
        match (self.host.is_empty(), self.path.is_empty()) {
            (true, _) => Err(RepoUrlError::Malformed("it has no host".to_owned())),
            (_, true) => Err(RepoUrlError::Malformed("it has no path".to_owned())),
            (false, false) => Ok(self),
        }
    }
}

impl fmt::Display for SshAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scp {
            f.write_str("ssh://")?;
        }
        if let Some(user) = &self.user {
            write!(f, "{}@", escaped(user))?;
        }
        match self.host.contains(':') {
            true => write!(f, "[{}]", escaped(&self.host))?,
            false => write!(f, "{}", escaped(&self.host))?,
        }
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        let separator = match (self.scp, self.path.starts_with('/')) {
            (true, _) => ":",
            (false, true) => "",
            (false, false) => "/",
        };
        write!(f, "{separator}{}", escaped(&self.path))
    }
}

fn decoded(text: &str) -> Result<Cow<'_, str>, RepoUrlError> {
    percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .map_err(|_| RepoUrlError::Malformed("it is not UTF-8".to_owned()))
}
