//! Reads the documents of the source for the record.

use std::path::Path;

use crate::git::pack::{ObjectKind, id_of};
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

    /// Returns the folder of the repository that many documents can be copied from.
    fn repository(&self) -> Option<&Path> {
        None
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
