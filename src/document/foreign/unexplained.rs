//! Keys that no rule explains: what they say must not be lost in silence, and nothing is invented beside them.

use super::names::{self, own_of, plain};
use crate::document::finding::shown;

/// Returns whether other tools call a key of `what` so. Any other key of a rule can be an attribute as well as a serve.
pub(in crate::document) fn is_named(what: &str, name: &str) -> bool {
    own_of(what, &plain(name)).is_some()
}

/// Returns whether a key of `what` plainly decides nothing for whom or when.
pub(in crate::document) fn is_note(what: &str, name: &str) -> bool {
    names::is_note(what, &plain(name))
}

/// Returns the end of the help on an unknown key that no rule explains, after the keys that `what` has.
pub(in crate::document) fn loss(what: &str, name: &str) -> String {
    match is_note(what, name) {
        true => "; remove it, or write it as a comment, which begins with `#`".to_owned(),
        false => format!(
            "; do not just remove it: what `{}` says would be lost, so say it with these keys",
            shown(name)
        ),
    }
}

/// Returns the help on the part `own` that is missing beside unknown keys, one of which may stand for it: `help` with `…` in
/// place of an example.
pub(in crate::document) fn missing_beside(own: &str, help: &str, unknown: &[&str]) -> String {
    let has_example = help.split('`').skip(1).step_by(2).any(|text| text.contains(": "));
    let unknown = match unknown {
        _ if !has_example || help.contains('…') => return help.to_owned(),
        [] => return help.to_owned(),
        [name] => format!("`{}`", shown(name)),
        _ => "one of the unknown keys".to_owned(),
    };
    match help.split_once(", such as `") {
        Some((words, _)) => format!("{words}, as `{own}: …`; {unknown} may stand for it"),
        None => format!("write `{own}: …`; {unknown} may stand for it"),
    }
}
