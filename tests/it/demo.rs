//! `gitoggle demo`: the text of its steps, and what they leave behind.

use crate::support::{Repo, World};

/// Steps 7 to 10, with the port of the service and the times replaced.
const LIVE_STEPS: &str = "
7. Toggles that exist on a service are imported
   service     https://127.0.0.1:PORT (FeatureProbe, with two toggles)
   $ gitoggle import
   2 written, 0 unchanged, 0 different

   $ cat payment/production/instant-refund.yaml
   disabled: false
   content:
     variations:
       - name: \"off\"
         value: \"false\"
       - name: \"on\"
         value: \"true\"
     rules: []
     disabledServe: { variation: \"off\" }
     defaultServe: { split: { \"off\": 75, \"on\": 25 } }

   $ git add . && git commit -m 'Import toggles'
   $ gitoggle apply --first-pass adopt
   converged payment/production/card-retries (adopt)
   converged payment/production/instant-refund (adopt)

   $ gitoggle plan
   Plan for payment refs/heads/main <short> → https://127.0.0.1:PORT
   Nothing to do.
   Each document was compared with the service, which received only GET requests.

8. Someone changes a toggle on the service
   $ gitoggle drift
   Drift on https://127.0.0.1:PORT · 2 applied toggles in 1 environment

   payment/production
     ~ drifted payment/production/instant-refund  version 3 by Admin at TIME
         comment: Refunds fail, off until the morning
         ENABLED → DISABLED
         @@ -1,4 +1,4 @@
         -disabled: false
         +disabled: true
          content:
            variations:
              - name: \"off\"

   1 drifted · 1 in sync
   Changes on the service after <time> may be missing.

   A commit changes the document of the same toggle:
   $ git add . && git commit -m 'Refund instantly for half of the customers'
   $ gitoggle apply
   held payment/production/instant-refund (update) <short> Refund instantly for half of the customers
     changed on the service since it was last applied (version 3 by Admin at TIME, with the comment \"Refunds fail, off until the morning\"): to keep that, `gitoggle import payment/production/instant-refund --overwrite` and commit; to publish over it, `gitoggle apply --overwrite-drift --only payment/production/instant-refund`, the trailer `Gitoggle-Allow: overwrite-drift` on the commit, or `gitoggle allow overwrite-drift payment/production/instant-refund` for a running daemon

   The change on the service was right, so Git takes it over:
   $ gitoggle import --overwrite payment/production/instant-refund
   replaced payment/production/instant-refund (payment/production/instant-refund.yaml)

   0 written, 0 unchanged, 0 different, 1 replaced
   $ git add . && git commit -m 'Keep instant refunds off'
   $ gitoggle apply
   converged payment/production/instant-refund (update) <short> Keep instant refunds off
   The service has this already: recorded, no request sent.

9. A document describes a toggle that does not exist
   $ git add . && git commit -m 'Add the wallet'
   $ gitoggle apply
   held payment/production/wallet (create) <short> Add the wallet
     the service has no such toggle: create it there first, or have it created with `--on-missing create`

   $ gitoggle apply --on-missing create
   applied payment/production/wallet (create) <short> Add the wallet
   the two requests that wrote, as the service received them:
     POST /api/projects/payment/toggles
     PATCH /api/projects/payment/environments/production/toggles/wallet/targeting

10. The publishes that the two services received
   payment/production/wallet           1 request
   search/production/ranking           2 requests
   search/production/suggestions       1 request
   search/staging/ranking              1 request
   search/staging/suggestions          1 request
   shop/production/free-shipping-from  1 request
   shop/production/new-checkout        2 requests
   shop/staging/free-shipping-from     1 request
   shop/staging/new-checkout           3 requests
   never two open for one toggle, and none without a commit.
";

/// Replaces ports and times.
fn masked(text: &str) -> String {
    let port = regex::Regex::new(r"127\.0\.0\.1:\d+").unwrap();
    let time = regex::Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").unwrap();
    let text = port.replace_all(text, "127.0.0.1:PORT");
    time.replace_all(&text, "TIME").into_owned()
}

#[test]
fn the_demo_explains_each_step_and_leaves_no_files() {
    let world = World::new();
    let place = world.path("tmp");
    std::fs::create_dir(&place).unwrap();
    // A fresh laptop may be behind a proxy, which cannot reach the sandbox.
    let demo = world.bare("demo").env("HTTPS_PROXY", "http://127.0.0.1:9");
    let text = demo.env("TMPDIR", &place).exit(0).stderr("").both();
    let text = masked(&text);
    for expected in [
        "\n1. A repository with one file per toggle, and a toggle service\n",
        "\n2. The first pass needs a decision\n   $ gitoggle apply\n   8 toggles held, no request sent.",
        "\n   $ gitoggle apply --first-pass assert\n     create search/production/ranking  ",
        "\n3. A pull request is merged\n   $ gitoggle plan\n   Plan for toggles refs/heads/main <short> → ",
        "     PATCH /api/projects/shop/environments/production/toggles/new-checkout/targeting\n",
        "\n4. A cosmetic edit sends nothing\n   the file changed, but not its meaning: ",
        "\n5. A broken file does not block others\n   error[missing-field]: ",
        "     update search/production/ranking  \"Switch the new ranking off\"\n",
        "\n6. A response is lost after the service stored the document\n   the request was journaled ",
        "     update shop/staging/new-checkout  \"Close the staging checkout\"\n",
    ] {
        assert!(text.contains(expected), "{expected:?} is missing:\n{text}");
    }
    let (_, live) = text.split_once("\n7.").expect("there is a seventh step");
    assert_eq!(format!("\n7.{live}"), LIVE_STEPS);
    let is_clean = |line: &str| line.trim_end() == line;
    assert!(text.lines().all(is_clean), "a line ends with a space:\n{text}");
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
    assert_eq!(world.service.connections(), 0);
}

#[test]
fn the_folder_of_the_demo_can_be_kept() {
    let world = World::new();
    let folder = world.path("kept");
    world.bare("demo").set("keep", &folder).exit(0).any_output();
    let repository = Repo::at(&folder.join("payment"));
    let subjects = repository.git(&["log", "--format=%s"]);
    assert_eq!(
        subjects.lines().collect::<Vec<_>>(),
        [
            "Add the wallet",
            "Keep instant refunds off",
            "Refund instantly for half of the customers",
            "Import toggles"
        ]
    );
    let state = Repo::at(&folder.join("payment.state/state.git"));
    for document in ["card-retries", "instant-refund", "wallet"] {
        let path = format!("payment/production/{document}.yaml");
        let read = |repo: &Repo, revision: &str| repo.git(&["show", &format!("{revision}:{path}")]);
        assert_eq!(read(&state, "refs/gitoggle/applied"), read(&repository, "main"), "{path}");
    }
}
