//! Typed access to the merged values: each reader gives the value of one setting, or its default from the table.

use std::path::PathBuf;
use std::time::Duration;

use super::choices::Switch;
use super::definition::settings;
use super::merge::{Given, Merged};
use super::value::Value;
use crate::transport::{Secret, SecretSource};

/// Reads typed values out of what was merged; defaults come from the table.
pub(super) struct Values(pub(super) Merged);

impl Values {
    fn value(&self, name: &str) -> Option<Value> {
        if let Some(Given { value, .. }) = self.0.given.get(name) {
            return Some(value.clone());
        }
        let setting = settings().iter().find(|setting| setting.name == name)?;
        setting.shape.parse(&[setting.preset?.to_owned()]).ok()
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.value(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Some(Value::Texts(texts)) => texts,
            _ => Vec::new(),
        }
    }

    pub(super) fn choice<T>(&self, name: &str, of: fn(&str) -> Option<T>) -> Option<T> {
        self.text(name).and_then(|word| of(&word))
    }

    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        match self.value(name) {
            Some(Value::Path(path)) => Some(path),
            _ => None,
        }
    }

    pub(super) fn duration(&self, name: &str) -> Option<Duration> {
        match self.value(name) {
            Some(Value::Duration(duration)) => Some(duration),
            _ => None,
        }
    }

    pub(super) fn ratio(&self, name: &str) -> Option<f64> {
        match self.value(name) {
            Some(Value::Ratio(ratio)) => Some(ratio),
            _ => None,
        }
    }

    pub(super) fn count(&self, name: &str) -> Option<u64> {
        match self.value(name) {
            Some(Value::Count(count)) => Some(count),
            _ => None,
        }
    }

    pub(super) fn size(&self, name: &str) -> Option<usize> {
        self.count(name)
            .map(|count| usize::try_from(count).unwrap_or(usize::MAX))
    }

    pub(super) fn switch(&self, name: &str) -> Switch {
        match self.value(name) {
            Some(Value::Switch(true)) => Switch::On,
            _ => Switch::Off,
        }
    }

    pub(super) fn secret(&self, name: &str) -> Option<SecretSource> {
        let value = self.text(name).map(|text| SecretSource::Value(Secret::new(text)));
        value.or_else(|| self.path(&format!("{name}_file")).map(SecretSource::File))
    }
}
