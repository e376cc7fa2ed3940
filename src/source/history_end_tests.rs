//! What the branch undid, in small histories.

use std::collections::{BTreeMap, BTreeSet};

use super::testing::{Repo, source};
use super::{KnownTips, Snapshot};
use crate::model::CommitId;

/// A history in which the commit `c` made a change.
struct Case {
    name: &'static str,
    /// The commits, oldest first, each with its parents.
    history: &'static str,
    /// The commits as which requests were merged, and those of them that the forge made.
    tips: [&'static str; 2],
    /// The commits that do not have the change.
    differing: &'static str,
    /// The commits after which the branch undid it.
    undone: &'static str,
}

const CASES: [Case; 14] = [
    Case {
        name: "a later request tries another value and goes back",
        history: "0 c:0 m:0,c w:m b:w n:m,b",
        tips: ["m n", "m n"],
        differing: "w",
        undone: "",
    },
    Case {
        name: "the same, in a branch that was begun in that of the change",
        history: "0 c:0 m:0,c w:c b:w n:m,b",
        tips: ["m n", "m n"],
        differing: "w",
        undone: "",
    },
    Case {
        name: "the same, twice, with other commits between and after",
        history: "0 c:0 m:0,c x:m w:m b:w n:x,b y:n v:y a:v o:y,a z:o",
        tips: ["m n o", "m n o"],
        differing: "w v",
        undone: "",
    },
    Case {
        name: "the same branch, merged by a push",
        history: "0 c:0 m:0,c w:m b:w n:m,b",
        tips: ["m", "m"],
        differing: "w",
        undone: "c m w",
    },
    Case {
        name: "the same branch, as a fast-forward",
        history: "0 c:0 m:0,c w:m b:w",
        tips: ["m b", "m"],
        differing: "w",
        undone: "c m w",
    },
    Case {
        name: "a request undoes it, and a push takes an old parent",
        history: "0 c:0 m:0,c u:m n:m,u p:n,m",
        tips: ["m n", "m n"],
        differing: "u n",
        undone: "c m u n",
    },
    Case {
        name: "a push undoes it, and another one takes an old parent",
        history: "0 c:0 m:0,c x:m p:x,m",
        tips: ["m", "m"],
        differing: "x",
        undone: "c m x",
    },
    Case {
        name: "a push hides the tip behind an old one",
        history: "0 c:0 m:0,c x:m q:x,m p:m,q",
        tips: ["m", "m"],
        differing: "x",
        undone: "c m x",
    },
    Case {
        name: "a push that the forge takes for a merge hides the merge that undid it",
        history: "0 c:0 m:0,c u:m n:m,u q:n,m p:m,q",
        tips: ["m n p", "m n p"],
        differing: "u n",
        undone: "c m u n",
    },
    Case {
        name: "a push that the forge takes for a merge hides a push that undid it",
        history: "0 c:0 m:0,c x:m q:x p:m,q",
        tips: ["m p", "m p"],
        differing: "x q",
        undone: "c m x q",
    },
    Case {
        name: "a push that the forge takes for a merge hides it behind a newer parent",
        history: "0 c:0 m:0,c x:m q:x n:m p:n,q",
        tips: ["m p", "m p"],
        differing: "x q",
        undone: "c m x q",
    },
    Case {
        name: "a push undoes it, which a pass has recorded, and a request makes it again",
        history: "0 c:0 m:0,c x:m q:x p:m,q",
        tips: ["m p x", "m p"],
        differing: "x",
        undone: "c m x",
    },
    Case {
        name: "a request makes the change again beside one that undid it",
        history: "0 c:0 m:0,c x:m n:m,x q:x p:n,q",
        tips: ["m n p", "m n p"],
        differing: "x n",
        undone: "c m x n",
    },
    Case {
        name: "a request that makes the change again is a merge that has it",
        history: "0 c:0 m:0,c x:m q:x,m p:x,q",
        tips: ["m p", "m p"],
        differing: "x",
        undone: "c m x",
    },
];

/// Makes the commits of a history, and returns their ids by name.
fn commits(repo: &Repo, history: &str) -> BTreeMap<String, CommitId> {
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    let tree = repo.git(&["mktree"]);
    for commit in history.split(' ') {
        let (name, parents) = commit.split_once(':').unwrap_or((commit, ""));
        let parents =
            parents.split(',').filter(|parent| !parent.is_empty()).map(|parent| ids[parent].clone());
        let mut args = vec!["commit-tree".to_owned(), tree.clone(), "-m".to_owned(), name.to_owned()];
        args.extend(parents.flat_map(|parent| ["-p".to_owned(), parent]));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let id = repo.git(&args);
        repo.git(&["update-ref", "HEAD", &id]);
        ids.insert(name.to_owned(), id);
    }
    ids.into_iter().map(|(name, id)| (name, CommitId(id.parse().unwrap()))).collect()
}

#[test]
fn what_a_branch_only_tried_is_not_undone_and_what_the_target_had_is() {
    for Case { name, history, tips, differing, undone } in CASES {
        let repo = Repo::new();
        let ids = commits(&repo, history);
        let set =
            |names: &str| -> BTreeSet<CommitId> { names.split_whitespace().map(|name| ids[name]).collect() };
        let snapshot: Snapshot = source(repo.path()).snapshot().unwrap();
        let end = snapshot.history_since(&set("c")).unwrap();
        let among = end.descendants(ids["c"]);
        let tips = KnownTips { all: set(tips[0]), merges: set(tips[1]) };
        let found = end.undone(&among, &set(differing), &tips);
        let found: Vec<&str> =
            ids.iter().filter(|(_, id)| found.contains(id)).map(|(name, _)| name.as_str()).collect();
        let mut expected: Vec<&str> = undone.split_whitespace().collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "{name}");
    }
}
