//! The settings that a plan depends on, and the rails.

use sha2::{Digest as _, Sha256};

use crate::model::{EnvironmentId, Scope, hex, words};

/// The settings that a plan depends on (DESIGN, sections 3, 4 and 7).
#[derive(Clone, Debug)]
pub struct Policy {
    /// `--only`: the toggles in scope.
    pub scope: Scope,
    /// The action in an environment in which nothing is applied; `None` holds it.
    pub first_pass: Option<FirstPass>,
    /// The action on a toggle whose file was removed.
    pub on_remove: OnRemove,
    /// The effect of an invalid document on the others.
    pub on_invalid: OnInvalid,
    /// The largest share of an environment's applied toggles that one pass may update or disable.
    pub max_change_ratio: f64,
    /// The most changes of any kind to one environment in one pass.
    pub max_change_count: Option<u64>,
    /// Whether a commit's trailer exempts its changes from the rails.
    pub trailer: Trailer,
    /// Whether the rails apply.
    pub mass_change: MassChange,
    /// The maximum length of a comment, in Unicode scalar values.
    pub comment_max_chars: usize,
    /// What happens to a toggle that was changed on the service.
    pub on_drift: OnDrift,
    /// Whether a publish may bypass the approvals of an environment.
    pub on_approval: OnApproval,
    /// What happens to a document whose toggle does not exist on the service.
    pub on_missing: OnMissing,
    /// Whether the service can be read.
    pub live_access: LiveAccess,
}

words! {
    /// `--first-pass`.
    FirstPass {
        /// Publish everything.
        Assert = "assert",
        /// Record the documents as applied, and publish nothing.
        Adopt = "adopt",
    }
    /// `--on-remove`.
    #[derive(Default)]
    OnRemove {
        /// List the toggle.
        #[default]
        Keep = "keep",
        /// Publish the applied targeting again, disabled.
        Disable = "disable",
        /// Drop the toggle from the state without publishing.
        Forget = "forget",
    }
    /// `--on-invalid`.
    #[derive(Default)]
    OnInvalid {
        /// Hold the invalid documents; publish the others.
        #[default]
        Hold = "hold",
        /// Publish nothing while a document is invalid.
        Stop = "stop",
    }
    /// `--on-drift`.
    #[derive(Default)]
    OnDrift {
        /// Hold changes to a toggle that was changed on the service.
        #[default]
        Hold = "hold",
        /// Publish its document again.
        Overwrite = "overwrite",
        /// Do not read the toggle before a publish.
        Ignore = "ignore",
    }
    /// `--on-approval`.
    #[derive(Default)]
    OnApproval {
        /// Hold changes in an environment that needs approvals.
        #[default]
        Hold = "hold",
        /// Publish without an approval.
        Bypass = "bypass",
    }
    /// `--on-missing`.
    #[derive(Default)]
    OnMissing {
        /// Hold the document.
        #[default]
        Hold = "hold",
        /// Create the toggle before its first publish.
        Create = "create",
    }
    /// `--history`.
    HistoryRule {
        /// Follow a rewritten history, even to a commit older than the one that the shared state records.
        Follow = "follow",
        /// Stop the pass.
        Refuse = "refuse",
    }
}

/// Whether `Gitoggle-Allow: mass-change` trailers count.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Trailer {
    /// They count.
    #[default]
    Allowed,
    /// They do not count (`--no-allow-trailer`).
    Ignored,
}

/// Whether the live state of toggles can be read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LiveAccess {
    /// It can (`service_kind: featureprobe`).
    Readable,
    /// The service only stores (`service_kind: documented`).
    #[default]
    WriteOnly,
}

/// Whether the rails are lifted for this pass.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum MassChange {
    /// Lifted (`--allow-mass-change`).
    Allowed,
    /// In force.
    #[default]
    Held,
}

impl Default for Policy {
    /// The defaults of DESIGN, section 3.
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            first_pass: None,
            on_remove: OnRemove::default(),
            on_invalid: OnInvalid::default(),
            max_change_ratio: 0.3,
            max_change_count: None,
            trailer: Trailer::default(),
            mass_change: MassChange::default(),
            comment_max_chars: 1024,
            on_drift: OnDrift::default(),
            on_approval: OnApproval::default(),
            on_missing: OnMissing::default(),
            live_access: LiveAccess::default(),
        }
    }
}

impl Policy {
    /// Returns whether a toggle is read before it is published (DESIGN, sections 8.4 and 8.5).
    #[must_use]
    pub fn reads_live(&self) -> bool {
        self.live_access == LiveAccess::Readable && self.on_drift != OnDrift::Ignore
    }

