#![doc = include_str!("README.md")]

mod allowance;
mod attribution;
mod commit;
mod condition;
mod conversion;
mod deployment;
mod dialect;
mod escape;
mod forge;
mod glob;
mod graph;
mod hint;
mod hold;
mod id;
mod junit;
mod leftover;
mod live;
mod request;
mod return_type;
mod review;
mod scope;
mod sdk;
mod serve;
mod suggestion;
mod suspension;
mod targeting;
mod text;
mod thresholds;
mod time;
mod tree;
mod tree_diff;
mod version;
mod word;

pub use allowance::{Allowance, Override, OverrideError};
pub use attribution::{Attribution, HistoryEvidence};
pub(crate) use commit::AuthoredCommit;
pub use commit::{ALLOW_TRAILER, Commit, FIRST_PASS_TRAILER, Trailer};
pub(crate) use condition::{
    CONDITION_TYPES, ConditionType, ConditionValue, OrderComparison, Polarity, Predicate, TextComparison,
    TimeComparison, is_semver,
};
pub(crate) use conversion::{
    NumberEquality, delivered_time, delivered_value, has_same_order, is_accepted_time, is_big_decimal,
    is_same_decimal, is_same_json_in_floats, is_same_value,
};
pub use deployment::{DeployedToggle, Deployment, DeploymentEffect, HistoryPage};
pub use dialect::ServiceKind;
pub(crate) use dialect::{Abilities, ServiceLimits};
pub(crate) use escape::{HarmlessJsonWriter, escaped, exact, harmless_json, is_harmful, is_unseen};
pub use forge::Forge;
pub(crate) use forge::WebhookProof;
pub use glob::ScopeError;
pub(crate) use glob::{can_be_key, unmatchable_advice};
pub(crate) use graph::{Components, components};
pub(crate) use hint::{RunFlags, command_line, hinted, shell_word};
pub(crate) use hold::{Advice, HoldMemory, TrailerReach, WayOut};
pub use hold::{Alone, HeldRequest, HeldRequests, Hold, HoldKind, ToggleState};
pub use id::{
    CommitId, EnvironmentId, EnvironmentIdError, FoldedId, IdError, Key, KeyError, ObjectId, ObjectIdError,
    ToggleId,
};
pub(crate) use junit::{JunitCase, JunitKind, JunitProblem, JunitSuite, junit};
pub use leftover::LeftoverKind;
pub(crate) use leftover::{
    LastChange, Leftover, OwnerEntry, PassedRule, StaleReport, StaleToggle, WaivedToggle,
};
pub use live::{Live, LiveContent, LiveDraft, LiveToggle, LiveVersion};
pub use request::{Action, Certainty, OutcomeKind, RequestDigest, Sent, SentNote, TargetingDigest};
pub use return_type::ReturnType;
pub(crate) use return_type::variation_fits;
pub use review::{ChangeDigest, ChangeDigestError, ReviewedChanges, Unlisted, UnlistedChange};
pub use scope::{Scope, Unmatched};
pub(crate) use sdk::is_blank;
pub use sdk::{Sdk, Sdks};
pub use serve::Serve;
pub(crate) use serve::{WHOLE, percent};
pub(crate) use suggestion::{closest, is_one_edit, undenied};
pub use suspension::{Suspension, SuspensionScope, SuspensionScopeError, Suspensions};
pub use targeting::{Between, Condition, Content, Payload, Prerequisite, Rule, Targeting, Variation};
pub use text::Color;
pub(crate) use text::{chain, counted, cut, hex, html, listed, plain, similar_names};
pub use thresholds::Thresholds;
pub(crate) use time::{datetime_numbers, duration, rfc3339, seconds, time_help};
pub use tree::{Blob, Entries, EntryKind, MalformedTree, Tree, TreeEntry, Trees};
pub use tree_diff::TreeDiff;
pub use version::{Format, Version};
pub(crate) use word::{not_a_word, words};

/// Where the daemon listens, and where commands find it, without settings.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:8077";

/// The address in [`DEFAULT_URL`].
pub(crate) const DEFAULT_LISTEN: &str = DEFAULT_URL.split_at("http://".len()).1;

pub const BUILD: Build = Build {
    version: env!("CARGO_PKG_VERSION"),
    commit: if env!("BUILD_COMMIT").is_empty() { None } else { Some(env!("BUILD_COMMIT")) },
    date: if env!("BUILD_DATE").is_empty() { None } else { Some(env!("BUILD_DATE")) },
    target: env!("BUILD_TARGET"),
    text: concat!(env!("CARGO_PKG_VERSION"), " ", env!("BUILD_TEXT")),
};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Build {
    pub version: &'static str,
    /// The first ten digits of the commit, followed by `-dirty` if the sources differed from it. `None` if it
    /// is not known, such as in a build of an archive.
    pub commit: Option<&'static str>,
    /// The day of the commit, such as `2026-11-22`, if it is known.
    pub date: Option<&'static str>,
    pub target: &'static str,
    /// All of it, such as `0.1.0 (d77f556a01 2026-11-22, x86_64-unknown-linux-gnu)`.
    pub text: &'static str,
}
