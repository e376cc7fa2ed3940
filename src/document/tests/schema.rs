//! The schema and the parser agree.
