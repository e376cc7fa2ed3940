//! Git's smart protocol over HTTPS: a GET for the refs, and a POST for each exchange.

use std::io::{self, Read, Seek, Write};
use std::sync::Arc;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream};
use reqwest::StatusCode;
use reqwest::blocking::{Body, Client, RequestBuilder, Response};
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};

use super::connection::{Connection, lock};
use super::error::{GitError, Offered};
use super::host_message::HostMessage;
use super::moved;
use super::paced::{Paced, TooSlow, TransferPace};
use crate::git::GitCredentials;
use crate::transport::{certificate_fault, proxy_fault, reason, redacted};

/// The largest request that is kept in memory, in bytes; a larger one goes to a temporary file.
const IN_MEMORY: usize = 4 << 20;

/// The number of redirects that the first request follows.
const MOST_REDIRECTS: usize = 5;

/// The number of bytes of an error response that are searched for a message.
const LONGEST_PAGE: usize = 64 << 10;

pub(super) struct Https(pub(super) Arc<Connection>);

/// The version of Git's protocol that a request asks for. A server may respond with an older one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Protocol {
    /// The only version that libgit2 supports.
    V0,
    /// Lists only the requested refs.
    V2,
}

impl Protocol {
    fn apply(self, request: RequestBuilder) -> RequestBuilder {
        match self {
            Self::V0 => request,
            Self::V2 => request.header("Git-Protocol", "version=2"),
        }
    }
}

impl SmartSubtransport for Https {
    fn action(&self, _: &str, action: Service) -> Result<Box<dyn SmartSubtransportStream>, git2::Error> {
        let connection = &self.0;
        let stream = match action {
            Service::UploadPackLs => Stream::refs(connection, "git-upload-pack"),
            Service::ReceivePackLs => Stream::refs(connection, "git-receive-pack"),
            Service::UploadPack => Ok(Stream::request(connection, "git-upload-pack")),
            Service::ReceivePack => Ok(Stream::request(connection, "git-receive-pack")),
        };
        match stream {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(connection.fail(error)),
        }
    }

    fn close(&self) -> Result<(), git2::Error> {
        Ok(())
    }
}

/// One request and its response. The first read sends everything that was written.
struct Stream {
    connection: Arc<Connection>,
    service: &'static str,
    request: tempfile::SpooledTempFile,
    response: Option<Paced<Response>>,
}

impl Stream {
    fn request(connection: &Arc<Connection>, service: &'static str) -> Self {
        Self {
            connection: Arc::clone(connection),
            service,
            request: tempfile::SpooledTempFile::new(IN_MEMORY),
            response: None,
        }
    }

    fn refs(connection: &Arc<Connection>, service: &'static str) -> Result<Self, GitError> {
        Ok(Self {
            response: Some(connection.refs(service, Protocol::V0)?),
            ..Self::request(connection, service)
        })
    }

    fn send(&mut self) -> Result<Paced<Response>, GitError> {
        let connection = &self.connection;
        let spool = std::mem::replace(&mut self.request, tempfile::SpooledTempFile::new(0));
        let body = body(spool).map_err(|error| connection.broken(&error))?;
        let answer = connection.post(self.service, body, Protocol::V0)?;
        Ok(Paced::new(
            answer,
            TransferPace::of_transfer(connection.access.timeout),
        ))
    }
}

