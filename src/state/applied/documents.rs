//! Reads the documents of the source for the record.

use crate::git::pack::{ObjectKind, PackCopies, id_of};
use crate::model::ObjectId;
use crate::state::Error;

/// Reads the documents that the record does not have.
pub trait DocumentReader {
    /// The error of a read.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns the content of `document`.
    ///
    /// # Errors
    /// If the source does not have it, or cannot be read.
    fn read(&mut self, document: ObjectId) -> Result<Vec<u8>, Self::Error>;

    /// Takes the documents that can be copied as the source stores them out of `documents`, which is sorted. Sorts the rest
    /// in the order in which they are fastest to read.
    fn take_copies(&self, _documents: &mut Vec<ObjectId>) -> PackCopies {
        PackCopies::default()
    }
}

impl<F, E> DocumentReader for F
where
    F: FnMut(ObjectId) -> Result<Vec<u8>, E>,
    E: std::error::Error + Send + Sync + 'static,
{
    type Error = E;

    fn read(&mut self, document: ObjectId) -> Result<Vec<u8>, E> {
        self(document)
    }
}

/// Fails: the repository has the document of a confirmed request since before the request.
pub(crate) fn unkept(object: ObjectId) -> Result<Vec<u8>, std::io::Error> {
    Err(std::io::Error::other(format!("document {object} was not kept")))
}

/// Returns the content of `object`, which must have that id.
pub(super) fn document(object: ObjectId, documents: &mut impl DocumentReader) -> Result<Vec<u8>, Error> {
    let found =
        documents.read(object).map_err(|source| Error::Document { object, source: Box::new(source) })?;
    // The source may be damaged, but the record must have exactly what was sent.
    match id_of(ObjectKind::Blob, &found) == object {
        true => Ok(found),
        false => Err(Error::WrongContent { object }),
    }
}
