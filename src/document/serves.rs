//! Checks serves: that each resolves, and serves something where it must.

use super::check;
use super::finding::{At, Finding, Part, add, shown, suggest};
use super::help::{ROLLOUT, SERVE_FORMS, STOPS, VANISHES};
use super::raw::{RawServe, RawSplit, RawVariation};
use super::resolve::ServeError;
use super::split::SplitError;
use super::variation_names::{NameError, VariationNames};
use crate::model::{Serve, ServiceKind, WHOLE, percent};

/// Checks serves for one kind of service.
pub(super) struct ServeChecker<'a> {
    pub(super) findings: &'a mut Vec<Finding>,
    pub(super) kind: ServiceKind,
    pub(super) variations: &'a [RawVariation],
    pub(super) names: &'a VariationNames<'a>,
}

/// What happens if a serve serves nothing (DESIGN, section 8.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum IfEmpty {
    Allowed,
    /// The SDKs stop updating.
    Stops,
    /// The service does not deliver the toggle.
    Vanishes,
}

impl ServeChecker<'_> {
    pub(super) fn check(&mut self, serve: &RawServe, if_empty: IfEmpty, at: &At<'_>) {
        if serve.split.is_some() && self.kind == ServiceKind::Documented {
            let split = at.key("split");
            let finding = split.finding(&check::UNKNOWN_KEY, Part::Key, "a serve has no `split`");
            return add(self.findings, finding.help(ROLLOUT));
        }
        let error = match self.names.resolve(serve) {
            Ok(Serve::Nothing) if if_empty != IfEmpty::Allowed => return self.empty(if_empty, at),
            Ok(_) => return,
            Err(error) => error,
        };
        match error {
            ServeError::Choice => {
                let message = "a serve has one of `select`, `variation` and `split`, not several";
                let finding = at.finding(&check::SERVE_CHOICE, Part::Key, message);
                add(self.findings, finding.help(SERVE_FORMS));
            }
            ServeError::OutOfRange => {
                let select = serve.select.unwrap_or_default();
                let last = self.names.count().saturating_sub(1);
                let message = format!("`select` is {select}, but the last variation is {last}");
                let at = at.key("select");
                let finding = at.finding(&check::SELECT_OUT_OF_RANGE, Part::Value, message);
                add(self.findings, finding.help("the first variation is 0"));
            }
            ServeError::Split(errors) => {
                for error in errors {
                    self.split(serve.split.as_ref(), error, &at.key("split"));
                }
            }
            ServeError::Variation(error) => {
                let name = serve.variation.as_deref().unwrap_or_default();
                self.name(name, error, Part::Value, &at.key("variation"));
            }
        }
    }

    fn empty(&mut self, if_empty: IfEmpty, at: &At<'_>) {
        let help = match self.kind {
            ServiceKind::Documented => format!(
                "{SERVE_FORMS}; an empty `defaultServe` needs `service_kind: featureprobe` and `disabled: true`"
            ),
            ServiceKind::FeatureProbe if if_empty == IfEmpty::Stops => format!("{SERVE_FORMS}; {STOPS}"),
            ServiceKind::FeatureProbe => format!("{SERVE_FORMS}; {VANISHES}"),
        };
        let message = "a serve needs one of `select`, `variation` and `split`";
        let finding = at.finding(&check::SERVE_CHOICE, Part::Key, message);
        add(self.findings, finding.help(help));
    }

    fn name(&mut self, name: &str, error: NameError, part: Part, at: &At<'_>) {
        let wanted = shown(name);
        let (check, message, help) = match error {
            NameError::Ambiguous => (
                &check::AMBIGUOUS_VARIATION,
                format!("more than one variation is named `{wanted}`"),
                "give each variation a unique name".to_owned(),
            ),
            NameError::Unknown => {
                let names = self.variations.iter().filter_map(|variation| variation.name.as_deref());
                let help = suggest(self.findings, name, names.clone()).unwrap_or_else(|| {
                    // A hostile document can have any number of names, so the help shows only the first ones.
                    let names: Vec<String> = names.take(8).map(|name| format!("`{}`", shown(name))).collect();
                    format!("the variations begin with {}", names.join(", "))
                });
                (&check::UNKNOWN_VARIATION, format!("no variation is named `{wanted}`"), help)
            }
        };
        add(self.findings, at.finding(check, part, message).help(help));
    }

    fn split(&mut self, split: Option<&RawSplit>, error: SplitError, at: &At<'_>) {
        match (error, split) {
            (SplitError::Variation(index, error), Some(RawSplit::ByName(shares))) => {
                self.name(&shares[index].0, error, Part::Key, &at.entry(index));
            }
            (SplitError::Share(index), Some(RawSplit::ByName(shares))) => {
                let message = format!("`{}` is not a percentage", shown(&shares[index].1.0));
                let help = "write a number from 0 to 100 with at most two decimals, such as `12.5`";
                let finding = at.entry(index).finding(&check::SPLIT_SHARE, Part::Value, message);
                add(self.findings, finding.help(help));
            }
            (SplitError::Share(index), Some(RawSplit::ByIndex(weights))) => {
                let weight = &weights[index].0;
                let message = format!("`{}` is not a weight", shown(weight));
                let mut help =
                    "write hundredths of a percent from 0 to 10000, or percentages by name, such as \
                                `split: { \"on\": 12.5, \"off\": 87.5 }`"
                        .to_owned();
                if weight.starts_with('-') {
                    help = format!("{help}; {STOPS}");
                }
                let finding = at.item(index).finding(&check::SPLIT_SHARE, Part::Value, message);
                add(self.findings, finding.help(help));
            }
            (SplitError::TooMany(index), _) => {
                let message =
                    format!("this weight is number {}, but there are only {index} variations", index + 1);
                let finding = at.item(index).finding(&check::SPLIT_SHARE, Part::Value, message);
                add(self.findings, finding);
            }
            (SplitError::Sum(sum), split) => {
                let sum_in_percent = u32::try_from(sum).map_or_else(|_| "more than 100".to_owned(), percent);
                let message = match split {
                    Some(RawSplit::ByIndex(_)) => format!("the weights add up to {sum}, not {WHOLE}"),
                    _ => format!("the percentages add up to {sum_in_percent}, not 100"),
                };
                let help =
                    "every user needs a variation, and no user can have two: give the rest to one of them";
                let finding = at.finding(&check::SPLIT_SUM, Part::Key, message);
                add(self.findings, finding.help(help));
            }
            // The others belong to a split by name.
            (SplitError::Variation(..) | SplitError::Share(_), _) => {}
        }
    }
}
