//! Checks what each push leaves on the shared ref: *the ref is sufficient*, nothing is announced that the ref
//! has as confirmed, and no older revision follows a newer one (src/state/README.md, "Shared state").

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use git2::{ObjectType, Repository, TreeWalkMode, TreeWalkResult};

use super::repository::Revisions;
use super::service::{ToggleService, meaning};
use super::world::{World, lock};
use crate::git::{oid, open_bare};
use crate::model::{CommitId, ToggleId};
use crate::state::SharedHead;

/// The ref of the shared state, relative to its repository.
const NAME: &str = "refs/gitoggle/state/applied";

#[derive(Clone)]
pub(super) struct SharedReference(Arc<Parts>);

struct Parts {
    path: PathBuf,
    repository: Mutex<Repository>,
    last: Mutex<Last>,
}

/// What was there after the last push.
#[derive(Default)]
struct Last {
    commit: Option<String>,
    head: SharedHead,
    recorded: usize,
}

impl SharedReference {
    pub(super) fn new(path: &Path) -> Self {
        Self(Arc::new(Parts {
            path: path.to_owned(),
            repository: Mutex::new(open_bare(path).expect("a repository")),
            last: Mutex::default(),
        }))
    }

    /// Returns the commit that is there.
    pub(super) fn commit(&self) -> Option<String> {
        fs::read_to_string(self.0.path.join(NAME)).ok()
    }

    /// Returns whether the last push that was checked left an announcement.
    pub(super) fn is_announced(&self) -> bool {
        lock(&self.0.last).head.announcement.is_some()
    }

    /// Removes a lock that a process left that was killed; its operator does.
    pub(super) fn unlock(&self) {
        drop(fs::remove_file(self.0.path.join(format!("{NAME}.lock"))));
    }

    /// Checks what a push left. Returns a description of it if the ref has moved.
    pub(super) fn check(
        &self,
        world: &World,
        service: &ToggleService,
        revisions: &Revisions,
    ) -> Option<String> {
        let mut last = lock(&self.0.last);
        let commit = self.commit();
        if commit == last.commit {
            return None;
        }
        let repository = lock(&self.0.repository);
        let id = commit.as_deref().and_then(|text| text.trim().parse().ok().map(CommitId));
        let head = SharedHead::read(&repository, id.expect("a commit"), None).expect("a head");
        let applied = head.applied.as_ref().map(|tip| tip.tree);
        let tree = applied.map_or_else(BTreeMap::new, |tree| documents(&repository, tree));
        let order = head.revision.and_then(|commit| revisions.number(commit));
        let order = order.map_or(0, |number| revisions.order(number));
        if service.is_checked() {
            for fault in self.faults(&head, &tree, &last, service) {
                world.fault(fault);
            }
            if head.announcement.is_none() && order < last.recorded {
                world.fault(format!("revision {order} is recorded after revision {}", last.recorded));
            }
        }
        let kind = match &head.announcement {
            Some(_) => "an announcement",
            None => "a record",
        };
        if head.announcement.is_none() {
            last.recorded = order;
        }
        let unknown: Vec<_> = head.unknown.keys().map(ToggleId::toggle).collect();
        let text = format!("pushes {kind} of revision {order}, unknown: [{}]", unknown.join(" "));
        (last.commit, last.head) = (commit, head);
        Some(text)
    }

    fn faults(
        &self,
        head: &SharedHead,
        tree: &BTreeMap<ToggleId, u8>,
        last: &Last,
        service: &ToggleService,
    ) -> Vec<String> {
        let mut faults = Vec::new();
        let stored = service.stored();
        let toggles = stored.keys().chain(tree.keys());
        // The tree has what was applied, which another writer may have replaced.
        let toggles = toggles.filter(|toggle| !service.is_edited(toggle));
        for toggle in toggles.filter(|toggle| !head.unknown.contains_key(toggle)) {
            if stored.get(toggle) != tree.get(toggle) || service.is_open(toggle) {
                faults
                    .push(format!("the ref does not list {toggle}, which may be other than its tree has it"));
            }
        }
        let mark = |head: &SharedHead| head.announcement.as_ref().map(|found| found.mark.clone());
        if mark(head).is_some() && mark(head) != mark(&last.head) {
            let news = head.unknown.iter().filter(|(toggle, _)| !last.head.unknown.contains_key(toggle));
            for (toggle, sent) in news {
                if tree.get(toggle) == Some(&meaning(&sent.payload)) {
                    faults.push(format!("{toggle} is announced as it is applied"));
                }
            }
        }
        faults
    }
}

/// Returns the meaning of each document in a tree.
fn documents(repository: &Repository, tree: crate::model::ObjectId) -> BTreeMap<ToggleId, u8> {
    let mut found = BTreeMap::new();
    let tree = repository.find_tree(oid(tree)).expect("a tree");
    tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
        if entry.kind() == Some(ObjectType::Blob) {
            let name = entry.name().unwrap_or_default();
            let id = format!("{folder}{}", name.trim_end_matches(".yaml"));
            let blob = repository.find_blob(entry.id()).expect("a blob");
            let text = String::from_utf8_lossy(blob.content());
            let at = text.find("value: m").expect("a document of the simulation") + "value: m".len();
            let meaning = text[at..=at].parse().expect("a digit");
            found.insert(id.parse().expect("a toggle"), meaning);
        }
        TreeWalkResult::Ok
    })
    .expect("a tree");
    found
}
