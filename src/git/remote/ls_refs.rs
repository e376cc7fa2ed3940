//! Looks up refs over HTTPS.
//!
//! With protocol v2 the request names the refs, so that a repository with thousands of pull requests costs no more than
//! a small one. A server without v2 responds to the first request with all of its refs, which this module filters.
//! libgit2 supports only the older protocol, so it is not involved.

use std::io::{BufReader, Read};

use super::connection::Connection;
use super::error::GitError;
use super::host_message::HostMessage;
use super::https::Protocol;
use super::paced::{Paced, TransferPace};
use super::pkt_line::{self, DELIMITER, FLUSH, Packet, PacketError, write_line};
use super::{Advertised, begins_with_one_of};
use crate::model::ObjectId;

const SERVICE: &str = "git-upload-pack";

/// Returns the refs that begin with one of `prefixes`, or all refs if `prefixes` is empty.
pub(super) fn ls_refs(connection: &Connection, prefixes: &[&str]) -> Result<Vec<Advertised>, GitError> {
    let lookup = Lookup { connection, prefixes };
    let mut greeting = BufReader::new(connection.refs(SERVICE, Protocol::V2)?);
    let first = lookup.first_line(&mut greeting)?;
    if first.as_deref() != Some(b"version 2") {
        return lookup.advertised(first, &mut greeting);
    }
    if lookup.offers_ls_refs(&mut greeting)? {
        let answer = connection.post(SERVICE, lookup.request().into(), Protocol::V2)?;
        let pace = TransferPace::of_lookup(connection.access.timeout);
        return lookup.listed(BufReader::new(Paced::new(answer, pace)));
    }
    // Every command of v2 is optional, including `ls-refs`.
    let mut greeting = BufReader::new(connection.refs(SERVICE, Protocol::V0)?);
    let first = lookup.first_line(&mut greeting)?;
    lookup.advertised(first, &mut greeting)
}

struct Lookup<'a> {
    connection: &'a Connection,
    prefixes: &'a [&'a str],
}

