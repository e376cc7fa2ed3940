//! Which toggles an import is about: those that its globs match.

use crate::model::Scope;

/// The globs of the command and those of `--only`. A toggle is imported if both match it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImportScope {
    /// The globs of the command; none means everything.
    pub globs: Scope,
    /// The globs of `--only`.
    pub only: Scope,
}

impl ImportScope {
    /// Returns whether `name`, a text in the form of a toggle's id, is in scope.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.globs.contains_text(name) && self.only.contains_text(name)
    }

    /// Returns whether toggles of `project` may be in scope, so that its environments have to be listed.
    pub(super) fn may_contain_project(&self, project: &str) -> bool {
        self.may_contain(&format!("{project}/"))
    }

    /// Returns whether toggles of an environment may be in scope, so that they have to be listed.
    pub(super) fn may_contain_environment(&self, project: &str, environment: &str) -> bool {
        self.may_contain(&format!("{project}/{environment}/"))
    }

    fn may_contain(&self, folder: &str) -> bool {
        self.globs.may_contain_in(folder) && self.only.may_contain_in(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_folders_that_a_glob_can_match_are_listed() {
        for (glob, project, environment) in [
            ("shop/prod/pay", true, true),
            ("shop/*/pay", true, true),
            ("shop/test/*", true, false),
            ("shop/**", true, true),
            ("*/test/*", true, false),
            ("web/**", false, false),
            ("web/prod/*", false, false),
            ("**/pay", true, true),
            ("s?op/prod/pay", true, true),
            ("{web,shop}/prod/*", true, true),
            ("{web/a/b,shop/prod/pay}", true, true),
            ("[st]hop/other/x", true, true),
        ] {
            let globs = ImportScope { globs: Scope::new(&[glob]).unwrap(), only: Scope::default() };
            assert_eq!(globs.may_contain_project("shop"), project, "{glob}");
            assert_eq!(globs.may_contain_environment("shop", "prod"), environment, "{glob}");
            let only =
                ImportScope { globs: Scope::default(), only: Scope::new(&[glob, "never/**"]).unwrap() };
            assert_eq!(only.may_contain_environment("shop", "prod"), environment, "{glob}");
        }
        assert!(ImportScope::default().may_contain_project("shop"));
    }

    #[test]
    fn a_toggle_has_to_match_both_the_globs_and_only() {
        let scope = ImportScope {
            globs: Scope::new(&["shop/**"]).unwrap(),
            only: Scope::new(&["*/prod/*"]).unwrap(),
        };
        assert!(scope.contains("shop/prod/pay"));
        assert!(!scope.contains("shop/test/pay") && !scope.contains("web/prod/pay"));
    }
}
