//! Which toggles: a scope of globs, such as that of `--only`.

use std::collections::BTreeSet;

use globset::{GlobSet, GlobSetBuilder};

use super::ToggleId;
use super::glob::{ScopeError, parse, unmatchable};

/// The toggles in scope: all of them, or those that match one of several globs over
/// `project/environment/toggle`. `*` does not cross `/`, `**` does.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    set: Option<GlobSet>,
    globs: Vec<String>,
}

impl Scope {
    /// Creates a scope from globs; without globs, everything is in scope.
    ///
    /// # Errors
    /// [`ScopeError`] contains the invalid glob.
    pub(crate) fn new<S: AsRef<str>>(globs: &[S]) -> Result<Self, ScopeError> {
        if globs.is_empty() {
            return Ok(Self::default());
        }
        let mut builder = GlobSetBuilder::new();
        for glob in globs {
            builder.add(parse(glob.as_ref())?);
        }
        let all = globs.iter().map(|glob| glob.as_ref().to_owned()).collect::<Vec<_>>();
        let set = builder.build().map_err(|source| ScopeError { glob: all.join(" "), source })?;
        Ok(Self { set: Some(set), globs: all })
    }

    /// Returns whether `toggle` is in scope.
    pub(crate) fn contains(&self, toggle: &ToggleId) -> bool {
        self.contains_text(toggle.as_str())
    }

    /// Returns whether `claim` is in scope: a text in the form of a toggle's id that may contain invalid
    /// keys.
    pub(crate) fn contains_text(&self, claim: &str) -> bool {
        self.set.as_ref().is_none_or(|set| set.is_match(claim))
    }

    /// Returns whether toggles in `folder`, such as `shop/` or `shop/prod/`, can be in scope.
    pub(crate) fn may_contain_in(&self, folder: &str) -> bool {
        let may_match = |glob: &String| {
            for (part, name) in glob.split('/').zip(folder.split_terminator('/')) {
                // After one of these, the components of the glob need not be those of an id.
                if part.contains(['[', ']', '{', '}', '\\']) || part.contains("**") {
                    return true;
                }
                if !part.contains(['*', '?']) && !part.eq_ignore_ascii_case(name) {
                    return false;
                }
            }
            true
        };
        self.is_everything() || self.globs.iter().any(may_match)
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.set.is_none()
    }

    /// Returns the globs that cannot match any toggle, whatever the repository contains. Of a glob with braces
    /// of which an alternative cannot, returns the glob with this alternative only.
    pub(crate) fn unmatchable(&self) -> impl Iterator<Item = String> {
        self.globs.iter().filter_map(|glob| unmatchable(glob))
    }

    /// Starts a search for the globs that match no toggle.
    pub(crate) fn unmatched(&self) -> Unmatched<'_> {
        Unmatched { scope: self, left: (0..self.globs.len()).collect() }
    }

    /// Returns the globs as they were configured.
    pub(crate) fn globs(&self) -> &[String] {
        &self.globs
    }
}

/// The globs of a scope that have not matched any toggle yet.
#[derive(Clone, Debug)]
pub struct Unmatched<'a> {
    scope: &'a Scope,
    left: BTreeSet<usize>,
}

impl Unmatched<'_> {
    /// Removes the globs that match `toggle`.
    pub(crate) fn remove_matching(&mut self, toggle: &str) {
        if let Some(set) = self.scope.set.as_ref().filter(|_| !self.left.is_empty()) {
            for index in set.matches(toggle) {
                self.left.remove(&index);
            }
        }
    }

    /// Returns whether every glob has matched a toggle.
    pub(crate) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    pub(crate) fn globs(&self) -> Vec<String> {
        let globs = self.left.iter().map(|index| &self.scope.globs[*index]);
        globs.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stops_at_a_slash_and_two_do_not() {
        let id: ToggleId = "shop/prod/pay".parse().unwrap();
        for (glob, contains) in [
            ("shop/prod/pay", true),
            ("Shop/*/PAY", true),
            ("*/pay", false),
            ("**/pay", true),
            ("shop/**", true),
            ("shop/*", false),
            ("{shop,web}/prod/p*", true),
        ] {
            assert_eq!(Scope::new(&[glob]).unwrap().contains(&id), contains, "{glob}");
        }
        assert!(Scope::default().contains(&id));
        let globs = ["*", "shop/prod", "shop/*/pay", "**", "shop/**", "{a/b/c,d/**}", "a/b/c/d", "x/{y/*,z}"];
        let scope = Scope::new(&globs).unwrap();
        assert_eq!(scope.unmatchable().collect::<Vec<_>>(), ["*", "shop/prod", "a/b/c/d", "x/z"]);
        for (glob, can) in [
            ("shop/{prod,test}/*", true),
            ("{shop/prod,web/**}", false),
            ("{shop/production/*,shop/staging}", false),
            ("shop/{production/*,staging}", false),
            ("shop/{production/*,{test,dev}/*}", true),
            ("shop/{production/*,{test,dev/*}}", false),
            ("{shop,web/prod}/{prod/*,*}", true),
            ("shop/{,eu-}prod/*", true),
            ("shop/prod/[{,}]a", false),
            ("shop/prod/[{,}p]a", true),
            ("{shop,web}/prod", false),
            ("shop/prod/", false),
            ("/shop/prod/pay", false),
            ("shop//pay", false),
            ("shop/prod/pay/**", false),
            ("**/a/b/c/d", false),
            ("shop/prod/**/pay", true),
            ("shop/prod/pay.yaml", true),
            ("shop/prod/p[ao]y", true),
            ("shop/prod/p[!ao]y", true),
            ("shop/prod/p[^ao]y", true),
            ("!shop/prod/*", false),
            ("!shop/pr[o]d/*", false),
            ("^shop/prod/*", false),
            ("shop/!prod/*", false),
            ("shop/prod/{pay,!cart}", false),
            ("!**", false),
            ("shop/pr]od/*", false),
            ("shop/prod", false),
            ("shop/prod/pay,shop/prod/cart", false),
            ("shop/.prod/*", false),
            ("shop/prod/päy", false),
            ("**", true),
            ("shop/**", true),
            ("*/*/*", true),
        ] {
            let scope = Scope::new(&[glob]).unwrap();
            assert_eq!(scope.unmatchable().next().is_none(), can, "{glob}");
        }
        assert!(Scope::new(&["a{"]).is_err());
    }

    #[test]
    fn a_folder_without_toggles_in_scope_is_known() {
        for (glob, may) in [
            ("Shop/prod/pay", true),
            ("shop/test/pay", false),
            ("web/**", false),
            ("sho?/prod/*", true),
            ("shop/{test,dev}/pay", true),
            ("**/pay", true),
            ("*/test/pay", false),
        ] {
            let scope = Scope::new(&[glob]).unwrap();
            assert_eq!(scope.may_contain_in("shop/prod/"), may, "{glob}");
            assert_eq!(scope.may_contain_in("shop/"), glob != "web/**", "{glob}");
        }
        assert!(Scope::default().may_contain_in("shop/"));
    }

    #[test]
    fn a_glob_is_unmatched_until_a_toggle_matches_it() {
        let scope = Scope::new(&["shop/**", "*/prod/pay", "typo/**"]).unwrap();
        let mut unmatched = scope.unmatched();
        unmatched.remove_matching("web/test/pay");
        assert_eq!(unmatched.globs().len(), 3);
        unmatched.remove_matching("shop/prod/pay");
        assert_eq!(unmatched.globs(), ["typo/**"]);
        assert!(!unmatched.is_empty() && Scope::default().unmatched().is_empty());
    }
}
