//! Which toggles: the scope of a pass (`--only`), and suspensions, which pause publishing for all toggles or
//! for a part of them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ToggleId, escaped, shell_word};

/// The toggles in scope: all of them, or those that match one of several globs over
/// `project/environment/toggle`. `*` does not cross `/`, `**` does.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    set: Option<GlobSet>,
    globs: Vec<String>,
}

/// An invalid glob.
#[derive(Debug, thiserror::Error)]
#[error("`{glob}` is not a valid glob over `project/environment/toggle`")]
pub struct ScopeError {
    glob: String,
    #[source]
    source: globset::Error,
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

/// Returns the glob, or the glob with one alternative of its braces, if that cannot match any toggle.
fn unmatchable(glob: &str) -> Option<String> {
    if is_unmatchable(glob) { Some(glob.to_owned()) } else { unmatchable_in(glob, 0..glob.len()) }
}

fn is_unmatchable(glob: &str) -> bool {
    !alternatives(glob).iter().any(|glob| can_match(glob))
}

/// As [`unmatchable`], of the braces in a `part` of the glob. The braces elsewhere keep all alternatives.
fn unmatchable_in(glob: &str, part: Range<usize>) -> Option<String> {
    const MOST_BRACES: usize = 32;
    let mut pairs = braces(glob);
    pairs.retain(|(from, _, to)| part.contains(from) && part.contains(to));
    let is_outermost =
        |from: usize, to: usize| !pairs.iter().any(|(outer, _, end)| *outer < from && to < *end);
    let outermost = pairs.iter().filter(|(from, _, to)| is_outermost(*from, *to));
    for (from, commas, to) in outermost.take(MOST_BRACES) {
        let ends = commas.iter().chain([to]);
        for (start, end) in std::iter::once(from).chain(commas).zip(ends) {
            let alternative = &glob[start + 1..*end];
            let one = [&glob[..*from], alternative, &glob[to + 1..]].concat();
            if is_unmatchable(&one) {
                return Some(one);
            }
            let inner = unmatchable_in(&one, *from..from + alternative.len());
            if inner.is_some() {
                return inner;
            }
        }
    }
    None
}

/// Returns the places of each opening brace, of the commas that divide what is in it, and of its closing one.
/// Those in brackets or after a backslash are text.
fn braces(glob: &str) -> Vec<(usize, Vec<usize>, usize)> {
    let (mut open, mut found, mut is_class, mut is_escaped) = (Vec::new(), Vec::new(), false, false);
    for (at, c) in glob.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => is_class = true,
            ']' => is_class = false,
            '{' if !is_class => open.push((at, Vec::new())),
            ',' if !is_class => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(at);
                }
            }
            '}' if !is_class => found.extend(open.pop().map(|(from, commas)| (from, commas, at))),
            _ => {}
        }
    }
    found
}

/// Returns the globs without braces that a glob with braces stands for; of very many, the glob itself.
fn alternatives(glob: &str) -> Vec<String> {
    const MOST: usize = 1_000;
    let (mut open, mut done) = (vec![glob.to_owned()], Vec::new());
    while let Some(glob) = open.pop() {
        if open.len() + done.len() > MOST {
            return vec!["**".to_owned()];
        }
        // The first one that closes has no others in it.
        match braces(&glob).into_iter().next() {
            None => done.push(glob),
            Some((from, _, to)) => {
                let each = glob[from + 1..to].split(',');
                open.extend(each.map(|one| format!("{}{one}{}", &glob[..from], &glob[to + 1..])));
            }
        }
    }
    done
}

/// Returns whether a glob without braces matches any text of the form `project/environment/toggle`.
fn can_match(glob: &str) -> bool {
    // A class or an escape can stand for any character but a slash, which no glob here matches with them.
    let mut components = glob.split('/').filter(|component| *component != "**");
    let count = components.clone().count();
    let is_deep = glob.split('/').any(|component| component == "**");
    // At the end, `**` matches at least one component.
    let most = if glob.ends_with("/**") { 2 } else { 3 };
    let fits = if is_deep { count <= most } else { count == 3 };
    fits && components.all(can_be_key)
}

/// Returns whether a component of a glob without braces can match a key.
fn can_be_key(component: &str) -> bool {
    let is_in_key = |c: char| c.is_ascii_alphanumeric() || "._-*?".contains(c);
    let is_hidden = component.starts_with(['.', '_', '-']);
    let is_judged = !component.contains('\\');
    !component.is_empty() && !is_hidden && (!is_judged || without_classes(component).all(is_in_key))
}

/// Returns the characters of a component outside of classes such as `[a-z]`.
fn without_classes(component: &str) -> impl Iterator<Item = char> {
    let mut is_class = false;
    component.chars().filter(move |c| {
        let was_class = is_class;
        is_class = if is_class { *c != ']' } else { *c == '[' };
        !was_class && !is_class
    })
}

