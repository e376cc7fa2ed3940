//! The scalars of a document: text as it was written, yes or no, and the index of a variation.

use super::check;
use super::finding::shown;
use super::hint::{Integer, ROLLOUT, integer};
use super::node::{Kind, Style, is_null};
use super::shape::{Field, Shape};

impl Shape<'_> {
    pub(super) fn text(&mut self, field: &Field<'_>) -> Option<String> {
        match &field.node.kind {
            Kind::Scalar(text, Style::Plain) if is_null(text) => {
                let name = shown(field.name);
                let (message, help) = match text.as_str() {
                    "" => (
                        format!("`{name}` has no value"),
                        "write `\"\"` for empty text".to_owned(),
                    ),
                    text => (
                        format!("`{name}` is text, and this is null"),
                        format!("write `\"{text}\"` if the text is meant"),
                    ),
                };
                self.report(&check::NULL_TEXT, field.span(), message, Some(help));
                None
            }
            Kind::Scalar(text, _) => Some(text.clone()),
            _ => {
                self.wrong_type(field, "text", None);
                None
            }
        }
    }

    pub(super) fn boolean(&mut self, field: &Field<'_>) -> Option<bool> {
        if let Kind::Scalar(text, Style::Plain) = &field.node.kind {
            match text.as_str() {
                "true" | "True" | "TRUE" => return Some(true),
                "false" | "False" | "FALSE" => return Some(false),
                _ => {}
            }
        }
        let help = match &field.node.kind {
            Kind::Scalar(text, _) => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "y" => "write `true`, without quotes",
                "false" | "no" | "off" | "n" => "write `false`, without quotes",
                _ => "write `true` or `false`, without quotes",
            },
            _ => "write `true` or `false`",
        };
        self.wrong_type(field, "`true` or `false`", Some(help.to_owned()));
        None
    }

    pub(super) fn index(&mut self, field: &Field<'_>) -> Option<u32> {
        match &field.node.kind {
            Kind::Scalar(text, _) if text.ends_with('%') => {
                self.wrong_type(field, "a whole number", Some(ROLLOUT.to_owned()));
            }
            Kind::Scalar(text, Style::Plain) => match integer(text) {
                Integer::Index(index) => return Some(index),
                Integer::Negative => {
                    let help = "the first variation is 0";
                    self.report(
                        &check::SELECT_NEGATIVE,
                        field.span(),
                        format!("`select` is `{}`, below zero", shown(text)),
                        Some(help.to_owned()),
                    );
                }
                Integer::TooLarge => {
                    let message = format!(
                        "`select` is `{}`, and no toggle has that many variations",
                        shown(text)
                    );
                    self.report(&check::SELECT_OUT_OF_RANGE, field.span(), message, None);
                }
                Integer::No => {
                    let help = match text.starts_with(|c: char| c.is_ascii_digit()) {
                        true => "write it in decimal digits without leading zeros",
                        false => "write `variation` instead of `select` to name a variation",
                    };
                    self.wrong_type(field, "a whole number", (!is_null(text)).then(|| help.to_owned()));
                }
            },
            Kind::Scalar(..) => {
                self.wrong_type(
                    field,
                    "a whole number",
                    Some("write it without quotes, or write `variation` to name a variation".to_owned()),
                );
            }
            _ => self.wrong_type(field, "a whole number", Some(ROLLOUT.to_owned())),
        }
        None
    }
}
