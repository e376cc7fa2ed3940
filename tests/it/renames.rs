//! A document that was only renamed to that of another toggle is not a removed one: `on_remove: disable` holds
//! its toggle.

use serde_json::{Value, json};

use crate::live_publish::toggle;
use crate::shared::{disk, job, shared};
use crate::support::{Daemon, Gitoggle, LiveService, Request, World, doc, eventually, targeting};

const PAY: &str = "shop/prod/pay";

/// What happens to the file of `shop/prod/pay`, up to the last commit, and the toggle that has its document
/// then; none if the toggle is removed.
type Case = (&'static str, fn(&World), Option<&'static str>);

fn moved(world: &World, to: &str) {
    world.repo.rename("shop/prod/pay.yaml", to);
}

const CASES: [Case; 11] = [
    ("another key", |world| moved(world, "shop/prod/payment.yaml"), Some("shop/prod/payment")),
    ("another ending", |world| moved(world, "shop/prod/payment.yml"), Some("shop/prod/payment")),
    ("another environment", |world| moved(world, "shop/test/pay.yaml"), Some("shop/test/pay")),
    ("another project", |world| moved(world, "archive/prod/pay.yaml"), Some("archive/prod/pay")),
    (
        "a copy first, and the removal in the next commit",
        |world| {
            world.repo.file("shop/prod/payment.yaml", doc(18)).commit("Copy it");
            world.repo.remove("shop/prod/pay.yaml");
        },
        Some("shop/prod/payment"),
    ),
    (
        "the removal first, and the copy in the next commit",
        |world| {
            world.repo.remove("shop/prod/pay.yaml").commit("Remove it");
            world.repo.file("shop/prod/payment.yaml", doc(18));
        },
        Some("shop/prod/payment"),
    ),
    (
        "renamed, and edited in the next commit",
        |world| {
            moved(world, "shop/prod/payment.yaml");
            world.repo.commit("Rename it");
            world.repo.file("shop/prod/payment.yaml", doc(50));
        },
        Some("shop/prod/payment"),
    ),
    (
        "a document of another key among those with the same content",
        |world| {
            world.repo.file("shop/prod/a.yaml", doc(18));
            moved(world, "shop/test/pay.yaml");
        },
        Some("shop/test/pay"),
    ),
    (
        "renamed and edited at once",
        |world| {
            world.repo.remove("shop/prod/pay.yaml").file("shop/prod/payment.yaml", doc(50));
        },
        None,
    ),
    (
        "the same content was there before",
        |world| {
            world.repo.file("shop/prod/payment.yaml", doc(18)).commit("Copy it");
            world.apply().exit(0).any_output();
            world.repo.remove("shop/prod/pay.yaml");
        },
        None,
    ),
    (
        "renamed, and the other document removed as well",
        |world| {
            moved(world, "shop/prod/payment.yaml");
            world.repo.commit("Rename it");
            world.repo.remove("shop/prod/payment.yaml");
        },
        None,
    ),
];

fn disabling(run: Gitoggle) -> Gitoggle {
    run.set("on-remove", "disable")
}

/// Begins a world with documents in two environments, all of which are applied.
fn applied() -> World {
    let world = World::with_pay_and_search_applied();
    world.repo.file("shop/test/home.yaml", doc(40)).commit("Add home");
    world.settle();
    world
}

/// Returns the ids of the entries of a list of a plan that have this value.
fn ids<'p>(plan: &'p Value, list: &str, member: &str, value: &str) -> Vec<&'p str> {
    let list = plan[list].as_array().unwrap_or_else(|| panic!("{list} of {plan}")).iter();
    list.filter(|one| one[member] == value).map(|one| one["toggle"].as_str().unwrap()).collect()
}

/// Returns the toggles that were switched off.
fn switched_off(world: &World) -> Vec<String> {
    let sent = world.service.take().into_iter();
    sent.filter(|one| one.body()["disabled"] == json!(true)).map(|one| one.toggle()).collect()
}

