//! The arguments of `schema`.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::model::words;

words! {
    /// What a schema describes.
    SchemaSubject {
        /// A targeting document.
        Document = "document",
        /// The output of `plan`.
        Plan = "plan",
        /// The output of `validate`.
        Validate = "validate",
        /// The output of `apply`.
        Apply = "apply",
        /// The output of `status`.
        Status = "status",
        /// The output of `drift`.
        Drift = "drift",
        /// The output of `log`.
        Log = "log",
    }
}

pub(super) fn subject() -> impl TypedValueParser<Value = SchemaSubject> {
    PossibleValuesParser::new(SchemaSubject::WORDS).try_map(|word| word.parse())
}
