//! `gitoggle drift`.

use serde_json::{Value, json};

use super::stand::{Stand, TOGGLES, targeting};
use crate::support::{Gitoggle, Repo, World, body, doc};

const IN_SYNC: &str = "Drift on https://$LIVE · 3 applied toggles in 1 environment

no drift: 3 in sync
Changes on the service after <time> may be missing.
";

/// What every comparison of one environment reads.
const OF_ENVIRONMENT: [&str; 3] = [
    "/api/projects/shop/environments",
    "/api/projects/shop/toggles?environmentKey=prod&pageIndex=0&pageSize=1000",
    "/internal/server/toggles",
];

/// Asserts that the requests since the last look are those of an environment and the reads of these toggles.
#[track_caller]
fn reads(stand: &Stand, toggles: &[&str]) {
    let mut expected = OF_ENVIRONMENT.map(str::to_owned).to_vec();
    expected.extend(toggles.iter().map(|toggle| targeting(toggle)));
    assert_eq!(sorted(stand.reads()), sorted(expected));
}

#[test]
fn no_drift_is_reported_as_such_and_only_the_cache_is_written() {
    let stand = Stand::applied();
    let files = || std::fs::read_dir(stand.world.state()).unwrap().count();
    let before = files();
    stand.drift().arg("--detailed-exitcode").exit(0).stdout(IN_SYNC).stderr("");
    assert_eq!(files(), before);
    stand.drift().arg("--full").exit(0).stdout(IN_SYNC);
    let drift = stand.drift().set("output", "json").exit(0).json();
    let as_of: jiff::Timestamp = drift["as_of"].as_str().unwrap().parse().unwrap();
    let age = jiff::Timestamp::now().as_second() - as_of.as_second();
    assert!((2..60).contains(&age), "{drift}");
}

#[test]
fn what_apply_and_drift_have_read_or_published_is_not_read_again() {
    let stand = Stand::applied();
    stand.drift().exit(0).stdout(IN_SYNC);
    reads(&stand, &[]);
    let repo = &stand.world.repo;
    repo.file("shop/prod/pay.yaml", doc(20)).commit("Raise the age");
    stand.apply().set("max-change-ratio", "1").exit(0).any_output();
    stand.requests();
    stand.drift().exit(0).stdout(IN_SYNC);
    reads(&stand, &[]);
    stand.changes("ship", 30, "hotfix");
    stand.drift().exit(0).any_output();
    stand.requests();
    // Only what differs is read again, because the report shows it.
    stand.drift().exit(0).stdout_contains(&["1 drifted · 2 in sync"]);
    let read = stand.reads();
    for (toggle, count) in [("cart", 0), ("pay", 0), ("ship", 1)] {
        let path = targeting(toggle);
        assert_eq!(read.iter().filter(|one| **one == path).count(), count, "{toggle}: {read:?}");
    }
}

#[test]
fn what_adopt_has_compared_is_not_read_again() {
    let stand = Stand::unapplied(&[]);
    for toggle in TOGGLES {
        stand.changes(toggle, 18, "by hand");
    }
    stand.apply().set("first-pass", "adopt").exit(0).any_output();
    stand.requests();
    stand.drift().exit(0).stdout(IN_SYNC);
    reads(&stand, &[]);
}

#[test]
fn without_the_cache_every_toggle_is_read_once() {
    let stand = Stand::uncached();
    stand.drift().exit(0).stdout(IN_SYNC);
    reads(&stand, &TOGGLES);
    stand.drift().exit(0).stdout(IN_SYNC);
    reads(&stand, &[]);
}

#[test]
fn a_job_with_shared_state_and_an_empty_disk_reads_every_toggle() {
    let stand = Stand::unapplied(&[]);
    let remote = stand.world.path("remote.git");
    stand.world.repo.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    let on = |verb, disk: &str| {
        let command = stand.command(verb).set("state-remote", &remote);
        command.set("state-dir", stand.world.path(disk))
    };
    on("apply", "first").set("first-pass", "assert").exit(0).any_output();
    stand.requests();
    for (disk, read) in [("second", &TOGGLES[..]), ("first", &[]), ("second", &TOGGLES)] {
        on("drift", disk).exit(0).stdout(IN_SYNC);
        reads(&stand, read);
    }
}

