//! Creates the files of a starter repository.

use std::path::Path;

use super::AuthoringError;
use crate::pass::target_folder::{Existing, TargetFolder, WriteResult};

/// What became of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NewFile {
    /// It was created.
    Created,
    /// There is a file already, which stays.
    Kept,
}

/// Creates `files`, paths relative to `folder` with their contents, and leaves those alone that exist.
///
/// # Errors
/// If a file cannot be written. Those before it stay.
pub fn create_files<'f>(
    folder: &Path,
    files: &[(&'f str, &str)],
) -> Result<Vec<(&'f str, NewFile)>, AuthoringError> {
    let target = TargetFolder::open(folder, "")?;
    let create = |(path, text): &(&'f str, &str)| {
        let result = match target.write(path, text, Existing::Keep)? {
            WriteResult::Exists => NewFile::Kept,
            WriteResult::Written => NewFile::Created,
        };
        Ok((*path, result))
    };
    files.iter().map(create).collect()
}
