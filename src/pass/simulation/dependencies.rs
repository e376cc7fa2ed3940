//! Toggles that need each other: random graphs of prerequisites, changed by commits, against a service that
//! refuses cycles and keys that it does not have. The environments take turns in random order, and several
//! requests of one are open at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use git2::{Oid, Repository, RepositoryInitOptions, Signature};
use tokio::sync::watch;
use tokio::time::Instant;

use super::repository::folder;
use super::world::lock;
use crate::git::init;
use crate::model::{Certainty, Live, LiveVersion, OutcomeKind, ReturnType, Sent, ServiceKind, ToggleId};
use crate::pass::event::PassContext;
use crate::pass::publish::{Pending, Service, Services};
use crate::pass::{Config, Error, PassInputs, Reconciler, Runtime};
use crate::plan::{Approved, Change, FirstPass, ListedType};
use crate::service::retry::TokenState;
use crate::service::{ClientConfig, Outcome};
use crate::transport::{Network, Secret, SecretSource};

/// How many seeds the test runs.
const SEEDS: u64 = 30;

const ENVIRONMENTS: [&str; 3] = ["dev", "prod", "test"];

/// The number of toggles in an environment.
const TOGGLES: usize = 6;

/// What each toggle needs, and a number that changes its document otherwise.
type Documents = BTreeMap<(&'static str, usize), (BTreeSet<usize>, u8)>;

/// A service that stores what toggles need.
#[derive(Debug)]
struct DependencyService {
    stored: Mutex<BTreeMap<ToggleId, BTreeSet<String>>>,
    refused: Mutex<usize>,
    /// The toggles whose publishes fail.
    broken: Mutex<BTreeSet<ToggleId>>,
    rng: Mutex<Rng>,
}

impl DependencyService {
    fn store(&self, toggle: &ToggleId, needs: BTreeSet<String>) -> Outcome {
        if lock(&self.broken).contains(toggle) {
            return Outcome::new(OutcomeKind::Refused, Certainty::NotStored, "broken");
        }
        let mut stored = lock(&self.stored);
        let of = |key: &String| {
            let id = ToggleId::new(toggle.project(), toggle.environment_key(), key).expect("a key");
            stored.get(&id)
        };
        let (mut open, mut seen): (Vec<&String>, BTreeSet<&String>) =
            (needs.iter().collect(), BTreeSet::new());
        let mut reason = None;
        while let Some(key) = open.pop() {
            if key.as_str() == toggle.toggle() {
                reason = Some("validate.prerequisite.dependency.cycle");
            }
            match of(key) {
                None => reason = reason.or(Some("not found")),
                Some(next) if seen.insert(key) => open.extend(next),
                Some(_) => {}
            }
        }
        if let Some(reason) = reason {
            *lock(&self.refused) += 1;
            return Outcome::new(OutcomeKind::Refused, Certainty::NotStored, reason);
        }
        stored.insert(toggle.clone(), needs);
        Outcome::applied(200)
    }
}

/// The shared service, because the pass keeps it.
#[derive(Clone, Debug)]
struct Handle(Arc<DependencyService>);

impl Services for Handle {
    fn open(&self, _: &Config, _: &Approved, _: BTreeMap<ToggleId, Live>) -> Result<Box<dyn Service>, Error> {
        Ok(Box::new(self.clone()))
    }
}

impl Service for Handle {
    fn publish<'a>(&'a self, toggle: &'a ToggleId, sent: &'a Sent) -> Pending<'a, Outcome> {
        Box::pin(async move {
            // Other requests come in between.
            let turns = lock(&self.0.rng).u8(0..4);
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            let needs = sent.payload.prerequisites().into_iter();
            self.0.store(toggle, needs.map(|one| one.key).collect())
        })
    }

    fn read<'a>(&'a self, _: &'a ToggleId, _: Instant) -> Pending<'a, Result<Live, Outcome>> {
        unreachable!("nothing is read")
    }

    fn versions_from<'a>(
        &'a self,
        _: &'a ToggleId,
        _: u64,
    ) -> Pending<'a, Result<Vec<LiveVersion>, Outcome>> {
        unreachable!("nothing is read")
    }

    fn listed_type<'a>(&'a self, _: &'a ToggleId, _: Instant) -> Pending<'a, Result<ListedType, Outcome>> {
        Box::pin(std::future::ready(Ok(ListedType::Typed(ReturnType::Boolean))))
    }

    fn create<'a>(&'a self, _: &'a Change, _: ReturnType) -> Pending<'a, Outcome> {
        unreachable!("a toggle exists")
    }

    fn token_generation(&self) -> u64 {
        0
    }

    fn token_state(&self, _: &Outcome, _: u64) -> TokenState {
        TokenState::Current
    }
}

