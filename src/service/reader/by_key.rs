//! Looks things up by their key as the service does.

use std::collections::BTreeMap;

use crate::model::Key;

/// Values by key, in the service's spelling. Lookups ignore case, because `feature_4` and `FEATURE_4` are one
/// toggle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ByKey<T> {
    values: BTreeMap<Key, T>,
    /// Spellings by key in lower case.
    spellings: BTreeMap<String, Vec<Key>>,
}

impl<T> ByKey<T> {
    /// Returns the value of `key`.
    ///
    /// A service whose database respects case may have keys that differ only in case. They are different
    /// then, so only the exact spelling finds one of them.
    pub fn get(&self, key: &str) -> Option<&T> {
        match self.spellings.get(&key.to_ascii_lowercase())?.as_slice() {
            [only] => self.values.get(only),
            several => {
                let exact = several.iter().find(|spelling| spelling.as_str() == key)?;
                self.values.get(exact)
            }
        }
    }

    /// Returns all keys with their values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &T)> {
        self.values.iter()
    }
}

impl<T> FromIterator<(Key, T)> for ByKey<T> {
    fn from_iter<I: IntoIterator<Item = (Key, T)>>(values: I) -> Self {
        let values: BTreeMap<Key, T> = values.into_iter().collect();
        let mut spellings: BTreeMap<String, Vec<Key>> = BTreeMap::new();
        for key in values.keys() {
            let folded = key.as_str().to_ascii_lowercase();
            spellings.entry(folded).or_default().push(key.clone());
        }
        Self { values, spellings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_ignores_case_unless_only_case_tells_keys_apart() {
        let values: ByKey<u8> = [("Pay", 1), ("ship", 2), ("SHIP", 3)]
            .map(|(key, value)| (key.parse().unwrap(), value))
            .into_iter()
            .collect();
        for (key, value) in [
            ("Pay", Some(1)),
            ("PAY", Some(1)),
            ("ship", Some(2)),
            ("SHIP", Some(3)),
            ("Ship", None),
            ("none", None),
        ] {
            assert_eq!(values.get(key).copied(), value, "{key}");
        }
        let keys: Vec<&str> = values.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["Pay", "SHIP", "ship"]);
    }
}
