//! Reading a service: one request per environment for a scan without changes, and one per toggle for a
//! publish.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use gitoggle::drift::{DriftScanner, ScanRequest};
use gitoggle::model::ServiceKind;
use gitoggle::pass::{Config, PassContext, PassInputs, Reconciler, Runtime};
use gitoggle::plan::FirstPass;
use gitoggle::sandbox::{Sandbox, SandboxConfig};
use gitoggle::service::ClientConfig;
use gitoggle::state::StateSnapshot;
use gitoggle::transport::{Network, Secret, SecretSource};
use serde_json::json;

use super::GITOGGLE;
use super::fixture::{as_ann, projects, run};

const ENVIRONMENTS: usize = 10;
const TOGGLES: usize = 1_000;

/// Imports and adopts all toggles, scans twice, and publishes the toggles of one environment. Asserts the
/// number of requests of the second scan and of the publish.
pub(crate) fn measure(folder: &Path) {
    let requests = tokio::runtime::Runtime::new().expect("a runtime can be started");
    let ca = folder.join("ca.pem");
    let sandbox = {
        let _entered = requests.enter();
        Sandbox::start(SandboxConfig {
            ca_file: Some(ca.clone()),
            kind: ServiceKind::FeatureProbe,
            data: Some(projects(ENVIRONMENTS, TOGGLES, &json!([])).to_string()),
            ..SandboxConfig::new(Secret::new("sandbox-token".to_owned()))
        })
        .expect("the sandbox starts")
    };
    let repo = folder.join("repo");
    import(&sandbox, &ca, &repo);
    let config = config(&sandbox, ca, &repo, folder.join("state"));
    let context = PassContext::unobserved(Runtime::new(requests.handle().clone()));
    let pass = || {
        let mut reconciler = Reconciler::open(config.clone(), Duration::ZERO).expect("the state is readable");
        reconciler.pass(&context, PassInputs::default()).expect("there is a pass")
    };
    drop(pass());
    scan(&sandbox, &config, &context);
    publish(&sandbox, &repo, || {
        let report = pass();
        assert!(report.is_complete() && !report.has_held());
    });
    // The sandbox ends its task on the runtime.
    let _entered = requests.enter();
    drop(sandbox);
}

/// Imports all toggles of the sandbox into a new repository.
fn import(sandbox: &Sandbox, ca: &Path, repo: &Path) {
    run(Command::new("git").args(["init", "--quiet"]).arg(repo));
    let mut import = Command::new(GITOGGLE);
    import
        .args(["import", "--service-kind", "featureprobe"])
        .args(["--base-url", &sandbox.url()])
        .args(["--ca-file".as_ref(), ca.as_os_str()])
        .args(["--repo".as_ref(), repo.as_os_str()])
        .env("GITOGGLE_TOKEN", "sandbox-token");
    run(&mut import);
    git(repo, &["add", "."]);
    git(repo, &["commit", "--quiet", "-m", "Import toggles"]);
}

fn git(repo: &Path, args: &[&str]) {
    run(as_ann(repo).args(args));
}

/// Returns a configuration that adopts all toggles.
fn config(sandbox: &Sandbox, ca: PathBuf, repo: &Path, state: PathBuf) -> Config {
    let mut config = Config::local(repo, state).with_service(ClientConfig {
        kind: ServiceKind::FeatureProbe,
        base_url: sandbox.url().parse().expect("it is an https URL"),
        token: SecretSource::Value(Secret::new("sandbox-token".to_owned())),
        network: Network { ca_file: Some(ca), ..Network::default() },
        timeout: Duration::from_secs(20),
    });
    config.rules.kind = ServiceKind::FeatureProbe;
    config.rules.policy.is_readable = true;
    config.rules.policy.first_pass = Some(FirstPass::Adopt);
    config.rules.policy.max_change_ratio = 1.0;
    config
}

/// Scans the service twice.
fn scan(sandbox: &Sandbox, config: &Config, context: &PassContext) {
    let mut scanner = DriftScanner::open(config).expect("the service is configured");
    let view = StateSnapshot::open(&config.state_dir).expect("the state is readable");
    for (scan, expected) in [("first", None), ("second", Some(ENVIRONMENTS))] {
        let (before, started) = (sandbox.calls().len(), Instant::now());
        let result = scanner.scan(config, ScanRequest::of(&view), context).expect("the state is readable");
        let (took, sent) = (started.elapsed(), sandbox.calls().len() - before);
        assert_eq!(result.report.in_sync, ENVIRONMENTS * TOGGLES, "toggles in sync");
        assert!(expected.is_none_or(|expected| sent == expected), "{sent} requests");
        println!(
            "drift, {scan} scan of {} toggles in {ENVIRONMENTS} environments: {sent} requests, {took:.2?}",
            ENVIRONMENTS * TOGGLES
        );
    }
}

/// Commits a change of every toggle of an environment, lets `pass` publish it, and asserts the number of
/// requests.
fn publish(sandbox: &Sandbox, repo: &Path, pass: impl FnOnce()) {
    for number in 0..TOGGLES {
        let path = repo.join(format!("shop/e0/t{number:04}.yaml"));
        let text = std::fs::read_to_string(&path).expect("it was imported");
        let changed = text.replace("disabled: false", "disabled: true");
        assert_ne!(text, changed);
        std::fs::write(path, changed).expect("a file can be written");
    }
    git(repo, &["commit", "--quiet", "-a", "-m", "Disable all"]);
    let (before, started) = (sandbox.calls().len(), Instant::now());
    pass();
    let took = started.elapsed();
    let calls = sandbox.calls().split_off(before);
    let count = |method: &str| calls.iter().filter(|call| call.method == method).count();
    let (gets, patches) = (count("GET"), count("PATCH"));
    assert_eq!(patches, TOGGLES, "publishes");
    // A list is read again after 10 s.
    let lists = 1 + usize::try_from(took.as_secs() / 10).expect("it is not long");
    assert!(gets <= TOGGLES + lists, "{gets} reads");
    println!("publish, {TOGGLES} toggles of one environment: {patches} PATCH, {gets} GET, {took:.2?}");
}
