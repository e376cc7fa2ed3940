//! `gitoggle apply`: one pass, then exit.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::config::{OutputFormat, Settings};
use crate::document::Color;
use crate::model::{ToggleId, escaped};
use crate::plan::Change;
use crate::plan::render::{self, code};
use crate::reconcile::{self, Around, Config, Reconciler, Report, Sending};
use crate::source::CacheMode;
use crate::state;

use super::failure::{Failure, Verdict};
use super::progress::Bar;
use super::{color, note, plan, print, setup, show, signals};

/// How long `apply` waits for another process that is writing.
const LOCK_WAIT: Duration = Duration::from_secs(60);

/// How long it waits for another machine that is publishing: longer than the minute after which a dead one counts as such.
const SHARED_WAIT: Duration = Duration::from_secs(90);

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
        Err(reconcile::Error::State(state::Error::InUse { .. })) => {
            Ok(Reconciler::open(config, SHARED_WAIT)?)
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
        OutputFormat::Github => print(&markdown(report, &render::github(&report.plan))),
        OutputFormat::Human => print(&text(report, &rest(report, color(settings)))),
        OutputFormat::Json => show::json(&Outcome::of(report)),
        OutputFormat::Markdown => print(&markdown(report, &render::markdown(&report.plan))),
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
        let (word, reason) = told(sending);
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
    let total = total(report);
    if !rest.is_empty() && !total.is_empty() {
        text.push('\n');
    }
    text + &total
}

/// What became of the changes, as Markdown, those that need somebody first; then the plan.
fn markdown(report: &Report, plan: &str) -> String {
    const MOST: usize = 200;
    let total = total(report);
    if total.is_empty() {
        return plan.to_owned();
    }
    let mut text = format!("### gitoggle apply\n\n{total}\n");
    let is_applied = |line: &(&Change, &Sending)| matches!(line.1, Sending::Applied);
    let trouble = report.lines().filter(|line| !is_applied(line));
    let lines = trouble.chain(report.lines().filter(is_applied));
    for (change, sending) in lines.take(MOST) {
        let (word, reason) = told(sending);
        let (toggle, commit) = (code(change.id.as_str()), code(&change.commit.id.short()));
        let _ = write!(
            text,
            "* **{word}** {toggle} ({}) {commit}",
            change.action.as_str()
        );
        if let Some(reason) = reason {
            let _ = write!(text, ": {}", code(reason));
        }
        text.push('\n');
    }
    let more = report.sendings.len().saturating_sub(MOST);
    if more > 0 {
        let _ = writeln!(text, "\n{more} more changes are not listed.");
    }
    text + "\n" + plan
}

/// The word for what became of a change, and why.
fn told(sending: &Sending) -> (&'static str, Option<&str>) {
    match sending {
        Sending::Applied => ("applied", None),
        Sending::Failed { reason } => ("refused", Some(reason)),
        Sending::NotSent => ("not sent", None),
        Sending::Pending { reason } => ("pending", Some(reason)),
    }
}

fn total(report: &Report) -> String {
    let mut text = String::new();
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