/// Returns why a glob matches no toggle, whatever the repository contains, and what to write.
pub(crate) fn unmatchable_advice(glob: &str) -> String {
    let plain = without_regex(glob);
    if without_classes(&plain).any(|c| c == '!' || c == '^') {
        return "a glob cannot exclude anything, so it names what it contains".to_owned();
    }
    match corrected(&plain).filter(|corrected| corrected != "**") {
        Some(corrected) => {
            format!("globs are over `project/environment/toggle`; write `{}`", escaped(&corrected))
        }
        None => {
            "globs match the whole `project/environment/toggle`, and `*` does not cross a slash; use `**`"
                .to_owned()
        }
    }
}

/// Returns the glob without the anchors and dots of a regular expression.
fn without_regex(glob: &str) -> String {
    let is_regex = glob.contains(".*") || glob.ends_with('$');
    let glob = if is_regex { glob.trim_start_matches('^').trim_end_matches('$') } else { glob };
    glob.replace(".*", "*")
}

/// Returns the glob that was meant, which can match a toggle.
fn corrected(glob: &str) -> Option<String> {
    let alternatives: Vec<String> = match braces(glob).is_empty() {
        true => glob.split(',').map(corrected_one).collect::<Option<_>>()?,
        false => match format!("{glob}/*") {
            longer if unmatchable(&longer).is_none() => vec![longer],
            _ => alternatives(glob).iter().rev().map(|one| corrected_one(one)).collect::<Option<_>>()?,
        },
    };
    let corrected = match &alternatives[..] {
        [one] => one.clone(),
        several => format!("{{{}}}", several.join(",")),
    };
    (unmatchable(&corrected).is_none() && Scope::new(&[&corrected]).is_ok()).then_some(corrected)
}

/// Returns the glob without braces that was meant, if its components say so.
fn corrected_one(glob: &str) -> Option<String> {
    let glob = if glob.contains('/') { glob.to_owned() } else { glob.replace('\\', "/") };
    let components = glob.split('/').filter(|component| !component.is_empty() && *component != ".");
    // What no key can have says nothing about which are meant.
    let known = components.map(|component| if can_be_key(component) { component } else { "*" });
    let mut components: Vec<&str> = known.collect();
    let named = components.iter().filter(|component| **component != "**").count();
    let is_deep = named < components.len();
    match (named, is_deep) {
        (1, false) if components == ["*"] => components = vec!["**"],
        (1, false) => components.push("**"),
        (2, false) => components.push("*"),
        (3, true) if components.last() == Some(&"**") => drop(components.pop()),
        _ => {}
    }
    (named <= 3 && !components.is_empty()).then(|| components.join("/"))
}

fn parse(glob: &str) -> Result<Glob, ScopeError> {
    GlobBuilder::new(glob)
        // Without this, `shop/*` would match `shop/prod/pay`.
        .literal_separator(true)
        // Ids that differ only in case are one toggle (src/model/README.md, "Ids").
        .case_insensitive(true)
        .build()
        .map_err(|source| ScopeError { glob: glob.to_owned(), source })
}

/// The order to pause publishing.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Suspension {
    /// The operator's reason.
    pub reason: Option<String>,
    /// The time when it ends, in seconds since 1970-01-01 UTC.
    pub until: Option<i64>,
}

/// The suspended toggles: all of them, or those that match one of several globs, as in `--only`.
///
/// Two scopes are equal if their globs are.
#[derive(Clone, Debug, Default)]
pub struct SuspensionScope(Scope);

/// Why a text is not a scope.
#[derive(Debug, thiserror::Error)]
pub enum SuspensionScopeError {
    #[error("a scope needs a glob over `project/environment/toggle`; leave it out for everything")]
    Empty,
    #[error(transparent)]
    Glob(#[from] ScopeError),
    #[error("the scope `{}` matches no toggle: {}", escaped(.0), unmatchable_advice(.0))]
    Unmatchable(String),
}

impl SuspensionScope {
    pub(crate) fn everything() -> Self {
        Self::default()
    }

    /// Returns whether it contains all toggles.
    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_everything()
    }

    /// Returns whether it contains `toggle`.
    pub(crate) fn contains(&self, toggle: &ToggleId) -> bool {
        self.0.contains(toggle)
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.0
    }

    /// Returns the globs as arguments of a command, each after a space.
    pub(crate) fn arguments(&self) -> String {
        let globs = self.0.globs().iter();
        globs.map(|glob| format!(" {}", shell_word(glob))).collect()
    }

    /// Returns the globs, separated by spaces; `None` for everything.
    pub(crate) fn globs(&self) -> Option<String> {
        (!self.is_everything()).then(|| self.0.globs().join(" "))
    }
}

