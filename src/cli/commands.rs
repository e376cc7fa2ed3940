//! Commands to copy: with the flags of this invocation, and quoted for a shell.

use crate::config::{Command, Flags, settings};

/// Returns the flags of this invocation that `command` takes, too, except for the settings `without`. Variables and the
/// file apply to it anyway.
pub(super) fn with_flags(command: Command, flags: &Flags, without: &[&str]) -> String {
    let mut text = String::new();
    let common = settings().iter().filter(|setting| {
        setting.commands().contains(&command)
            && !["color", "log_format", "log_level", "output"].contains(&setting.name)
            && !without.contains(&setting.name)
    });
    for setting in common {
        let (Some(values), Some(flag)) = (flags.get(setting.name), &setting.flag) else {
            continue;
        };
        // A switch is a decision about this invocation.
        for value in values.iter().filter(|_| !setting.is_switch()) {
            text.push_str(&format!(" {flag} {}", word(value)));
        }
    }
    text
}

/// Quotes `text` for a POSIX shell if that is necessary.
pub(super) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_if_the_shell_would_change_it() {
        for (text, quoted) in [
            ("https://t.example:8443/a", "https://t.example:8443/a"),
            ("+refs/heads/a:b", "+refs/heads/a:b"),
            ("shop/**", "'shop/**'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(word(text), quoted);
        }
    }
}
