//! The reviews that count for a pass (`apply --reviewed`).
//!
//! On a forge, they are those of every pull request merged since the recorded revision: a job that did not run, or two
//! quick merges, need nobody. A change that an earlier pass did not get done is older than the recorded revision, so the
//! search also goes back to the commit of each change.

use crate::forge::ForgeReviews;
use crate::model::{CommitId, ReviewedChanges, Reviews, escaped};
use crate::pass::Error;
use crate::plan::Change;
use crate::source::Snapshot;

/// Where the reviews of changes are.
#[derive(Clone, Debug)]
pub(crate) enum ReviewSource {
    /// In a file that `plan -o json` wrote.
    File {
        /// The path as it was given.
        name: String,
        changes: ReviewedChanges,
    },
    /// In the comments on pull requests.
    Forge(Box<ForgeReviews>),
}

impl ReviewSource {
    /// Reads the reviews of `changes`. `recorded` is the revision that was applied last.
    pub(super) fn read(
        &self,
        changes: &[Change],
        snapshot: &Snapshot,
        recorded: Option<CommitId>,
    ) -> Result<Reviews, Error> {
        let forge = match self {
            Self::File { name, changes } => {
                let mut reviews =
                    Reviews::none(format!("which the review `{}` does not list", escaped(name)));
                reviews.add(changes.clone());
                return Ok(reviews);
            }
            Self::Forge(forge) => forge,
        };
        let commits = changes.iter().filter_map(|change| Some(change.attribution.commit()?.id));
        let ends = commits.chain(recorded).collect();
        let history = snapshot.history_since(&ends)?;
        let is_enough = |reviews: &Reviews| changes.iter().all(|change| reviews.list(change.digest()));
        forge.read(&history, &is_enough).map_err(|error| Error::Reviews {
            repository: forge.repository().to_owned(),
            hint: error.hint(forge.api()),
            error: error.into(),
        })
    }
}
