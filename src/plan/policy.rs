//! The settings that a plan depends on.

use sha2::{Digest as _, Sha256};

use super::Windows;
use crate::model::{Scope, Suspensions, Thresholds, hex, words};

/// The settings that a plan depends on.
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
    /// The number of applied toggles from which on the ratio counts.
    pub fewest_for_ratio: usize,
    /// The most changes of any kind to one environment in one pass.
    pub max_change_count: Option<u64>,
    /// Whether the trailers of commits count (`--no-allow-trailer`).
    pub allows_trailers: bool,
    /// Whether the rails are lifted (`--allow-mass-change`).
    pub allows_mass_change: bool,
    pub windows: Windows,
    /// Whether the change windows are lifted (`--ignore-windows`).
    pub ignores_windows: bool,
    /// The maximum length of a comment, in Unicode scalar values.
    pub comment_max_chars: usize,
    /// What happens to a toggle that was changed on the service.
    pub on_drift: OnDrift,
    /// Whether a publish may bypass the approvals of an environment.
    pub on_approval: OnApproval,
    /// What happens to a document whose toggle does not exist on the service.
    pub on_missing: OnMissing,
    /// Whether the live state of toggles can be read (`service_kind: featureprobe`), or the service only
    /// stores.
    pub is_readable: bool,
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

impl Default for Policy {
    /// The defaults of deploy/settings.md, "Settings".
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            first_pass: None,
            on_remove: OnRemove::default(),
            on_invalid: OnInvalid::default(),
            max_change_ratio: 0.3,
            fewest_for_ratio: Thresholds::default().fewest_for_share,
            max_change_count: None,
            allows_trailers: true,
            allows_mass_change: false,
            windows: Windows::default(),
            ignores_windows: false,
            comment_max_chars: 1024,
            on_drift: OnDrift::default(),
            on_approval: OnApproval::default(),
            on_missing: OnMissing::default(),
            is_readable: false,
        }
    }
}

impl Policy {
    /// Returns whether a toggle is read before it is published (src/pass/README.md, "Reading before a
    /// publish").
    pub fn reads_live(&self) -> bool {
        self.is_readable && self.on_drift != OnDrift::Ignore
    }

    /// Returns every scope besides that of the pass, with what it belongs to: a glob that matches no toggle
    /// is reported (src/plan/README.md, "Order and windows").
    pub(crate) fn scopes<'a>(
        &'a self,
        suspensions: &'a Suspensions,
    ) -> impl Iterator<Item = (String, &'a Scope)> {
        let windows = self.windows.scopes();
        let windows = windows.map(|(window, scope)| (format!("the change window {window}"), scope));
        let suspended = suspensions.iter().map(|(scope, _)| ("a suspension".to_owned(), scope.scope()));
        windows.chain(suspended)
    }

    /// Returns the SHA-256 of all settings in hexadecimal. A pass with another digest than the last one has
    /// to compare again even if the repository did not change.
    pub fn digest(&self) -> String {
        // Without `..`, so that a new setting cannot be left out of the digest.
        let Self {
            scope,
            first_pass,
            on_remove,
            on_invalid,
            max_change_ratio,
            // No setting.
            fewest_for_ratio: _,
            max_change_count,
            allows_trailers,
            allows_mass_change,
            windows,
            ignores_windows,
            comment_max_chars,
            on_drift,
            on_approval,
            on_missing,
            is_readable,
        } = self;
        let text = format!(
            "{:?} {first_pass:?} {on_remove:?} {on_invalid:?} {max_change_ratio:?} {max_change_count:?} {allows_trailers:?} \
             {allows_mass_change:?} {} {ignores_windows:?} {comment_max_chars} {on_drift:?} {on_approval:?} {on_missing:?} \
             {is_readable:?}",
            scope.globs(),
            windows.digest()
        );
        hex(&Sha256::digest(text))
    }
}