impl FromStr for SuspensionScope {
    type Err = SuspensionScopeError;

    fn from_str(text: &str) -> Result<Self, SuspensionScopeError> {
        let globs: Vec<&str> = text.split_whitespace().collect();
        if globs.is_empty() {
            return Err(SuspensionScopeError::Empty);
        }
        // Scopes are equal if their globs are, so everything needs one form.
        if globs.contains(&"**") {
            return Ok(Self::everything());
        }
        let scope = Scope::new(&globs)?;
        // A glob that cannot match would suspend nothing, and the operator would not notice.
        if let Some(glob) = scope.unmatchable().next() {
            return Err(SuspensionScopeError::Unmatchable(glob.to_owned()));
        }
        Ok(Self(scope))
    }
}

impl fmt::Display for SuspensionScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.globs().unwrap_or_else(|| "everything".to_owned()))
    }
}

impl Ord for SuspensionScope {
    /// Sorts everything first.
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.globs().cmp(other.0.globs())
    }
}

impl PartialOrd for SuspensionScope {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SuspensionScope {
    fn eq(&self, other: &Self) -> bool {
        self.0.globs() == other.0.globs()
    }
}

impl Eq for SuspensionScope {}

impl Serialize for SuspensionScope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.globs().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SuspensionScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Option::<String>::deserialize(deserializer)? {
            None => Ok(Self::everything()),
            Some(globs) => globs.parse().map_err(serde::de::Error::custom),
        }
    }
}

/// All suspensions, by scope. As JSON, a list of `{scope, reason, until}`.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "Vec<Scoped>", into = "Vec<Scoped>")]
pub struct Suspensions(BTreeMap<SuspensionScope, Suspension>);

#[derive(Clone, Deserialize, Serialize)]
struct Scoped {
    scope: SuspensionScope,
    #[serde(flatten)]
    suspension: Suspension,
}

impl From<Vec<Scoped>> for Suspensions {
    fn from(list: Vec<Scoped>) -> Self {
        let each = list.into_iter();
        Self(each.map(|Scoped { scope, suspension }| (scope, suspension)).collect())
    }
}

impl From<Suspensions> for Vec<Scoped> {
    fn from(suspensions: Suspensions) -> Self {
        let each = suspensions.0.into_iter();
        each.map(|(scope, suspension)| Scoped { scope, suspension }).collect()
    }
}

impl From<Suspension> for Suspensions {
    /// Suspends everything.
    fn from(suspension: Suspension) -> Self {
        Self(BTreeMap::from([(SuspensionScope::everything(), suspension)]))
    }
}

impl Suspensions {
    /// Adds a suspension, or replaces the one with the same scope.
    pub(crate) fn add(&mut self, scope: SuspensionScope, suspension: Suspension) {
        self.0.insert(scope, suspension);
    }

    /// Removes the suspension of `scope`, or all suspensions for everything. Returns the removed scopes.
    pub(crate) fn remove(&mut self, scope: &SuspensionScope) -> Vec<SuspensionScope> {
        if scope.is_everything() {
            // Resuming everything must not leave a part suspended.
            return std::mem::take(&mut self.0).into_keys().collect();
        }
        let removed = self.0.remove_entry(scope);
        removed.into_iter().map(|(scope, _)| scope).collect()
    }

    /// Returns the suspensions that are active at `now`.
    pub(crate) fn at(&self, now: i64) -> Self {
        let is_active = |suspension: &Suspension| suspension.until.is_none_or(|until| now < until);
        let active = self.0.iter().filter(|(_, suspension)| is_active(suspension));
        Self(active.map(|(scope, suspension)| (scope.clone(), suspension.clone())).collect())
    }

    pub(crate) fn everything(&self) -> Option<&Suspension> {
        self.0.get(&SuspensionScope::everything())
    }

    /// Returns the suspension of `toggle` with its scope.
    pub(crate) fn of(&self, toggle: &ToggleId) -> Option<(&SuspensionScope, &Suspension)> {
        // The suspension of everything comes first, so the most general reason is shown.
        self.iter().find(|(scope, _)| scope.contains(toggle))
    }

    /// Returns all suspensions with their scopes, that of everything first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&SuspensionScope, &Suspension)> {
        self.0.iter()
    }

    /// Returns whether nothing is suspended.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the time when the next suspension ends.
    pub(crate) fn next_end(&self) -> Option<i64> {
        self.0.values().filter_map(|suspension| suspension.until).min()
    }
}

