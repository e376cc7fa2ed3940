//! The progress bar of commands that send or read many toggles.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::telemetry::Stream;

/// Returns a bar with count, rate and remaining time, which is shown on a terminal only.
pub(super) fn progress_bar(count: usize) -> ProgressBar {
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
