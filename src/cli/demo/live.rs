//! The steps with a service that can be read.

use serde_json::json;

use super::Demo;
use super::stage::expect;
use crate::authoring::Existing;
use crate::cli::failure::Failure;
use crate::cli::import::text as import_text;
use crate::cli::observer::ResultLines;
use crate::pass::{ChangeResult, Report};
use crate::plan::{FirstPass, OnMissing, Policy};
use crate::report::drift_text;
use crate::sandbox::ScriptRequest;

/// What the service has before gitoggle knows it.
pub(super) const DATA: &str = include_str!("payment.json");

/// The document that the steps change.
const REFUND: &str = "payment/production/instant-refund.yaml";

/// The document of a toggle that the service does not have.
const WALLET: &str = "\
disabled: false
content:
  variations:
    - { name: \"off\", value: \"false\" }
    - { name: \"on\", value: \"true\" }
  rules: []
  disabledServe: { variation: \"off\" }
  defaultServe: { variation: \"on\" }
";

/// The steps with a service that can be read.
impl Demo<'_> {
    pub(super) async fn play_live(&self) -> Result<(), Failure> {
        self.import().await?;
        self.drift().await?;
        self.missing_toggle().await
    }

    async fn import(&self) -> Result<(), Failure> {
        self.output.step(7, "Toggles that exist on a service are imported").await?;
        let service = self.stage.sandbox.url();
        self.print(&format!("service     {service} (FeatureProbe, with two toggles)\n"))?;
        self.output.command("gitoggle import")?;
        let report = self.stage.import(&[], Existing::Keep).await?;
        expect(report.results.len(), 2, "toggles found")?;
        self.print(&import_text(&report))?;
        self.output.next_command(&format!("cat {REFUND}"))?;
        self.print(&self.document()?)?;
        self.output.line("")?;
        self.commit("Import toggles", &[])?;
        let policy = Policy { first_pass: Some(FirstPass::Adopt), ..Policy::default() };
        let report = self.apply(" --first-pass adopt", policy).await?;
        let converged = report.count(|result| *result == ChangeResult::Converged);
        expect(converged, 2, "documents equal to the service")?;
        self.output.next_command("gitoggle plan")?;
        self.print(&self.stage.plan(self.color)?)?;
        expect(self.writes(0).len(), 0, "requests that write")?;
        self.print("Each document was compared with the service, which received only GET requests.")
    }

    async fn drift(&self) -> Result<(), Failure> {
        self.output.step(8, "Someone changes a toggle on the service").await?;
        self.stage.sandbox.request_as_admin(&ScriptRequest {
            method: "PATCH".to_owned(),
            path: "/api/projects/payment/environments/production/toggles/instant-refund/targeting".to_owned(),
            body: json!({ "comment": "Refunds fail, off until the morning", "disabled": true }),
        });
        self.output.command("gitoggle drift")?;
        let drift = self.stage.drift().await?;
        expect(drift.drifted.len(), 1, "drifted toggles")?;
        self.print(&drift_text(&drift, self.color))?;
        let text = self.document()?.replace("75", "50").replace("25", "50");
        self.print("\nA commit changes the document of the same toggle:")?;
        self.commit("Refund instantly for half of the customers", &[(REFUND, &text)])?;
        let before = self.stage.sandbox.calls().len();
        let report = self.apply("", Policy::default()).await?;
        expect(held(&report), 1, "changes held")?;
        self.print("\nThe change on the service was right, so Git takes it over:")?;
        self.output.command("gitoggle import --overwrite payment/production/instant-refund")?;
        let globs = ["payment/production/instant-refund"];
        let report = self.stage.import(&globs, Existing::Replace).await?;
        self.print(&import_text(&report))?;
        self.commit("Keep instant refunds off", &[])?;
        let report = self.apply("", Policy::default()).await?;
        expect(held(&report), 0, "changes held")?;
        expect(self.writes(before).len(), 0, "requests that write")?;
        expect(self.stage.drift().await?.drifted.len(), 0, "drifted toggles")?;
        self.print("The service has this already: recorded, no request sent.")
    }

    async fn missing_toggle(&self) -> Result<(), Failure> {
        self.output.step(9, "A document describes a toggle that does not exist").await?;
        self.commit("Add the wallet", &[("payment/production/wallet.yaml", WALLET)])?;
        let before = self.stage.sandbox.calls().len();
        let report = self.apply("", Policy::default()).await?;
        expect(held(&report), 1, "changes held")?;
        expect(self.writes(before).len(), 0, "requests that write")?;
        let policy = Policy { on_missing: OnMissing::Create, ..Policy::default() };
        self.output.line("")?;
        let report = self.apply(" --on-missing create", policy).await?;
        expect(report.applied(), 1, "toggles applied")?;
        let writes = self.writes(before);
        expect(writes.len(), 2, "requests that write")?;
        self.print("the two requests that wrote, as the service received them:")?;
        self.print(&format!("  {}", writes.join("\n  ")))
    }

    /// Makes one pass, and prints the command, with these flags, and the result of each change.
    async fn apply(&self, flags: &str, policy: Policy) -> Result<Report, Failure> {
        self.output.command(&format!("gitoggle apply{flags}"))?;
        let report = self.stage.apply(policy).await?;
        let mut lines = ResultLines::default();
        for (change, result) in report.lines() {
            self.print(&lines.next(change, result))?;
        }
        Ok(report)
    }

    fn commit(&self, message: &str, files: &[(&str, &str)]) -> Result<(), Failure> {
        self.output.command(&format!("git add . && git commit -m '{message}'"))?;
        self.stage.commit(message, files).map(drop)
    }

    fn document(&self) -> Result<String, Failure> {
        std::fs::read_to_string(self.stage.toggles.join(REFUND)).map_err(Failure::failed)
    }

    /// Returns the requests after the first `before` that are no reads: method and path.
    fn writes(&self, before: usize) -> Vec<String> {
        let calls = self.stage.sandbox.calls();
        let writes = calls.iter().skip(before).filter(|call| call.method != "GET");
        writes.map(|call| format!("{} {}", call.method, call.path)).collect()
    }
}

fn held(report: &Report) -> usize {
    report.count(ChangeResult::is_held)
}
