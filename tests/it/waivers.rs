//! Comments that accept a warning, with the reason.

use crate::support::{World, doc};

/// Returns a document with the warning `matches-everyone` below `comment`.
fn everyone(comment: &str) -> String {
    let comment = comment.lines().map(|line| format!("    {line}\n")).collect::<String>();
    let rule = "    - name: all\n      conditions: []\n      serve: { select: 1 }\n";
    doc(18).replace("  disabledServe", &format!("{comment}{rule}  disabledServe"))
}

#[test]
fn a_waived_warning_is_counted_and_listed_in_json() {
    let world = World::new();
    let waiver =
        "# The campaign ends in May.\n# gitoggle: allow(matches-everyone) everyone gets it until May";
    world.repo.file("shop/prod/pay.yaml", everyone("# nothing"));
    world.validate().exit(0).stdout_contains(&["matches-everyone", "checked 1 document: 1 warning\n"]);
    world.repo.file("shop/prod/pay.yaml", everyone(waiver)).commit("x");
    world.validate().exit(0).stdout("checked 1 document: no findings, 1 waived\n");
    let json = world.validate().args("-o json").exit(0).json();
    assert_eq!(json["summary"]["waived"], 1);
    assert_eq!(json["findings"].as_array().unwrap().len(), 0);
    assert_eq!(json["waived"][0]["id"], "matches-everyone");
    assert_eq!(json["waived"][0]["waived"], "everyone gets it until May");
    let plan = world.plan().args("-o json").exit(0).json();
    assert_eq!(plan["findings"].as_array().unwrap().len(), 0);
    assert_eq!(plan["waived"][0]["id"], "matches-everyone");
    world.plan().exit(0).stdout_contains(&[" · 1 waived\n"]).any_stderr();
}

#[test]
fn a_bad_waiver_waives_nothing_and_is_a_finding() {
    let world = World::new();
    for (comment, found) in [
        ("# gitoggle: allow(matches-everyone)", "has no reason"),
        ("# gitoggle: allow(matches-everyon) x", "did you mean `matches-everyone`?"),
        ("# gitoggle: allow(syntax) x", "`syntax` is an error, which cannot be waived"),
        ("# gitoggle: allow(elsewhere) x", "`elsewhere` cannot be waived"),
        ("# gitoggle: allow matches-everyone x", "is not a waiver"),
        ("# gitoggle: please", "is not a waiver"),
        ("# Gitoggle: allow(matches-everyone) x", "is not a waiver: it does not begin with `gitoggle:`"),
        ("# gitoggle allow(matches-everyone) x", "is not a waiver: it does not begin with `gitoggle:`"),
        ("# gitoggle: allow(matches-everyone, same-serve) x", "write a comment for each"),
    ] {
        world.repo.write("shop/prod/pay.yaml", everyone(comment));
        world.validate().exit(0).stdout_contains(&[
            "bad-waiver",
            found,
            "matches-everyone",
            "checked 1 document: 2 warnings\n",
        ]);
    }
    let beside = doc(18).replace("- name: adults", "- name: adults # gitoggle: allow(matches-everyone) x");
    world.repo.write("shop/prod/pay.yaml", beside);
    world.validate().exit(0).stdout_contains(&["bad-waiver", "this waiver is not on its own line"]);
}

#[test]
fn a_waiver_counts_in_every_style_of_yaml_or_is_a_finding() {
    let world = World::new();
    let text = everyone("# gitoggle: allow(matches-everyone) until May");
    let checked = |text: &str| {
        world.repo.write("shop/prod/pay.yaml", text);
        world.validate().exit(0)
    };
    let indentless = text
        .replace("    - {", "  - {")
        .replace("    - name", "  - name")
        .replace("      conditions", "    conditions")
        .replace("      serve", "    serve");
    for text in [
        indentless,
        text.replace("{ select: 0 }", "{ select: 0, }"),
        text.replace("\n", "\r\n"),
        text.replace("disabled: ", "disabled:\t"),
        text.replace("rules:", "rules: # a & b"),
        // As Prettier writes it, and with a comment that only the fast parser accepts.
        text.replace("{ select: 0 }", "{\n    select: 0\n  }"),
        text.replace("conditions: []", "conditions: [# none\n      ]"),
    ] {
        checked(&text).stdout("checked 1 document: no findings, 1 waived\n");
    }
    let text = format!("%YAML 1.2\n---\n{text}");
    checked(&text).stdout_contains(&[
        "warning[bad-waiver]: the waivers of this document are ignored",
        "matches-everyone",
        "checked 1 document: 2 warnings\n",
    ]);
    checked(&text.replace("gitoggle:", "note:")).stdout_contains(&["checked 1 document: 1 warning\n"]);
}

#[test]
fn a_waiver_without_its_warning_is_a_finding() {
    let world = World::new();
    let unused = |text: String, help: &str| {
        world.repo.write("shop/prod/pay.yaml", text);
        world.validate().exit(0).stdout_contains(&["unused-waiver", "waives nothing", help, "1 warning\n"]);
    };
    let waiver = "# gitoggle: allow(unused-variation) kept for the next release\n";
    unused(format!("{waiver}{}", doc(18)), "remove it");
    unused(format!("{}{waiver}", doc(18)), "remove it");
    // A line of a text is not a comment.
    let text = format!("|\n        {waiver}");
    let inside = doc(18).replace("\"true\"", "x").replace(
        "    - { name: \"on\", value: x, description: \"New payment page\" }\n",
        &format!("    - name: on\n      value: {text}"),
    );
    world.repo.write("shop/prod/pay.yaml", inside);
    world.validate().exit(0).stdout("checked 1 document: no findings\n");
}

#[test]
fn an_error_is_never_waived() {
    let world = World::new();
    let waiver = "# gitoggle: allow(unknown-predicate) we know\n    ";
    let text = doc(18)
        .replace("    - name: adults", &format!("    {waiver}- name: adults"))
        .replace("\">\"", "\"?\"");
    world.repo.write("shop/prod/pay.yaml", text);
    world
        .validate()
        .set("service-kind", "featureprobe")
        .exit(3)
        .stdout_contains(&["unknown-predicate", "the finding below is an error, which cannot be waived"]);
}

/// Each of these waivers is needed once the error is corrected.
#[test]
fn nothing_is_said_of_a_waiver_beside_an_error_that_hides_its_warning() {
    let world = World::new();
    let text = everyone("# gitoggle: allow(matches-everyone) until May");
    let checked = |text: String| {
        world.repo.write("shop/prod/pay.yaml", text);
        world.validate().set("service-kind", "featureprobe").exit(3)
    };
    for error in [
        text.replace("serve: { select: 1 }\n  disabledServe", "serve: { select: 1\n  disabledServe"),
        text.replace("disabledServe: { select: 0 }", "disabledServe: { select: 7 }"),
        text.replace("defaultServe", "defaultServ"),
        format!("%YAML 1.2\n---\n{}", text.replace("defaultServe", "defaultServ")),
        text.replace("conditions: []", "conditions: ["),
    ] {
        assert_ne!(error, text);
        let printed = checked(error.clone()).both();
        assert!(printed.contains("error[") && !printed.contains("-waiver"), "{error}{printed}");
    }
    // What is wrong about the comment itself is known.
    let error = text.replace("matches-everyone", "matches-nobody").replace("select: 0", "select: 7");
    checked(error).stdout_contains(&["bad-waiver", "`matches-nobody` is not a check"]);
}
