//! A day with a policy: a freeze, a commit without a signature, a change by hand, and a leftover. Every
//! message says what to do, and each step does what the message before it said.

use std::path::PathBuf;

use serde_json::json;

use crate::live_publish::{by_hand, toggle};
use crate::support::keys::SshKey;
use crate::support::{Gitoggle, LiveService, doc};

/// The service, the repository, and what the operator has decided.
struct Day {
    service: LiveService,
    alice: SshKey,
    config: PathBuf,
}

const TOGGLES: [&str; 4] = ["banner", "checkout", "promo", "search"];

impl Day {
    /// Begins with four toggles that are applied.
    fn new() -> Self {
        let service = LiveService::start(&json!(TOGGLES.map(toggle)));
        let alice = SshKey::new(&service.world, "alice");
        service.world.write("signers", &alice.line("alice@example.com", ""));
        let day = Self { config: service.world.path("policy.yaml"), service, alice };
        day.freeze("2020-01-01 - 2020-01-02");
        for name in TOGGLES {
            day.stage(name, doc(18));
        }
        day.stage("promo", doc(18).replace("defaultServe: { select: 0 }", "defaultServe: { select: 1 }"));
        day.alice.commit(&day.service.world, "Add four toggles");
        day.apply().set("first-pass", "assert").exit(0).any_output();
        day
    }

    /// Sets when nothing may be published.
    fn freeze(&self, at: &str) {
        let signers = self.service.world.path("signers");
        let text = format!(
            "windows:\n  - {{ deny: 'shop/prod/*', at: '{at}', zone: UTC }}\nallowed_signers: {}\n",
            signers.display()
        );
        std::fs::write(&self.config, text).unwrap();
    }

    fn stage(&self, name: &str, document: String) {
        self.service.world.repo.file(&format!("shop/prod/{name}.yaml"), document);
    }

    /// Merges a change that Alice has signed.
    fn merge(&self, name: &str, document: String, message: &str) {
        self.stage(name, document);
        self.alice.commit(&self.service.world, message);
    }

    fn apply(&self) -> Gitoggle {
        self.service.apply().set("config", &self.config)
    }

    /// Begins a command that needs no policy.
    fn local(&self, verb: &str) -> Gitoggle {
        let world = &self.service.world;
        self.service.connected(world.bare(verb).set("repo", world.repo.path()))
    }

    fn comment(&self, name: &str) -> String {
        self.service.versions(name).pop().unwrap().1
    }
}

#[test]
fn a_day_is_lived_by_what_the_messages_say() {
    let day = Day::new();
    day.a_freeze_begins_and_ends();
    day.a_commit_without_a_signature_is_merged();
    day.someone_changes_a_toggle_by_hand();
    day.a_leftover_is_cleaned_up();
    let world = &day.service.world;
    let log = world.bare("log").set("repo", world.repo.path()).set("state-dir", world.state());
    let json = log.set("base-url", day.service.url()).set("output", "json").exit(0).json();
    for deployment in json["deployments"].as_array().unwrap() {
        assert!(deployment["signer"].as_str().unwrap().starts_with("alice@example.com (SHA256:"), "{json}");
    }
}

impl Day {
    /// Three merged changes wait, one of them a switch-off.
    fn a_freeze_begins_and_ends(&self) {
        self.merge("checkout", doc(21), "Open the checkout");
        self.merge("search", doc(21), "Rank by clicks");
        let off = doc(18).replace("disabled: false", "disabled: true");
        self.merge("banner", off, "The banner hides the cart");
        self.freeze("2020-01-01 - 2099-12-31");
        self.apply().exit(4).any_stderr().stdout_contains(&[
            "applied shop/prod/banner (update)",
            "held shop/prod/checkout (update)",
            "held shop/prod/search (update)",
            "outside the change windows (deny `shop/prod/*` at `2020-01-01 - 2099-12-31`, UTC)",
            "opens Fri 2100-01-01 00:00 UTC; to publish it before, pass `--ignore-windows`",
        ]);
        assert_eq!(self.comment("banner"), "The banner hides the cart");
        self.freeze("2020-01-01 - 2020-01-02");
        self.apply().exit(0).any_output();
        assert_eq!(self.comment("checkout"), "Open the checkout");
        assert_eq!(self.comment("search"), "Rank by clicks");
    }

    fn a_commit_without_a_signature_is_merged(&self) {
        let world = &self.service.world;
        self.stage("checkout", doc(16));
        world.repo.commit("Open it further");
        self.apply().exit(4).stderr_contains(&[
            "error: revision <rev> is not signed",
            "add a commit that a key in `$TMP/signers` signs: `git commit --allow-empty --gpg-sign",
        ]);
        assert_eq!(self.comment("checkout"), "Open the checkout");
        self.alice.commit(world, "Approve");
        self.apply().exit(0).any_output();
        assert_eq!(self.comment("checkout"), "Open it further");
    }

    /// A change of the document of that toggle is merged as well.
    fn someone_changes_a_toggle_by_hand(&self) {
        let world = &self.service.world;
        self.service.edit("search", by_hand());
        self.local("drift").set("state-dir", world.state()).exit(0).any_stderr().stdout_contains(&[
            "~ drifted shop/prod/search  version ",
            "comment: by hand",
            "gitoggle import --overwrite shop/prod/search",
        ]);
        self.merge("search", doc(30), "Rank by sales");
        let says = ["held shop/prod/search", "`gitoggle import shop/prod/search --overwrite` and commit"];
        self.apply().exit(4).any_stderr().stdout_contains(&says);
        self.local("import").arg("shop/prod/search").arg("--overwrite").exit(0).any_output();
        world.repo.git(&["add", "."]);
        self.alice.commit(world, "Keep search off, as the night shift decided");
        self.apply().exit(0).any_output();
        assert_eq!(self.comment("search"), "by hand", "nothing is sent over it");
    }

    fn a_leftover_is_cleaned_up(&self) {
        let world = &self.service.world;
        let stale = world.bare("stale").set("repo", world.repo.path()).set("older-than", "0s").exit(0);
        stale.any_stderr().stdout_contains(&["settled shop/prod/promo", "Add four toggles", "1 settled"]);
        world.repo.remove("shop/prod/promo.yaml");
        self.alice.commit(world, "Remove the promotion, which is over");
        self.apply().exit(0).any_stderr().stdout_contains(&["orphan shop/prod/promo", "`--on-remove keep`"]);
        self.apply().set("on-remove", "disable").exit(0).any_output();
        assert_eq!(self.comment("promo"), "Remove the promotion, which is over (file removed)");
        self.apply().exit(0).any_output();
    }
}