#[cfg(test)]
mod tests {
    mod scope {
        use super::super::*;

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
            let globs =
                ["*", "shop/prod", "shop/*/pay", "**", "shop/**", "{a/b/c,d/**}", "a/b/c/d", "x/{y/*,z}"];
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
                ("shop/prod/[{,}]a", true),
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
        fn the_advice_on_a_glob_that_matches_no_toggle_is_one_that_is_accepted_and_matches() {
            for (glob, written) in [
                ("shop/prod", "shop/prod/*"),
                ("shop/prod/", "shop/prod/*"),
                ("shop//prod", "shop/prod/*"),
                ("/shop/prod", "shop/prod/*"),
                ("/shop/prod/pay", "shop/prod/pay"),
                ("./shop/prod/*", "shop/prod/*"),
                ("shop//pay/", "shop/pay/*"),
                ("shop", "shop/**"),
                ("shop/", "shop/**"),
                ("*", "**"),
                ("/", "**"),
                ("a/b/c/d", "**"),
                ("**/a/b/c/d", "**"),
                (".*", "**"),
                (".*/**", "*/**"),
                (".*/.*/.*", "*/*/*"),
                ("shop/.*", "shop/*/*"),
                ("shop/prod/.*", "shop/prod/*"),
                ("^shop/prod/.*$", "shop/prod/*"),
                ("shop/.prod/*", "shop/*/*"),
                ("shop/prod/päy", "shop/prod/*"),
                ("shop/pr]od/*", "shop/*/*"),
                ("shop/prod/pay/**", "shop/prod/pay"),
                ("shop/prod/pay/", "shop/prod/pay"),
                ("shop\\prod", "shop/prod/*"),
                ("{shop,web}/prod", "{shop,web}/prod/*"),
                ("{shop/,web//}prod", "{shop/prod/*,web/prod/*}"),
                ("shop/prod/pay,shop/prod/cart", "{shop/prod/pay,shop/prod/cart}"),
                ("shop/prod,web/prod", "{shop/prod/*,web/prod/*}"),
            ] {
                assert!(Scope::new(&[glob]).unwrap().unmatchable().next().is_some(), "{glob}");
                let advice = unmatchable_advice(glob);
                let advised = advice.rsplit('`').nth(1).unwrap();
                assert_eq!(advised, written, "{glob}: {advice}");
                let scope = Scope::new(&[advised]).unwrap();
                assert_eq!(scope.unmatchable().next(), None, "{glob}: {advice}");
            }
            for glob in ["!shop/prod/*", "shop/!prod/*", "^shop/prod/*"] {
                assert!(unmatchable_advice(glob).contains("cannot exclude"), "{glob}");
            }
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

    mod suspensions {
        use super::super::*;

        fn suspension(reason: &str, until: Option<i64>) -> Suspension {
            Suspension { reason: Some(reason.to_owned()), until }
        }

        fn scope(globs: &str) -> SuspensionScope {
            globs.parse().unwrap()
        }

        #[test]
        fn a_scope_is_globs_or_everything() {
            let toggle: ToggleId = "shop/prod/pay".parse().unwrap();
            for (globs, contains) in [("shop/prod/**", true), ("a/** shop/**", true), ("shop/test/**", false)]
            {
                assert_eq!(scope(globs).contains(&toggle), contains, "{globs}");
            }
            assert!(scope("a/** **").is_everything());
            for (globs, reason) in
                [("", "needs a glob"), ("shop/prod", "matches no toggle"), ("shop/{", "is not a valid glob")]
            {
                let error = globs.parse::<SuspensionScope>().unwrap_err().to_string();
                assert!(error.contains(reason), "{error}");
            }
        }

        #[test]
        fn parts_are_suspended_and_resumed_on_their_own() {
            let mut all = Suspensions::default();
            all.add(scope("shop/**"), suspension("sale", Some(10)));
            all.add(scope("web/**"), suspension("incident", None));
            let toggle = "shop/prod/pay".parse().unwrap();
            let reason = |all: &Suspensions| all.of(&toggle).and_then(|(_, one)| one.reason.clone());
            assert_eq!(reason(&all).as_deref(), Some("sale"));
            assert_eq!(all.next_end(), Some(10));
            assert!(all.everything().is_none());
            assert_eq!(reason(&all.at(10)), None);
            let json = serde_json::to_value(&all).unwrap();
            assert_eq!(json[0], serde_json::json!({"scope": "shop/**", "reason": "sale", "until": 10}));
            assert_eq!(serde_json::from_value::<Suspensions>(json).unwrap(), all);
            assert_eq!(all.remove(&scope("shop/*/*")), []);
            assert_eq!(all.remove(&scope("shop/**")), [scope("shop/**")]);
            all.add(SuspensionScope::everything(), suspension("freeze", None));
            assert_eq!(reason(&all).as_deref(), Some("freeze"));
            let resumed = all.remove(&SuspensionScope::everything());
            assert_eq!(resumed, [SuspensionScope::everything(), scope("web/**")]);
            assert!(all.is_empty());
        }
    }
}
