//! Ids have one identity: two that differ only in case are one toggle, because services fold them
//! (src/model/README.md, "Ids").

use crate::live_faults::{comments, job, killed_after};
use crate::live_publish::with_pay_changed;
use crate::support::{Answer, Daemon, Gitoggle, LiveService, Repo, Request, World, body, doc};

fn renamed(world: &World) {
    world.repo.rename("shop/prod/pay.yaml", "shop/prod/Pay.yaml").commit("Write Pay in upper case");
}

fn disabling(world: &World) -> Gitoggle {
    world.apply().set("on-remove", "disable")
}

fn recorded(world: &World) -> Vec<String> {
    Repo::at(&world.state().join("state.git")).files("refs/gitoggle/applied")
}

const SAID: [&str; 2] = [
    "this creates `shop/prod/Pay`, whose id differs from that of the applied toggle `shop/prod/pay` only in case",
    "`shop/prod/pay` is dropped from the state and never disabled",
];

#[test]
fn an_applied_toggle_whose_document_has_another_case_is_dropped_and_never_disabled() {
    let world = World::with_pay_and_search_applied();
    renamed(&world);
    let plan = world.plan().set("on-remove", "disable");
    plan.exit(0).says(&[SAID[0], SAID[1], "create shop/prod/Pay"]);
    for _ in 0..2 {
        disabling(&world).exit(0).any_output();
    }
    world.sent(&[("shop/prod/Pay", body(18, "Write Pay in upper case"))]);
    assert_eq!(recorded(&world), ["shop/prod/Pay.yaml", "shop/prod/search.yaml"]);
    world.plan().exit(0).stdout_contains(&["Nothing to do"]).stderr("");
}

#[test]
fn an_environment_whose_case_changes_is_the_same_environment() {
    let world = World::with_pay_and_search_applied();
    let repo = &world.repo;
    repo.rename("shop/prod", "shop/Prod").commit("Write Prod in upper case");
    disabling(&world).set("max-change-ratio", "1").exit(0).any_output();
    let requests = world.service.take();
    let toggles: Vec<_> = requests.iter().map(Request::toggle).collect();
    assert_eq!(toggles, ["shop/Prod/pay", "shop/Prod/search"]);
    assert_eq!(recorded(&world), ["shop/Prod/pay.yaml", "shop/Prod/search.yaml"]);
}

#[test]
fn a_suspended_toggle_stays_suspended_whatever_the_case_of_its_document() {
    let world = World::with_pay_and_search_applied();
    world.suspend(Some("shop/prod/pay"));
    renamed(&world);
    disabling(&world).exit(4).stdout_contains(&["create shop/prod/Pay", "suspended"]).any_stderr();
    world.nothing_sent();
}

#[test]
fn only_ignores_case() {
    let world = World::with_pay_and_search_applied();
    renamed(&world);
    disabling(&world).set("only", "SHOP/prod/search").exit(0).any_output();
    world.nothing_sent();
    disabling(&world).set("only", "shop/prod/pay").exit(0).any_output();
    world.sent(&[("shop/prod/Pay", body(18, "Write Pay in upper case"))]);
}

#[test]
fn a_refused_request_stays_parked_whatever_the_case_of_its_document() {
    let world = World::with_pay_and_search_applied();
    let daemon = Daemon::ready(&world, |run| run.set("poll-interval", "200ms").set("max-change-ratio", "1"));
    world.service.answers([Answer::html(413)]);
    world.repo.commit_pay(21, "Raise the age");
    daemon.becomes("shop/prod/pay", "failed");
    world.service.take();
    renamed(&world);
    daemon.becomes("shop/prod/Pay", "failed");
    world.repo.file("shop/prod/search.yaml", doc(31)).commit("Change search");
    world.service.wait_for(1);
    world.sent(&[("shop/prod/search", body(31, "Change search"))]);
    daemon.becomes("shop/prod/Pay", "failed");
    daemon.stops_cleanly();
}

#[test]
fn the_status_shows_a_refusal_whatever_the_case_of_the_document() {
    let world = World::with_pay_and_search_applied();
    world.repo.commit_pay(21, "Raise the age");
    world.service.always(|_| Answer::json(409, r#"{"message": "not before Monday"}"#));
    world.apply().exit(1).any_output();
    let refused = "refused by the service: the service responded with 409: not before Monday";
    world.status().exit_in(&[0, 1]).stdout_contains(&["failed   shop/prod/pay", refused]).any_stderr();
    renamed(&world);
    world.status().exit_in(&[0, 1]).stdout_contains(&["failed   shop/prod/Pay", refused]).any_stderr();
}

#[test]
fn an_unknown_create_is_not_disabled_after_its_document_was_renamed_only_in_case() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/new.yaml", doc(20)).commit("Add it");
    world.kill_in_first_request(world.apply());
    world.service.take();
    world.repo.rename("shop/prod/new.yaml", "shop/prod/New.yaml").commit("Rename it");
    disabling(&world).set("timeout", "2s").exit(0).any_output();
    world.sent(&[("shop/prod/New", body(20, "Rename it"))]);
    assert_eq!(recorded(&world), ["shop/prod/New.yaml", "shop/prod/pay.yaml"]);
}

fn applied() -> LiveService {
    let service = with_pay_changed("Raise the age");
    service.apply().exit(0).any_output();
    service
}

#[test]
fn a_toggle_that_a_service_folds_is_recorded_under_its_new_id_without_a_version() {
    let service = applied();
    let before = service.versions("pay");
    for (from, to) in
        [("shop/prod/pay.yaml", "shop/prod/Pay.yaml"), ("shop/prod/Pay.yaml", "Shop/prod/pay.yaml")]
    {
        service.world.repo.rename(from, to).commit("Rename pay");
        service.apply().set("on-remove", "disable").exit(0).any_output();
    }
    assert_eq!(service.versions("pay"), before);
    let status = service.world.status().arg("--all");
    service
        .connected(status)
        .unset("timeout")
        .exit(0)
        .stdout_contains(&["in sync  Shop/prod/pay", "1 toggle: 1 in sync"]);
}

#[test]
fn a_change_of_someone_else_is_not_overwritten_by_a_document_that_is_renamed_only_in_case() {
    let service = applied();
    service.edit("pay", crate::live_publish::by_hand());
    let repo = &service.world.repo;
    repo.rename("shop/prod/pay.yaml", "shop/prod/Pay.yaml");
    repo.file("shop/prod/Pay.yaml", doc(30)).commit("Rename and raise");
    service.apply().exit(4).stdout_contains(&["held shop/prod/Pay (create)"]).any_stderr();
    assert_eq!(comments(&service).last().map(String::as_str), Some("by hand"));
}

#[test]
fn a_lost_response_is_not_repeated_for_a_document_that_is_renamed_only_in_case() {
    let (service, remote) = killed_after("lose_response");
    crate::shared::age(&remote);
    let repo = &service.world.repo;
    repo.rename("shop/prod/pay.yaml", "shop/prod/Pay.yaml");
    repo.file("shop/prod/Pay.yaml", doc(20)).commit("Rename pay");
    for name in ["next", "last"] {
        job(&service, name).set("on-remove", "disable").exit(0).any_output();
        assert_eq!(comments(&service), ["", "Add pay", "Raise the age"]);
    }
}