#[test]
fn a_toggle_whose_document_was_only_renamed_is_held_and_never_disabled() {
    for (name, change, to) in CASES {
        let world = applied();
        change(&world);
        let (off, held): (&[&str], &[&str]) = match to {
            Some(_) => (&[], &[PAY]),
            None => (&[PAY], &[]),
        };
        let same = |run: Gitoggle| {
            let plan = disabling(run).set("output", "json").exit_in(&[0, 4]).json();
            assert_eq!(ids(&plan, "changes", "action", "disable"), off, "{name}: {plan}");
            assert_eq!(ids(&plan, "held", "kind", "renamed"), held, "{name}: {plan}");
        };
        same(world.plan().arg("--worktree"));
        world.service.take();
        world.repo.commit("Change the file");
        same(world.plan());
        // The toggle of the renamed document is out of scope, and so its document is not read.
        same(world.plan().set("only", PAY));
        let only_new = || disabling(world.plan()).set("only", to.unwrap_or("shop/prod/search"));
        let text = only_new().exit_in(&[0, 4]).both();
        assert!(!text.contains("renamed to that of") && !text.contains("disable shop"), "{name}: {text}");
        let Some(to) = to else {
            disabling(world.apply()).exit(0).any_output();
            assert_eq!(switched_off(&world), [PAY], "{name}");
            continue;
        };
        let said = format!("its document was renamed to that of `{to}`, so nobody removed it");
        disabling(world.plan()).exit(4).says(&[&said, "Gitoggle-Allow: rename shop/prod"]);
        disabling(world.status()).exit(4).says(&[&said]);
        // What it was renamed to is applied meanwhile, and edited.
        let apply = || disabling(world.apply()).set("first-pass", "assert");
        disabling(world.apply()).set("first-pass", "assert").set("only", to).exit(0).any_output();
        apply().exit(4).says(&[&said]);
        world.repo.file(&format!("{to}.yaml"), doc(60));
        world.repo.git(&["rm", "--quiet", "--ignore-unmatch", &format!("{to}.yml")]);
        world.repo.commit("Edit it");
        // The commit of the removal has no such document there.
        if !name.starts_with("the removal first") {
            apply().exit(4).says(&[&said]);
            apply().exit(4).says(&[&said]);
            assert_eq!(switched_off(&world), [""; 0], "{name}");
        }
    }
}

#[test]
fn keep_and_forget_take_a_renamed_document_as_a_removed_one() {
    for (on_remove, said) in [
        (
            "keep",
            "the file was renamed to that of `shop/prod/payment`, which is a new toggle, and the old one keeps",
        ),
        ("forget", "applied shop/prod/payment"),
    ] {
        let world = applied();
        moved(&world, "shop/prod/payment.yaml");
        world.repo.commit("Rename it");
        world.apply().set("on-remove", on_remove).exit(0).says(&[said]).never_says(&["so nobody removed it"]);
        let sent = world.service.take();
        assert_eq!(sent.iter().map(Request::toggle).collect::<Vec<_>>(), ["shop/prod/payment"]);
    }
}

/// Renames two documents in `shop/prod`, which are the reason of two holds.
fn rename_two(world: &World, message: &str) {
    let repo = &world.repo;
    repo.rename("shop/prod/pay.yaml", "shop/old/pay.yaml")
        .rename("shop/prod/search.yaml", "shop/old/find.yaml");
    repo.file("shop/prod/zoo.yaml", doc(70)).commit(message);
}

/// What ends the holds, and the exit code of the passes before.
type Way = (&'static str, fn(&World), &'static [i32]);

const WAYS: [Way; 4] = [
    ("a trailer of the commit", |world| rename_two(world, "Rename two\n\nGitoggle-Allow: rename\n"), &[0]),
    (
        "a trailer of a later commit, with the environment",
        |world| {
            rename_two(world, "Rename two");
            held(world);
            world
                .repo
                .file("notes.txt", "They are gone")
                .commit("Note\n\nGitoggle-Allow: rename shop/prod\n");
            // Other passes record that revision.
            let scoped = disabling(world.apply()).set("only", "shop/test/*");
            scoped.exit(0).any_output();
            world.repo.file("notes.txt", "Really").commit("Note more");
        },
        &[0],
    ),
    (
        "the document again, and its removal in a later pass",
        |world| {
            rename_two(world, "Rename two");
            held(world);
            world.repo.file("shop/prod/pay.yaml", doc(18)).file("shop/prod/search.yaml", doc(30));
            world.repo.commit("Bring them back");
            disabling(world.apply()).exit(0).any_output();
            world.repo.remove("shop/prod/pay.yaml").remove("shop/prod/search.yaml").commit("Remove them");
        },
        &[0],
    ),
    (
        "the removal of the other documents",
        |world| {
            rename_two(world, "Rename two");
            held(world);
            world.repo.remove("shop/old/pay.yaml").remove("shop/old/find.yaml");
            world.repo.file("shop/old/else.yaml", doc(80)).commit("Remove them");
        },
        // Those are applied as well.
        &[0, 4],
    ),
];

fn held(world: &World) {
    let text = disabling(world.apply()).set("first-pass", "assert").exit(4).both();
    for (old, new) in [("pay", "pay"), ("search", "find")] {
        assert!(text.contains(&format!("held shop/prod/{old}")), "{text}");
        assert!(text.contains(&format!("renamed to that of `shop/old/{new}`")), "{text}");
    }
    assert_eq!(switched_off(world), [""; 0]);
}

#[test]
fn a_hold_of_a_renamed_document_ends_by_a_decision_or_by_a_removal() {
    for (name, way, codes) in WAYS {
        let world = applied();
        way(&world);
        disabling(world.apply()).set("first-pass", "assert").exit_in(codes).any_output();
        let off = switched_off(&world);
        assert!(
            ["pay", "search"].iter().all(|key| off.contains(&format!("shop/prod/{key}"))),
            "{name}: {off:?}"
        );
        disabling(world.plan()).exit(0).never_says(&["renamed to that of"]).any_output();
    }
}

