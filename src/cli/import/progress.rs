//! Shows the progress of an import: a bar on a terminal, and nothing elsewhere.

use std::sync::OnceLock;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::pass::import::ImportEvent;
use crate::telemetry::Stream;

/// A bar with count, rate and remaining time.
#[derive(Default)]
pub(super) struct ImportProgress(OnceLock<ProgressBar>);

impl ImportProgress {
    pub(super) fn observe(&self, event: ImportEvent) {
        match event {
            ImportEvent::Begins(count) => drop(self.0.set(bar(count))),
            ImportEvent::Done => {
                if let Some(bar) = self.0.get() {
                    bar.inc(1);
                }
            }
        }
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = self.0.get() {
            bar.finish_and_clear();
        }
    }
}

fn bar(count: usize) -> ProgressBar {
    let target = match Stream::Stderr.redraws() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(count as u64), target);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} · {rate}/s · {eta} left")
        .expect("the template is well formed")
        .with_key("rate", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = write!(out, "{:.0}", state.per_sec());
        });
    bar.with_style(style)
}