impl Lookup<'_> {
    /// Returns the first line of a greeting; `None` if an older server has no refs.
    fn first_line(&self, from: &mut impl Read) -> Result<Option<Vec<u8>>, GitError> {
        let mut first = self.line(from)?;
        // An older server begins with a section that names the service.
        if first.as_ref().is_some_and(|line| line.starts_with(b"# service=")) {
            self.line(from)?;
            first = self.line(from)?;
        }
        match first.as_deref() {
            Some(b"version 1") => self.line(from),
            _ => Ok(first),
        }
    }

    /// Reads the capabilities of a server with v2, and returns whether it offers `ls-refs`.
    fn offers_ls_refs(&self, from: &mut impl Read) -> Result<bool, GitError> {
        let mut is_offered = false;
        while let Some(line) = self.line(from)? {
            if line == b"object-format=sha256" {
                return Err(self.sha256());
            }
            is_offered |= line == b"ls-refs" || line.starts_with(b"ls-refs=");
        }
        Ok(is_offered)
    }

    fn request(&self) -> String {
        let mut request = String::new();
        write_line(&mut request, "command=ls-refs");
        request.push_str(DELIMITER);
        // The commits of annotated tags and the target of `HEAD` then need no further request.
        write_line(&mut request, "peel");
        write_line(&mut request, "symrefs");
        for prefix in self.prefixes {
            write_line(&mut request, &format!("ref-prefix {prefix}"));
        }
        request.push_str(FLUSH);
        request
    }

    /// Reads the response to [`Self::request`]: `<id> <name>`, then `symref-target:<name>` and `peeled:<id>`.
    fn listed(&self, mut from: impl Read) -> Result<Vec<Advertised>, GitError> {
        let mut refs = Vec::new();
        while let Some(line) = self.line(&mut from)? {
            let line = String::from_utf8_lossy(&line).into_owned();
            let mut fields = line.split(' ');
            let (Some(id), Some(name)) = (fields.next(), fields.next()) else {
                return Err(self.not_git());
            };
            // A server may return more than the requested prefixes, which are only an optimization in v2.
            if id == "unborn" || !self.is_wanted(name) {
                continue;
            }
            let mut found = self.found(id, name)?;
            let mut peeled = None;
            for attribute in fields {
                if let Some(target) = attribute.strip_prefix("symref-target:") {
                    found.target = Some(target.to_owned());
                } else if let Some(id) = attribute.strip_prefix("peeled:") {
                    peeled = Some(self.found(id, &format!("{name}^{{}}"))?);
                }
            }
            refs.push(found);
            refs.extend(peeled);
        }
        Ok(refs)
    }

    /// Reads the refs in a greeting of the older protocol, in which the capabilities follow the first ref.
    fn advertised(&self, first: Option<Vec<u8>>, from: &mut impl Read) -> Result<Vec<Advertised>, GitError> {
        let Some(first) = first else {
            return Ok(Vec::new());
        };
        let first = String::from_utf8_lossy(&first).into_owned();
        let (first, capabilities) = first.split_once('\0').unwrap_or((&first, ""));
        if capabilities
            .split(' ')
            .any(|capability| capability == "object-format=sha256")
        {
            return Err(self.sha256());
        }
        let symref = |name: &str| {
            let mut symrefs = capabilities.split(' ').filter_map(|capability| {
                let (from, to) = capability.strip_prefix("symref=")?.split_once(':')?;
                (from == name).then(|| to.to_owned())
            });
            symrefs.next()
        };
        let mut refs = Vec::new();
        let mut line = first.to_owned();
        loop {
            let (id, name) = line.split_once(' ').ok_or_else(|| self.not_git())?;
            // A shallow repository lists its boundary like a ref, and an empty repository lists a placeholder.
            if id != "shallow" && name != "capabilities^{}" && self.is_wanted(name) {
                refs.push(Advertised {
                    target: symref(name),
                    ..self.found(id, name)?
                });
            }
            match self.line(from)? {
                Some(next) => line = String::from_utf8_lossy(&next).into_owned(),
                None => return Ok(refs),
            }
        }
    }

    fn is_wanted(&self, name: &str) -> bool {
        begins_with_one_of(name, self.prefixes)
    }

    fn found(&self, id: &str, name: &str) -> Result<Advertised, GitError> {
        Ok(Advertised {
            name: name.to_owned(),
            id: id.parse::<ObjectId>().map_err(|_| self.not_git())?,
            target: None,
        })
    }

    /// Returns the next line of a section; `None` at its end.
    fn line(&self, from: &mut impl Read) -> Result<Option<Vec<u8>>, GitError> {
        match self.next(from)? {
            Some(Packet::Line(line)) => Ok(Some(line)),
            Some(Packet::Flush) => Ok(None),
            Some(Packet::Delimiter) => Err(self.not_git()),
            None => Err(self.connection.broken(&std::io::ErrorKind::UnexpectedEof.into())),
        }
    }

    fn next(&self, from: &mut impl Read) -> Result<Option<Packet>, GitError> {
        match pkt_line::read(from) {
            Ok(Some(Packet::Line(line))) if line.starts_with(b"ERR ") => Err(GitError::Refused {
                host: self.connection.host(),
                message: HostMessage::new(&String::from_utf8_lossy(&line[4..])),
            }),
            Ok(packet) => Ok(packet),
            Err(PacketError::Io(error)) => Err(self.connection.broken(&error)),
            Err(PacketError::Malformed) => Err(self.not_git()),
        }
    }

    fn not_git(&self) -> GitError {
        GitError::NotGit {
            url: self.connection.url.to_string(),
            content_type: None,
            message: None,
        }
    }

    fn sha256(&self) -> GitError {
        GitError::Sha256 {
            url: self.connection.url.to_string(),
        }
    }
}
