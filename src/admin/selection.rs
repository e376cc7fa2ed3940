//! Selects toggles: by words in their names, by state and by environment, for the page and `/api/status`.

use std::ops::Range;

use crate::daemon::{Status, ToggleState, ToggleStatus};
use crate::model::EnvironmentId;

/// The toggles that a reader wants to see; all of them by default.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    /// In lower case. Each is a part of the toggle's full key.
    words: Vec<String>,
    state: Option<ToggleState>,
    environment: Option<EnvironmentId>,
}

impl Selection {
    /// Selects by the text of a search, a state and an environment; empty texts select nothing in particular.
    ///
    /// # Errors
    /// Why the state or the environment cannot be one.
    pub(super) fn parse(text: &str, state: &str, environment: &str) -> Result<Self, String> {
        let state = match state {
            "" => None,
            state => Some(state.parse().map_err(|reason| format!("state: {reason}"))?),
        };
        let environment = match environment {
            "" => None,
            environment => {
                let parsed = environment.parse::<EnvironmentId>();
                Some(parsed.map_err(|error| format!("environment: {error}"))?)
            }
        };
        Ok(Self {
            words: text.split_whitespace().map(str::to_lowercase).collect(),
            state,
            environment,
        })
    }

    /// Returns whether it selects every toggle.
    pub(super) fn is_everything(&self) -> bool {
        self.words.is_empty() && self.state.is_none() && self.environment.is_none()
    }

    /// Returns the selected toggles, sorted.
    pub(super) fn of<'a>(&'a self, status: &'a Status) -> impl Iterator<Item = &'a ToggleStatus> {
        let toggles = status.toggles.get(self.place(status)).unwrap_or_default();
        toggles.iter().filter(|toggle| self.has(toggle))
    }

    /// Returns the part of the toggles in which the selected ones are.
    pub(super) fn place(&self, status: &Status) -> Range<usize> {
        match &self.environment {
            None => 0..status.toggles.len(),
            Some(environment) => {
                let found = status.overview.environment(environment);
                found.map_or(0..0, |found| found.place.clone())
            }
        }
    }

    /// Returns whether it selects this toggle of its [`place`](Self::place).
    pub(super) fn has(&self, toggle: &ToggleStatus) -> bool {
        let name = toggle.toggle.as_str().as_bytes();
        self.state.is_none_or(|state| state == toggle.state())
            && self.words.iter().all(|word| contains(name, word.as_bytes()))
    }
}

/// Returns whether `name` contains `word`, which is in lower case, in any case. Names are ASCII.
fn contains(name: &[u8], word: &[u8]) -> bool {
    // Without an allocation, because a search looks at every toggle.
    name.windows(word.len())
        .any(|part| part.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        let mut status = Status::default();
        let toggles = [
            ("shop/production/new-Payment", ToggleState::Held),
            ("shop/production/search", ToggleState::InSync),
            ("shop/staging/new-payment", ToggleState::InSync),
        ];
        let toggles = toggles.map(|(id, state)| ToggleStatus::in_state(id, state));
        status.set_toggles(toggles.to_vec());
        status
    }

    #[test]
    fn words_state_and_environment_narrow_a_selection() {
        let status = status();
        for (text, state, environment, expected) in [
            ("", "", "", "3"),
            ("payment", "", "", "2"),
            ("PAY shop/st", "", "", "1"),
            ("", "in_sync", "", "2"),
            ("pay", "in_sync", "shop/production", "0"),
            ("", "", "shop/production", "2"),
            ("", "", "shop/none", "0"),
            ("héllo", "", "", "0"),
        ] {
            let selection = Selection::parse(text, state, environment).unwrap();
            let count = selection.of(&status).count();
            assert_eq!(count.to_string(), expected, "{text} {state} {environment}");
            assert_eq!(
                selection.is_everything(),
                (text, state, environment) == ("", "", "")
            );
        }
        for (state, environment) in [("green", ""), ("", "shop"), ("", "shop/<b>")] {
            assert!(
                Selection::parse("", state, environment).is_err(),
                "{state} {environment}"
            );
        }
    }
}
