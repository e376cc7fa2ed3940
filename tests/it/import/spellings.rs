//! Toggles of a service whose ids differ only in case. A repository can have only one of them.

use serde_json::json;

use super::faults::serve;
use super::{canonical, file, files, import_live};
use crate::support::{Answer, World, content, doc};

fn targeting(age: u32) -> Answer {
    let body = json!({ "version": 2, "disabled": false, "locked": false, "content": content(age) });
    Answer::json(200, &body.to_string())
}

#[test]
fn toggles_whose_ids_differ_only_in_case_are_skipped_whatever_the_globs_select() {
    let world = World::new();
    world.repo.write("shop/prod/pay.yaml", doc(1));
    let tries = serve(&world, &["Pay", "other", "pay"], |path, _| {
        path.contains("/Pay/targeting").then(|| targeting(21))
    });
    import_live(&world)
        .arg("--overwrite")
        .exit(0)
        .stdout(
            "skipped shop/prod/Pay (an id that differs only in case from another one): the service also has \
             `shop/prod/pay`, and a repository can have only one of them\n\
             skipped shop/prod/pay (an id that differs only in case from another one): the service also has \
             `shop/prod/Pay`, and a repository can have only one of them\n\
             \n\
             1 written, 0 unchanged, 0 different, 2 skipped (an id that differs only in case from another one: 2)\n",
        )
        .any_stderr();
    assert_eq!(files(&world), ["shop/prod/other.yaml", "shop/prod/pay.yaml"]);
    assert_eq!(file(&world, "shop/prod/pay.yaml"), doc(1));
    assert_eq!(file(&world, "shop/prod/other.yaml"), canonical(18));
    let found =
        import_live(&world).arg("shop/prod/Pay").arg("--overwrite").set("output", "json").exit(0).json();
    crate::outputs::assert_valid(&world, "import", &found);
    assert_eq!(found["skipped"], json!({ "ambiguous_case": 2 }));
    assert_eq!(found["toggles"][0]["toggle"], "shop/prod/Pay");
    assert_eq!(file(&world, "shop/prod/pay.yaml"), doc(1));
    let tries = tries.lock().unwrap();
    let read = tries.keys().filter(|path| path.ends_with("/targeting"));
    assert_eq!(read.collect::<Vec<_>>(), ["/api/projects/shop/environments/prod/toggles/other/targeting"]);
}

#[test]
fn toggles_of_projects_and_environments_that_differ_only_in_case_are_skipped() {
    for (path, list) in [
        ("/api/projects", json!([{ "key": "shop" }, { "key": "Shop" }, { "key": "web" }])),
        ("/api/projects/shop/environments", json!([{ "key": "Prod" }, { "key": "prod" }, { "key": "test" }])),
    ] {
        let world = World::new();
        let tries = serve(&world, &["pay"], move |asked, _| {
            (asked == path).then(|| Answer::json(200, &list.to_string()))
        });
        import_live(&world)
            .arg("shop/prod/*")
            .exit(0)
            .stdout_contains(&[
                "skipped shop/prod/pay (an id that differs only in case from another one): ",
                "\n\n0 written, 0 unchanged, 0 different, 2 skipped ",
            ])
            .stderr("");
        assert!(files(&world).is_empty());
        let tries = tries.lock().unwrap();
        assert!(!tries.keys().any(|path| path.contains("/web/")), "{tries:?}");
    }
}
