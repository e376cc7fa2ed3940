//! Stores the orders of operators: suspensions, and allowances. An allowance is valid as long as its revision
//! is the one to apply (src/model/README.md, "Decisions and holds").
//!
//! Losing an allowance costs the operator a second command. Losing a suspension would resume publishing, so an
//! unreadable one is an error. Invariant: an order is complete on disk before it takes effect.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::sidecar::{keep, or_ignored, parse};
use super::{Error, files};
use crate::git::Failpoints;
use crate::model::{Allowance, CommitId, Suspension, SuspensionScope, Suspensions};

const ALLOWED: &str = "allowed.json";
const SUSPENDED: &str = "suspended.json";

/// Held while an order is read, changed and written: the driver may record an order while a pass removes
/// allowances.
static CHANGING: Mutex<()> = Mutex::new(());

/// The orders in one state folder. Only the process that holds the folder's lock changes them.
pub struct Orders {
    dir: PathBuf,
    failpoints: Failpoints,
}

#[derive(Deserialize, Serialize)]
struct Suspended {
    suspensions: Suspensions,
}

#[derive(Default, Deserialize, Serialize)]
struct Allowed {
    allowances: Vec<Allowance>,
}

impl Orders {
    /// Returns the orders in `dir`, without reading them.
    pub fn new(dir: &Path) -> Self {
        Self::with(dir, Failpoints::default())
    }

    pub(crate) fn with(dir: &Path, failpoints: Failpoints) -> Self {
        Self { dir: dir.to_owned(), failpoints }
    }

    /// Reads the suspensions, ended ones included.
    pub fn suspensions(&self) -> Result<Suspensions, Error> {
        suspensions(&self.dir)
    }

    /// Suspends publishing in `scope`.
    pub fn suspend(&self, scope: SuspensionScope, suspension: Suspension) -> Result<(), Error> {
        let _changing = changing();
        let mut suspensions = self.replaceable(&scope)?;
        suspensions.add(scope, suspension);
        self.keep_suspensions(suspensions)
    }

    /// Removes the suspension of `scope`, or all suspensions if `scope` is everything. Returns the resumed
    /// scopes.
    pub fn resume(&self, scope: &SuspensionScope) -> Result<Vec<SuspensionScope>, Error> {
        let _changing = changing();
        let mut suspensions = self.replaceable(scope)?;
        let resumed = suspensions.remove(scope);
        // Writes even if nothing was resumed, because a file that cannot be read is treated as empty here.
        if scope.is_everything() || !resumed.is_empty() {
            self.keep_suspensions(suspensions)?;
        }
        Ok(resumed)
    }

    /// Records an allowance. It replaces one for the same override.
    pub fn allow(&self, allowance: Allowance) -> Result<(), Error> {
        let _changing = changing();
        let mut allowances = allowances(&self.dir);
        allowances.retain(|other| !allowance.replaces(other));
        allowances.push(allowance);
        self.keep_allowances(allowances)
    }

    /// Removes the allowances of other revisions than the one to apply.
    pub fn expire(&self, revision: CommitId) -> Result<(), Error> {
        let _changing = changing();
        let (valid, expired): (Vec<_>, Vec<_>) =
            allowances(&self.dir).into_iter().partition(|one| one.revision == revision);
        for Allowance { what, environment, revision, .. } in &expired {
            tracing::info!(
                name: "allowance_expired",
                what = what.as_str(),
                environment = environment.as_ref().map(tracing::field::display),
                %revision,
                "allowance expired, the source is at another revision"
            );
        }
        if expired.is_empty() { Ok(()) } else { self.keep_allowances(valid) }
    }

    fn replaceable(&self, scope: &SuspensionScope) -> Result<Suspensions, Error> {
        match suspensions(&self.dir) {
            // Everything includes the suspensions that cannot be read, so the operator can replace the file.
            Err(_) if scope.is_everything() => Ok(Suspensions::default()),
            read => read,
        }
    }

    fn keep_suspensions(&self, suspensions: Suspensions) -> Result<(), Error> {
        let kept = (!suspensions.is_empty()).then_some(Suspended { suspensions });
        keep(&self.dir.join(SUSPENDED), kept, &self.failpoints)
    }

