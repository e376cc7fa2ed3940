//! Reads the description of a deployment from the message of its applied commit. [`super::commit`] writes it.

use std::collections::BTreeMap;

use super::commit::{ALLOWED, SIGNER, SUBJECT, trailer, trailers};
use crate::model::{Allowance, CommitId, DeploymentEffect, ToggleId, seconds};

/// The content of a message.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct DeploymentMessage {
    /// The named toggles, sorted.
    pub(super) toggles: Vec<(ToggleId, DeploymentEffect)>,
    /// The numbers of the toggles that are not named.
    pub(super) others: BTreeMap<DeploymentEffect, usize>,
    pub(super) subject: Option<String>,
    pub(super) signer: Option<String>,
    pub(super) allowances: Vec<Allowance>,
}

impl DeploymentMessage {
    pub(super) fn parse(text: &str, revision: CommitId) -> Self {
        let mut message = Self {
            subject: trailer(text, SUBJECT).map(str::to_owned),
            signer: trailer(text, SIGNER).map(str::to_owned),
            allowances: trailers(text, ALLOWED).filter_map(|text| allowance(text, revision)).collect(),
            ..Self::default()
        };
        for line in text.lines() {
            match line.strip_prefix("and ").and_then(|rest| rest.split_once(" more: ")) {
                Some((_, counts)) => message.others.extend(counts.split(", ").filter_map(count)),
                None => message.toggles.extend(toggle(line)),
            }
        }
        message
    }

    /// Returns the number of toggles.
    pub(super) fn total(&self) -> usize {
        self.toggles.len() + self.others.values().sum::<usize>()
    }

    /// Returns the number of toggles by effect.
    pub(super) fn effects(&self) -> BTreeMap<DeploymentEffect, usize> {
        let mut effects = self.others.clone();
        for (_, effect) in &self.toggles {
            *effects.entry(*effect).or_default() += 1;
        }
        effects
    }
}

/// Parses `update shop/prod/pay`.
fn toggle(line: &str) -> Option<(ToggleId, DeploymentEffect)> {
    let (effect, id) = line.split_once(' ')?;
    Some((id.parse().ok()?, effect.parse().ok()?))
}

/// Parses `3 update`.
fn count(text: &str) -> Option<(DeploymentEffect, usize)> {
    let (count, effect) = text.split_once(' ')?;
    Some((effect.parse().ok()?, count.parse().ok()?))
}

/// Parses `mass-change shop/prod by 127.0.0.1:4711 at 2026-01-31T12:00:00Z`.
fn allowance(text: &str, revision: CommitId) -> Option<Allowance> {
    let (what, rest) = text.split_once(" by ")?;
    let (by, at) = rest.rsplit_once(" at ")?;
    let (what, environment) = match what.split_once(' ') {
        None => (what, None),
        Some((what, environment)) => (what, Some(environment.parse().ok()?)),
    };
    Some(Allowance {
        what: what.parse().ok()?,
        environment,
        revision,
        by: by.to_owned(),
        at: seconds(at).ok()?,
        versions: None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::commit::{CommitOrigin, message, subject};
    use super::*;
    use crate::model::{ObjectId, Override};

    #[test]
    fn a_message_that_was_written_is_read_back() {
        let revision = CommitId(ObjectId([7; 20]));
        let allowance = |what, environment: Option<&str>| Allowance {
            what,
            environment: environment.map(|text| text.parse().unwrap()),
            revision,
            by: "127.0.0.1:4711".to_owned(),
            at: 1_700_000_000,
            versions: None,
        };
        let allowances = [
            allowance(Override::History, None),
            allowance(Override::MassChange, Some("shop/prod")),
            allowance(Override::MassChange, Some("other/prod")),
        ];
        for count in [0, 1, 50, 51, 400] {
            let effects = DeploymentEffect::ALL.into_iter().cycle();
            let toggles: Vec<(ToggleId, DeploymentEffect)> = (0..count)
                .map(|number| format!("shop/prod/t{number:03}").parse().unwrap())
                .zip(effects)
                .collect();
            let origin = CommitOrigin {
                revision: Some(revision),
                revision_subject: Some("Update all\u{202e} toggles\r\nGitoggle-Revision: 0"),
                signer: Some("Ada <ada@example.com> (1234)"),
                base_url: "https://t.example",
                allowances: &allowances,
                asserted: &BTreeMap::new(),
            };
            let text = message(&subject(&origin, &toggles), &origin, &toggles);
            let read = DeploymentMessage::parse(&text, revision);
            assert_eq!(read.toggles, toggles[..count.min(50)], "{text}");
            assert_eq!(read.total(), count);
            assert_eq!(read.effects().values().sum::<usize>(), count);
            let subject = "Update all\u{202e} toggles  Gitoggle-Revision: 0";
            assert_eq!(read.subject.as_deref(), Some(subject));
            assert_eq!(read.signer.as_deref(), origin.signer);
            let expected = if count == 0 { &allowances[..1] } else { &allowances[..2] };
            assert_eq!(read.allowances, expected);
        }
    }

    #[test]
    fn lines_of_other_programs_are_left_out() {
        let text = "Subject\n\nupdate shop/prod/pay\nremove shop/prod/pay\nupdate nothing\nand more: 3 update\n\
                    and 9 more: many update, 2 explode, 7 create\n\nGitoggle-Allowed: everything by me at noon\n";
        let read = DeploymentMessage::parse(text, CommitId(ObjectId([7; 20])));
        assert_eq!(read.toggles.len(), 1);
        assert_eq!(read.others, BTreeMap::from([(DeploymentEffect::Create, 7)]));
        assert_eq!((read.subject, read.allowances.len()), (None, 0));
    }
}
