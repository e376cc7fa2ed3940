//! Finds the paths of documents in the repository, for links to them. Pure.

use super::ToggleStatus;
use crate::document::{Layout, PathKind};
use crate::model::{Format, ToggleId};

/// Where documents are in the repository.
#[derive(Clone, Debug, Default)]
pub struct DocumentPaths {
    /// The folder of the documents; empty for the top.
    pub root: String,
    /// Their paths in it.
    pub layout: Layout,
}

impl DocumentPaths {
    /// Returns the path of the document that was applied for a toggle; none if nothing is applied.
    pub(crate) fn applied(&self, toggle: &ToggleStatus) -> Option<String> {
        let format = toggle.format?;
        Some(self.below_root(&self.layout.path(&toggle.toggle, format)))
    }

    /// Returns the paths that the document of a toggle can have.
    pub(crate) fn candidates(&self, toggle: &ToggleStatus) -> Vec<String> {
        let path = |format| self.below_root(&self.layout.path(&toggle.toggle, format));
        Format::ALL.into_iter().map(path).collect()
    }

    /// Returns the toggle whose document is at a path in the repository.
    pub(crate) fn toggle(&self, path: &str) -> Option<ToggleId> {
        let below_root = match self.root.trim_matches('/') {
            "" => path,
            root => path.strip_prefix(root)?.strip_prefix('/')?,
        };
        match self.layout.classify(below_root.as_bytes()) {
            PathKind::Document { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Returns the path in the repository of a path below the root.
    pub(crate) fn below_root(&self, path: &str) -> String {
        match self.root.trim_matches('/') {
            "" => path.to_owned(),
            root => format!("{root}/{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::ToggleState;

    #[test]
    fn the_path_has_the_root_the_layout_and_the_extension_that_was_applied() {
        let paths = DocumentPaths {
            root: "config/".to_owned(),
            layout: "toggles/{environment}/{project}/{toggle}.yaml".parse().unwrap(),
        };
        let mut toggle = ToggleStatus::in_state("shop/prod/pay", ToggleState::Held);
        assert_eq!(paths.applied(&toggle), None);
        toggle.format = Some(Format::Yml);
        assert_eq!(
            paths.applied(&toggle).as_deref(),
            Some("config/toggles/prod/shop/pay.yml")
        );
        for (path, id) in [
            ("config/toggles/prod/shop/pay.yml", Some("shop/prod/pay")),
            ("configtoggles/prod/shop/pay.yml", None),
            ("toggles/prod/shop/pay.yml", None),
            ("config/README.md", None),
        ] {
            assert_eq!(paths.toggle(path).as_ref().map(ToggleId::as_str), id, "{path}");
        }
        assert_eq!(DocumentPaths::default().below_root("a.yaml"), "a.yaml");
    }
}
