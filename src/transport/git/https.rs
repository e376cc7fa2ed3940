//! Git's smart protocol over HTTPS: a GET for the refs, and a POST for each exchange.

use std::io::{self, Read, Seek, Write};
use std::sync::Arc;

use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream};
use reqwest::StatusCode;
use reqwest::blocking::{Body, Client, RequestBuilder, Response};
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};

use super::connection::{Connection, lock};
use super::error::{GitError, Offered};
use super::moved;
use crate::transport::certificate_fault;

/// How much of a request is kept in memory; a larger one goes to a temporary file.
const IN_MEMORY: usize = 4 << 20;

/// How often the first request is redirected before it is given up.
const MOST_REDIRECTS: usize = 5;

pub(super) struct Https(pub(super) Arc<Connection>);

impl SmartSubtransport for Https {
    fn action(&self, _: &str, action: Service) -> Result<Box<dyn SmartSubtransportStream>, git2::Error> {
        let connection = &self.0;
        let stream = match action {
            Service::UploadPackLs => connection.refs("git-upload-pack"),
            Service::ReceivePackLs => connection.refs("git-receive-pack"),
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

/// One request and its answer: what is written is sent at the first read.
struct Stream {
    connection: Arc<Connection>,
    service: &'static str,
    request: tempfile::SpooledTempFile,
    response: Option<Response>,
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

    fn send(&mut self) -> Result<Response, GitError> {
        let connection = &self.connection;
        let spool = std::mem::replace(&mut self.request, tempfile::SpooledTempFile::new(0));
        let body = body(spool).map_err(|error| connection.broken(error))?;
        let service = self.service;
        let url = format!("{}/{service}", connection.base());
        let request = connection.client()?.post(url).body(body);
        let request = request.header(CONTENT_TYPE, format!("application/x-{service}-request"));
        let answer = connection.send(request.header(ACCEPT, format!("application/x-{service}-result")))?;
        connection.checked(answer, &format!("application/x-{service}-result"))
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
            .map_err(|error| self.connection.fail_io(self.connection.broken(error)))
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
    fn host(&self) -> String {
        self.url.host().unwrap_or_default()
    }

    fn client(&self) -> Result<Client, GitError> {
        let mut client = lock(&self.client);
        if let Some(client) = &*client {
            return Ok(client.clone());
        }
        let made = self.access.network.blocking_client(self.access.timeout)?;
        *client = Some(made.clone());
        Ok(made)
    }

    /// Returns the address that everything else is below, without a slash at its end.
    fn base(&self) -> String {
        if let Some(base) = &*lock(&self.base) {
            return base.as_str().trim_end_matches('/').to_owned();
        }
        let Some(mut url) = self.url.https().cloned() else {
            return String::new();
        };
        // Never fails: an https URL can have a user name. It goes into a header, not into the address.
        let _ = url.set_username("");
        url.as_str().trim_end_matches('/').to_owned()
    }

    /// Asks for the refs, following redirects within the host.
    fn refs(self: &Arc<Self>, service: &'static str) -> Result<Stream, GitError> {
        let tail = format!("/info/refs?service={service}");
        for _ in 0..=MOST_REDIRECTS {
            let request = self.client()?.get(format!("{}{tail}", self.base()));
            let answer = self.send(request)?;
            if answer.status().is_redirection() {
                *lock(&self.base) = Some(self.redirected(&answer, &tail)?);
                continue;
            }
            let answer = self.checked(answer, &format!("application/x-{service}-advertisement"))?;
            self.note_address();
            return Ok(Stream {
                response: Some(answer),
                ..Stream::request(self, service)
            });
        }
        Err(GitError::Redirect {
            host: self.host(),
            to: self.base(),
        })
    }

    /// Remembers where the repository is now, for the log and for webhooks.
    fn note_address(&self) {
        let base = lock(&self.base).clone();
        match base.and_then(|base| base.as_str().parse().ok()) {
            Some(to) => moved::note(&self.url, &to),
            None => moved::forget(&self.url),
        }
    }

    /// Returns the new base where `answer` redirects to the same repository service on the same host.
    fn redirected(&self, answer: &Response, tail: &str) -> Result<url::Url, GitError> {
        let location = answer
            .headers()
            .get(LOCATION)
            .and_then(|location| location.to_str().ok());
        let to = location.and_then(|location| answer.url().join(location).ok());
        let refused = |to: String| GitError::Redirect {
            host: self.host(),
            to,
        };
        let Some(to) = to else {
            return Err(refused("nowhere".to_owned()));
        };
        let shown = format!(
            "{}://{}{}",
            to.scheme(),
            to.host_str().unwrap_or_default(),
            to.path()
        );
        let same = to.scheme() == "https"
            && to.origin() == answer.url().origin()
            && to.username().is_empty()
            && to.password().is_none();
        let base = to.as_str().strip_suffix(tail).filter(|_| same);
        base.and_then(|base| base.parse().ok())
            .ok_or_else(|| refused(shown))
    }

    fn send(&self, request: RequestBuilder) -> Result<Response, GitError> {
        let request = match self.access.credentials_for(&self.url) {
            Some(own) => {
                let user = self
                    .url
                    .https()
                    .map(url::Url::username)
                    .filter(|user| !user.is_empty());
                let user = own.username.as_deref().or(user).unwrap_or("git");
                request.basic_auth(user, Some(own.password.read()?.expose()))
            }
            None => request,
        };
        request.send().map_err(|error| self.unreachable(error))
    }

    /// Turns every answer but a Git server's own into an error.
    fn checked(&self, answer: Response, content_type: &str) -> Result<Response, GitError> {
        let host = self.host();
        let url = self.url.to_string();
        let offered = match self.access.credentials_for(&self.url) {
            Some(_) => Offered::Password,
            None => Offered::Nothing,
        };
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED => return Err(GitError::Unauthorised { host, offered }),
            StatusCode::FORBIDDEN => return Err(GitError::Forbidden { host }),
            StatusCode::NOT_FOUND | StatusCode::GONE => return Err(GitError::NotFound { url }),
            status if status.is_redirection() => {
                let location = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
                let to = location.and_then(|to| answer.url().join(to).ok());
                let to = to.map_or_else(String::new, |to| {
                    format!(
                        "{}://{}{}",
                        to.scheme(),
                        to.host_str().unwrap_or_default(),
                        to.path()
                    )
                });
                return Err(GitError::Redirect { host, to });
            }
            status => {
                let status = status.as_u16();
                return Err(GitError::Status { host, status });
            }
        }
        let found = answer
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok());
        match found.map(|kind| kind.split(';').next().unwrap_or_default().trim()) {
            Some(found) if found.eq_ignore_ascii_case(content_type) => Ok(answer),
            found => Err(GitError::NotGit {
                url,
                content_type: found.map(str::to_owned),
            }),
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> GitError {
        let host = self.host();
        if certificate_fault(&error).is_some() {
            let source = error.without_url();
            return GitError::Untrusted { host, source };
        }
        if error.is_timeout() {
            let after = match error.is_connect() {
                true => self.access.network.connect_timeout,
                false => self.access.timeout,
            };
            return GitError::TimedOut { host, after };
        }
        GitError::Network {
            host,
            source: Box::new(error.without_url()),
        }
    }

    /// Says why a body broke off.
    fn broken(&self, error: io::Error) -> GitError {
        let inner = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<reqwest::Error>());
        let late = inner.is_some_and(reqwest::Error::is_timeout) || error.kind() == io::ErrorKind::TimedOut;
        match late {
            true => GitError::TimedOut {
                host: self.host(),
                after: self.access.timeout,
            },
            false => GitError::Network {
                host: self.host(),
                source: Box::new(error),
            },
        }
    }
}
