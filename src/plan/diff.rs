//! Textual differences of documents.

use super::{Change, Plan};
use crate::document::print;
use crate::model::{ObjectId, Payload, ServiceKind, escaped};

/// The most lines of one diff.
const MOST_LINES: usize = 80;

/// The file that a change replaces.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReplacedFile {
    /// The file.
    pub object: ObjectId,
    /// Its text and that of the new file; none if the plan does not show them.
    pub texts: Option<(String, String)>,
}

impl ReplacedFile {
    pub(super) fn new(object: ObjectId) -> Self {
        Self { object, texts: None }
    }

    /// Returns the diff, with the line numbers of the files; none if it is not for readers.
    fn diff(&self) -> Option<Vec<String>> {
        /// A list on one line is readable only in canonical form.
        const LONGEST_LINE: usize = 400;
        let (before, after) = self.texts.as_ref()?;
        let lines = text_diff(before, after);
        let is_readable =
            lines.len() <= MOST_LINES && lines.iter().all(|line| line.chars().count() <= LONGEST_LINE);
        (is_readable && !lines.is_empty()).then_some(lines)
    }
}

impl Change {
    /// Returns the diff, which is empty for a create: of the document's file, as its author wrote it. If that is not known or
    /// not readable, it is the diff of the canonical forms, whose line numbers mean nothing to the author.
    pub fn diff(&self) -> Vec<String> {
        let of_file = self.replaces.as_ref().and_then(|replaced| replaced.file.as_ref()?.diff());
        of_file.unwrap_or_else(|| {
            let lines = diff(self.before.payload(), Some(&self.payload));
            lines.into_iter().map(without_numbers).collect()
        })
    }
}

impl Plan {
    /// Reads the files of changes, in their order, as long as a page may show them.
    ///
    /// # Errors
    /// If `read`, which gets the replaced file and the new one, returns one.
    pub(crate) fn read_files<E>(
        &mut self,
        read: impl Fn(ObjectId, ObjectId) -> Result<Option<(String, String)>, E>,
    ) -> Result<(), E> {
        /// More than the diffs of the longest page, which is a job summary.
        const MOST_BYTES: usize = 4 * 1024 * 1024;
        let withheld = self.withheld.iter_mut().filter_map(|held| held.change.as_deref_mut());
        let mut bytes = 0;
        for change in self.changes.iter_mut().chain(withheld) {
            let Some(replaced) = change.replaces.as_mut().and_then(|replaced| replaced.file.as_mut()) else {
                continue;
            };
            if bytes > MOST_BYTES {
                break;
            }
            replaced.texts = read(replaced.object, change.version.object)?;
            bytes += replaced.texts.as_ref().map_or(0, |(before, after)| before.len() + after.len());
        }
        Ok(())
    }
}

/// Replaces the line numbers of a hunk.
fn without_numbers(line: String) -> String {
    match line.starts_with("@@ ") {
        true => "@@ canonical form @@".to_owned(),
        false => line,
    }
}

/// Returns the diff of two documents; empty unless both are known.
pub(super) fn diff(before: Option<&Payload>, after: Option<&Payload>) -> Vec<String> {
    match (before, after) {
        (Some(before), Some(after)) => text_diff(&document_text(before), &document_text(after)),
        _ => Vec::new(),
    }
}

/// Returns the text of a document for readers: the shortest form, whichever the service.
pub(crate) fn document_text(payload: &Payload) -> String {
    print(&payload.targeting(), ServiceKind::FeatureProbe)
}

/// Returns the escaped lines of a unified diff, each with its sign.
fn text_diff(before: &str, after: &str) -> Vec<String> {
    // A diff can take quadratic time, and a document may have a megabyte.
    const MOST_BYTES: usize = 256 * 1024;
    if before.len() + after.len() > MOST_BYTES {
        return vec![" (too large for a diff)".to_owned()];
    }
    let diff = similar::TextDiff::from_lines(before, after);
    let text = diff.unified_diff().context_radius(3).to_string();
    let all: Vec<&str> = text.lines().collect();
    let mut lines: Vec<String> = all.iter().take(MOST_LINES).map(|line| escaped(line).to_string()).collect();
    if all.len() > MOST_LINES {
        lines.push(format!(" … and {} more lines", all.len() - MOST_LINES));
    }
    lines
}
