//! The outputs for other programs: each is validated as its reader would do it.

mod hostile;
mod junit;
mod notes;
mod numbers;
mod reports;
mod schema;
mod summary;

pub(crate) use schema::assert_valid;
