//! Values that the chart refuses, with the way out.

use super::release::{BASE, STATE, template};
use super::tool::tool;

#[test]
fn contradicting_values_are_refused_with_the_way_out() {
    let sidecar = "config.repo= sidecar.enabled=true sidecar.repo=https://git.example/a.git";
    let with = |values: &str| format!("{sidecar} {values}");
    for (values, message) in [
        ("config.base_url=".to_owned(), "config.base_url: set the base URL"),
        ("config.repo=".to_owned(), "config.repo: set the repository"),
        ("secret.keys.token=".to_owned(), "secret.keys.token: set the key"),
        (
            "persistence.enabled=false".to_owned(),
            "without a volume, set config.state_remote",
        ),
        (with("sidecar.repo="), "sidecar.repo: set the repository"),
        (
            with("config.repo=https://git.example/b.git"),
            "leave config.repo empty",
        ),
        (with("config.ref=main"), "set sidecar.ref instead"),
        (with("secret.keys.webhook_secret=w"), "a webhook has no effect"),
        (with(&format!("mode=cronjob {STATE}")), "set config.repo instead"),
        (with("sidecar.username=u"), "set both or neither"),
        (with("secret.keys.git_password=p"), "set both or neither"),
        (
            with(&format!("{STATE} replicas=2 config.history=follow")),
            "the one that lags behind",
        ),
        ("replicas=2".to_owned(), "set config.state_remote"),
        (
            format!("{STATE} replicas=2 persistence.existingClaim=c"),
            "a volume each",
        ),
        (format!("{STATE} replicas=2 mode=cronjob"), "set replicas to 1"),
        (
            "mode=cronjob serviceMonitor.enabled=true".to_owned(),
            "a CronJob has no metrics",
        ),
        (
            "ingress.enabled=true ingress.host=h".to_owned(),
            "they expose only webhooks",
        ),
        (
            "httpRoute.enabled=true secret.keys.webhook_secret=w mode=cronjob".to_owned(),
            "they expose only webhooks",
        ),
        (
            "ingress.enabled=true secret.keys.webhook_secret=w".to_owned(),
            "ingress.host: set the host",
        ),
        (
            "httpRoute.enabled=true secret.keys.webhook_secret=w".to_owned(),
            "name the gateway",
        ),
    ] {
        let Some(helm) = tool("helm") else {
            return;
        };
        let output = template(helm, BASE, &values).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{values}");
        assert!(errors.contains(message), "{values}: {errors}");
    }
}

#[test]
fn values_that_the_schema_does_not_allow_are_refused() {
    for (value, message) in [
        ("nonsense=1", "nonsense"),
        ("sidecar.nonsense=1", "nonsense"),
        ("cronjob.heldCheck.nonsense=1", "nonsense"),
        ("config.first_pass=adopt", "first_pass"),
        ("config.base_url=http://toggles.example", "base_url"),
        ("image.digest=latest", "digest"),
        ("mode=job", "mode"),
        ("networkPolicy.dnsPorts={dns}", "dnsPorts"),
        ("replicas=0", "replicas"),
    ] {
        let Some(helm) = tool("helm") else {
            return;
        };
        let output = template(helm, BASE, value).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{value}");
        assert!(
            errors.contains(message) && errors.contains("schema"),
            "{value}: {errors}"
        );
    }
}
