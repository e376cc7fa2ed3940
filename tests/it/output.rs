//! The complete output of each command for people.

use crate::support::{Answer, World};

#[test]
fn a_plan_is_printed_as_text() {
    World::of_every_kind().plan().exit(3).stdout(r#"Plan for $REPO refs/heads/main <short> → https://$SERVICE

shop/prod
  + create shop/prod/new  <short> Ask for 21 years
      new, ENABLED
      variations `off` = `false`, `on` = `true`
      rule `adults` serves `on`: `age` > `30` (number)
      default serve `off`
      disabled serve `off`
  ~ update shop/prod/pay  <short> Ask for 21 years
      rule `adults`: condition changed: `age` > `18` (number) → `age` > `21` (number)
      @@ -6,7 +6,7 @@
         rules:
           - name: adults
             conditions:
      -        - { type: number, subject: age, predicate: ">", objects: ["18"] }
      +        - { type: number, subject: age, predicate: ">", objects: ["21"] }
             serve: { select: 1 }
         disabledServe: { select: 0 }
         defaultServe: { select: 0 }

held shop/prod/bad
    the document is invalid; the last applied version stays

orphan shop/prod/gone
    the file was removed; `--on-remove keep` leaves the toggle as it is

held shop/test/first
    nothing is applied here yet: `--first-pass assert` publishes everything, `--first-pass adopt` records it as already applied; to decide for this environment only, put the trailer `Gitoggle-First-Pass: assert` or `adopt` on a commit that adds or changes a document of it, or run `gitoggle allow first-pass-assert shop/test` or `first-pass-adopt` for a running daemon
  + create shop/test/first  <short> Ask for 21 years
      new, ENABLED
      variations `off` = `false`, `on` = `true`
      rule `adults` serves `on`: `age` > `1` (number)
      default serve `off`
      disabled serve `off`

error[select-out-of-range]: `select` is 7, but the last variation is 1
  --> shop/prod/bad.yaml:10:24
   |
10 |       serve: { select: 7 }
   |                        ^
   |
   = help: the first variation is 0

2 to publish: 1 create, 1 update · 2 held · 1 orphan
"#);
}

#[test]
fn a_plan_for_github_has_annotations_on_stdout_and_the_markdown_in_the_job_summary() {
    let world = World::of_every_kind();
    let plan = |output| world.plan().set("output", output);
    let markdown = plan("markdown").exit(3).both();
    let summary = world.write("summary.md", "# Before\n");
    plan("github").env("GITHUB_STEP_SUMMARY", &summary).exit(3).stdout(ANNOTATION);
    assert_eq!(world.printed(&summary), format!("# Before\n{markdown}"));
}

const ANNOTATION: &str = "::error file=shop/prod/bad.yaml,line=10,col=24,title=select-out-of-range::`select` is 7, \
                          but the last variation is 1 (the first variation is 0)\n";

#[test]
fn without_a_job_summary_stdout_contains_only_annotations() {
    World::of_every_kind().plan().set("output", "github").exit(3).stdout(ANNOTATION).stderr(
        "note: `GITHUB_STEP_SUMMARY` is not set, so there is no job summary; `-o markdown` prints it\n",
    );
}

#[test]
fn a_job_summary_that_cannot_be_written_is_an_error() {
    let world = World::with_pay_applied();
    world
        .plan()
        .set("output", "github")
        .env("GITHUB_STEP_SUMMARY", world.path("no/such/folder"))
        .exit(1)
        .stdout("::error title=gitoggle::could not write the job summary to `$TMP/no/such/folder`\n")
        .stderr(
            "error: could not write the job summary to `$TMP/no/such/folder`\n  \
             caused by: No such file or directory\n",
        );
}

#[test]
fn an_apply_is_printed_as_text() {
    let world = World::of_every_kind();
    let refusal = || Answer::json(422, r#"{"message": "no such attribute"}"#);
    world.service.answers([Answer::applied(), refusal(), refusal()]);
    world
        .apply()
        .exit(1)
        .stdout(r#"applied shop/prod/new (create) <short> Ask for 21 years
failed shop/prod/pay (update) <short> Ask for 21 years
  refused by the service: the service responded with 422: no such attribute; correct the document or the service, then the next `apply`, or `gitoggle reconcile` for a running daemon, tries it again

held shop/prod/bad
    the document is invalid; the last applied version stays

orphan shop/prod/gone
    the file was removed; `--on-remove keep` leaves the toggle as it is

held shop/test/first
    nothing is applied here yet: `--first-pass assert` publishes everything, `--first-pass adopt` records it as already applied; to decide for this environment only, put the trailer `Gitoggle-First-Pass: assert` or `adopt` on a commit that adds or changes a document of it, or run `gitoggle allow first-pass-assert shop/test` or `first-pass-adopt` for a running daemon

error[select-out-of-range]: `select` is 7, but the last variation is 1
  --> shop/prod/bad.yaml:10:24
   |
10 |       serve: { select: 7 }
   |                        ^
   |
   = help: the first variation is 0

applied 1 of 4 changes, 2 held (shop/prod/bad, shop/test/first), 1 failed (shop/prod/pay)
"#)
        .never_says(&["Nothing to do", "nothing to publish"])
        .any_stderr();
}

#[test]
fn the_numbers_of_an_apply_are_the_same_in_text_and_json() {
    let refusal = || Answer::json(422, r#"{"message": "no such attribute"}"#);
    // The end of the toggles that get this answer.
    let answers = [
        ("everything is applied", "", Answer::applied()),
        ("one is refused", "pay", refusal()),
        ("all are refused", "", refusal()),
        ("the token is refused", "", Answer::status(401)),
        ("the service is busy", "", Answer::status(503)),
    ];
    for (name, end, answer) in answers {
        let run = |output: &str| {
            let world = World::of_every_kind();
            let answer = answer.clone();
            world.service.always(move |request| match request.toggle().ends_with(end) {
                true => answer.clone(),
                false => Answer::applied(),
            });
            let apply = world.apply().set("give-up-after", "1s").set("output", output);
            apply.exit_in(&[0, 1, 3, 4]).any_stderr()
        };
        let json = run("json").json();
        let text = run("human").both();
        let line = json["summary"]["text"].as_str().unwrap();
        assert!(text.contains(&format!("\n{line}\n")), "{name}: {line}: {text}");
        let count = |list: &str| json["totals"][list].as_array().unwrap().len();
        let changes =
            ["applied", "held", "failed", "pending", "not_sent"].map(count).into_iter().sum::<usize>();
        assert!(
            line.starts_with(&format!("applied {} of {changes} change", count("applied"))),
            "{name}: {line}"
        );
        for list in ["held", "failed", "pending", "not_sent"] {
            let part = format!(", {} {}", count(list), list.replace('_', " "));
            assert_eq!(line.contains(&part), count(list) > 0, "{name}: {line}: {}", json["totals"]);
        }
        let summary = &json["summary"];
        let numbers = ["changes", "held", "failed", "records"]
            .map(|number| usize::try_from(summary[number].as_u64().unwrap()).unwrap());
        assert_eq!(
            numbers,
            [changes, count("held"), count("failed"), count("converged")],
            "{name}: {summary}"
        );
    }
}

#[test]
fn the_numbers_of_an_apply_that_tries_nothing_are_those_of_its_text() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/bad.yaml", "nonsense\n").commit_pay(19, "Add nonsense");
    let run =
        |verb: &str| world.connected(verb).args("--on-invalid stop -o json").exit(3).any_stderr().json();
    let (plan, apply) = (run("plan"), run("apply"));
    assert_eq!(apply["summary"], plan["summary"]);
    let numbers = ["text", "changes", "held", "invalid"].map(|name| apply["summary"][name].to_string());
    assert_eq!(numbers, ["\"nothing to publish · 2 held\"", "0", "2", "1"]);
    let text = world.apply().args("--on-invalid stop").exit(3).any_stderr();
    text.stdout_contains(&["\nnothing to publish · 2 held\n"]);
}

#[test]
fn an_apply_without_changes_reports_that() {
    World::with_pay_applied().apply().exit(0).stdout(
        r#"Plan for $REPO refs/heads/main <short> → https://$SERVICE
Nothing to do.
"#,
    );
}

#[test]
fn an_apply_for_github_lists_failures_in_the_job_summary() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    world.service.answers([Answer::json(422, r#"{"message": "no such attribute"}"#)]);
    let summary = world.path("summary.md");
    world
        .apply()
        .set("output", "github")
        .env("GITHUB_STEP_SUMMARY", &summary)
        .exit(1)
        .stdout("")
        .any_stderr();
    assert_eq!(
        world.printed(&summary),
        r#"### gitoggle apply

applied 0 of 1 change, 1 failed (shop/prod/pay)

* **failed** ` shop/prod/pay ` (update) ` <short> `: `` refused by the service: the service responded with 422: no such attribute; correct the document or the service, then the next `apply`, or `gitoggle reconcile` for a running daemon, tries it again ``

### gitoggle plan

**1 to publish: 1 update**

` $REPO ` ` refs/heads/main ` ` <short> ` → ` https://$SERVICE `

#### ` shop/prod ` 1 to publish

* **update** ` pay `: rule `adults`: condition changed: `age` > `18` (number) → `age` > `21` (number)

<details><summary>1 diff</summary>

` shop/prod/pay ` ` <short> ` ` Change pay `

```diff
@@ -6,7 +6,7 @@
   rules:
     - name: adults
       conditions:
-        - { type: number, subject: age, predicate: ">", objects: ["18"] }
+        - { type: number, subject: age, predicate: ">", objects: ["21"] }
       serve: { select: 1 }
   disabledServe: { select: 0 }
   defaultServe: { select: 0 }
```

</details>

Digest: `sha256:<digest>`
"#
    );
}

#[test]
fn a_status_is_printed_as_text() {
    let world = World::of_every_kind();
    let all = r#"$REPO refs/heads/main at <short>
held     shop/prod/bad    <short>  shop/prod/bad.yaml:10:24: `select` is 7, but the last variation is 1; the document is invalid; the last applied version stays
orphan   shop/prod/gone   <short>  the file was removed; `--on-remove keep` leaves the toggle as it is
pending  shop/prod/new    ----------  create is due
pending  shop/prod/pay    <short>  update is due
in sync  shop/prod/same   <short>
held     shop/test/first  ----------  nothing is applied here yet: `--first-pass assert` publishes everything, `--first-pass adopt` records it as already applied; to decide for this environment only, put the trailer `Gitoggle-First-Pass: assert` or `adopt` on a commit that adds or changes a document of it, or run `gitoggle allow first-pass-assert shop/test` or `first-pass-adopt` for a running daemon
6 toggles: 2 held, 2 pending, 1 orphan, 1 in sync
"#;
    world.status().arg("--all").exit(4).stdout(all);
    let others: String = all.split_inclusive('\n').filter(|line| !line.starts_with("in sync")).collect();
    world.status().exit(4).stdout(&others);
    let quiet = World::with_pay_applied();
    quiet.status().exit(0).stdout("$REPO refs/heads/main at <short>\n1 toggle: 1 in sync\n");
}

#[test]
fn a_validation_is_printed_as_text() {
    World::of_every_kind().validate().exit(3).stdout(
        r#"error[select-out-of-range]: `select` is 7, but the last variation is 1
  --> shop/prod/bad.yaml:10:24
   |
10 |       serve: { select: 7 }
   |                        ^
   |
   = help: the first variation is 0

checked 5 documents: 1 error
"#,
    );
}

#[test]
fn a_validation_for_github_is_printed_as_annotations() {
    let world = World::of_every_kind();
    let summary = world.path("summary.md");
    world
        .validate()
        .set("output", "github")
        .env("GITHUB_STEP_SUMMARY", &summary)
        .exit(3)
        .stdout(&format!("{ANNOTATION}checked 5 documents: 1 error\n"));
    assert_eq!(
        world.printed(&summary),
        "* **error** ` shop/prod/bad.yaml:10:24 ` `select-out-of-range`: `select` is 7, but the last variation is 1 — *help*: the first \
         variation is 0\n\n\
         checked 5 documents: 1 error\n"
    );
}

#[test]
fn configuration_errors_are_printed_together() {
    let world = World::new();
    world
        .apply()
        .set("base-url", "http://toggles.example.com")
        .set("timeout", "10")
        .without_env("GITOGGLE_TOKEN")
        .exit(64)
        .stderr(
            r#"error: 3 configuration errors
  --base-url: write `https://…`; `http` is refused, because it would send secrets unencrypted, also within a cluster and on loopback
  --timeout: `10` needs a unit: write `10s`, `10m` or `10h`
  token: missing; give GITOGGLE_TOKEN or --token-file
"#,
        );
}

#[test]
fn an_error_has_the_attempt_the_cause_and_a_hint() {
    let world = World::new();
    world.repo.commit_pay(18, "Add");
    world.write("empty", "");
    for (setting, value, text) in [
        (
            "repo",
            world.path("nowhere"),
            "error: could not read the source
  caused by: could not find a repository at `$TMP/nowhere`
hint: pass the top folder of a work tree, a bare repository, or a URL as `--repo`
",
        ),
        (
            "ref",
            "mian".into(),
            "error: could not read the source
  caused by: could not find a branch, tag, or commit `mian`; similar names: `main`
hint: pass an existing ref as `--ref`; a missing branch removes no toggle
",
        ),
        (
            "state-remote",
            world.path("nowhere.git"),
            "error: could not use the state
  caused by: could not use the state remote `$TMP/nowhere.git`
  caused by: there is no repository
hint: check `--state-remote`; `git init --bare` creates a repository
",
        ),
    ] {
        world.plan().set(setting, value).exit(1).stderr(text);
    }
    // What Git says depends on its version.
    world.plan().set("repo", "https://127.0.0.1:1/toggles.git").exit(1).stderr_contains(&[
        "error: could not read the source\n  caused by: could not communicate with `127.0.0.1:1`: unable to access ",
        "\nhint: check the address, the network, and the proxy (`HTTPS_PROXY`, `NO_PROXY`)\n",
    ]);
    world
        .apply()
        .without_env("GITOGGLE_TOKEN")
        .set("token-file", world.path("empty"))
        .set("first-pass", "assert")
        .exit(1)
        .stderr(
            "error: could not create the client of the service
  caused by: could not read the service's token
  caused by: the secret file `$TMP/empty` is empty
hint: write the secret to the file, and make the file readable for this user
",
        );
}
