//! Plans with the library, as `gitoggle plan` does: `cargo run --example embed -- PATH`.
//!
//! It writes nothing and sends no request. Without a state folder, every environment is a first pass.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use gitoggle::document::{Color, Layout};
use gitoggle::git::{GitAccess, RepoUrl};
use gitoggle::model::ServiceKind;
use gitoggle::pass;
use gitoggle::pass::{Config, Files, HistoryRule, Limits, Rules};
use gitoggle::plan::{FirstPass, Policy, render};
use gitoggle::source::{CacheMode, Parents, SourceConfig};
use gitoggle::transport::Network;

#[expect(clippy::print_stdout, reason = "the example prints its result")]
fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("."), PathBuf::from);
    let config = Config {
        source: SourceConfig {
            location: RepoUrl::local(&path),
            reference: None,
            root: String::new(),
            first_parent: Parents::All,
            access: GitAccess {
                network: Network::default(),
                credentials: None,
                timeout: Duration::from_secs(60),
            },
            cache: None,
            mode: CacheMode::Untouched,
        },
        rules: Rules {
            repo: path.display().to_string(),
            root: String::new(),
            layout: Layout::default(),
            kind: ServiceKind::Documented,
            policy: Policy {
                first_pass: Some(FirstPass::Assert),
                ..Policy::default()
            },
            history: HistoryRule::Default,
            base_url: None,
        },
        state_dir: path.join(".gitoggle-has-no-state-here"),
        shared: None,
        service: None,
        limits: Limits {
            in_flight: 16,
            in_flight_per_environment: 1,
            give_up_after: Duration::from_secs(60),
        },
    };
    let look = pass::plan(&config, Files::Committed)?;
    println!("{}", render::text(&look.plan, Color::Never));
    Ok(())
}