fn text(needs: &BTreeSet<usize>, number: u8) -> String {
    let list: Vec<String> =
        needs.iter().map(|key| format!("{{ key: t{key}, type: string, value: a }}")).collect();
    format!(
        "disabled: false\ncontent:\n  prerequisites: [{}]\n  variations:\n    - {{ name: a, value: a, description: m{number} }}\n    \
         - {{ name: b, value: b }}\n  rules: []\n  disabledServe: {{ select: 0 }}\n  defaultServe: {{ select: 0 }}\n",
        list.join(", ")
    )
}

/// Draws what the toggles of each environment need, without a cycle. Some toggles do not exist yet.
fn documents(rng: &mut Rng, are_all: bool) -> Documents {
    let mut all = Documents::new();
    for environment in ENVIRONMENTS {
        let mut order: Vec<usize> = (0..TOGGLES).filter(|_| are_all || rng.u8(0..4) > 0).collect();
        rng.shuffle(&mut order);
        for place in 0..order.len() {
            let needs = order[..place].iter().copied().filter(|_| rng.u8(0..5) < 2).collect();
            all.insert((environment, order[place]), (needs, rng.u8(0..3)));
        }
    }
    all
}

/// Returns the same documents with who needs whom reversed.
fn reversed(documents: &Documents) -> Documents {
    let mut all: Documents =
        documents.iter().map(|(toggle, (_, number))| (*toggle, (BTreeSet::new(), *number))).collect();
    for ((environment, toggle), (needs, _)) in documents {
        for needed in needs {
            all.get_mut(&(environment, *needed)).expect("it exists").0.insert(*toggle);
        }
    }
    all
}

/// Adds mistakes: a circle, and a key that no document has.
fn spoiled(mut documents: Documents, rng: &mut Rng) -> Documents {
    for environment in ENVIRONMENTS {
        let (one, other) = (rng.usize(0..TOGGLES), rng.usize(0..TOGGLES));
        for (from, to) in [(one, other), (other, one), (rng.usize(0..TOGGLES), TOGGLES)] {
            if let Some((needs, _)) = documents.get_mut(&(environment, from)) {
                needs.insert(to);
            }
        }
    }
    documents
}

fn commit(repository: &Repository, documents: &Documents) {
    let write = |entries: Vec<(String, Oid, i32)>| {
        let mut builder = repository.treebuilder(None).expect("a tree");
        entries
            .into_iter()
            .for_each(|(name, id, mode)| drop(builder.insert(name, id, mode).expect("an entry")));
        builder.write().expect("a tree")
    };
    let environments = ENVIRONMENTS.map(|environment| {
        let own = documents.iter().filter(|((of, _), _)| *of == environment);
        let files = own.map(|((_, toggle), (needs, number))| {
            let blob = repository.blob(text(needs, *number).as_bytes()).expect("a blob");
            (format!("t{toggle}.yaml"), blob, 0o100_644)
        });
        (environment.to_owned(), write(files.collect()), 0o040_000)
    });
    let project = write(environments.into());
    let tree = write(vec![("shop".to_owned(), project, 0o040_000)]);
    let tree = repository.find_tree(tree).expect("a tree");
    let author =
        Signature::new("Ann", "ann@example.org", &git2::Time::new(1_700_000_000, 0)).expect("an author");
    let parent = repository.head().ok().and_then(|head| head.peel_to_commit().ok());
    let parents: Vec<_> = parent.iter().collect();
    repository.commit(Some("HEAD"), &author, &author, "Change toggles", &tree, &parents).expect("a commit");
}

