//! Imports toggles, and collects the results.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::Builder;

use tokio::sync::mpsc::Sender;
use tokio::sync::{mpsc, watch};

use super::config::{ImportConfig, ImportSource};
use super::error::ImportError;
use super::existing::existing_documents;
use super::found::{Found, give};
use super::input::InputReading;
use super::reading::ToggleReading;
use super::writer::DocumentWriter;
use crate::authoring::target_folder::TargetFolder;
use crate::import::{ImportReport, ImportResult, ImportScope, ImportStop};
use crate::model::chain;
use crate::service::{LiveReader, ReadSession};
use crate::source;
use crate::source::worktree::{self, WorkTree};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ImportEvent {
    /// This many toggles are going to be read.
    Begins(usize),
    /// One of them has its result.
    Done,
}

/// Imports toggles until all are imported or `stop` becomes true.
///
/// # Errors
/// If the import could not begin. Every later failure is part of the report.
pub(crate) async fn import(
    config: ImportConfig,
    stop: watch::Receiver<bool>,
    observe: impl Fn(ImportEvent),
) -> Result<ImportReport, ImportError> {
    let top = top(&config.repo)?;
    let writer = writer(&config, &top)?;
    let (sender, found) = mpsc::channel(64);
    start(&config, sender)?;
    let mut collection = Collection { report: ImportReport { top, ..ImportReport::default() }, writer };
    collection.run(&config.scope, found, stop, observe).await;
    let Collection { mut report, writer } = collection;
    let written = report.results.values().filter_map(|result| match result {
        ImportResult::Written { path } => Some(path.clone()),
        _ => None,
    });
    // The documents are there, whether it can be found out or not.
    report.ignored = writer.folder.ignored(written).unwrap_or_default();
    Ok(report)
}

pub(super) fn writer<'c>(config: &'c ImportConfig, top: &Path) -> Result<DocumentWriter<'c>, ImportError> {
    let folder =
        TargetFolder::open(top, &config.root).map_err(|error| ImportError::WorkTree(chain(&error)))?;
    Ok(DocumentWriter {
        config,
        existing: existing_documents(top, &folder, config)?,
        folder,
        seen: HashMap::new(),
    })
}

/// Returns the top of the work tree that contains `repo`.
fn top(repo: &Path) -> Result<PathBuf, source::Error> {
    if !repo.is_dir() {
        return Err(source::Error::NoFolder(repo.to_owned()));
    }
    if let Some(top) = worktree::top_of(repo) {
        return Ok(top);
    }
    // Reports a bare repository as such.
    WorkTree::open(repo, "")?;
    Err(source::Error::NoRepository(repo.to_owned()))
}

fn start(config: &ImportConfig, found: Sender<Found>) -> Result<(), ImportError> {
    let input = InputReading { kind: config.kind, scope: config.scope.clone(), found: found.clone() };
    match &config.from {
        ImportSource::Drifted(toggles) => {
            tokio::spawn(give(toggles.clone(), found));
        }
        // A thread that is not the runtime's, because nothing can interrupt a read from a terminal.
        ImportSource::Stdin => {
            Builder::new().spawn(move || input.run(None)).map_err(ImportError::Thread)?;
        }
        ImportSource::Folder(folder) => {
            let folder = folder.clone();
            Builder::new().spawn(move || input.run(Some(&folder))).map_err(ImportError::Thread)?;
        }
        ImportSource::Service(client, in_flight) => {
            let reader = LiveReader::new(client.clone())?;
            let reading = ToggleReading {
                session: Arc::new(ReadSession::new(reader)),
                scope: Arc::new(config.scope.clone()),
                in_flight: *in_flight,
                found,
            };
            tokio::spawn(reading.run());
        }
    }
    Ok(())
}

/// Writes what is found, and collects the results.
pub(super) struct Collection<'c> {
    pub(super) report: ImportReport,
    pub(super) writer: DocumentWriter<'c>,
}

impl Collection<'_> {
    pub(super) async fn run(
        &mut self,
        scope: &ImportScope,
        mut found: mpsc::Receiver<Found>,
        mut stop: watch::Receiver<bool>,
        observe: impl Fn(ImportEvent),
    ) {
        let (mut globs, mut only) = (scope.globs.unmatched(), scope.only.unmatched());
        let mut stopped = std::pin::pin!(async {
            // A caller that never stops the import may have dropped the sender.
            if stop.wait_for(|stop| *stop).await.is_err() {
                std::future::pending::<()>().await;
            }
        });
        while self.report.stopped.is_none() {
            let next = tokio::select! {
                biased;
                () = &mut stopped => Some(Found::Stopped(ImportStop::Interrupted)),
                next = found.recv() => next,
            };
            match next {
                Some(Found::Ended) => break,
                // The reader panicked. What it would have found is missing.
                None => self.report.stopped = Some(ImportStop::Fault),
                Some(Found::Listed(count)) => observe(ImportEvent::Begins(count)),
                Some(Found::Seen(name)) => {
                    globs.remove_matching(&name);
                    only.remove_matching(&name);
                }
                Some(Found::Result(name, result)) => {
                    self.report.results.insert(name, result);
                    observe(ImportEvent::Done);
                }
                Some(Found::Stopped(reason)) => self.report.stopped = Some(reason),
                Some(Found::Targeting(id, payload)) => {
                    match self.writer.import(&id, &payload) {
                        Ok(Some(result)) => {
                            let results = &mut self.report.results;
                            // The first result of a toggle that the input has twice stays.
                            let is_again = results.contains_key(id.as_str());
                            let name = if is_again { format!("{id} (again)") } else { id.to_string() };
                            results.insert(name, result);
                        }
                        Ok(None) => {}
                        Err(reason) => self.report.stopped = Some(reason),
                    }
                    observe(ImportEvent::Done);
                }
            }
        }
        // What was not read cannot be missing.
        if self.report.stopped.is_none() {
            (self.report.unmatched, self.report.unmatched_only) = (globs.globs(), only.globs());
        }
    }
}
