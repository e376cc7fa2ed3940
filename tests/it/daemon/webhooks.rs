//! Webhooks of a running daemon: an authentic one starts a pass, whatever it is about.

use base64::Engine as _;
use gitoggle::model::Forge;
use hmac::{Hmac, KeyInit, Mac};

use super::triggers::signal;
use crate::support::git_host::Door;
use crate::support::{Answer, Daemon, Remote, body, eventually};

const SECRET: &str = "hook-secret-0815";

type Headers = Vec<(&'static str, String)>;

fn mac(secret: &str, parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).expect("any length will do");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn github(secret: &str, body: &[u8]) -> Headers {
    vec![
        ("X-Hub-Signature-256", format!("sha256={}", hex(&mac(secret, &[body])))),
        ("X-GitHub-Event", "push".to_owned()),
    ]
}

fn gitea(secret: &str, body: &[u8]) -> Headers {
    vec![("X-Gitea-Signature", hex(&mac(secret, &[body]))), ("X-Gitea-Event", "push".to_owned())]
}

fn gitlab(secret: &str, _: &[u8]) -> Headers {
    vec![("X-Gitlab-Token", secret.to_owned()), ("X-Gitlab-Event", "Push Hook".to_owned())]
}

fn generic(secret: &str, body: &[u8]) -> Headers {
    standard("msg_1", 0, secret, body)
}

/// Signs as Standard Webhooks has it, with a clock that is this many seconds off.
fn standard(id: &str, off: i64, secret: &str, body: &[u8]) -> Headers {
    let at = (jiff::Timestamp::now().as_second() + off).to_string();
    let signed = mac(secret, &[id.as_bytes(), b".", at.as_bytes(), b".", body]);
    let signature = base64::engine::general_purpose::STANDARD.encode(signed);
    vec![
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", at),
        ("webhook-signature", format!("v1,{signature}")),
    ]
}

/// How a host signs a body with a secret.
type Sign = fn(&str, &[u8]) -> Headers;

const HOSTS: [(&str, Sign); 4] =
    [("github", github), ("gitlab", gitlab), ("gitea", gitea), ("generic", generic)];

fn post(daemon: &Daemon, host: &str, headers: &Headers, body: &[u8]) -> u16 {
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    daemon.endpoint.post(&format!("/webhook/{host}"), &headers, body).status
}

fn daemon(remote: &Remote) -> Daemon {
    let secret = remote.world.write("hook", &format!("{SECRET}\n"));
    remote.daemon(|run| run.set("webhook-secret-file", secret))
}

/// A push of `reference` of the repository at `url`, as the hosts describe it.
fn push(url: &str, reference: &str) -> Vec<u8> {
    let event = serde_json::json!({
        "ref": reference,
        "repository": { "clone_url": url },
        "project": { "git_http_url": url },
    });
    event.to_string().into_bytes()
}

#[test]
fn an_authentic_push_of_every_host_starts_a_pass_at_once() {
    let remote = Remote::settled(Door::Open);
    let daemon = daemon(&remote);
    let event = push(&remote.url(), "refs/heads/main");
    let known: Vec<&str> = Forge::WORDS.iter().copied().chain(["generic"]).collect();
    assert_eq!(HOSTS.map(|(host, _)| host).as_slice(), known);
    for (age, (host, sign)) in (21..).zip(HOSTS) {
        remote.push(age, host);
        assert_eq!(post(&daemon, host, &sign(SECRET, &event), &event), 202, "{host}");
        remote.world.service.wait_for(1);
        daemon.becomes("shop/prod/pay", "in_sync");
        remote.world.sent(&[("shop/prod/pay", body(age, host))]);
    }
    daemon.stops_cleanly();
}

#[test]
fn a_push_of_thousands_of_files_and_one_by_another_host_name_start_a_pass() {
    let remote = Remote::settled(Door::Open);
    let daemon = daemon(&remote);
    let files: Vec<String> =
        (0..25_000).map(|number| format!("shop/production/toggle-of-a-long-name-{number}.yaml")).collect();
    let large = serde_json::json!({ "ref": "refs/heads/main", "commits": [{ "added": files }] });
    let large = large.to_string().into_bytes();
    assert!(large.len() > 1 << 20);
    let elsewhere = push("https://git.example.com:3000/toggles.git", "refs/heads/main");
    for (age, (event, (host, sign))) in
        (21..).zip([&large, &elsewhere].into_iter().flat_map(|event| HOSTS.map(|host| (event, host))))
    {
        let mut headers = sign(SECRET, event);
        if host == "generic" {
            headers = standard(&format!("msg_{age}"), 0, SECRET, event);
        }
        remote.push(age, host);
        assert_eq!(post(&daemon, host, &headers, event), 202, "{host}");
        remote.world.service.wait_for(1);
        daemon.becomes("shop/prod/pay", "in_sync");
        remote.world.sent(&[("shop/prod/pay", body(age, host))]);
    }
    daemon.stops_cleanly();
}

#[test]
fn a_forged_or_malformed_webhook_is_logged_and_leads_to_nothing() {
    let remote = Remote::settled(Door::Open);
    let daemon = daemon(&remote);
    remote.push(21, "Not to be noticed yet");
    remote.host.take();
    let event = push(&remote.url(), "refs/heads/main");
    for (host, sign) in HOSTS {
        let status = post(&daemon, host, &sign("another", &event), &event);
        assert_eq!(status, 401, "{host}");
    }
    let too_large = vec![b' '; (32 << 20) + 1];
    assert_eq!(post(&daemon, "gitlab", &gitlab(SECRET, &[]), &too_large), 413);
    remote.world.nothing_sent();
    assert_eq!(remote.asked(), [] as [String; 0]);
    for words in ["webhook refused", "the body is larger than 32 MiB"] {
        assert!(daemon.said(words) > 0, "{}", daemon.log());
    }
    assert_eq!(daemon.said(SECRET), 0, "{}", daemon.log());
    daemon.stops_cleanly();
}

#[test]
fn an_authentic_webhook_starts_a_pass_whatever_it_is_about_and_however_often_it_comes() {
    let remote = Remote::settled(Door::Open);
    let daemon = daemon(&remote);
    let ours = push(&remote.url(), "refs/heads/main");
    let events = [
        push(&remote.url(), "refs/heads/other"),
        // The new name of a renamed repository.
        push(&remote.url().replace("toggles", "others"), "refs/heads/main"),
        b"\xff\xfe".to_vec(),
        ours.clone(),
        ours,
    ];
    for (age, (event, (host, sign))) in
        (21..).zip(events.iter().flat_map(|event| HOSTS.map(|host| (event, host))))
    {
        remote.push(age, host);
        let mut headers = sign(SECRET, event);
        headers.push(("X-GitHub-Delivery", "4711".to_owned()));
        assert_eq!(post(&daemon, host, &headers, event), 202, "{host}");
        remote.world.service.wait_for(1);
        daemon.becomes("shop/prod/pay", "in_sync");
        remote.world.sent(&[("shop/prod/pay", body(age, host))]);
    }
    daemon.stops_cleanly();
}

#[test]
fn a_push_that_is_announced_before_it_can_be_fetched_is_found_within_seconds() {
    let remote = Remote::settled(Door::Open);
    let daemon = daemon(&remote);
    let event = push(&remote.url(), "refs/heads/main");
    let before = daemon.passes();
    assert_eq!(post(&daemon, "github", &github(SECRET, &event), &event), 202);
    eventually("a pass without news", || (daemon.passes() > before).then_some(()));
    // What is found first may be an older push than the announced one.
    for (age, message) in [(21, "Older"), (22, "Announced")] {
        remote.push(age, message);
        remote.world.service.wait_for(1);
        daemon.becomes("shop/prod/pay", "in_sync");
        remote.world.sent(&[("shop/prod/pay", body(age, message))]);
    }
    daemon.stops_cleanly();
}

#[test]
fn every_order_and_a_newer_commit_try_a_rejected_token_again() {
    let remote = Remote::settled(Door::Open);
    let secret = remote.world.write("hook", &format!("{SECRET}\n"));
    let daemon = remote.daemon(|run| {
        run.set("webhook-secret-file", secret).set("poll-interval", "500ms").set("stale-after", "5s")
    });
    remote.world.service.always(|_| Answer::json(401, "{}"));
    remote.push(21, "Rejected");
    daemon.is_unready_for(&["401"]);
    // A rejected token is probed every five minutes.
    let next = daemon.status().unwrap()["next_pass"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(next.duration_since(jiff::Timestamp::now()).as_secs() > 200, "{next}");
    // Longer than the source may be old: its lookups do not depend on the service.
    std::thread::sleep(std::time::Duration::from_secs(6));
    assert_eq!(daemon.said("source_stale"), 0, "{}", daemon.log());
    let event = push(&remote.url(), "refs/heads/main");
    let orders: [(&str, &dyn Fn()); 4] = [
        ("reconcile", &|| assert_eq!(daemon.order("/reconcile", ""), 202)),
        ("webhook", &|| assert_eq!(post(&daemon, "github", &github(SECRET, &event), &event), 202)),
        ("SIGHUP", &|| signal(&daemon, "-HUP")),
        ("commit", &|| remote.push(22, "Rejected, too")),
    ];
    for (name, order) in orders {
        let tried = remote.world.service.count();
        order();
        eventually(name, || (remote.world.service.count() > tried).then_some(()));
        daemon.is_unready_for(&["401"]);
    }
    daemon.stops_cleanly();
}