#[test]
fn a_comparison_of_a_part_neither_forgets_nor_hides_the_rest() {
    let stand = Stand::applied();
    stand.drift().exit(0).stdout(IN_SYNC);
    stand.requests();
    stand.drift().arg("shop/prod/cart").exit(0).stdout_contains(&["no drift: 1 in sync"]);
    reads(&stand, &[]);
    stand.changes("pay", 21, "hotfix");
    stand.drift().arg("shop/prod/cart").exit(0).any_output();
    reads(&stand, &[]);
    stand.drift().exit(0).stdout_contains(&["1 drifted · 2 in sync"]);
}

#[test]
fn of_twenty_comparisons_one_reads_every_toggle() {
    let stand = Stand::applied();
    let read_all = (1..=40).filter(|_| {
        stand.drift().exit(0).stdout(IN_SYNC);
        stand.reads().len() > OF_ENVIRONMENT.len()
    });
    assert_eq!(read_all.collect::<Vec<_>>(), [20, 40]);
}

#[test]
fn a_change_whose_increment_was_lost_is_found_by_the_next_comparison() {
    let stand = Stand::applied();
    stand.drift().exit(0).stdout(IN_SYNC);
    stand.script(json!({ "on": { "method": "GET", "path": "/" }, "do": "lose_increment" }));
    stand.changes("pay", 21, "hotfix");
    stand.drift().exit(0).stdout_contains(&["1 drifted · 2 in sync"]);
}

#[test]
fn a_document_without_a_toggle_and_a_draft_of_a_new_document_are_listed_in_every_output() {
    let stand = Stand::with(&["drafted"]);
    let repo = &stand.world.repo;
    for toggle in ["new", "drafted"] {
        repo.file(&format!("shop/prod/{toggle}.yaml"), doc(18));
    }
    repo.file("shop/nowhere/pay.yaml", doc(18)).commit("Add documents");
    let settings =
        json!({ "approvalSettings": [{ "environmentKey": "prod", "enable": true, "reviewers": ["Admin"] }] });
    stand.before("/", "PATCH", "/api/projects/shop/approvalSettings", settings);
    let submitted = format!("{}/approval", targeting("drafted"));
    stand.before("/internal", "POST", &submitted, body(40, "a draft"));
    stand.drift().exit(0).any_output();
    stand.drift().exit(0).stdout(
        "Drift on https://$LIVE · 3 applied toggles in 2 environments

missing shop/nowhere/pay
    the service has no such toggle; its document was not applied yet

missing shop/prod/new
    the service has no such toggle; its document was not applied yet

draft shop/prod/drafted
    a draft by Admin awaits approval on the service

no drift: 2 missing · 1 awaiting approval · 3 in sync
Changes on the service after <time> may be missing.
",
    );
    let json = stand.drift().set("output", "json").exit(0).json();
    assert_eq!(
        json["missing"],
        json!([
            { "toggle": "shop/nowhere/pay", "lacks": "toggle", "applied": false },
            { "toggle": "shop/prod/new", "lacks": "toggle", "applied": false },
        ])
    );
    assert_eq!(json["drafts"], json!([{ "toggle": "shop/prod/drafted", "by": "Admin" }]));
    stand.drift().set("output", "markdown").exit(0).stdout_contains(&[
        "* **missing** ` shop/prod/new `: ",
        "* **draft** ` shop/prod/drafted `: ",
        "Changes on the service after <time> may be missing.",
    ]);
}

#[test]
fn each_read_is_logged_with_vv_without_its_query_and_without_a_key() {
    let stand = Stand::uncached();
    let log = stand.drift().arg("-vv").exit(0).never_says(&["pageSize", "server-"]).both();
    for path in ["/internal/server/toggles", "/api/projects/shop/toggles", &targeting("cart")] {
        let line = format!("DEBUG response received method=GET path={path} status=200 took_ms=");
        assert!(log.contains(&line), "{line}\n{log}");
    }
    assert!(log.contains(" attempt=1"), "{log}");
}

fn sorted(mut list: Vec<String>) -> Vec<String> {
    list.sort();
    list
}

