//! Failpoints: a test stops at a named step as if the process had crashed there.

use std::fmt;
use std::sync::Arc;

use super::error::RepositoryError;

/// Returns whether the process crashes at the failpoint with this name.
pub type FailpointHook = Arc<dyn Fn(&'static str) -> bool + Send + Sync>;

/// The hook of a test; `None` in production.
#[derive(Clone, Default)]
pub(crate) struct Failpoints(pub(crate) Option<FailpointHook>);

impl Failpoints {
    /// Fails if the hook returns true, as if the process crashed here: the caller must not clean up.
    pub(crate) fn at(&self, point: &'static str) -> Result<(), RepositoryError> {
        #[cfg(test)]
        simulated::reached(point);
        match &self.0 {
            Some(crashes) if crashes(point) => Err(RepositoryError::Crashed(point)),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Failpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Failpoints")
    }
}

/// What a simulated process does at each failpoint. A process runs on one thread.
#[cfg(test)]
pub(crate) mod simulated {
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Is asked at every failpoint. May end the process by a panic, and may make a step on the network fail.
    type Hook = Rc<dyn Fn(&'static str) -> Result<(), &'static str>>;

    /// Why a push fails that the host of the state refuses.
    pub(crate) const REFUSED: &str = "hook declined";

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    /// Makes this thread a simulated process.
    pub(crate) fn enter(hook: impl Fn(&'static str) -> Result<(), &'static str> + 'static) {
        HOOK.set(Some(Rc::new(hook)));
    }

    /// Makes this thread an ordinary one again.
    pub(crate) fn leave() {
        HOOK.set(None);
    }

    /// Reaches a failpoint.
    pub(super) fn reached(point: &'static str) {
        let _ = network(point);
    }

    pub(crate) fn network(step: &'static str) -> Result<(), &'static str> {
        let hook = HOOK.with_borrow(Option::clone);
        hook.map_or(Ok(()), |hook| hook(step))
    }
}
