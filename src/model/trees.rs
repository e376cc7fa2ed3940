//! Read access to Git trees and blobs, so that pure code can compare trees without a Git library.

use super::{ObjectId, Tree};

/// Read access to the trees and blobs of one repository: the source or the state.
///
/// Not shared between threads; each thread opens its own.
pub trait Trees {
    /// The error of a read.
    type Error;

    /// Returns the tree of that id.
    ///
    /// # Errors
    /// If the object is missing, broken or not a tree.
    fn tree(&self, tree: ObjectId) -> Result<Tree, Self::Error>;

    /// Returns the tree of that id if this repository contains it.
    fn find_tree(&self, tree: ObjectId) -> Option<Tree>;

    /// Returns the content of `blob`, or [`Blob::TooLarge`] without reading it if it has more than `limit` bytes, so that
    /// a hostile file costs nothing.
    ///
    /// # Errors
    /// If the object is broken or not a blob, or missing from a repository that is not a partial clone.
    fn blob(&self, blob: ObjectId, limit: usize) -> Result<Blob, Self::Error>;

    /// Returns where the object is stored, if that is known. Reading many objects in this order is fastest.
    fn place(&self, _object: ObjectId) -> Option<StoredAt> {
        None
    }
}

/// The position of an object in its repository: the number of the pack, and the offset in it.
pub type StoredAt = (usize, u64);

/// A blob's content, or its size if it is over the limit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Blob {
    /// The complete content.
    Content(Vec<u8>),
    /// The blob is not in this partial clone.
    Missing,
    /// Larger than the limit; the size in bytes.
    TooLarge(u64),
}