#[test]
fn a_trailer_that_does_not_allow_a_rename_is_named_with_the_reason() {
    for (trailer, why) in [
        ("Gitoggle-Allow: rename", "which counts only for the changes of that commit"),
        ("Gitoggle-Allow: rename shop/test", "is about another environment"),
        ("Gitoggle-Allow: renames", "write `rename`, or `rename PROJECT/ENVIRONMENT`"),
    ] {
        let world = applied();
        rename_two(&world, "Rename two");
        world.repo.file("notes.txt", "They are gone").commit(&format!("Note\n\n{trailer}\n"));
        disabling(world.plan()).exit(4).says(&[trailer, why]);
        let off = disabling(world.plan()).arg("--no-allow-trailer").exit(4);
        off.says(&["trailers are turned off", "restore the document, and remove it after a pass with both"]);
    }
}

#[test]
fn a_renamed_document_is_held_by_every_process_that_shares_the_state() {
    let (world, _remote) = shared();
    world.repo.file("shop/prod/zoo.yaml", doc(30)).commit("Add zoo");
    job(&world, "first").exit(0).any_output();
    moved(&world, "shop/prod/payment.yaml");
    world.repo.commit("Rename it");
    world.service.take();
    for machine in ["first", "second", "third"] {
        let run = disabling(job(&world, machine));
        run.exit(4).says(&["renamed to that of `shop/prod/payment`"]);
        assert!(disk(&world, machine).exists());
    }
    assert_eq!(switched_off(&world), [""; 0]);
    world.repo.file("notes.txt", "Gone").commit("Note\n\nGitoggle-Allow: rename shop/prod\n");
    disabling(job(&world, "fourth")).exit(0).any_output();
    assert_eq!(switched_off(&world), [PAY]);
}

#[test]
fn a_branch_that_renames_a_document_is_planned_like_its_pass() {
    let world = applied();
    world.repo.branch("feature");
    moved(&world, "shop/prod/payment.yaml");
    world.repo.commit("Rename it");
    let plan = disabling(world.bare("plan")).set("repo", world.repo.path()).args("--from main --to feature");
    plan.exit(4).says(&["renamed to that of `shop/prod/payment`"]);
}

/// A service with `pay` and `search` applied, and `pay` renamed since.
fn renamed_on_live() -> LiveService {
    let service = LiveService::start(&json!([toggle("pay"), toggle("search"), toggle("payment")]));
    for key in ["pay", "search"] {
        service.commit(key, doc(18), "Add one");
    }
    service.apply().set("first-pass", "assert").exit(0).any_output();
    moved(&service.world, "shop/prod/payment.yaml");
    service.world.repo.commit("Rename it");
    service
}

fn is_disabled(service: &LiveService, key: &str) -> Value {
    service.request("GET", &targeting(key), None)["disabled"].clone()
}

#[test]
fn a_renamed_document_is_held_with_a_service_that_can_be_read() {
    let service = renamed_on_live();
    for _ in 0..2 {
        disabling(service.apply()).exit(4).says(&["renamed to that of `shop/prod/payment`"]);
    }
    disabling(service.connected(service.world.plan())).arg("--live").exit(4).says(&["renamed to that of"]);
    assert_eq!(is_disabled(&service, "pay"), json!(false));
    // Somebody switches it off there.
    let there = service.request("GET", &targeting("pay"), None);
    service.edit("pay", json!({ "comment": "off", "disabled": true, "content": there["content"] }));
    service.world.repo.file("notes.txt", "Off").commit("Note it");
    service.world.repo.file("shop/prod/search.yaml", doc(19)).commit("Change another one");
    let drift = disabling(service.connected(service.world.connected("drift"))).unset("on-remove");
    drift.exit_in(&[0, 2]).any_output();
    disabling(service.apply()).exit(0).says(&["converged shop/prod/pay"]);
    disabling(service.apply()).exit(0).any_output();
}

#[test]
fn an_operator_ends_the_hold_of_a_renamed_document() {
    let service = renamed_on_live();
    let daemon = Daemon::ready(&service.world, |run| {
        disabling(service.connected(run)).set("poll-interval", "200ms").set("drift-interval", "0")
    });
    daemon.becomes(PAY, "held");
    daemon.becomes("shop/prod/payment", "in_sync");
    let reason = daemon.status().unwrap()["toggles"].to_string();
    assert!(reason.contains("renamed to that of `shop/prod/payment`"), "{reason}");
    let order = json!({
        "what": "rename", "environment": "shop/prod", "revision": service.world.repo.head(),
    });
    assert_eq!(daemon.order("/allow", &order.to_string()), 200);
    eventually("pay is off", || (is_disabled(&service, "pay") == json!(true)).then_some(()));
    daemon.stops_cleanly();
}

#[test]
fn an_update_that_was_not_confirmed_is_the_document_that_was_renamed() {
    let world = applied();
    world.repo.commit_pay(21, "Change pay");
    world.kill_in_first_request(world.apply());
    moved(&world, "shop/prod/payment.yaml");
    world.repo.commit("Rename it");
    let said = ["renamed to that of `shop/prod/payment`", "the outcome of its last publish is unknown"];
    disabling(world.apply()).exit(4).says(&said);
    assert_eq!(switched_off(&world), [""; 0]);
}
