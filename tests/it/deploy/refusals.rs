//! Values that the chart refuses, with the way out.

use super::release::{BASE, STATE, template};
use super::tool::tool;

/// The chart refuses each of the values, with the message.
fn refused(cases: &[(&str, &str)]) {
    for (values, message) in cases {
        let Some(helm) = tool("helm") else {
            return;
        };
        let output = template(helm, BASE, values).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{values}");
        assert!(errors.contains(message), "{values}: {errors}");
    }
}

#[test]
fn contradicting_values_are_refused_with_the_way_out() {
    refused(&[
        ("config.base_url=", "config.base_url: set the base URL"),
        ("config.repo=", "config.repo: set the repository"),
        ("secret.keys.token=", "secret.keys.token: set the key"),
        ("persistence.enabled=false", "without a volume, set config.state_remote"),
        ("replicas=2", "set config.state_remote"),
        (&format!("{STATE} replicas=2 persistence.existingClaim=c"), "a volume each"),
        (&format!("{STATE} replicas=2 mode=cronjob"), "set replicas to 1"),
        ("mode=cronjob serviceMonitor.enabled=true", "a CronJob has no metrics"),
        ("ingress.enabled=true ingress.host=h", "they expose only webhooks"),
        ("httpRoute.enabled=true secret.keys.webhook_secret=w mode=cronjob", "they expose only webhooks"),
        ("ingress.enabled=true secret.keys.webhook_secret=w", "ingress.host: set the host"),
        ("httpRoute.enabled=true secret.keys.webhook_secret=w", "name the gateway"),
    ]);
}

#[test]
fn values_that_contradict_a_sidecar_are_refused_with_the_way_out() {
    for (values, message) in [
        ("sidecar.repo=", "sidecar.repo: set the repository"),
        ("config.repo=https://git.example/b.git", "leave config.repo empty"),
        ("config.ref=main", "set sidecar.ref instead"),
        ("secret.keys.webhook_secret=w", "a webhook has no effect"),
        (&format!("mode=cronjob {STATE}"), "set config.repo instead"),
        ("sidecar.username=u", "set both or neither"),
        ("secret.keys.git_password=p", "set both or neither"),
        (&format!("{STATE} replicas=2 config.history=follow"), "the one that lags behind"),
    ] {
        let sidecar = "config.repo= sidecar.enabled=true sidecar.repo=https://git.example/a.git";
        refused(&[(&format!("{sidecar} {values}"), message)]);
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
        assert!(errors.contains(message) && errors.contains("schema"), "{value}: {errors}");
    }
}
