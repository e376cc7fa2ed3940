//! Commit messages, decoded by the encoding that the commit names.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use git2::Oid;

use super::error::Error;
use super::reader::Reader;
use super::{SourceConfig, local};
use crate::git::{object_id, oid};
use crate::model::{Commit, CommitId};

pub(super) fn commit(commit: &git2::Commit<'_>) -> Commit {
    let encoding = commit.header_field_bytes("encoding").ok();
    let encoding = encoding.as_deref().map(String::from_utf8_lossy);
    Commit {
        id: CommitId(object_id(commit.id())),
        message: decode(commit.message_raw_bytes(), encoding.as_deref()),
        committed_at: commit.committer().when().seconds(),
    }
}

/// Reads each commit once.
pub(super) struct Messages<'a> {
    reader: &'a Reader,
    known: BTreeMap<Oid, Arc<Commit>>,
}

impl<'a> Messages<'a> {
    pub(super) const fn new(reader: &'a Reader) -> Self {
        let known = BTreeMap::new();
        Self { reader, known }
    }

    pub(super) fn read(&mut self, id: Oid) -> Result<Arc<Commit>, Error> {
        let found = match self.known.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let commit = self.reader.repository().find_commit(id)?;
                new.insert(Arc::new(self::commit(&commit)))
            }
        };
        Ok(Arc::clone(found))
    }
}

/// Returns the subjects of those commits that the source, or the clone of a URL, has. Contacts no host, and writes nothing.
pub fn subjects(
    source: &SourceConfig,
    commits: impl Iterator<Item = CommitId>,
) -> BTreeMap<CommitId, String> {
    let clone = source.cache.as_deref();
    let path = source.location.local_path().or(clone);
    let Some(repository) = path.and_then(|path| local::open(path).ok()) else {
        return BTreeMap::new();
    };
    let subject = |id: CommitId| {
        let found = repository.find_commit(oid(id.0)).ok()?;
        Some((id, commit(&found).subject().to_owned()))
    };
    commits.filter_map(subject).collect()
}

/// Returns whether any commit in the history of `start` has the trailer `key`.
pub(super) fn any_has_trailer(reader: &Reader, start: Oid, key: &str) -> Result<bool, Error> {
    let mut walk = reader.repository().revwalk()?;
    walk.push(start)?;
    for id in walk {
        let found = reader.repository().find_commit(id?)?;
        if !commit(&found).trailers(key).is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Decodes `bytes`. An unsupported encoding counts as UTF-8, and malformed bytes become replacement characters.
fn decode(bytes: &[u8], encoding: Option<&str>) -> String {
    let name = encoding.unwrap_or("utf-8").replace('_', "-");
    // The decoder knows the names of the web platform. Those of iconv, which git uses, differ in dashes.
    let names = [encoding.unwrap_or("utf-8"), &name, &name.replace('-', "")];
    let known = names
        .iter()
        .find_map(|name| encoding_rs::Encoding::for_label(name.as_bytes()));
    // Encodings that browsers refuse decode to a single replacement character.
    let usable = known.filter(|encoding| *encoding != encoding_rs::REPLACEMENT);
    let decoder = usable.unwrap_or(encoding_rs::UTF_8);
    decoder.decode_without_bom_handling(bytes).0.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_decoded_by_its_encoding() {
        for (bytes, encoding, text) in [
            (&b"na\xefve"[..], Some("ISO-8859-1"), "naïve"),
            (b"5 \x80 \x96", Some("windows-1252"), "5 € –"),
            (b"5 \xa4", Some("ISO-8859-15"), "5 €"),
            ("naïve".as_bytes(), None, "naïve"),
            (b"na\xefve", None, "na\u{fffd}ve"),
            (b"na\xefve", Some("klingon"), "na\u{fffd}ve"),
            (b"na\xefve", Some("latin-1"), "naïve"),
            (b"\x93\xfa\x96\x7b", Some("Shift_JIS"), "日本"),
            (b"\xc6\xfc\xcb\xdc", Some("EUC-JP"), "日本"),
            (b"\xf0\xd2\xc9", Some("KOI8-R"), "При"),
            ("naïve".as_bytes(), Some("ISO-2022-KR"), "naïve"),
            (b"na\xefve", Some("iso_2022_kr"), "na\u{fffd}ve"),
            (b"plain", Some("ISO-2022-CN"), "plain"),
            (b"plain", Some("ISO-2022-CN-EXT"), "plain"),
            (b"plain", Some("HZ-GB-2312"), "plain"),
            (b"plain", Some("HZ"), "plain"),
            (b"plain", Some("replacement"), "plain"),
        ] {
            assert_eq!(decode(bytes, encoding), text, "{encoding:?}");
        }
    }
}
