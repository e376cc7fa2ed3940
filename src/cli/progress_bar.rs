//! The progress bar of commands that send or read many toggles.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::telemetry::Stream;

/// Returns a bar with count, rate and remaining time, which is shown on a terminal only, and not before it begins.
pub(super) fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} · {rate}/s · {eta} left")
        .expect("the template is well formed")
        .with_key("rate", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = write!(out, "{:.0}", state.per_sec());
        });
    ProgressBar::hidden().with_style(style)
}

/// Shows the bar of this many toggles.
pub(super) fn begin(bar: &ProgressBar, count: usize) {
    bar.set_length(count as u64);
    // The rate is that since now.
    bar.reset();
    if Stream::Stderr.redraws() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
    }
}