    fn keep_allowances(&self, allowances: Vec<Allowance>) -> Result<(), Error> {
        let kept = (!allowances.is_empty()).then_some(Allowed { allowances });
        keep(&self.dir.join(ALLOWED), kept, &self.failpoints)
    }
}

fn changing() -> MutexGuard<'static, ()> {
    CHANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the suspensions in `dir`, ended ones included.
pub(crate) fn suspensions(dir: &Path) -> Result<Suspensions, Error> {
    let path = dir.join(SUSPENDED);
    let Some(text) = files::read(&path)? else {
        return Ok(Suspensions::default());
    };
    match parse(&text) {
        Ok(Suspended { suspensions }) => Ok(suspensions),
        // An unreadable suspension must not resume publishing.
        Err(source) => Err(Error::Suspension { path, source }),
    }
}

/// Reads the allowances in `dir`.
pub(crate) fn allowances(dir: &Path) -> Vec<Allowance> {
    // A lost allowance costs the operator a second command, so an unreadable file is not an error.
    or_ignored::<Allowed>(&dir.join(ALLOWED)).unwrap_or_default().allowances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ObjectId, Override};

    fn suspension(reason: &str) -> Suspension {
        Suspension { reason: Some(reason.to_owned()), until: None }
    }

    #[test]
    fn suspensions_of_parts_survive_on_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let orders = Orders::new(folder.path());
        let (shop, web): (SuspensionScope, SuspensionScope) =
            ("shop/**".parse().unwrap(), "web/**".parse().unwrap());
        orders.suspend(shop.clone(), suspension("sale")).unwrap();
        orders.suspend(web.clone(), suspension("incident")).unwrap();
        assert_eq!(suspensions(folder.path()).unwrap().iter().count(), 2);
        assert_eq!(orders.resume(&shop).unwrap(), std::slice::from_ref(&shop));
        assert_eq!(orders.resume(&shop).unwrap(), []);
        assert_eq!(orders.resume(&SuspensionScope::everything()).unwrap(), [web]);
        assert!(!folder.path().join(SUSPENDED).exists());
    }

    #[test]
    fn unreadable_suspensions_are_replaced_only_by_an_order_for_everything() {
        let folder = tempfile::tempdir().unwrap();
        // Neither of them is a suspension of nothing.
        for text in ["{", r#"{"version":1}"#, r#"{"version":2,"suspensions":[]}"#] {
            std::fs::write(folder.path().join(SUSPENDED), text).unwrap();
            assert!(suspensions(folder.path()).is_err(), "{text}");
        }
        let orders = Orders::new(folder.path());
        assert!(orders.resume(&"shop/**".parse().unwrap()).is_err());
        assert_eq!(orders.resume(&SuspensionScope::everything()).unwrap(), []);
        assert!(suspensions(folder.path()).unwrap().is_empty());
    }

    #[test]
    fn an_allowance_is_kept_until_its_revision_is_not_the_one_to_apply() {
        let folder = tempfile::tempdir().unwrap();
        let orders = Orders::new(folder.path());
        let allowance = |what, at| Allowance {
            what,
            environment: Some("shop/prod".parse().unwrap()),
            revision: CommitId(ObjectId([1; 20])),
            by: "127.0.0.1:4711".to_owned(),
            at,
            versions: None,
        };
        let (assert, adopt) =
            (allowance(Override::FirstPassAssert, 1), allowance(Override::FirstPassAdopt, 2));
        let mass_change = allowance(Override::MassChange, 3);
        for order in [&assert, &mass_change, &adopt] {
            orders.allow(order.clone()).unwrap();
        }
        assert_eq!(allowances(folder.path()), [mass_change.clone(), adopt.clone()]);
        orders.expire(adopt.revision).unwrap();
        assert_eq!(allowances(folder.path()), [mass_change, adopt]);
        orders.expire(CommitId(ObjectId([2; 20]))).unwrap();
        assert!(!folder.path().join(ALLOWED).exists());
    }
}
