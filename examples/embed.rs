//! Plans with the library, as `gitoggle plan` does: `cargo run --example embed -- PATH`.
//!
//! It writes nothing and sends no request. Without a state folder, every environment is a first pass.

use std::error::Error;
use std::path::PathBuf;

use gitoggle::model::Color;
use gitoggle::pass::{self, Config, Files};
use gitoggle::plan::FirstPass;
use gitoggle::report;

#[expect(clippy::print_stdout, reason = "an example is there to print")]
fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let mut config = Config::local(&path, path.join(".gitoggle-has-no-state-here"));
    config.rules.policy.first_pass = Some(FirstPass::Assert);
    let planned = pass::plan(&config, Files::Committed)?;
    println!("{}", report::text(&planned.plan, Color::Never));
    Ok(())
}
