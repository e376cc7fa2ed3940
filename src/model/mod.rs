//! The shared vocabulary: toggles, their targeting, commits and Git objects.
//!
//! All types are values; nothing here reads a clock, a disk or a network. Ids, targeting and globs are always valid,
//! because parsing is the only way to create them.

mod allowance;
mod build;
mod commit;
mod deployment;
mod escape;
mod hold;
mod id;
mod junit;
mod leftover;
mod live;
mod packed;
mod return_type;
mod review;
mod scope;
mod semantic_version;
mod sent;
mod state;
mod suspension;
mod targeting;
mod text;
mod time;
mod tree;
mod version;
mod words;

pub use allowance::{Allowance, Override, OverrideError};
pub use build::{BUILD, Build};
pub(crate) use commit::AuthoredCommit;
pub use commit::{Attribution, Commit, CommitId, HistoryEvidence};
pub use deployment::{DeployedToggle, Deployment, DeploymentEffect, HistoryPage};
pub use escape::{Color, HarmlessJsonWriter, escaped, harmless_json, is_harmful};
pub use hold::{Alone, HeldRequest, Hold, HoldKind};
pub use id::{
    EnvironmentId, EnvironmentIdError, FoldedId, IdError, Key, KeyError, ObjectId, ObjectIdError, ToggleId,
};
pub use junit::{JunitCase, JunitKind, JunitProblem, JunitSuite, junit};
pub use leftover::LeftoverKind;
pub(crate) use leftover::{LastChange, Leftover, OwnerEntry, StaleReport, StaleToggle};
pub use live::{Live, LiveContent, LiveDraft, LiveToggle, LiveVersion};
pub use return_type::{ReturnType, variation_fits};
pub use review::{ChangeDigest, ChangeDigestError, ReviewedChanges, Reviews};
pub use scope::{Scope, ScopeError, Unmatched};
pub use semantic_version::is_semver;
pub use sent::{Action, Certainty, RequestDigest, Sent, SentNote, TargetingDigest};
pub use state::{PublishOutcome, ToggleState};
pub use suspension::{Suspension, SuspensionScope, SuspensionScopeError, Suspensions};
pub use targeting::{
    Between, Condition, Content, Payload, Prerequisite, Rule, Serve, ServiceKind, Targeting, Variation,
    WHOLE, percent,
};
pub use text::{chain, closest, counted, cut, hex, html, listed, plain, similar_names};
pub use time::{datetime_numbers, duration, rfc3339, seconds};
pub use tree::{Blob, Entries, EntryKind, MalformedTree, Tree, TreeDiff, TreeEntry, Trees};
pub use version::{Format, Version};
pub(crate) use words::{not_a_word, words};