#[test]
fn a_change_on_the_service_is_shown_with_author_comment_and_what_to_do() {
    let stand = Stand::with(&["extra"]);
    stand.changes("pay", 21, "hotfix\n::error");
    let text = stand.drift().arg("--detailed-exitcode").exit(2).both();
    let (head, rest) = text.split_once("version 3 by Admin at 20").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    assert_eq!(
        format!("{head}…\n{rest}"),
        r#"Drift on https://$LIVE · 3 applied toggles in 1 environment

shop/prod
  ~ drifted shop/prod/pay  …
      comment: hotfix\n::error
      rule `adults`: condition changed: `age` > `18` (number) → `age` > `21` (number)
      @@ -13,7 +13,7 @@
                 subject: age
                 predicate: ">"
                 objects:
      -            - "18"
      +            - "21"
             serve: { variation: "on" }
         disabledServe: { variation: "off" }
         defaultServe: { variation: "off" }

no document shop/prod/extra
    on the service without a document

1 drifted · 1 without a document · 2 in sync
Changes on the service after <time> may be missing.

To keep what is on the service, import it and commit:
  gitoggle import --overwrite shop/prod/pay --repo $REPO --base-url https://$LIVE --ca-file $TMP/sandbox-ca.pem --service-kind featureprobe
To publish the documents over it:
  gitoggle apply --overwrite-drift --only shop/prod/pay --repo $REPO --base-url https://$LIVE --ca-file $TMP/sandbox-ca.pem --service-kind featureprobe --state-dir $TMP/state
To publish the next change of a document over it, put this trailer on the commit:
  Gitoggle-Allow: overwrite-drift
"#
    );
    stand.drift().exit(0).any_output();
    stand.drift().arg("shop/prod/ship").arg("--detailed-exitcode").exit(0).any_output();
}

#[test]
fn publishing_over_drift_is_not_suggested_for_a_toggle_without_a_document() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    stand.world.repo.remove("shop/prod/pay.yaml").commit("Remove pay");
    stand
        .drift()
        .exit(0)
        .stdout_contains(&["~ drifted shop/prod/pay", "gitoggle import --overwrite shop/prod/pay "])
        .never_says(&["overwrite-drift"]);
    stand.changes("cart", 21, "hotfix");
    stand.drift().exit(0).stdout_contains(&[
        "gitoggle import --overwrite shop/prod/cart shop/prod/pay ",
        "gitoggle apply --overwrite-drift --only shop/prod/cart --repo",
    ]);
}

#[test]
fn the_json_has_every_list() {
    let stand = Stand::with(&["extra"]);
    stand.changes("pay", 21, "hotfix");
    stand.before("/", "PATCH", "/api/projects/shop/toggles/cart/offline", Value::Null);
    stand.world.repo.file("shop/prod/new.yaml", doc(18)).commit("Add new");
    stand.drift().set("output", "json").exit(0).stdout_json(|json| {
        crate::outputs::assert_valid(&stand.world, "drift", json);
        assert_eq!(json["version"], 1);
        let summary = &json["summary"];
        assert_eq!(summary["has_drift"], true);
        let counts = ["applied", "environments", "drifted", "archived", "undocumented", "in_sync"];
        assert_eq!(counts.map(|name| summary[name].as_u64().unwrap()), [3, 1, 1, 1, 1, 1], "{json}");
        assert_eq!(json["missing"][0]["toggle"], "shop/prod/new", "{json}");
        let drifted = &json["drifted"][0];
        assert_eq!(drifted["toggle"], "shop/prod/pay");
        assert_eq!((&drifted["version"], &drifted["by"]), (&json!(3), &json!("Admin")));
        assert_eq!(drifted["comment"], "hotfix");
        assert_eq!(drifted["content"]["rules"][0]["conditions"][0]["objects"], json!(["21"]));
        assert_eq!(drifted["applied"]["content"]["rules"][0]["conditions"][0]["objects"], json!(["18"]));
        assert_eq!(json["archived"], json!(["shop/prod/cart"]));
        assert_eq!(json["undocumented"], json!(["shop/prod/extra"]));
    });
    stand.drift().set("output", "markdown").exit(0).stdout_contains(&[
        "### gitoggle drift",
        // What changed is outside of the fold.
        "* **drifted** ` shop/prod/pay `: rule `adults`: condition changed: `age` > `18` (number) → `age` > `21` (number)\n\n\
         <details><summary><b>drifted</b> <code>shop/prod/pay</code></summary>",
        "` hotfix `",
    ]);
}

