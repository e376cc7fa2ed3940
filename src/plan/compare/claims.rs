//! The files of one side of a difference.

use super::File;
use crate::document::Layout;
use crate::model::ToggleId;

/// The files that claim a toggle. Without a clash, they need no memory of their own: a cold plan can have a million.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum Claims {
    #[default]
    None,
    /// A file that would be the document if it had another name or were not a link. It is not read, but it shows that
    /// nobody removed the toggle.
    Unread,
    /// The file whose path names the toggle.
    One(File),
    /// Several files, each with the toggle that its path names.
    #[expect(clippy::box_collection, reason = "a clash is rare, and a list is three times as large")]
    Clash(Box<Vec<(ToggleId, File)>>),
}

impl Claims {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Returns whether a file that is read claims the toggle.
    pub(super) fn has_document(&self) -> bool {
        matches!(self, Self::One(_) | Self::Clash(_))
    }

    /// Returns whether several files claim the toggle.
    pub(crate) fn is_clash(&self) -> bool {
        matches!(self, Self::Clash(_))
    }

    pub(crate) fn first(&self) -> Option<File> {
        match self {
            Self::None | Self::Unread => None,
            Self::One(file) => Some(*file),
            Self::Clash(files) => files.first().map(|(_, file)| *file),
        }
    }

    /// Returns the files of the toggle `id`, each with the toggle that its path names.
    fn named<'a>(&'a self, id: &'a ToggleId) -> impl Iterator<Item = (&'a ToggleId, File)> {
        let (one, several) = match self {
            Self::None | Self::Unread => (None, None),
            Self::One(file) => (Some((id, *file)), None),
            Self::Clash(files) => (None, Some(&**files)),
        };
        let several = several.into_iter().flatten().map(|(name, file)| (name, *file));
        one.into_iter().chain(several)
    }

    /// Returns the toggles that the paths of the files of the toggle `id` name, with the paths under the root.
    pub(crate) fn paths<'a>(
        &'a self,
        id: &'a ToggleId,
        layout: &Layout,
    ) -> impl Iterator<Item = (&'a ToggleId, String)> {
        self.named(id).map(|(name, file)| (name, layout.path(name, file.format)))
    }

    /// Adds to the files of the toggle `id` those of another one, or more of its own.
    pub(super) fn add(&mut self, id: &ToggleId, (other, more): (&ToggleId, Self)) {
        *self = match (std::mem::take(self), more) {
            (files, Self::None | Self::Unread) | (Self::None | Self::Unread, files) => files,
            (files, more) => {
                let all = files.named(id).chain(more.named(other));
                Self::Clash(Box::new(all.map(|(name, file)| (name.clone(), file)).collect()))
            }
        };
    }
}
