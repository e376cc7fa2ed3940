//! The words every other module speaks: toggles, their targeting, commits and Git objects.
//!
//! Everything here is a value. Nothing reads a clock, a disk or a network, and nothing can hold an id, a
//! targeting or a glob that is not well formed: they are parsed at the border or do not exist.

mod allowance;
mod attribution;
mod commit;
mod escape;
mod id;
mod object;
mod scope;
mod sent;
mod state;
mod suspension;
mod targeting;
mod text;
mod time;
mod tree;
mod tree_diff;
mod version;
mod words;

pub use allowance::{Allowance, Override, OverrideError};
pub use attribution::{Attribution, HistoryEvidence};
pub use commit::{Commit, CommitId};
pub use escape::{Color, escaped, is_harmful};
pub use id::{EnvironmentId, EnvironmentIdError, IdError, Key, KeyError, ToggleId};
pub use object::{Blob, EntryKind, ObjectId, ObjectIdError, Trees};
pub use scope::{Scope, ScopeError, Unmatched};
pub use sent::{Action, Certainty, RequestDigest, Sent};
pub use state::{PublishOutcome, ToggleState, WithheldKind};
pub use suspension::{Suspension, SuspensionScope, SuspensionScopeError, Suspensions};
pub use targeting::{Condition, Content, Payload, Rule, Serve, ServiceKind, Targeting, Variation};
pub use text::{chain, counted, hex};
pub use time::{duration, rfc3339};
pub use tree::{Entries, Entry, Malformed, Tree};
pub use tree_diff::TreeDiff;
pub use version::{Format, Version};
pub(crate) use words::{not_a_word, words};
