//! A failure says the same in every channel, with every kind of service: the cause in the same words, and the
//! same advice.
//!
//! [`ROWS`] has a row for each failure. A row that is missing here is a failure of which some channel may say
//! nothing.

mod stage;

use gitoggle::model::ServiceKind::{self, Documented, FeatureProbe};
use serde_json::{Value, json};

use crate::support::{Answer, Daemon, Gitoggle, Repo, TOKEN, body, targeting};
use stage::{Channels, Stage, TOGGLES};

/// What is expected of the channels while something is wrong.
struct Row {
    name: &'static str,
    kinds: &'static [ServiceKind],
    /// How many toggles are applied: ten that fail are evidence, and so are all where there are fewer.
    toggles: &'static [usize],
    /// The settings of the daemon and of the command.
    settings: fn(&Stage, Gitoggle) -> Gitoggle,
    /// What goes wrong once the daemon is ready.
    breaks: fn(&Stage, &Daemon),
    cause: fn(ServiceKind) -> &'static str,
    advice: fn(ServiceKind) -> &'static str,
    /// The status of `/readyz`, and the verdict of the page.
    ready: (u16, &'static str),
    /// A metric that is above 0.
    metric: fn(ServiceKind) -> &'static str,
    /// The type of the notification; none if nobody has to act, or somebody has just done so.
    message: Option<&'static str>,
    /// A command that meets the same failure, and its exit code.
    command: (&'static str, i32),
}

/// A failure of whole passes, of which only the difference is stated.
const FAILURE: Row = Row {
    name: "",
    kinds: &[Documented, FeatureProbe],
    toggles: &[TOGGLES],
    settings: |_, run| run,
    breaks: |_, _| {},
    cause: |_| "",
    advice: |_| "",
    ready: (503, "bad"),
    metric: |_| r#"gitoggle_passes_total{result="error"}"#,
    message: Some("pass.held"),
    command: ("apply", 1),
};

/// Something that waits for a decision, likewise.
const HOLD: Row =
    Row { ready: (200, "warn"), message: Some("toggles.changed"), command: ("apply", 4), ..FAILURE };

const LIVE: &[ServiceKind] = &[FeatureProbe];

/// A failure that only scans for drift meet, because nothing is published. It is that of the next pass as well.
const SCAN: Row = Row {
    kinds: LIVE,
    toggles: &[TOGGLES, 3],
    settings: |_, run| run.set("drift-interval", "1s"),
    command: ("drift", 1),
    ..FAILURE
};

const ROWS: [Row; 33] = [
    Row {
        name: "the token is refused",
        breaks: |stage, _| {
            stage.world.write("token", "wrong");
            stage.change(2, 21, "Change two");
        },
        cause: |kind| match kind {
            Documented => "the token may be revoked, or may lack access to these environments",
            FeatureProbe => "the service rejected the token",
        },
        advice: |kind| match kind {
            Documented => "replace the token; its file is read again at every pass",
            FeatureProbe => "check the token; its file is read again at every pass",
        },
        metric: |kind| match kind {
            Documented => r#"gitoggle_publishes_total{outcome="forbidden"}"#,
            FeatureProbe => r#"gitoggle_publishes_total{outcome="unauthorized"}"#,
        },
        ..FAILURE
    },
    Row {
        name: "another server responds",
        breaks: |stage, _| {
            stage.service_is_another(Answer::html(404));
            stage.change(2, 21, "Change two");
        },
        cause: |_| "the server that responds may not be the service",
        advice: |_| "check `--base-url`",
        metric: |_| r#"gitoggle_publishes_total{outcome="misrouted"}"#,
        message: None,
        ..FAILURE
    },
    Row {
        name: "the service is down",
        // So many that the pass looks whether the service is back until it gives up, however fast the tries are.
        settings: |_, run| run.set("max-change-ratio", "1"),
        breaks: |stage, _| {
            stage.service_is_down();
            stage.change(TOGGLES, 21, "Change all");
        },
        cause: |_| "the service gave no useful response for 1 s (`--give-up-after`)",
        advice: |_| "check the service; the next pass sends the unconfirmed changes",
        metric: |_| r#"gitoggle_publishes_total{outcome="busy"}"#,
        message: None,
        ..FAILURE
    },
    Row {
        name: "the service asks for a wait",
        breaks: |stage, _| {
            stage.service_is_another(Answer::status(503).header("Retry-After", "20"));
            stage.change(2, 21, "Change two");
        },
        cause: |_| "because the service asked for it (Retry-After)",
        advice: |_| "waiting until",
        metric: |_| r#"gitoggle_toggles{state="pending"}"#,
        message: None,
        command: ("plan", 0),
        ..HOLD
    },
    Row {
        name: "the service refuses what is sent",
        breaks: |stage, _| {
            stage.service_is_another(Answer::json(422, r#"{"message": "no such attribute"}"#));
            stage.change(2, 21, "Change two");
        },
        cause: |_| "refused by the service: the service responded with 422",
        advice: |_| "correct the document or the service, then the next `apply`",
        metric: |_| r#"gitoggle_withheld{reason="refused"}"#,
        command: ("apply", 1),
        ..HOLD
    },
    Row {
        name: "the certificate was replaced",
        breaks: |stage, _| {
            stage.trust(&[]);
            stage.change(2, 21, "Change two");
        },
        cause: |_| "the certificate of the service could not be verified",
        advice: |_| "to trust its CA, add the CA certificate to",
        metric: |_| r#"gitoggle_publishes_total{outcome="untrusted"}"#,
        ..FAILURE
    },
    Row {
        name: "the certificate was replaced, and nothing is published",
        breaks: |stage, _| stage.trust(&[]),
        cause: |_| "is not signed by a trusted CA",
        advice: |_| "to trust its CA, add the CA certificate to",
        metric: |_| r#"gitoggle_drift_failures_total{outcome="untrusted"}"#,
        ..SCAN
    },
    Row {
        name: "the token is refused, and nothing is published",
        breaks: |stage, _| drop(stage.world.write("token", "wrong")),
        cause: |_| "the service rejected the token",
        advice: |_| "check the token",
        metric: |_| r#"gitoggle_drift_failures_total{outcome="unauthorized"}"#,
        ..SCAN
    },
    Row {
        name: "the token file is empty, and nothing is published",
        breaks: |stage, _| drop(stage.world.write("token", "")),
        cause: |_| "is empty",
        advice: |_| "write the secret to the file",
        metric: |_| r#"gitoggle_drift_failures_total{outcome="unauthorized"}"#,
        ..SCAN
    },
    Row {
        name: "the token may read nothing, and nothing is published",
        breaks: |stage, _| stage.service_is_another(Answer::json(403, r#"{"code": "forbidden"}"#)),
        cause: |_| "the service responded with 403",
        advice: |_| "let the account of the token",
        metric: |_| r#"gitoggle_drift_failures_total{outcome="forbidden"}"#,
        ..SCAN
    },
    Row {
        name: "the token was revoked, while SDKs can read",
        breaks: |stage, daemon| {
            let scans = || daemon.metric(r#"gitoggle_drift_scans_total{result="success"}"#) > Some(0.0);
            assert!(stage::in_time(scans), "{}", daemon.log());
            stage.service_answers(|request| match request.path.starts_with("/internal/") {
                // Nothing has changed.
                true => Answer::status(406),
                false => Answer::json(403, r#"{"code": "forbidden"}"#),
            });
        },
        cause: |_| "the service responded with 403",
        advice: |_| "let the account of the token",
        metric: |_| r#"gitoggle_drift_failures_total{outcome="forbidden"}"#,
        ..SCAN
    },
    Row {
        name: "another server responds, and nothing is published",
        breaks: |stage, _| stage.service_is_another(Answer::html(404)),
        cause: |_| "toggles could not be compared with the service",
        advice: |_| "check `--base-url`",
        metric: |_| r#"gitoggle_drift_failures_total{outcome="misrouted"}"#,
        message: None,
        ..SCAN
    },
    Row {
        name: "the service is down, and nothing is published",
        breaks: |stage, _| stage.service_is_down(),
        cause: |_| "toggles could not be compared with the service",
        advice: |_| "check the service",
        metric: |_| r#"gitoggle_drift_failures_total{outcome="busy"}"#,
        message: None,
        ..SCAN
    },
    Row {
        name: "the host of the repository is down",
        breaks: |stage, _| stage.host_answers(Answer::status(503)),
        cause: |_| "could not communicate with `localhost:",
        advice: |_| "check the address, the network, and the proxy",
        message: None,
        ..FAILURE
    },
    Row {
        name: "the host of the repository wants other credentials",
        breaks: |stage, _| {
            stage.host_answers(Answer::status(401).header("WWW-Authenticate", "Basic realm=\"git\""));
        },
        cause: |_| "requires credentials",
        advice: |_| "`--git-password-file`",
        ..FAILURE
    },
    Row {
        name: "the host of the repository denies access",
        breaks: |stage, _| stage.host_answers(Answer::status(403)),
        cause: |_| "denied access to the repository (403)",
        advice: |_| "use credentials that may read the repository",
        ..FAILURE
    },
    Row {
        name: "the token file is empty",
        breaks: |stage, _| {
            stage.world.write("token", "");
            stage.change(2, 21, "Change two");
        },
        cause: |_| "could not read the service's token",
        advice: |_| "write the secret to the file, and make the file readable for this user",
        ..FAILURE
    },
    Row {
        name: "the branch was deleted",
        breaks: |stage, _| drop(stage.hosted().git(&["update-ref", "-d", "refs/heads/main"])),
        cause: |_| "could not find a branch, tag, or commit `main`",
        advice: |_| "pass an existing ref as `--ref`; a missing branch removes no toggle",
        ..FAILURE
    },
    Row {
        name: "the history was rewritten",
        settings: |_, run| run.set("history", "refuse"),
        breaks: |stage, _| {
            stage.world.repo.git(&["commit", "--quiet", "--amend", "--message", "Rewrite"]);
            stage.push();
        },
        cause: |_| "history was rewritten",
        advice: |_| "`--history follow` applies the rewritten history",
        command: ("apply", 4),
        ..FAILURE
    },
    Row {
        name: "all documents were removed",
        breaks: |stage, _| {
            stage.world.repo.git(&["rm", "--quiet", "-r", "shop"]);
            stage.world.repo.file("README.md", "nothing here\n").commit("Remove all");
            stage.push();
        },
        cause: |_| "is a document: read 1 file",
        advice: |_| "check `--ref`, `--root` and `--layout`",
        ..FAILURE
    },
    Row {
        name: "the disk is full",
        // A clone would be on that disk, too.
        settings: |stage, run| run.set("repo", stage.world.repo.path()),
        breaks: |stage, _| {
            stage.disk.as_ref().inspect(|disk| disk.fill_up_to(0));
            stage.change(2, 21, "Change two");
        },
        cause: |_| "No space left on device",
        advice: |_| "the disk is full; gitoggle sends no request that it cannot record",
        ..FAILURE
    },
    Row {
        name: "a file is in the place of the state folder",
        breaks: |stage, daemon| {
            stage.paused(daemon, || {
                stage.lose_state();
                std::fs::write(stage.world.state(), "").unwrap();
            });
        },
        cause: |_| "is not a folder",
        advice: |_| "pass a writable folder with `--state-dir`; gitoggle sends only what it can record",
        ..FAILURE
    },
    Row {
        name: "the state folder was deleted",
        breaks: |stage, daemon| stage.paused(daemon, || stage.lose_state()),
        cause: |_| "the state folder was deleted or replaced, so what was applied is unknown",
        advice: |kind| match kind {
            Documented => "restore it; without it, use `--first-pass assert`",
            FeatureProbe => "restore it; without it, use `--first-pass adopt`",
        },
        metric: |_| r#"gitoggle_withheld{reason="state_lost"}"#,
        ..HOLD
    },
    Row {
        name: "the record of what was applied was deleted",
        breaks: |stage, daemon| {
            stage.paused(daemon, || std::fs::remove_dir_all(stage.world.state().join("state.git")).unwrap());
        },
        cause: |_| "the record of what was applied is missing from the state folder",
        advice: |kind| match kind {
            Documented => "the next run is then a first pass; use `--first-pass assert`",
            FeatureProbe => "the next run is then a first pass; use `--first-pass adopt`",
        },
        ..FAILURE
    },
    Row {
        name: "the ref of what was applied was deleted",
        breaks: |stage, daemon| {
            stage.paused(daemon, || {
                let git = Repo::at(&stage.world.state().join("state.git"));
                git.git(&["update-ref", "-d", "refs/gitoggle/applied"]);
            });
            stage.change(2, 21, "Change two");
        },
        cause: |_| "the record of what was applied is missing from the state folder",
        advice: |_| "restore state.git in it",
        ..FAILURE
    },
    Row {
        name: "a document is invalid",
        breaks: |stage, _| {
            stage.world.repo.file("shop/prod/t00.yaml", "nonsense\n").commit("Spoil one");
            stage.push();
        },
        cause: |_| "not a document: it has neither `disabled` nor `content`",
        advice: |_| "the document is invalid; the last applied version stays",
        metric: |_| r#"gitoggle_withheld{reason="invalid"}"#,
        command: ("apply", 3),
        ..HOLD
    },
    Row {
        name: "a mass change is held",
        breaks: |stage, _| stage.change(TOGGLES, 21, "Change all"),
        cause: |_| "12 of 12 applied toggles would be updated or disabled (100 %)",
        advice: |_| "`gitoggle allow mass-change shop/prod",
        metric: |_| r#"gitoggle_withheld{reason="rail"}"#,
        ..HOLD
    },
    Row {
        name: "a document was renamed",
        settings: |_, run| run.set("on-remove", "disable"),
        breaks: |stage, _| {
            stage.world.repo.rename("shop/prod/t00.yaml", "shop/prod/renamed.yaml").commit("Rename one");
            stage.push();
        },
        cause: |_| "its document was renamed to that of `shop/prod/renamed`, so nobody removed it",
        advice: |_| "`gitoggle allow rename shop/prod",
        metric: |_| r#"gitoggle_withheld{reason="renamed"}"#,
        ..HOLD
    },
    Row {
        name: "no window is open",
        settings: |_, run| run.arg("--config=frozen.yaml"),
        breaks: |stage, _| stage.change(2, 21, "Change two"),
        cause: |_| "outside the change windows (deny `shop/**` at `2020-01-01 - 2099-12-31`, UTC)",
        advice: |_| "`gitoggle allow window shop/prod",
        metric: |_| r#"gitoggle_withheld{reason="window"}"#,
        ..HOLD
    },
    Row {
        name: "somebody changed a toggle on the service",
        kinds: LIVE,
        breaks: |stage, _| {
            stage.someone("PATCH", &targeting("t00"), &body(30, "by hand"));
            stage.change(2, 21, "Change two");
        },
        cause: |_| "changed on the service since it was last applied",
        advice: |_| "`gitoggle allow overwrite-drift shop/prod/t00",
        metric: |_| r#"gitoggle_withheld{reason="drifted"}"#,
        ..HOLD
    },
    Row {
        name: "somebody archived a toggle",
        kinds: LIVE,
        breaks: |stage, _| {
            stage.someone("PATCH", "/api/projects/shop/toggles/t00/offline", &json!({}));
            stage.change(2, 21, "Change two");
        },
        cause: |_| "the toggle is archived on the service",
        advice: |_| "restore it there, or remove its file",
        metric: |_| r#"gitoggle_withheld{reason="archived"}"#,
        ..HOLD
    },
    Row {
        name: "somebody archived a toggle, and no document changes",
        kinds: LIVE,
        settings: |_, run| run.set("drift-interval", "1s"),
        breaks: |stage, _| stage.someone("PATCH", "/api/projects/shop/toggles/t00/offline", &json!({})),
        cause: |_| "the toggle is archived on the service",
        advice: |_| "restore it there, or remove its file",
        metric: |_| r#"gitoggle_withheld{reason="archived"}"#,
        command: ("apply", 0),
        ..HOLD
    },
    Row {
        name: "an operator suspended publishing",
        breaks: |stage, daemon| {
            assert_eq!(daemon.order("/suspend", r#"{"reason": "release freeze", "for": "2h"}"#), 200);
            stage.change(2, 21, "Change two");
        },
        cause: |_| "release freeze",
        advice: |_| "`gitoggle resume",
        metric: |_| "gitoggle_suspended",
        message: None,
        ..HOLD
    },
];

#[test]
fn every_failure_has_the_same_cause_and_advice_in_every_channel() {
    let kinds = ROWS.iter().flat_map(|row| row.kinds.iter().map(move |kind| (row, *kind)));
    let cases = kinds.flat_map(|(row, kind)| row.toggles.iter().map(move |count| (row, kind, *count)));
    let cases: Vec<_> = cases.collect();
    // Most of the time is waiting, for the daemons of some of them at a time.
    let faults: Vec<String> = std::thread::scope(|scope| {
        let some = cases.chunks(10).flat_map(|some| {
            let checks: Vec<_> =
                some.iter().map(|(row, kind, count)| scope.spawn(|| faults(row, *kind, *count))).collect();
            checks.into_iter().flat_map(|check| check.join().unwrap())
        });
        some.collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns what is wrong with the channels for one failure and one kind of service.
fn faults(row: &Row, kind: ServiceKind, count: usize) -> Vec<String> {
    let stage = Stage::of(kind, count);
    let (cause, advice) = (plain((row.cause)(kind)), plain((row.advice)(kind)));
    let daemon = stage.daemon(|run| (row.settings)(&stage, run));
    stage.forget_messages();
    (row.breaks)(&stage, &daemon);
    let says = |text: &str| plain(text).contains(&cause) && plain(text).contains(&advice);
    let mut found = Vec::new();
    let mut expect = |holds: bool, channel: &str, what: &dyn std::fmt::Debug| {
        if !holds {
            found.push(format!("{} ({}, {count} toggles), {channel}: {what:?}", row.name, kind.as_str()));
        }
    };
    let is_reported = stage::in_time(|| {
        let is_said = daemon.endpoint.get("/readyz").is_some_and(|reply| {
            // Of a scan, only the second failure counts.
            reply.status == row.ready.0 && plain(&reply.body).contains(&cause)
        });
        is_said && stage.messages().len() >= usize::from(row.message.is_some())
    });
    let channels = Channels::of(&daemon);
    expect(is_reported, "in time", &channels.readyz);
    expect(channels.readyz.0 == row.ready.0 && says(&channels.readyz.1), "/readyz", &channels.readyz);
    expect(channels.verdict == row.ready.1, "verdict of the page", &channels.verdict);
    expect(says(&channels.page), "page", &channels.page);
    expect(channels.is_outdated == (row.ready.0 == 503), "age on the page", &channels.page);
    let reason = channels.status["reason"].as_str().unwrap_or_default();
    let remarks = channels.status["remarks"].as_array().into_iter().flatten();
    let mut remarks = remarks.filter_map(|remark| remark.as_str());
    expect(!remarks.any(|remark| reason.contains(remark)), "once", &channels.status);
    expect(channels.misplaced().is_empty(), "/api/plan", &(channels.misplaced(), &channels.plan));
    let is_idle = channels.page.contains("Nothing is waiting");
    expect(!is_idle || channels.waiting() == 0, "what is waiting", &channels.page);
    expect(says(&channels.status.to_string().replace("\\\"", "\"")), "/api/status", &channels.status);
    expect(channels.log.iter().any(|line| says(line)), "log", &channels.log);
    expect(daemon.metric((row.metric)(kind)) > Some(0.0), "metrics", &(row.metric)(kind));
    let messages = stage.messages();
    let is_sent = match row.message {
        None => messages.is_empty(),
        Some(name) => messages.iter().any(|message| message["type"] == name && says(&message.to_string())),
    };
    expect(is_sent, "notification", &messages);
    daemon.stops_cleanly();
    if row.command.1 != 1 && row.ready == HOLD.ready && row.message.is_some()
        || row.name == "an operator suspended publishing"
    {
        // What only the service has is not known without a look at it.
        let looks = (kind == FeatureProbe).then_some(true);
        let looks = (row.kinds.len() == 2).then_some(false).into_iter().chain(looks);
        // What is equal there is recorded by either decision.
        let is_undecided = |is_live: &bool| *is_live && row.name == "the state folder was deleted";
        let looks = looks.filter(|is_live| !is_undecided(is_live));
        for (verb, is_live) in looks.flat_map(|is_live| [("plan", is_live), ("status", is_live)]) {
            let (_, printed) = stage.command(verb, |run| {
                let run = (row.settings)(&stage, run.unset("timeout"));
                if is_live { run.arg("--live") } else { run }
            });
            expect(says(&printed), verb, &(is_live, &printed));
        }
    }
    let (command, code) = row.command;
    let (found_code, printed) = stage.command(command, |run| (row.settings)(&stage, run));
    expect(found_code == Some(code), "exit code", &(found_code, code));
    // A pass reads only what it changes.
    expect(says(&printed) || code == 0, command, &printed);
    found
}

#[test]
fn a_state_folder_that_was_deleted_is_no_new_installation_after_a_restart() {
    for kind in [Documented, FeatureProbe] {
        let stage = Stage::applied(kind);
        let row = ROWS.iter().find(|row| row.name == "the state folder was deleted").unwrap();
        let (cause, advice) = (plain((row.cause)(kind)), plain((row.advice)(kind)));
        let first_pass = if kind == Documented { "assert" } else { "adopt" };
        let order = format!("gitoggle allow first-pass-{first_pass} ");
        let daemon = stage.daemon(|run| run);
        (row.breaks)(&stage, &daemon);
        // The order that can be copied is the advised one.
        let says = |text: &str| [&cause, &advice, &order].iter().all(|part| plain(text).contains(*part));
        let is_said = |daemon: &Daemon| daemon.endpoint.get("/readyz").is_some_and(|reply| says(&reply.body));
        assert!(stage::in_time(|| is_said(&daemon)), "{}", daemon.log());
        daemon.stops_cleanly();
        for _ in 0..2 {
            let daemon = stage.daemon(|run| run);
            let channels = Channels::of(&daemon);
            assert!(says(&channels.readyz.1) && says(&channels.page), "{channels:?}");
            assert!(channels.log.iter().any(|line| says(line)), "{channels:?}");
            assert!(daemon.metric((row.metric)(kind)) > Some(0.0), "{channels:?}");
            assert!(!channels.page.contains("Nothing has been applied"), "{channels:?}");
            daemon.stops_cleanly();
        }
        let readers: &[_] = match kind {
            Documented => &[("log", 0)],
            FeatureProbe => &[("log", 0), ("drift", 1), ("import", 1)],
        };
        for (verb, code) in readers {
            let run = stage.world.bare(verb).set("repo", stage.world.repo.path());
            let run = run.set("state-dir", stage.world.state()).set("service-kind", kind.as_str());
            let run = run.set("base-url", stage.service_url()).set("ca-file", stage.world.ca());
            let run = run.env("GITOGGLE_TOKEN", TOKEN);
            let run = if *verb == "import" { run.arg("--drifted") } else { run };
            let printed = plain(&run.exit(*code).both());
            assert!([&cause, &advice].iter().all(|part| printed.contains(*part)), "{verb}: {printed}");
        }
        // Until everything has a record again.
        stage.run("apply").set("first-pass", first_pass).exit(0).any_output();
        let daemon = stage.daemon(|run| run);
        assert!(!plain(&Channels::of(&daemon).readyz.1).contains(&cause), "{}", daemon.log());
        daemon.stops_cleanly();
    }
}

/// The holds of [`ROWS`] with the order that releases them, if there is one.
const HOLDS: [(&str, Option<&str>); 8] = [
    ("a document is invalid", None),
    ("a mass change is held", Some("mass-change")),
    ("a document was renamed", Some("rename")),
    ("no window is open", Some("window")),
    ("somebody changed a toggle on the service", Some("overwrite-drift")),
    ("somebody archived a toggle", None),
    ("somebody archived a toggle, and no document changes", None),
    ("an operator suspended publishing", None),
];

/// A way in which a service is out of order.
type Outage = (&'static str, fn(&Stage));

const OUTAGES: [Outage; 5] = [
    ("no connection", Stage::service_is_down),
    ("500", |stage| stage.service_is_another(Answer::status(500))),
    ("a page", |stage| stage.service_is_another(Answer::html(404))),
    ("403", |stage| stage.service_is_another(Answer::json(403, r#"{"code": "forbidden"}"#))),
    ("401", |stage| stage.service_is_another(Answer::status(401))),
];

#[test]
fn an_outage_of_the_service_ends_no_hold() {
    let faults: Vec<String> = std::thread::scope(|scope| {
        let checks = HOLDS.map(|(name, order)| scope.spawn(move || ended_holds(name, order)));
        checks.into_iter().flat_map(|check| check.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns what is wrong with the channels for one hold while the service is out of order.
fn ended_holds(name: &str, order: Option<&str>) -> Vec<String> {
    let stage = Stage::applied(FeatureProbe);
    let row = ROWS.iter().find(|row| row.name == name).unwrap();
    let (cause, advice) = (plain((row.cause)(FeatureProbe)), plain((row.advice)(FeatureProbe)));
    let daemon = stage.daemon(|run| (row.settings)(&stage, run).set("drift-interval", "1s"));
    (row.breaks)(&stage, &daemon);
    let is_held = || {
        let ready = daemon.endpoint.get("/readyz");
        ready.is_some_and(|ready| ready.status == 200 && plain(&ready.body).contains(&cause))
    };
    daemon.has_seen(&stage.world.repo.head());
    assert!(stage::in_time(is_held), "{name}: {}", daemon.log());
    let before = Channels::of(&daemon).held();
    assert!(!before.is_empty(), "{name}: {}", daemon.log());
    let withheld = daemon.metric((row.metric)(FeatureProbe));
    let mut found = Vec::new();
    for (outage, begins) in OUTAGES {
        let mut expect = |holds: bool, channel: &str, what: &dyn std::fmt::Debug| {
            if !holds {
                found.push(format!("{name}, {outage}, {channel}: {what:?}"));
            }
        };
        begins(&stage);
        let passes = daemon.passes();
        assert_eq!(daemon.order("/reconcile", ""), 202);
        let has_ended = stage::in_time(|| {
            let during = Channels::of(&daemon).held();
            expect(during == before, "/api/status during the pass", &during);
            daemon.passes() > passes
        });
        assert!(has_ended, "{name}, {outage}: {}", daemon.log());
        let channels = Channels::of(&daemon);
        expect(channels.held() == before, "/api/status", &(&channels.held(), &before));
        let reasons = channels.status["toggles"].to_string();
        expect(plain(&reasons).contains(&cause) && plain(&reasons).contains(&advice), "reasons", &reasons);
        expect(channels.misplaced().is_empty(), "/api/plan", &channels.misplaced());
        expect(plain(&channels.page).contains(&cause), "page", &channels.page);
        expect(!channels.page.contains("sends the unconfirmed"), "promise", &channels.readyz);
        expect(daemon.metric((row.metric)(FeatureProbe)) == withheld, "metrics", &withheld);
        expect(daemon.said("nothing is withheld anymore") == 0, "log", &channels.log);
    }
    let (_, printed) = stage.command("status", |run| (row.settings)(&stage, run.unset("timeout")));
    // Without a change, only a look at the service shows it.
    if row.command.1 != 0 && !plain(&printed).contains(&cause) {
        found.push(format!("{name}, status: {printed}"));
    }
    if let Some(what) = order {
        let order = json!({ "what": what, "environment": "shop/prod", "revision": stage.world.repo.head() });
        let passes = daemon.passes();
        let (status, answer) = daemon.ask("/allow", &order.to_string());
        if status != 200 {
            found.push(format!("{name}, allow {what}: {status} {answer}"));
        }
        assert!(status != 200 || stage::in_time(|| daemon.passes() > passes), "{name}: {}", daemon.log());
    }
    let requests = stage.world.service.requests();
    let sent: Vec<_> = requests.iter().filter(|request| request.method != "GET").collect();
    if !sent.is_empty() {
        found.push(format!("{name}, sent: {sent:?}"));
    }
    daemon.stops_cleanly();
    found
}

#[test]
fn a_state_folder_that_is_restored_under_the_daemon_is_no_loss() {
    for kind in [Documented, FeatureProbe] {
        let stage = Stage::applied(kind);
        let daemon = stage.daemon(|run| run);
        let state = stage.world.state();
        let copy = |from: &std::path::Path, to: &std::path::Path| {
            let copied = std::process::Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status();
            assert!(copied.unwrap().success());
        };
        let backup = stage.world.path("backup");
        std::fs::create_dir(&backup).unwrap();
        stage.paused(&daemon, || {
            copy(&state, &backup);
            stage.lose_state();
            std::fs::create_dir(&state).unwrap();
            copy(&backup, &state);
        });
        daemon.says(&["state_folder_replaced", "going on with what the new one has"]);
        stage.change(1, 21, "Change one");
        daemon.has_seen(stage.world.repo.git(&["rev-parse", "HEAD"]).trim());
        let channels = Channels::of(&daemon);
        assert_eq!((channels.readyz.0, channels.verdict.as_str()), (200, "good"), "{channels:?}");
        assert!(!daemon.log().contains("deleted or replaced"), "{}", daemon.log());
        daemon.stops_cleanly();
    }
}

#[test]
fn a_suspension_outlives_the_state_folder_of_a_running_daemon() {
    for kind in [Documented, FeatureProbe] {
        let stage = Stage::applied(kind);
        let daemon = stage.daemon(|run| run);
        assert_eq!(daemon.order("/suspend", r#"{"reason": "provider down"}"#), 200);
        stage.paused(&daemon, || stage.lose_state());
        daemon.says(&["state_folder_replaced"]);
        stage.change(1, 21, "Change one");
        daemon.has_seen(stage.world.repo.git(&["rev-parse", "HEAD"]).trim());
        let says = |text: &str| text.contains("suspended") && text.contains("provider down");
        assert!(says(&Channels::of(&daemon).readyz.1), "{}", daemon.log());
        daemon.stops_cleanly();
        // The new folder has it.
        let daemon = stage.daemon(|run| run);
        assert!(says(&Channels::of(&daemon).readyz.1), "{}", daemon.log());
        daemon.stops_cleanly();
    }
}

#[test]
fn a_suspension_during_an_outage_is_shown_at_once() {
    for kind in [Documented, FeatureProbe] {
        let stage = Stage::applied(kind);
        let daemon = stage.daemon(|run| run);
        stage.host_answers(Answer::status(503));
        daemon.is_unready_for(&["could not communicate with"]);
        let order = r#"{"reason": "release freeze", "scope": "shop/prod/t00 shop/prod/t01"}"#;
        assert_eq!(daemon.order("/suspend", order), 200);
        let channels = Channels::of(&daemon);
        let resume = "gitoggle resume shop/prod/t00 shop/prod/t01 --url ";
        let says = |text: &str| text.contains("release freeze") && plain(text).contains(resume);
        assert_eq!(channels.readyz.0, 503);
        assert!(says(&channels.readyz.1) && says(&channels.page), "{channels:?}");
        assert!(says(&channels.status["remarks"].to_string()), "{channels:?}");
        assert!(channels.log.iter().any(|line| plain(line).contains(resume)), "{channels:?}");
        daemon.stops_cleanly();
    }
}

#[test]
fn shared_state_without_a_record_has_the_same_words_in_every_channel() {
    for kind in [Documented, FeatureProbe] {
        let stage = Stage::applied(kind);
        let daemon = stage.daemon(|run| {
            run.set("state-remote", stage.repo_url()).set("state-dir", stage.world.path("empty"))
        });
        let advice = if kind == Documented { "use --first-pass assert" } else { "use --first-pass adopt" };
        let words =
            ["nothing is recorded in the shared state yet", "the ref of its state was deleted", advice];
        let says = |text: &str| words.iter().all(|word| plain(text).contains(word));
        let channels = Channels::of(&daemon);
        assert_eq!((channels.readyz.0, channels.verdict.as_str()), (200, "warn"), "{channels:?}");
        assert!(says(&channels.readyz.1) && says(&channels.page), "{channels:?}");
        assert!(says(&channels.status["remarks"].to_string()), "{channels:?}");
        assert!(daemon.log().lines().any(says), "{}", daemon.log());
        daemon.stops_cleanly();
    }
}

#[test]
fn what_is_held_is_logged_once_and_what_is_sent_is_counted_with_every_kind_of_service() {
    let partly = "windows:\n  - { deny: \"shop/prod/t0*\", at: \"2020-01-01 - 2099-12-31\", zone: UTC }\n";
    for kind in [Documented, FeatureProbe] {
        for (window, held, sent) in [(None, TOGGLES, None), (Some(partly), 10, Some(TOGGLES - 10))] {
            let stage = Stage::applied(kind);
            let daemon = stage.daemon(|run| {
                let run = if kind == FeatureProbe { run.set("drift-interval", "1s") } else { run };
                match window {
                    Some(window) => {
                        let config = stage.world.write("partly.yaml", window);
                        run.set("config", config).set("max-change-ratio", "1")
                    }
                    None => run,
                }
            });
            stage.change(TOGGLES, 21, "Change all");
            let count = format!("\"count\":{held}");
            let is_held =
                || daemon.log().lines().any(|line| line.contains("held_more") && line.contains(&count));
            assert!(stage::in_time(is_held), "{}", daemon.log());
            // Nothing is logged again by later passes and scans.
            let (passes, scans) = (daemon.passes(), r#"gitoggle_drift_scans_total{result="success"}"#);
            let scanned =
                |count| kind == Documented || daemon.metric(scans).is_some_and(|found| found >= count);
            assert!(stage::in_time(|| daemon.passes() >= passes + 3.0 && scanned(3.0)), "{}", daemon.log());
            let log = daemon.log();
            let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let lines: Vec<Value> = lines.collect();
            let events = |name: &str| lines.iter().filter(|line| line["event"] == name).collect::<Vec<_>>();
            assert_eq!((events("held").len(), events("held_more").len()), (0, 1), "{kind:?}: {log}");
            let published: Vec<_> =
                events("publishing").iter().map(|line| line["changes"].as_u64()).collect();
            assert_eq!(
                published,
                sent.map(|sent| Some(sent as u64)).into_iter().collect::<Vec<_>>(),
                "{log}"
            );
            daemon.stops_cleanly();
        }
    }
}

#[test]
fn a_page_before_the_first_pass_does_not_say_that_there_are_no_toggles() {
    for kind in [Documented, FeatureProbe] {
        let stage = Stage::applied(kind);
        stage.host_answers(Answer::status(503));
        let daemon = Daemon::start(&stage.world, |run| stage.settings(run));
        daemon.is_unready_for(&["could not communicate with"]);
        let Channels { page, status, .. } = Channels::of(&daemon);
        assert!(page.contains("Not known yet: no pass since the start has read the toggles."), "{page}");
        // What is recorded is told with its time.
        let applied = format!("the state has {TOGGLES} applied toggles, as of the pass at 20");
        assert!(
            page.contains(&applied) && status["remarks"].to_string().contains(&applied),
            "{page} {status}"
        );
        daemon.stops_cleanly();
    }
}

#[test]
fn a_daemon_with_an_empty_disk_follows_a_force_push_or_cannot_tell() {
    for (kind, is_pruned) in
        [(Documented, false), (FeatureProbe, false), (Documented, true), (FeatureProbe, true)]
    {
        let stage = Stage::applied(kind);
        // The rewritten commit has a parent, so both histories have one.
        stage.world.repo.file("README.md", "Toggles\n").commit("Describe them");
        stage.push();
        let state = stage.world.path("empty");
        let shared = |run: Gitoggle| run.set("state-remote", stage.repo_url()).set("state-dir", &state);
        shared(stage.run("apply")).set("first-pass", "adopt").exit(0).any_output();
        std::fs::remove_dir_all(&state).unwrap();
        stage.world.repo.git(&["commit", "--quiet", "--amend", "--message", "Rewrite"]);
        stage.push();
        if is_pruned {
            let hosted = stage.hosted();
            hosted.git(&["reflog", "expire", "--expire=now", "--all"]);
            hosted.git(&["gc", "--quiet", "--prune=now"]);
        }
        let daemon = Daemon::start(&stage.world, |run| {
            shared(stage.settings(run)).set("poll-interval", "200ms").set("drift-interval", "0s")
        });
        if is_pruned {
            let words = ["cannot tell how", "which was applied and is missing here", "--history follow"];
            daemon.is_unready_for(&words);
            let channels = Channels::of(&daemon);
            let says = |text: &str| words.iter().all(|word| text.contains(word));
            assert!(says(&channels.readyz.1) && says(&channels.page), "{channels:?}");
            assert!(channels.log.iter().any(|line| says(line)), "{channels:?}");
            let (code, printed) = stage.command("plan", |run| shared(run).unset("timeout"));
            assert!(says(&printed), "{code:?} {printed}");
        } else {
            daemon.is_ready();
            stage.change(1, 21, "Change one");
            daemon.has_seen(stage.world.repo.git(&["rev-parse", "HEAD"]).trim());
        }
        daemon.stops_cleanly();
    }
}

#[test]
fn another_process_that_publishes_on_the_shared_state_has_the_same_words_in_every_channel() {
    for kind in [Documented, FeatureProbe] {
        let stage = Stage::applied(kind);
        let shared = |run: Gitoggle, folder: &str| {
            run.set("state-remote", stage.repo_url()).set("state-dir", stage.world.path(folder))
        };
        shared(stage.run("apply"), "one").set("first-pass", "adopt").exit(0).any_output();
        let daemon = stage.daemon(|run| shared(run, "two"));
        let mut other = None;
        stage.paused(&daemon, || {
            stage.service_is_another(Answer::hangs());
            stage.change(1, 21, "Change one");
            other = Some(shared(stage.run("apply"), "one").start());
            stage.world.service.wait_for(1);
        });
        let words = ["another process publishes on the shared state", "this one waits for it to end"];
        let says = |text: &str| words.iter().all(|word| text.contains(word));
        let is_said = || daemon.endpoint.get("/readyz").is_some_and(|reply| says(&reply.body));
        assert!(stage::in_time(is_said), "{}", daemon.log());
        let channels = Channels::of(&daemon);
        assert_eq!((channels.readyz.0, channels.verdict.as_str()), (200, "warn"), "{channels:?}");
        assert!(says(&channels.page) && says(&channels.status["remarks"].to_string()), "{channels:?}");
        assert!(channels.log.iter().any(|line| says(line)), "{channels:?}");
        assert_eq!(daemon.metric("gitoggle_writer"), Some(0.0));
        assert_eq!(stage.messages(), Vec::<Value>::new(), "nobody has to act");
        daemon.stops_cleanly();
        other.into_iter().for_each(crate::support::command::Running::kill);
    }
}

#[test]
fn a_change_that_stays_held_is_no_news_at_every_scan() {
    let stage = Stage::applied(FeatureProbe);
    let daemon = stage.daemon(|run| run.set("drift-interval", "1s"));
    stage.someone("PATCH", &targeting("t00"), &body(30, "by hand"));
    stage.change(2, 21, "Change two");
    let metric = |name: &str| daemon.metric(name).unwrap_or_default();
    let begins = || Channels::of(&daemon).log.iter().filter(|line| line.starts_with("publishing;")).count();
    let held = || begins() > 0 && metric(r#"gitoggle_withheld{reason="drifted"}"#) > 0.0;
    assert!(stage::in_time(held), "{}", daemon.log());
    let (before, scans) = (begins(), r#"gitoggle_drift_scans_total{result="success"}"#);
    let wanted = metric(scans) + 4.0;
    assert!(stage::in_time(|| metric(scans) >= wanted), "{}", daemon.log());
    assert_eq!(begins(), before, "{}", daemon.log());
    daemon.stops_cleanly();
}

#[test]
fn the_holder_of_the_state_folder_has_the_same_words_in_every_channel() {
    for kind in [Documented, FeatureProbe] {
        let stage = Stage::applied(kind);
        let writer = stage.daemon(|run| run);
        let follower = Daemon::start(&stage.world, |run| stage.settings(run));
        let words = ["another process is the writer", "give each its own `--state-dir`"];
        follower.is_unready_for(&words);
        let channels = Channels::of(&follower);
        let says = |text: &str| words.iter().all(|word| plain(text).contains(&plain(word)));
        assert!(says(&channels.readyz.1) && says(&channels.page), "{channels:?}");
        assert!(says(&channels.status["reason"].to_string()), "{channels:?}");
        assert!(channels.log.iter().any(|line| says(line)), "{channels:?}");
        assert_eq!((channels.verdict.as_str(), follower.metric("gitoggle_writer")), ("bad", Some(0.0)));
        let (status, answer) = follower.ask("/reconcile", "");
        assert_eq!(status, 503, "an order that starts nothing is refused: {answer}");
        follower.stops_cleanly();
        writer.stops_cleanly();
    }
}

#[test]
fn a_webhook_that_is_too_large_has_the_same_cause_and_advice_in_every_channel() {
    for kind in [Documented, FeatureProbe] {
        let stage = Stage::applied(kind);
        let secret = stage.world.write("webhook-secret", "a secret");
        let daemon = stage.daemon(|run| run.set("webhook-secret-file", &secret));
        stage.forget_messages();
        let body = vec![b' '; 33 * 1024 * 1024];
        let refused = daemon.endpoint.post("/webhook/github", &[("X-GitHub-Event", "push")], &body);
        assert_eq!(refused.status, 413, "{}", refused.body);
        let says = |text: &str| {
            let text = plain(text);
            assert!(
                text.contains("the body is larger than 32 MiB") && !text.contains("secret that"),
                "{text}"
            );
            assert!(text.contains("let the Git host send pushes only"), "{text}");
        };
        let channels = Channels::of(&daemon);
        assert_eq!(
            (channels.readyz.0, channels.verdict.as_str()),
            (200, "good"),
            "nobody can do harm with one"
        );
        says(&channels.readyz.1);
        says(&channels.page);
        says(channels.log.iter().find(|line| line.contains("webhook")).unwrap());
        assert_eq!(daemon.metric(r#"gitoggle_webhooks_total{result="refused"}"#), Some(1.0));
        assert_eq!(stage.messages(), Vec::<Value>::new());
        daemon.stops_cleanly();
    }
}

/// A response of a wrong address or for a wrong token, and the outcome of a publish and of a read that got it.
struct Refusal {
    answer: fn() -> Answer,
    publish: &'static str,
    read: &'static str,
}

const REFUSALS: [Refusal; 13] = [
    Refusal { answer: || Answer::html(404), publish: "misrouted", read: "misrouted" },
    Refusal { answer: || Answer::json(404, "{}"), publish: "misrouted", read: "misrouted" },
    Refusal {
        answer: || Answer::json(404, r#"{"code": 404, "message": "no route"}"#),
        publish: "misrouted",
        read: "misrouted",
    },
    // A service that is not described may say so of a toggle; of FeatureProbe, it is known that it does not.
    Refusal {
        answer: || Answer::json(404, r#"{"code": "not_found", "message": "no route"}"#),
        publish: "refused",
        read: "misrouted",
    },
    Refusal { answer: || Answer::json(405, "{}"), publish: "misrouted", read: "misrouted" },
    Refusal { answer: || Answer::html(200), publish: "misrouted", read: "misrouted" },
    Refusal { answer: || Answer::html(400), publish: "misrouted", read: "misrouted" },
    Refusal { answer: || Answer::html(407), publish: "misrouted", read: "misrouted" },
    Refusal { answer: || Answer::status(421), publish: "misrouted", read: "misrouted" },
    Refusal {
        answer: || Answer::status(302).header("Location", "https://localhost/login"),
        publish: "misrouted",
        read: "misrouted",
    },
    // A publish needs no more than that.
    Refusal { answer: || Answer::json(200, "{}"), publish: "applied", read: "misrouted" },
    Refusal { answer: || Answer::status(403), publish: "forbidden", read: "forbidden" },
    Refusal { answer: || Answer::status(401), publish: "unauthorized", read: "unauthorized" },
];

#[test]
fn a_refusal_counts_where_it_happens_and_an_alert_knows_it() {
    let alerts = include_str!("../../../deploy/prometheus/alerts.yaml");
    let publishes = "gitoggle_publishes_total";
    // Whether a pass reads before it publishes, and whether only scans read.
    let places = [
        ("a publish", Documented, "ignore", publishes),
        ("a publish", FeatureProbe, "ignore", publishes),
        ("the read before a publish", FeatureProbe, "hold", publishes),
        ("a scan", FeatureProbe, "hold", "gitoggle_drift_failures_total"),
    ];
    std::thread::scope(|scope| {
        for (place, kind, on_drift, metric) in places {
            scope.spawn(move || {
                let stage = Stage::applied(kind);
                let is_scan = place == "a scan";
                let daemon = stage.daemon(|run| match (kind, is_scan) {
                    (Documented, _) => run,
                    (FeatureProbe, true) => run.set("drift-interval", "1s"),
                    (FeatureProbe, false) => run.set("on-drift", on_drift),
                });
                for (age, Refusal { answer, publish, read }) in (21..).zip(&REFUSALS) {
                    let outcome = if place == "a publish" { publish } else { read };
                    let counter = format!("{metric}{{outcome=\"{outcome}\"}}");
                    stage.service_is_another(answer());
                    let before = daemon.metric(&counter);
                    // One scan may have begun before.
                    let wanted = before.map(|count| count + if is_scan { 2.0 } else { 1.0 });
                    if !is_scan {
                        stage.change(2, age, "Change two");
                    }
                    let is_counted = stage::in_time(|| daemon.metric(&counter) >= wanted);
                    assert!(is_counted, "{place} ({}): {outcome}: {}", kind.as_str(), daemon.log());
                    let is_known = |line: &str| line.contains(metric) && line.contains(outcome);
                    assert!(
                        ["applied", "refused"].contains(outcome) || alerts.lines().any(is_known),
                        "{metric} {outcome}"
                    );
                }
                daemon.stops_cleanly();
            });
        }
    });
}

/// Returns text without the marks of code, which the page shows as a font.
fn plain(text: &str) -> String {
    text.replace('`', "")
}
