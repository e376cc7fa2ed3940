//! Creates the files of a starter repository.

use std::path::Path;

use super::AuthoringError;
use crate::authoring::target_folder::{Existing, TargetFolder, WriteResult};

/// Creates `files`, paths relative to `folder` with their contents, and leaves those alone that exist.
///
/// # Errors
/// If a file cannot be written. Those before it stay.
pub(crate) fn create_files<'f>(
    folder: &Path,
    files: &[(&'f str, &str)],
) -> Result<Vec<(&'f str, WriteResult)>, AuthoringError> {
    let target = TargetFolder::open(folder, "")?;
    let create = |(path, text): &(&'f str, &str)| Ok((*path, target.write(path, text, Existing::Keep)?));
    files.iter().map(create).collect()
}