    /// Returns the SHA-256 of all settings in hexadecimal. A pass with another digest than the last one has to compare
    /// again even if the repository did not change.
    #[must_use]
    pub fn digest(&self) -> String {
        // Without `..`, so that a new setting cannot be left out of the digest.
        let Self {
            scope,
            first_pass,
            on_remove,
            on_invalid,
            max_change_ratio,
            max_change_count,
            trailer,
            mass_change,
            comment_max_chars,
            on_drift,
            on_approval,
            on_missing,
            live_access,
        } = self;
        let text = format!(
            "{:?} {first_pass:?} {on_remove:?} {on_invalid:?} {max_change_ratio:?} {max_change_count:?} {trailer:?} \
             {mass_change:?} {comment_max_chars} {on_drift:?} {on_approval:?} {on_missing:?} \
             {live_access:?}",
            scope.globs()
        );
        hex(&Sha256::digest(text))
    }

    /// Returns the rail of `max_change_ratio` if `changed` of `applied` toggles exceed it.
    pub(super) fn ratio_rail(
        &self,
        environment: &EnvironmentId,
        changed: usize,
        applied: usize,
    ) -> Option<Rail> {
        /// With fewer toggles, one ordinary change would exceed the ratio.
        const FEWEST: usize = 10;
        // A division, not a multiplication: 3 / 30 yields the same float as the literal `0.1`.
        #[expect(clippy::cast_precision_loss, reason = "no environment has 2^52 toggles")]
        let is_over = applied >= FEWEST && changed as f64 / applied as f64 > self.max_change_ratio;
        is_over.then(|| Rail {
            environment: environment.clone(),
            changed,
            limit: Limit::Ratio {
                applied,
                max: self.max_change_ratio,
            },
            trailer: self.trailer,
        })
    }

    /// Returns the rail of `max_change_count` if `changed` changes exceed it.
    pub(super) fn count_rail(&self, environment: &EnvironmentId, changed: usize) -> Option<Rail> {
        let max = self.max_change_count?;
        (changed as u64 > max).then(|| Rail {
            environment: environment.clone(),
            changed,
            limit: Limit::Count { max },
            trailer: self.trailer,
        })
    }
}

/// Formats the share of `changed` in `applied`, with enough digits to differ from the limit.
fn percent(changed: usize, applied: usize, max: f64) -> String {
    const MOST_DIGITS: usize = 4;
    #[expect(clippy::cast_precision_loss, reason = "no environment has 2^52 toggles")]
    let ratio = changed as f64 / applied as f64 * 100.0;
    let shown = |ratio: f64, digits| format!("{ratio:.digits$} %");
    let mut digits = (0..=MOST_DIGITS).map(|digits| (shown(ratio, digits), shown(max * 100.0, digits)));
    let differing = digits.find(|(ratio, max)| ratio != max);
    differing.map_or_else(|| shown(ratio, MOST_DIGITS), |(ratio, _)| ratio)
}

/// A limit that an environment's changes exceed. Its text has the numbers, the setting and the ways to lift it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rail {
    /// The held environment.
    pub environment: EnvironmentId,
    /// The number of changes that count.
    pub changed: usize,
    /// The exceeded limit.
    pub limit: Limit,
    /// Whether the trailer can lift it.
    pub trailer: Trailer,
}

/// The limit of a [`Rail`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// `max_change_count`.
    Count {
        /// The setting's value.
        max: u64,
    },
    /// `max_change_ratio`.
    Ratio {
        /// The number of applied toggles in the environment.
        applied: usize,
        /// The setting's value.
        max: f64,
    },
}

impl std::fmt::Display for Rail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            environment,
            changed,
            limit,
            trailer,
        } = self;
        match limit {
            Limit::Count { max } => write!(
                f,
                "{changed} changes are more than `max_change_count: {max}` allows"
            )?,
            Limit::Ratio { applied, max } => write!(
                f,
                "{changed} of {applied} applied toggles would be updated or disabled ({}), more than \
                 `max_change_ratio: {max}` allows",
                percent(*changed, *applied, *max)
            )?,
        }
        f.write_str("; if this is intended, pass `--allow-mass-change`, ")?;
        if *trailer == Trailer::Allowed {
            f.write_str("put the trailer `Gitoggle-Allow: mass-change` on the commit, ")?;
        }
        write!(
            f,
            "or run `gitoggle allow mass-change {environment}` for a running daemon"
        )
    }
}