fn body(mut spool: tempfile::SpooledTempFile) -> io::Result<Body> {
    let length = spool.stream_position()?;
    spool.rewind()?;
    Ok(Body::sized(spool, length))
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.response.is_none() {
            let response = self.send().map_err(|error| self.connection.fail_io(error))?;
            self.response = Some(response);
        }
        let Some(response) = &mut self.response else {
            return Ok(0);
        };
        response
            .read(buffer)
            .map_err(|error| self.connection.fail_io(self.connection.broken(&error)))
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.request.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Connection {
    pub(super) fn host(&self) -> String {
        self.url.host().unwrap_or_default()
    }

    fn client(&self) -> Result<Client, GitError> {
        let shared = self.access.client.as_ref().map(|client| &*client.0);
        let mut client = lock(shared.unwrap_or(&self.client));
        if let Some(client) = &*client {
            return Ok(client.clone());
        }
        let made = self.access.network.blocking_client(self.access.timeout)?;
        *client = Some(made.clone());
        Ok(made)
    }

    /// Returns the address of the repository, without a trailing slash.
    fn base(&self) -> String {
        if let Some(base) = &*lock(&self.base) {
            return base.as_str().trim_end_matches('/').to_owned();
        }
        let Some(mut url) = self.url.https().cloned() else {
            return String::new();
        };
        // Never fails, because an https URL can have a user name, which goes into a header instead.
        let _ = url.set_username("");
        url.as_str().trim_end_matches('/').to_owned()
    }

    /// Requests the refs, and follows redirects within the host.
    pub(super) fn refs(
        &self,
        service: &'static str,
        protocol: Protocol,
    ) -> Result<Paced<Response>, GitError> {
        let tail = format!("/info/refs?service={service}");
        for _ in 0..=MOST_REDIRECTS {
            let request = self.client()?.get(format!("{}{tail}", self.base()));
            let answer = self.send(protocol.apply(request))?;
            if answer.status().is_redirection() {
                // Only the first request follows redirects (DESIGN section 5), so later ones need the new address.
                *lock(&self.base) = Some(self.redirected(&answer, &tail)?);
                continue;
            }
            let answer = self.checked(answer, &format!("application/x-{service}-advertisement"))?;
            self.record_address();
            return Ok(Paced::new(answer, TransferPace::of_lookup(self.access.timeout)));
        }
        Err(GitError::Redirect {
            host: self.host(),
            to: self.base(),
        })
    }

    pub(super) fn post(&self, service: &str, body: Body, protocol: Protocol) -> Result<Response, GitError> {
        let result = format!("application/x-{service}-result");
        let request = self.client()?.post(format!("{}/{service}", self.base()));
        let request = request
            .header(CONTENT_TYPE, format!("application/x-{service}-request"))
            .header(ACCEPT, &result)
            .body(body);
        let answer = self.send(protocol.apply(request))?;
        self.checked(answer, &result)
    }

    /// Records the address of the repository for the log and for webhooks.
    fn record_address(&self) {
        let base = lock(&self.base).clone();
        match base.and_then(|base| base.as_str().parse().ok()) {
            Some(to) => moved::record(&self.url, &to),
            None => moved::forget(&self.url),
        }
    }

    /// Returns the new base if `answer` redirects to the same repository service on the same host.
    fn redirected(&self, answer: &Response, tail: &str) -> Result<url::Url, GitError> {
        let refused = |to: String| GitError::Redirect {
            host: self.host(),
            to,
        };
        let to = target(answer).ok_or_else(|| refused("an invalid URL".to_owned()))?;
        // The next request carries the credentials, so the target must be on the same host (DESIGN section 5).
        let same = to.scheme() == "https"
            && to.origin() == answer.url().origin()
            && to.username().is_empty()
            && to.password().is_none();
        // As in git, the end of the path must stay the same, so that a login page is never taken for a repository.
        let base = to.as_str().strip_suffix(tail).filter(|_| same);
        base.and_then(|base| base.parse().ok()).ok_or_else(|| {
            let to = without_secrets(&to);
            // The address of the repository, if the target is one.
            let path = tail.split('?').next().unwrap_or_default();
            refused(to.strip_suffix(path).unwrap_or(&to).to_owned())
        })
    }

    fn send(&self, request: RequestBuilder) -> Result<Response, GitError> {
        // The first request carries the credentials, so that wrong ones are tried only once (DESIGN section 5).
        let request = match self.access.credentials_for(&self.url) {
            Some(own) => request.basic_auth(self.user(own), Some(own.password.read()?.expose())),
            None => request,
        };
        request.send().map_err(|error| self.unreachable(&error))
    }

    /// Converts each response that is not Git's protocol to an error.
    fn checked(&self, answer: Response, content_type: &str) -> Result<Response, GitError> {
        let status = answer.status();
        let found = media_type(&answer);
        // Git's protocol requires the check of the media type: a login page has status 200 as well.
        if status == StatusCode::OK
            && found
                .as_deref()
                .is_some_and(|found| found.eq_ignore_ascii_case(content_type))
        {
            return Ok(answer);
        }
        let host = self.host();
        if status.is_redirection() {
            let to = target(&answer).map_or_else(String::new, |to| without_secrets(&to));
            return Err(GitError::Redirect { host, to });
        }
        let url = self.url.to_string();
        let message = self.message(answer);
        let offered = match self.access.credentials_for(&self.url) {
            Some(_) => Offered::Password,
            None => Offered::Nothing,
        };
        Err(match status {
            StatusCode::OK => GitError::NotGit {
                url,
                content_type: found,
                message,
            },
            StatusCode::UNAUTHORIZED => GitError::Unauthorized {
                host,
                offered,
                message,
            },
            StatusCode::FORBIDDEN => GitError::Forbidden { host, message },
            StatusCode::NOT_FOUND | StatusCode::GONE => GitError::NotFound { url, message },
            status => GitError::Status {
                host,
                status: status.as_u16(),
                message,
            },
        })
    }

    /// Reads the message of the host from an error response.
    fn message(&self, mut answer: Response) -> Option<HostMessage> {
        let media_type = media_type(&answer);
        // The timeout of the client covers each read, so a host could send a byte at a time without an end.
        let deadline = Instant::now() + self.access.timeout;
        let (mut body, mut chunk) = (Vec::new(), [0; 4096]);
        while body.len() < LONGEST_PAGE && Instant::now() < deadline {
            match answer.read(&mut chunk) {
                Ok(0) | Err(_) => break,
                Ok(count) => body.extend_from_slice(&chunk[..count]),
            }
        }
        let body = self.redacted(&String::from_utf8_lossy(&body));
        HostMessage::of_body(media_type.as_deref(), body.as_bytes())
    }

    /// Replaces the password if the host repeats it.
    fn redacted(&self, text: &str) -> String {
        let own = self.access.credentials_for(&self.url);
        let Some((user, password)) = own.and_then(|own| Some((self.user(own), own.password.read().ok()?)))
        else {
            return text.to_owned();
        };
        let header = STANDARD.encode(format!("{user}:{}", password.expose()));
        redacted(&redacted(text, &header), password.expose())
    }

    /// Returns the user name to send. Hosts that take tokens accept any.
    fn user<'a>(&'a self, own: &'a GitCredentials) -> &'a str {
        let of_url = self.url.https().map(url::Url::username);
        let given = own.username.as_deref();
        given.or(of_url.filter(|user| !user.is_empty())).unwrap_or("git")
    }

    fn unreachable(&self, error: &reqwest::Error) -> GitError {
        let host = self.host();
        // The specific causes come first, because a failed handshake or tunnel also counts as a failed connection.
        if let Some(fault) = certificate_fault(error) {
            return GitError::Untrusted { host, fault };
        }
        if let Some(fault) = proxy_fault(error) {
            return GitError::Proxy { host, fault };
        }
        if error.is_timeout() {
            let after = match error.is_connect() {
                true => self.access.network.connect_timeout,
                false => self.access.timeout,
            };
            return GitError::TimedOut { host, after };
        }
        let source = reason(error);
        GitError::Network { host, source }
    }

    /// Returns why a body is incomplete.
    pub(super) fn broken(&self, error: &io::Error) -> GitError {
        let host = self.host();
        let inner = error.get_ref();
        if let Some(slow) = inner.and_then(|inner| inner.downcast_ref::<TooSlow>()) {
            return GitError::TooSlow { host, slow: *slow };
        }
        // The client wraps its own timeout in an I/O error when it reads a body.
        let inner = inner.and_then(|inner| inner.downcast_ref::<reqwest::Error>());
        let is_timeout =
            inner.is_some_and(reqwest::Error::is_timeout) || error.kind() == io::ErrorKind::TimedOut;
        match is_timeout {
            true => GitError::TimedOut {
                host,
                after: self.access.timeout,
            },
            false => GitError::Network {
                host,
                source: reason(error),
            },
        }
    }
}

fn media_type(answer: &Response) -> Option<String> {
    let value = answer.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim().to_owned())
}

fn target(answer: &Response) -> Option<url::Url> {
    let location = answer.headers().get(LOCATION)?.to_str().ok()?;
    answer.url().join(location).ok()
}

/// Prints an address without user, query, and fragment.
fn without_secrets(url: &url::Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}
