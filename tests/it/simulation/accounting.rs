//! Compares the requests and the records of a pass with the outcomes that the process could know.

use std::collections::{BTreeMap, BTreeSet};

use super::{Believed, File, Simulation};
use crate::support::document::reformatted;
use crate::support::{Repo, Request, body, doc};

impl Simulation {
    pub(super) fn new_requests(&self) -> String {
        let requests = self.world.service.requests();
        let lines: Vec<_> = requests
            .iter()
            .map(|request| {
                let word = match (request.stored, request.confirmed) {
                    (_, true) => "",
                    (true, false) => " (reply lost)",
                    (false, false) => " (failed)",
                };
                let age = &request.body()["content"]["rules"][0]["conditions"][0]["objects"][0];
                format!("{}={age}{word}", request.toggle())
            })
            .collect();
        lines.join(", ")
    }

    /// Checks every request of a pass and keeps its outcome.
    pub(super) fn account(&mut self, killed: bool) {
        for toggle in self.owed.remove(&self.disk).unwrap_or_default() {
            self.believed.insert(toggle, Believed::Unknown);
        }
        let requests = self.world.service.take();
        let mut last: BTreeMap<String, String> = BTreeMap::new();
        for request in &requests {
            self.account_for(request);
            let toggle = request.toggle();
            let environment = toggle.rsplit_once('/').expect("three parts").0.to_owned();
            last.insert(environment, toggle);
        }
        if killed {
            let sent: BTreeSet<_> = requests.iter().map(Request::toggle).collect();
            // With the disk, the outcomes are lost that had not been shared yet.
            let open = match self.remote {
                Some(_) => sent.clone(),
                None => last.into_values().collect(),
            };
            self.doubt(open, &sent);
        }
    }

    /// A process that died was waiting for the last response of each lane, or had journaled the request that
    /// it would send next.
    fn doubt(&mut self, open: BTreeSet<String>, sent: &BTreeSet<String>) {
        let due = self.head().clone().into_iter().filter_map(|(toggle, file)| match file {
            File::Valid(age) => Some((toggle, Believed::Confirmed(body(age, "")["content"].clone()))),
            File::Broken => None,
        });
        let next: Vec<_> = due
            .filter(|(toggle, wanted)| !sent.contains(toggle) && self.believed.get(toggle) != Some(wanted))
            .map(|(toggle, _)| toggle)
            .collect();
        for toggle in open.into_iter().chain(next) {
            if self.remote.is_some() {
                self.owed.entry(self.disk.clone()).or_default().insert(toggle.clone());
            }
            self.believed.insert(toggle, Believed::Unknown);
        }
    }

    fn account_for(&mut self, request: &Request) {
        let toggle = request.toggle();
        let sent = request.body()["content"].clone();
        assert_eq!(request.open_for_toggle, 1, "two requests were open for {toggle}");
        let Some(File::Valid(age)) = self.head().get(&toggle).copied() else {
            panic!("{toggle} has no valid document, and was written");
        };
        assert_eq!(sent, body(age, "")["content"], "{toggle}: only the newest document is sent");
        let before = self.believed.get(&toggle);
        assert_ne!(before, Some(&Believed::Confirmed(sent.clone())), "{toggle} is repeated without cause");
        if request.stored {
            self.stored.insert(toggle.clone(), sent.clone());
        }
        if request.confirmed {
            self.believed.insert(toggle, Believed::Confirmed(sent));
        } else if !matches!(request.status, Some(422 | 429)) {
            self.believed.insert(toggle, Believed::Unknown);
        }
    }

    /// Checks that the recorded document of each toggle is the last one sent, or that the toggle is unknown.
    pub(super) fn compare_state(&mut self) {
        let own = Repo::at(&self.world.state().join("state.git"));
        let (state, name) = match &self.remote {
            Some(remote) => (remote, "refs/gitoggle/toggles/applied"),
            None => (&own, "refs/gitoggle/applied"),
        };
        for path in state.files(name) {
            let toggle = path.trim_end_matches(".yaml");
            let text = state.content(name, &path);
            let Some(Believed::Confirmed(confirmed)) = self.believed.get(toggle) else {
                continue;
            };
            let age = &confirmed["rules"][0]["conditions"][0]["objects"][0];
            let age: u32 = age.as_str().and_then(|age| age.parse().ok()).expect("an age");
            let same = text.starts_with(&doc(age)) || text == reformatted(age);
            assert!(same, "{toggle}: {age} was confirmed, and this is recorded:\n{text}");
            assert_eq!(
                self.stored.get(toggle),
                Some(confirmed),
                "{toggle}: the state is ahead of the service"
            );
        }
    }
}
