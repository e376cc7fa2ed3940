//! Parses the values of arguments that are not settings.

use clap::builder::{BoolValueParser, TypedValueParser};

use crate::model::{EnvironmentId, Scope, ToggleId, chain};

pub(super) fn attribute(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE, such as age=20".to_owned()),
    }
}

/// Parses an environment, or a toggle.
pub(super) fn place(text: &str) -> Result<String, String> {
    match (text.parse::<EnvironmentId>(), text.parse::<ToggleId>()) {
        (Err(error), Err(_)) => Err(error.to_string()),
        _ => Ok(text.to_owned()),
    }
}

/// Parses a part of the toggles as a glob over whole toggles.
pub(super) fn part(text: &str) -> Result<String, String> {
    match text.parse::<EnvironmentId>() {
        Ok(environment) => Ok(format!("{environment}/**")),
        Err(_) => glob(text),
    }
}

/// Parses a flag without a value as one of two values: whether it is `given`, or `absent`.
pub(super) fn either<T: Clone + Send + Sync + 'static>(
    given: T,
    absent: T,
) -> impl TypedValueParser<Value = T> {
    BoolValueParser::new().map(move |is_given| match is_given {
        true => given.clone(),
        false => absent.clone(),
    })
}

pub(super) fn environment(text: &str) -> Result<EnvironmentId, String> {
    text.parse().map_err(|error| chain(&error))
}

/// Parses a glob over whole toggles.
pub(super) fn glob(text: &str) -> Result<String, String> {
    let scope = Scope::new(&[text]).map_err(|error| error.to_string())?;
    match scope.unmatchable().next() {
        None => Ok(text.to_owned()),
        Some(_) => Err(
            "it matches no toggle: globs match the whole `project/environment/toggle`, and `*` does not cross a slash; \
             use `**`"
                .to_owned(),
        ),
    }
}

/// Parses a glob over the keys of toggles.
pub(super) fn key_glob(text: &str) -> Result<String, String> {
    Scope::new(&[text]).map_err(|error| error.to_string())?;
    match text.contains('/') {
        false => Ok(text.to_owned()),
        true => Err("it is compared with the key of the toggle, which has no slash".to_owned()),
    }
}
