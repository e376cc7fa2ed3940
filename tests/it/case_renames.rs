//! Files that are renamed only in case. FeatureProbe folds keys, and the documented API does not say whether it does.

use crate::live_faults::{comments, job, killed_after};
use crate::live_publish::with_pay_changed;
use crate::support::{LiveService, World, body, doc};

fn applied() -> LiveService {
    let service = with_pay_changed("Raise the age");
    service.apply().exit(0).any_output();
    service
}

#[test]
fn a_toggle_whose_file_was_renamed_only_in_case_is_recorded_and_not_disabled() {
    let service = applied();
    let before = service.versions("pay");
    for (from, to) in [
        ("shop/prod/pay.yaml", "shop/prod/Pay.yaml"),
        ("shop/prod/Pay.yaml", "Shop/prod/pay.yaml"),
    ] {
        service.world.repo.rename(from, to).commit("Rename pay");
        let requests = service.requests(|| {
            service
                .apply()
                .set("on-remove", "disable")
                .exit(0)
                .stdout_contains(&["recorded without publishing: 2 toggles"])
                .any_stderr();
        });
        assert!(requests.is_empty(), "{requests:?}");
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
fn a_document_that_is_renamed_only_in_case_and_changed_is_an_update_and_no_change_of_someone_else() {
    let service = applied();
    let repo = &service.world.repo;
    repo.rename("shop/prod/pay.yaml", "shop/prod/Pay.yaml");
    repo.file("shop/prod/Pay.yaml", doc(30))
        .commit("Rename and raise");
    let apply = || service.apply().set("on-remove", "disable");
    apply()
        .exit(0)
        .stdout_contains(&["applied shop/prod/Pay (update)", "applied 1 of 1 change\n"])
        .any_stderr();
    assert_eq!(
        comments(&service).last().map(String::as_str),
        Some("Rename and raise")
    );
    let nothing = service.requests(|| drop(apply().exit(0).any_output()));
    assert!(nothing.is_empty(), "{nothing:?}");
    let status = service.world.status().arg("--all");
    service
        .connected(status)
        .unset("timeout")
        .exit(0)
        .stdout_contains(&["in sync  shop/prod/Pay", "1 toggle: 1 in sync"]);
}

#[test]
fn a_change_of_someone_else_is_not_overwritten_by_a_document_that_is_renamed_only_in_case() {
    let service = applied();
    service.edit("pay", crate::live_publish::by_hand());
    let repo = &service.world.repo;
    repo.rename("shop/prod/pay.yaml", "shop/prod/Pay.yaml");
    repo.file("shop/prod/Pay.yaml", doc(30))
        .commit("Rename and raise");
    service
        .apply()
        .exit(4)
        .stdout_contains(&["held shop/prod/Pay (update)", "changed on the service"])
        .any_stderr();
    assert_eq!(comments(&service).last().map(String::as_str), Some("by hand"));
}

#[test]
fn an_unknown_toggle_whose_file_was_renamed_only_in_case_stays_unknown_until_its_document_is_recorded() {
    for (document, expected) in [
        (doc(20), vec!["", "Add pay", "Raise the age"]),
        (doc(22), vec!["", "Add pay", "Raise the age", "Rename pay"]),
    ] {
        let (service, remote) = killed_after("lose_response");
        crate::shared::age(&remote);
        let repo = &service.world.repo;
        repo.rename("shop/prod/pay.yaml", "shop/prod/Pay.yaml");
        repo.file("shop/prod/Pay.yaml", document).commit("Rename pay");
        job(&service, "next")
            .set("on-remove", "disable")
            .exit(0)
            .any_output();
        assert_eq!(comments(&service), expected);
        job(&service, "last")
            .set("on-remove", "disable")
            .exit(0)
            .any_output();
        assert_eq!(comments(&service), expected);
    }
}

#[test]
fn a_create_with_an_unknown_outcome_is_not_disabled_after_its_file_was_renamed_only_in_case() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/new.yaml", doc(20)).commit("Add it");
    world.kill_in_first_request(world.apply());
    world.service.take();
    world
        .repo
        .rename("shop/prod/new.yaml", "shop/prod/New.yaml")
        .commit("Rename it");
    world
        .apply()
        .set("on-remove", "disable")
        .set("timeout", "2s")
        .exit(0)
        .stdout_contains(&["orphan shop/prod/new", "differ only in case"])
        .any_stderr();
    world.sent(&[("shop/prod/New", body(20, "Rename it"))]);
}
