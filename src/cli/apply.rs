//! `gitoggle apply`: one pass, then exit.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::config::{OutputFormat, Settings};
use crate::document::Color;
use crate::model::{ToggleId, escaped};
use crate::plan::render;
use crate::reconcile::{self, Around, Config, Reconciler, Report, Sending};
use crate::source::CacheMode;
use crate::state;

use super::failure::{Failure, Verdict};
use super::progress::Bar;
use super::{color, note, plan, print, setup, show, signals};

/// How long `apply` waits for another process that is writing.
const LOCK_WAIT: Duration = Duration::from_secs(60);

pub(super) fn run(settings: &Settings) -> Result<Verdict, Failure> {
    let config = setup::config(settings, CacheMode::Keep)?;
    let host = setup::service(&config);
    let reconciler = open(config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    let bar = Arc::new(Bar::new(host, settings.log_format));
    let report = runtime.map_err(Failure::failed)?.block_on(async {
        let progress = Arc::clone(&bar) as Arc<dyn reconcile::Progress>;
        let around = Around {
            stop: signals::stop_on_signal().map_err(Failure::failed)?,
            progress,
        };
        let (_, report) = reconciler.pass(&around).await;
        Ok::<_, Failure>(report)
    })?;
    bar.clear();
    let report = report?;
    for text in &report.notes {
        note(&format!("note: {text}\n"))?;
    }
    show(&report, settings)?;
    if let Some(stopped) = &report.stopped {
        note(&format!(
            "error: the pass ended early: {}\n",
            escaped(&stopped.to_string())
        ))?;
        if let Some(hint) = stopped.hint() {
            note(&format!("hint: {hint}\n"))?;
        }
    }
    Ok(verdict(&report))
}

/// Takes the state's lock; who has to wait is told for whom, for in CI nobody would know why it takes so long.
fn open(config: Config) -> Result<Reconciler, Failure> {
    match Reconciler::open(config.clone(), Duration::ZERO) {
        Err(reconcile::Error::State(state::Error::Locked { holder, .. })) => {
            note(&format!("waiting for {holder}, which is writing to this state\n"))?;
            Ok(Reconciler::open(config, LOCK_WAIT)?)
        }
        opened => Ok(opened?),
    }
}

fn verdict(report: &Report) -> Verdict {
    let failed = match report.is_complete() {
        true => Verdict::Clean,
        false => Verdict::Failed,
    };
    plan::held(&report.plan).and(failed)
}

fn show(report: &Report, settings: &Settings) -> Result<(), Failure> {
    match settings.output {
        OutputFormat::Github => print(&text(report, &render::github(&report.plan))),
        OutputFormat::Human => print(&text(report, &rest(report, color(settings)))),
        OutputFormat::Json => show::json(&Outcome::of(report)),
        OutputFormat::Markdown => print(&text(report, &render::markdown(&report.plan))),
    }
}

/// What there is to say besides what became of the changes: the whole plan where none was tried.
fn rest(report: &Report, color: Color) -> String {
    match (report.sendings.is_empty(), report.plan.approve()) {
        (true, Ok(_)) => render::text(&report.plan, color),
        (true, Err(stopped)) => format!("{}{stopped}\n", render::text(&report.plan, color)),
        (false, _) => render::rest(&report.plan, color),
    }
}

/// One line per change, then what else there is to say.
fn text(report: &Report, rest: &str) -> String {
    let mut text = String::new();
    for (change, sending) in report.lines() {
        let (word, reason) = match sending {
            Sending::Applied => ("applied", None),
            Sending::Failed { reason } => ("refused", Some(reason.as_str())),
            Sending::NotSent => ("not sent", None),
            Sending::Pending { reason } => ("pending", Some(reason.as_str())),
        };
        let commit = format!(
            "{} {}",
            change.commit.id.short(),
            escaped(change.commit.subject())
        );
        let _ = writeln!(text, "{word} {} ({}) {commit}", change.id, change.action.as_str());
        if let Some(reason) = reason {
            let _ = writeln!(text, "  {}", escaped(reason));
        }
    }
    text.push_str(rest);
    let recorded = report.plan.records().len();
    if recorded > 0 && report.plan.approve().is_ok() {
        let _ = writeln!(
            text,
            "recorded without publishing: {}",
            show::counted(recorded, "toggle")
        );
    }
    if !report.sendings.is_empty() {
        let _ = writeln!(
            text,
            "applied {} of {}",
            report.applied(),
            show::counted(report.sendings.len(), "change")
        );
    }
    text
}

/// The plan as JSON, and what came of it.
#[derive(Serialize)]
struct Outcome<'a> {
    #[serde(flatten)]
    plan: render::Json<'a>,
    results: Vec<Line<'a>>,
    stopped: Option<String>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Line<'a> {
    toggle: &'a ToggleId,
    result: &'static str,
    reason: Option<&'a str>,
}

impl<'a> Outcome<'a> {
    fn of(report: &'a Report) -> Self {
        let results = report.lines().map(|(change, sending)| {
            let (result, reason) = match sending {
                Sending::Applied => ("applied", None),
                Sending::Failed { reason } => ("failed", Some(reason.as_str())),
                Sending::NotSent => ("not_sent", None),
                Sending::Pending { reason } => ("pending", Some(reason.as_str())),
            };
            Line {
                toggle: &change.id,
                result,
                reason,
            }
        });
        Self {
            plan: render::json(&report.plan),
            results: results.collect(),
            stopped: report.stopped.as_ref().map(ToString::to_string),
            notes: &report.notes,
        }
    }
}
