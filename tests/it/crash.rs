//! A kill at any moment: the service still gets every document, in order, and a request repeats only if it
//! was open.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::support::{Answer, Request, World, doc};

const ENVIRONMENTS: [&str; 4] = ["shop/prod", "shop/test", "web/prod", "web/test"];
const TOGGLES: [&str; 3] = ["a", "b", "c"];

/// The moment of the kill.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// As soon as this many requests have arrived.
    Requests(usize),
    /// This long after the start.
    Time(Duration),
}

fn change_all(world: &World, age: u32) {
    for environment in ENVIRONMENTS {
        for toggle in TOGGLES {
            world.repo.file(&format!("{environment}/{toggle}.yaml"), doc(age));
        }
    }
    world.repo.commit(&format!("Ask for {age} years"));
}

#[test]
fn a_kill_at_any_moment_loses_nothing_and_repeats_only_open_requests() {
    let world = World::new();
    change_all(&world, 1);
    world.settle();
    world.service.always(|_| Answer::applied().slowly(Duration::from_millis(4)));
    let by_request = (0..10).map(|count| Moment::Requests(count + count / 3));
    let by_time = (0..10).map(|step| Moment::Time(Duration::from_millis(5 + 9 * step)));
    for (age, moment) in (2..).zip(by_request.chain(by_time)) {
        change_all(&world, age);
        let run = world.apply().start();
        match moment {
            Moment::Requests(count) => world.service.wait_for(count),
            Moment::Time(time) => wait_until(Instant::now() + time),
        }
        run.kill();
        world.service.sender_died();
        let before = world.service.take();
        world.apply().exit(0).any_output();
        let after = world.service.take();
        check(age, &before, &after, moment);
        world.apply().exit(0).any_output();
        assert_eq!(world.service.take().len(), 0, "{moment:?}: the second pass is silent");
        world.plan().arg("--detailed-exitcode").exit(0).any_output();
    }
}

fn wait_until(moment: Instant) {
    while Instant::now() < moment {
        std::thread::yield_now();
    }
}

fn check(age: u32, before: &[Request], after: &[Request], moment: Moment) {
    let expected: BTreeSet<_> = ENVIRONMENTS
        .iter()
        .flat_map(|environment| TOGGLES.map(|toggle| format!("{environment}/{toggle}")))
        .collect();
    let received: BTreeSet<_> = before.iter().chain(after).map(Request::toggle).collect();
    assert_eq!(received, expected, "{moment:?}: the service got every document");
    for request in before.iter().chain(after) {
        assert_eq!(request.open_for_toggle, 1, "{moment:?}");
        assert_eq!(request.body()["content"], crate::support::content(age), "{moment:?}");
        assert_eq!(request.comment(), format!("Ask for {age} years"), "{moment:?}");
    }
    // Only the last request of each environment can have been open when the process died.
    let last: BTreeMap<_, _> = before
        .iter()
        .map(|request| {
            let toggle = request.toggle();
            let environment = toggle.rsplit_once('/').map(|(environment, _)| environment.to_owned());
            (environment, toggle)
        })
        .collect();
    let open: BTreeSet<_> = last.into_values().collect();
    let earlier: BTreeSet<_> = before.iter().map(Request::toggle).collect();
    for request in after {
        let toggle = request.toggle();
        assert!(
            !earlier.contains(&toggle) || open.contains(&toggle),
            "{moment:?}: {toggle} was confirmed and is sent again"
        );
    }
    for requests in [before, after] {
        let toggles: BTreeSet<_> = requests.iter().map(Request::toggle).collect();
        assert_eq!(toggles.len(), requests.len(), "{moment:?}: once per pass");
    }
}
