//! The arguments of `schema`.

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Arg, ArgMatches};

use super::option;
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

pub(super) fn own() -> Vec<Arg> {
    let words = PossibleValuesParser::new(SchemaSubject::WORDS.iter().copied());
    let subject = words.map(|word| word.parse::<SchemaSubject>().expect("only words are possible"));
    vec![
        option(
            "of",
            "WHAT",
            "Describe a document or what this command prints with -o json [document]",
        )
        .value_parser(subject)
        .default_value("document"),
    ]
}

pub(super) fn subject(matches: &ArgMatches) -> SchemaSubject {
    *matches.get_one("of").expect("it has a default")
}
