//! Documents that exist are compared by what they mean.

use serde_json::json;

use super::{canonical, file, files, import_lines, line, record};
use crate::support::document::reformatted;
use crate::support::{World, content, doc};

#[test]
fn a_document_with_the_same_meaning_stays_as_it_was_written() {
    let world = World::new();
    world.repo.write("shop/prod/pay.yml", reformatted(18));
    import_lines(&world, &line("shop/prod/pay", 18))
        .arg("--overwrite")
        .exit(0)
        .stdout("0 written, 1 unchanged, 0 different\n");
    assert_eq!(files(&world), ["shop/prod/pay.yml"]);
    assert_eq!(file(&world, "shop/prod/pay.yml"), reformatted(18));
}

#[test]
fn what_is_replaced_keeps_its_comments() {
    let world = World::new();
    let commented = |age: u32| {
        let text =
            doc(age).replace("disabled: false", "# The owner is @acme.\ndisabled: false   # since May");
        text.replace("    - name: adults", "    # Decided in May.\n    - name: adults")
    };
    world.repo.write("shop/prod/pay.yaml", commented(1));
    import_lines(&world, &line("shop/prod/pay", 18)).arg("--overwrite").exit(0).any_output();
    assert_eq!(file(&world, "shop/prod/pay.yaml"), commented(18));
    assert!(commented(18).matches('#').count() == 3);
}

#[test]
fn a_document_with_another_meaning_stays_unless_it_may_be_overwritten() {
    let world = World::new();
    for extension in ["yaml", "yml"] {
        world.repo.write(&format!("shop/prod/{extension}.{extension}"), doc(1));
    }
    let lines = ["yaml", "yml"].map(|name| line(&format!("shop/prod/{name}"), 18)).concat();
    import_lines(&world, &lines)
        .exit(0)
        .stdout(
            "different shop/prod/yaml: the document has another meaning (shop/prod/yaml.yaml)\n\
             different shop/prod/yml: the document has another meaning (shop/prod/yml.yml)\n\
             \n\
             0 written, 0 unchanged, 2 different\n",
        )
        .stderr("note: kept 2 different documents; `--overwrite` replaces documents\n");
    assert_eq!(file(&world, "shop/prod/yaml.yaml"), doc(1));
    import_lines(&world, &lines)
        .arg("--overwrite")
        .exit(0)
        .stdout(
            "replaced shop/prod/yaml (shop/prod/yaml.yaml)\n\
             replaced shop/prod/yml (shop/prod/yml.yml)\n\
             \n\
             0 written, 0 unchanged, 0 different, 2 replaced\n",
        )
        .stderr_contains(&["next:\n", " add shop\n"]);
    assert_eq!(file(&world, "shop/prod/yaml.yaml"), doc(18));
    assert_eq!(file(&world, "shop/prod/yml.yml"), doc(18));
    world.validate().exit(0).stdout("checked 2 documents: no findings\n");
    import_lines(&world, &lines).exit(0).stdout("0 written, 2 unchanged, 0 different\n");
}

#[test]
fn an_invalid_document_is_different_and_can_be_overwritten() {
    let world = World::new();
    world.repo.write("shop/prod/pay.yaml", "disabled: maybe\n");
    world.repo.write("shop/prod/large.yaml", " ".repeat(3 << 20));
    let lines = line("shop/prod/pay", 18) + &line("shop/prod/large", 18);
    import_lines(&world, &lines)
        .exit(0)
        .stdout_contains(&[
            "different shop/prod/large: the document is invalid (shop/prod/large.yaml)\n",
            "different shop/prod/pay: the document is invalid (shop/prod/pay.yaml)\n",
        ])
        .any_stderr();
    import_lines(&world, &lines).arg("--overwrite").exit(0).any_output();
    assert_eq!(file(&world, "shop/prod/pay.yaml"), canonical(18));
    assert_eq!(file(&world, "shop/prod/large.yaml"), canonical(18));
}

#[test]
fn a_toggle_that_two_documents_claim_is_left_alone() {
    let world = World::new();
    world.repo.write("shop/prod/pay.yaml", doc(1));
    world.repo.write("shop/prod/pay.yml", "{}");
    import_lines(&world, &(line("shop/prod/pay", 18) + &line("shop/prod/old", 18)))
        .arg("--overwrite")
        .exit(0)
        .stdout(
            "skipped shop/prod/pay (several documents): `shop/prod/pay.yaml` and `shop/prod/pay.yml` claim it; keep one \
             of them\n\
             \n\
             1 written, 0 unchanged, 0 different, 1 skipped (several documents: 1)\n",
        )
        .any_stderr();
    assert_eq!(file(&world, "shop/prod/pay.yaml"), doc(1));
    assert_eq!(file(&world, "shop/prod/pay.yml"), "{}");
}

#[test]
fn a_document_spelled_in_another_case_is_the_document_of_the_toggle() {
    let world = World::new();
    world.repo.write("Shop/prod/PAY.yaml", doc(18));
    world.repo.write("shop/PROD/old.yaml", doc(1));
    let lines = line("shop/prod/pay", 18) + &line("shop/prod/old", 18);
    let run = || import_lines(&world, &lines);
    run()
        .exit(0)
        .stdout(
            "different shop/prod/old: the document has another meaning (shop/PROD/old.yaml)\n  \
             the document spells it `shop/PROD/old`: rename its file\n\
             unchanged shop/prod/pay (Shop/prod/PAY.yaml)\n  \
             the document spells it `Shop/prod/PAY`: rename its file\n\
             \n\
             0 written, 1 unchanged, 1 different\n",
        )
        .any_stderr();
    run().arg("--overwrite").exit(0).any_output();
    assert_eq!(files(&world), ["Shop/prod/PAY.yaml", "shop/PROD/old.yaml"]);
    assert_eq!(file(&world, "shop/PROD/old.yaml"), doc(18));
}

#[test]
fn a_toggle_that_was_never_configured_is_imported_as_it_is() {
    let world = World::new();
    let mut new = content(18);
    new["rules"] = json!([]);
    new["defaultServe"] = json!({});
    import_lines(&world, &record("shop/prod/new", true, &new))
        .set("service-kind", "featureprobe")
        .exit(0)
        .stdout("1 written, 0 unchanged, 0 different\n")
        .any_stderr();
    let text = file(&world, "shop/prod/new.yaml");
    assert!(text.starts_with("disabled: true\n") && text.ends_with("  defaultServe: {}\n"), "{text}");
    // Enabled, SDKs would not get it at all.
    import_lines(&world, &record("shop/prod/enabled", false, &new))
        .set("service-kind", "featureprobe")
        .exit(0)
        .stdout_contains(&[
            "skipped shop/prod/enabled (content that a document cannot express): its document would be",
        ])
        .any_stderr();
}