#[test]
fn a_documented_service_cannot_be_read() {
    let world = World::with_pay_applied();
    world
        .bare("drift")
        .set("repo", world.repo.path())
        .exit(64)
        .stderr_contains(&["cannot be read", "--service-kind featureprobe"]);
    world.plan().arg("--live").exit(64).stderr_contains(&[
        "--live",
        "cannot be read",
        "--service-kind featureprobe",
    ]);
}

#[test]
fn without_anything_applied_there_is_nothing_to_compare() {
    let stand = Stand::unapplied(&[]);
    stand.drift().exit(1).stderr(
        "error: nothing is applied yet, so there is nothing to compare the service with
hint: if jobs or a daemon publish from this repository, name the state that they share, such as `--state-remote origin`; \
else record the documents of existing toggles with `gitoggle apply --first-pass adopt`, or publish them with `--first-pass assert`
",
    );
    let remote = Repo::bare(&stand.world.path("remote.git"));
    let shared = stand.drift().set("state-remote", remote.path()).set("state-name", "toggles");
    shared.exit(1).stderr_contains(&["hint: record the documents"]).never_says(&["name the state"]);
    let shared = stand.drift().set("state-remote", remote.path()).set("state-name", "toggles");
    // The ref of the state may have been deleted.
    shared.exit(1).says(&["use `--first-pass adopt`", "would publish over what was changed on the service"]);
    assert!(stand.requests().is_empty());
    let stand = Stand::applied();
    stand.drift().arg("shop/test/*").exit(1).stderr_contains(&["no applied toggle matches `shop/test/*`"]);
    stand.drift().arg("pay").exit(64).stderr_contains(&["matches no toggle"]);
}

#[test]
fn one_of_several_globs_that_matches_nothing_is_an_error_or_a_note() {
    let stand = Stand::with(&["other"]);
    stand.world.repo.file("shop/next/new.yaml", doc(18)).commit("Add another");
    let nothing = "no toggle matches `shop/stagin/*`";
    let full = || stand.drift().arg("--detailed-exitcode");
    let drift = |args: &[&str]| args.iter().copied().fold(full(), Gitoggle::arg);
    drift(&["shop/prod/*", "shop/stagin/*"]).exit(1).stderr_contains(&[nothing]);
    let import = stand.command("import").arg("--drifted").arg("shop/prod/*").arg("shop/stagin/*");
    import.exit(1).stderr_contains(&[nothing]);
    // What is not applied, or has no document, is no typing error.
    drift(&["shop/prod/*", "shop/next/*", "shop/prod/other"]).exit(0).any_stdout();
    let note = "note: no toggle matches the glob `shop/stagin/*` of `--only`";
    let only = |run: Gitoggle| run.set("only", "shop/prod/* shop/stagin/*");
    only(stand.drift()).exit(0).stderr_contains(&[note]).any_stdout();
    only(stand.command("import").arg("--drifted")).exit(0).stderr_contains(&[note]).any_stdout();
    let log = only(stand.world.bare("log").set("state-dir", stand.world.state()));
    log.exit(0)
        .stderr_contains(&["note: no applied toggle and no deployment shown matches the glob"])
        .any_stdout();
}

#[test]
fn documents_in_another_notation_and_dates_are_no_drift() {
    let stand = Stand::applied();
    // The same content without descriptions, published again: another version and another date.
    let mut same = body(18, "again");
    for variation in same["content"]["variations"].as_array_mut().unwrap() {
        if variation["description"] == "" {
            variation.as_object_mut().unwrap().remove("description");
        }
    }
    stand.before("/", "PATCH", &targeting("pay"), same);
    stand.drift().exit(0).stdout(IN_SYNC);
}

