//! What a person sees while a pass is under way: a bar on a terminal, and nothing but log lines elsewhere.

use std::sync::OnceLock;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::config::LogFormat;
use crate::model::escaped;
use crate::plan::{Change, Plan};
use crate::reconcile::{Progress, Sending};

use crate::telemetry::{ANNOUNCEMENT, Stream};

/// Shows a bar with count, rate and time left, once there is something to publish.
pub(super) struct Bar {
    bar: OnceLock<ProgressBar>,
    host: String,
    format: Option<LogFormat>,
}

impl Bar {
    /// `host` is the service's; `format` is that of log lines, where one was asked for.
    pub(super) fn new(host: String, format: Option<LogFormat>) -> Self {
        Self {
            format,
            bar: OnceLock::new(),
            host,
        }
    }

    /// Takes the bar away, so that the result stands alone.
    pub(super) fn clear(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Bar {
    fn begins(&self, plan: &Plan) {
        let (source, count) = (plan.source(), plan.changes().len());
        match self.format {
            Some(LogFormat::Json) => tracing::info!(
                target: ANNOUNCEMENT,
                host = self.host,
                reference = source.reference,
                revision = %source.revision,
                changes = count,
                "publishing"
            ),
            Some(LogFormat::Pretty) | None => {
                let (host, reference) = (escaped(&self.host), escaped(&source.reference));
                let text = format!(
                    "publishing {count} to {host} from {reference} at {}\n",
                    source.revision
                );
                let _ = Stream::Stderr.print(&text);
            }
        }
        let target = match Stream::Stderr.is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(plan.changes().len() as u64), target);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} · {rate}/s · {eta} left")
            .expect("the template is well formed")
            .with_key("rate", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = write!(out, "{:.0}", state.per_sec());
            });
        let _ = self.bar.set(bar.with_style(style));
    }

    fn sent(&self, change: &Change, sending: &Sending, _: usize, _: usize) {
        if let Some(bar) = self.bar.get() {
            bar.inc(1);
        }
        match sending {
            Sending::Applied => tracing::info!(toggle = %change.id, commit = %change.commit.id, "published"),
            Sending::Failed { reason } => tracing::warn!(toggle = %change.id, reason, "refused"),
            Sending::Pending { reason } => tracing::warn!(toggle = %change.id, reason, "pending"),
            Sending::NotSent => {}
        }
    }
}