#[test]
fn toggles_that_need_each_other_are_all_applied_in_every_order_of_the_lanes() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for seed in 0..SEEDS {
        let mut rng = Rng::with_seed(seed);
        let (source, disk) = (folder(), folder());
        let mut options = RepositoryInitOptions::new();
        let repository = init(source.path(), options.bare(true).initial_head("main")).expect("a repository");
        let mut config = Config::local(source.path(), disk.path().to_owned()).with_service(ClientConfig {
            kind: ServiceKind::FeatureProbe,
            base_url: "https://toggles.example.org".parse().expect("an address"),
            token: SecretSource::Value(Secret::new("token".to_owned())),
            network: Network::default(),
            timeout: Duration::from_secs(10),
        });
        config.rules.kind = ServiceKind::FeatureProbe;
        config.rules.policy.first_pass = Some(FirstPass::Assert);
        config.rules.policy.allows_mass_change = true;
        config.limits.in_flight_per_environment = rng.usize(1..5);
        let service = Arc::new(DependencyService {
            stored: Mutex::default(),
            refused: Mutex::default(),
            broken: Mutex::default(),
            rng: Mutex::new(Rng::with_seed(seed)),
        });
        commit(&repository, &documents(&mut rng, false));
        let mut reconciler = Reconciler::open(config, Duration::from_secs(60)).unwrap();
        reconciler.services = Arc::new(Handle(Arc::clone(&service)));
        let mut pass = || {
            let (_stop, stop) = watch::channel(false);
            let context = PassContext::new(Runtime::new(runtime.handle().clone()), stop, |_| {});
            reconciler.pass(&context, PassInputs::default()).unwrap()
        };
        assert!(pass().is_complete(), "seed {seed}");
        // Each commit is valid, and reaches every toggle although who needs whom is reversed.
        let all = documents(&mut rng, true);
        for documents in [&all, &reversed(&all), &documents(&mut rng, true)] {
            commit(&repository, documents);
            let report = pass();
            let failed: Vec<_> = report.lines().filter(|(_, result)| !result.is_recorded()).collect();
            assert!(failed.is_empty(), "seed {seed}: {failed:?}");
            assert_eq!(*lock(&service.refused), 0, "seed {seed}: nothing is sent too early");
        }
        // Some toggles fail, and those that would make a circle with what the service has of them wait.
        let exists =
            |environment: &str, toggle: usize| format!("shop/{environment}/t{toggle}").parse().unwrap();
        for round in 0..4 {
            let all = documents(&mut rng, true);
            let broken = all.keys().filter(|_| rng.u8(0..4) == 0);
            *lock(&service.broken) =
                broken.map(|(environment, toggle)| exists(environment, *toggle)).collect();
            commit(&repository, &all);
            drop(pass());
            assert_eq!(*lock(&service.refused), 0, "seed {seed}, round {round}: a circle was sent");
            lock(&service.broken).clear();
            let report = pass();
            let failed: Vec<_> = report.lines().filter(|(_, result)| !result.is_recorded()).collect();
            assert!(failed.is_empty() && report.plan.withheld().is_empty(), "seed {seed}: {failed:?}");
        }
        // With mistakes, some are held or refused. After their correction, everything is applied.
        commit(&repository, &spoiled(documents(&mut rng, true), &mut rng));
        drop(pass());
        let last = documents(&mut rng, true);
        commit(&repository, &last);
        drop(pass());
        for ((environment, toggle), (needs, _)) in &last {
            let id: ToggleId = format!("shop/{environment}/t{toggle}").parse().unwrap();
            let keys: BTreeSet<String> = needs.iter().map(|key| format!("t{key}")).collect();
            assert_eq!(lock(&service.stored).get(&id), Some(&keys), "seed {seed}: {id}");
        }
    }
}