#[test]
fn every_change_on_the_service_since_the_last_publish_is_named_everywhere() {
    const INCIDENT: &str = "INCIDENT 6: off until Monday";
    const TYPO: &str = "typo in a rule name";
    for is_cached in [true, false] {
        let stand = Stand::applied();
        // Each is made before one of the first requests.
        stand.changes("pay", 21, INCIDENT);
        stand.changes("pay", 22, TYPO);
        stand.drift().exit(0).any_output();
        if !is_cached {
            stand.forget();
        }
        stand.drift().exit(0).stdout_contains(&[
            "~ drifted shop/prod/pay  2 changes, the last version 4 by Admin at ",
            ", comment: INCIDENT 6: off until Monday\n      version 4 by Admin at ",
            ", comment: typo in a rule name\n      rule `adults`",
        ]);
        stand.drift().set("output", "json").exit(0).stdout_json(|json| {
            crate::outputs::assert_valid(&stand.world, "drift", json);
            let events = json["drifted"][0]["events"].as_array().unwrap();
            let events: Vec<_> =
                events.iter().map(|event| json!([event["version"], event["comment"]])).collect();
            assert_eq!(events, [json!([3, INCIDENT]), json!([4, TYPO])]);
        });
        let both = [INCIDENT, "; then version 4 by Admin at ", TYPO];
        stand.command("plan").arg("--live").exit_in(&[0, 4]).stdout_contains(&[INCIDENT, TYPO]);
        let message = stand.world.path("message");
        let import = stand.command("import").arg("--drifted").arg("--message-file").arg(&message);
        import.exit(0).any_output();
        let message = std::fs::read_to_string(&message).unwrap();
        assert!(message.contains(INCIDENT) && message.contains(TYPO), "{message}");
        stand.world.repo.file("shop/prod/pay.yaml", doc(19)).commit("Change pay");
        stand.apply().exit(4).stdout_contains(&both).any_stderr();
        stand.apply().arg("--overwrite-drift").exit(0).stderr_contains(&both).any_stdout();
    }
}

#[test]
fn the_last_line_of_apply_counts_each_toggle_once() {
    let stand = Stand::applied();
    for (toggle, age) in [("pay", 30), ("ship", 21)] {
        stand.changes(toggle, age, "by hand");
    }
    for toggle in ["pay", "ship", "cart"] {
        stand.world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(21));
    }
    stand.world.repo.commit("Raise the age");
    let apply = || stand.apply().set("max-change-ratio", "1");
    let ran = apply().set("output", "json").exit(4).any_stderr();
    let json = ran.json();
    crate::outputs::assert_valid(&stand.world, "apply", &json);
    let totals = &json["totals"];
    assert_eq!(totals["applied"], json!(["shop/prod/cart"]), "{totals}");
    assert_eq!(totals["converged"], json!(["shop/prod/ship"]), "{totals}");
    assert_eq!(totals["held"], json!(["shop/prod/pay"]), "{totals}");
    for none in ["failed", "invalid", "not_sent", "pending"] {
        assert_eq!(totals[none], json!([]), "{totals}");
    }
    let summary = &json["summary"];
    assert_eq!(
        summary["text"],
        "applied 1 of 2 changes, 1 converged (shop/prod/ship), 1 held (shop/prod/pay)"
    );
    let numbers = ["changes", "held", "failed", "records"].map(|number| &summary[number]);
    assert_eq!(numbers, [2, 1, 0, 1].map(|number| json!(number)).each_ref(), "{summary}");
    stand.world.repo.file("shop/prod/cart.yaml", doc(22)).commit("Change another");
    let last = "\napplied 1 of 2 changes, 1 held (shop/prod/pay)\n";
    apply().exit(4).any_stderr().stdout_contains(&[last]);
}

#[test]
fn what_the_service_has_already_is_recorded_although_nothing_may_be_sent() {
    let closed = r#"[{ "deny": "**", "at": "2020-01-01 - 2999-01-01", "zone": "UTC" }]"#;
    let stand = Stand::applied();
    let settings = stand.world.write("windows.yaml", &format!("windows: {closed}\n"));
    stand.changes("pay", 30, "by hand");
    for (toggle, age) in [("pay", 30), ("ship", 21)] {
        stand.world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(age));
    }
    stand.world.repo.commit("Take over what was changed by hand");
    const DOCUMENTED: &str = "the document has this already";
    stand.drift().exit(0).stdout_contains(&[DOCUMENTED]).never_says(&["gitoggle import"]);
    stand.drift().set("output", "json").exit(0).stdout_json(|json| {
        crate::outputs::assert_valid(&stand.world, "drift", json);
        assert_eq!(json["drifted"][0]["documented"], true);
    });
    stand.reads();
    let apply = || stand.apply().set("config", &settings).set("max-change-ratio", "1");
    apply().exit(4).any_stderr().stdout_contains(&["converged shop/prod/pay", "outside the change windows"]);
    stand.reads();
    stand.drift().exit(0).stdout_contains(&["no drift: 3 in sync"]);
    stand.world.repo.file("shop/prod/ship.yaml", doc(18)).commit("Take it back");
    apply().exit(0).any_output();
}

/// The first record, with which the toggle was applied, is lost; the last one is there.
#[test]
fn a_hold_says_that_earlier_changes_are_missing_if_the_history_of_the_state_cannot_be_read() {
    let stand = Stand::applied();
    stand.world.repo.file("shop/prod/ship.yaml", doc(19)).commit("Change another");
    stand.apply().exit(0).any_output();
    for (age, comment) in
        [(30, "INCIDENT 6: off until Monday"), (18, "on again"), (30, "typo in a rule name")]
    {
        stand.changes("pay", age, comment);
    }
    stand.drift().exit(0).stdout_contains(&["3 changes"]);
    stand.forget();
    stand.world.repo.commit_pay(21, "Raise the age");
    let state = Repo::at(&stand.world.state().join("state.git"));
    let first = state.git(&["rev-list", "--max-parents=0", "refs/gitoggle/applied"]);
    state.lose(&first);
    let missing = "typo in a rule name";
    let ran = stand.apply().exit(4).stderr_contains(&["could not read the history of the state"]);
    ran.stdout_contains(&["held shop/prod/pay", missing, "; any change before it could not be read"]);
}

/// Lets what a state remote has been recorded an hour ago.
fn make_older(remote: &Repo) {
    let name = "refs/gitoggle/toggles/applied";
    let older = |line: &str| match line
        .rsplit_once(' ')
        .and_then(|(rest, zone)| Some((rest.rsplit_once(' ')?, zone)))
    {
        Some(((who, time), zone)) if line.starts_with("committer ") => {
            format!("{who} {} {zone}", time.parse::<i64>().unwrap() - 3600)
        }
        _ => line.to_owned(),
    };
    let text: Vec<String> = remote.git(&["cat-file", "commit", name]).lines().map(older).collect();
    let file = remote.path().join("older");
    std::fs::write(&file, text.join("\n") + "\n").unwrap();
    let id = remote.git(&["hash-object", "-t", "commit", "-w", &file.display().to_string()]);
    remote.git(&["update-ref", name, &id]);
}

#[test]
fn a_job_with_an_empty_disk_tells_every_change_since_the_toggle_was_applied() {
    let stand = Stand::unapplied(&[]);
    let remote = Repo::bare(&stand.world.path("remote.git"));
    let job = |verb: &str, disk: &str| {
        let run = stand.command(verb).set("state-dir", stand.world.path(disk));
        run.set("state-remote", remote.path()).set("state-name", "toggles")
    };
    job("apply", "first").set("first-pass", "assert").exit(0).any_output();
    make_older(&remote);
    // The second change has what was applied.
    for (age, comment) in
        [(30, "INCIDENT 6: off until Monday"), (18, "on again"), (30, "typo in a rule name")]
    {
        stand.changes("pay", age, comment);
    }
    let told = ["INCIDENT 6: off until Monday", "on again", "typo in a rule name"];
    job("drift", "second")
        .exit(0)
        .any_stderr()
        .stdout_contains(&["3 changes, the last version 5"])
        .stdout_contains(&told);
    let message = stand.world.path("message");
    job("import", "third").arg("--drifted").arg("--message-file").arg(&message).exit(0).any_output();
    let message = std::fs::read_to_string(message).unwrap();
    assert!(told.iter().all(|comment| message.contains(comment)), "{message}");
    stand.world.repo.commit_pay(21, "Raise the age");
    job("apply", "fourth")
        .exit(4)
        .any_stderr()
        .stdout_contains(&["held shop/prod/pay"])
        .stdout_contains(&told);
    job("apply", "fifth").arg("--overwrite-drift").exit(0).stderr_contains(&told).any_stdout();
}
