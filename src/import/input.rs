//! Reads the service's own JSON: files `project/environment/toggle.json` or lines with the member `toggle`.
//!
//! Each is a response to a GET or the body of a PATCH; members other than `disabled`, `content` and `locked`
//! are ignored.

use std::fs;
use std::io::{self, BufRead, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc::Sender;

use super::found::Found;
use super::result::{ImportResult, ImportStop, SkipReason};
use super::scope::ImportScope;
use crate::document::from_service;
use crate::model::{IdError, ServiceKind, ToggleId, escaped};

/// The largest file or line, in bytes. A targeting has at most 1 MiB, but indentation and escapes may make it
/// longer.
const LARGEST_RECORD: u64 = 16 << 20;

/// Reads records and sends what they contain.
#[derive(Debug)]
pub(super) struct InputReading {
    pub(super) kind: ServiceKind,
    pub(super) scope: ImportScope,
    pub(super) found: Sender<Found>,
}

/// The receiver of the results is gone.
struct Gone;

/// The service's JSON of one toggle.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Record {
    toggle: Option<String>,
    disabled: Option<bool>,
    content: Option<Value>,
    locked: Option<bool>,
}

impl Record {
    /// Parses a file or a line.
    fn parse(json: &[u8]) -> Result<Self, ImportResult> {
        // Some programs begin a file with a byte order mark.
        let json = json.strip_prefix("\u{feff}".as_bytes()).unwrap_or(json);
        serde_json::from_slice(json).map_err(|error| {
            let error = error.to_string();
            ImportResult::Failed(format!("it is not the service's JSON of a toggle: {}", escaped(&error)))
        })
    }
}

impl InputReading {
    /// Reads the files below `folder`, or without one the lines of the standard input.
    pub(super) fn run(&self, folder: Option<&Path>) {
        match folder {
            Some(folder) => self.folder(folder),
            None => self.lines(io::stdin().lock()),
        }
        // The send fails only if the import has ended for another reason.
        let _ = self.send(Found::Ended);
    }

    /// Reads the files below `folder`.
    fn folder(&self, folder: &Path) {
        let mut files = Vec::new();
        match json_files(folder, &mut Vec::new(), &mut files) {
            Ok(()) => drop(self.files(&files)),
            Err((path, error)) => {
                let path = path.to_string_lossy();
                self.stop(format!("could not read `{}`: {error}", escaped(&path)));
            }
        }
    }

    /// Reads one record per line.
    pub(super) fn lines(&self, mut input: impl BufRead) {
        for number in 1_u64.. {
            let mut line = Vec::new();
            let read = input.by_ref().take(LARGEST_RECORD + 1).read_until(b'\n', &mut line);
            let place = format!("line {number}");
            let sent = match read {
                Ok(0) => return,
                // The rest of the line has no bound, so it is not skipped.
                Ok(read) if read as u64 > LARGEST_RECORD => {
                    return self.stop(format!("{place} of the input is longer than {LARGEST_RECORD} bytes"));
                }
                Ok(_) if line.trim_ascii().is_empty() => continue,
                Ok(_) => self.line(&place, &line),
                Err(error) => return self.stop(format!("could not read the input: {error}")),
            };
            if sent.is_err() {
                return;
            }
        }
    }

    fn files(&self, files: &[(Vec<String>, PathBuf)]) -> Result<(), Gone> {
        for (names, path) in files {
            let place = names.join("/");
            match read_file(path) {
                Ok(json) => self.file(&place, names, &json)?,
                Err(reason) => self.result(place, ImportResult::Failed(reason))?,
            }
        }
        Ok(())
    }

    fn file(&self, place: &str, names: &[String], json: &[u8]) -> Result<(), Gone> {
        let name = place.strip_suffix(".json").unwrap_or(place);
        let [_, _, _] = names else {
            let reason = "the path is not `project/environment/toggle.json`".to_owned();
            return self.result(place.to_owned(), ImportResult::Failed(reason));
        };
        match Record::parse(json) {
            Ok(record) => self.record(name, &record),
            Err(failed) => self.result(place.to_owned(), failed),
        }
    }

    fn line(&self, place: &str, line: &[u8]) -> Result<(), Gone> {
        let mut record = match Record::parse(line) {
            Ok(record) => record,
            Err(failed) => return self.result(place.to_owned(), failed),
        };
        match record.toggle.take() {
            Some(name) => self.record(&name, &record),
            None => self.result(place.to_owned(), ImportResult::Failed("it has no `toggle`".to_owned())),
        }
    }

    fn record(&self, name: &str, record: &Record) -> Result<(), Gone> {
        self.send(Found::Seen(name.to_owned()))?;
        if !self.scope.contains(name) {
            return Ok(());
        }
        match self.targeting(name, record) {
            Ok(targeting) => self.send(targeting),
            Err(result) => self.result(name.to_owned(), result),
        }
    }

    fn targeting(&self, name: &str, record: &Record) -> Result<Found, ImportResult> {
        let id: ToggleId = name.parse().map_err(|error: IdError| match &error {
            IdError::Shape => ImportResult::Failed(error.to_string()),
            IdError::Key(_, cause) => ImportResult::Skipped(SkipReason::InvalidKey, cause.to_string()),
        })?;
        if record.locked == Some(true) {
            // The service shows the draft then (src/service/featureprobe.md, "Reading").
            let reason = "the response shows a draft, which hides the live values".to_owned();
            return Err(ImportResult::Skipped(SkipReason::Draft, reason));
        }
        let absent = |name| ImportResult::Failed(format!("it has no `{name}`"));
        let disabled = record.disabled.ok_or_else(|| absent("disabled"))?;
        let content = record.content.as_ref().ok_or_else(|| absent("content"))?;
        match from_service(self.kind, disabled, content) {
            Ok(payload) => Ok(Found::Targeting(id, payload)),
            Err(error) => Err(ImportResult::Skipped(SkipReason::Inexpressible, error.to_string())),
        }
    }

    fn result(&self, name: String, result: ImportResult) -> Result<(), Gone> {
        self.send(Found::Result(name, result))
    }

    fn stop(&self, reason: String) {
        // The send fails only if the import has ended for another reason.
        let _ = self.send(Found::Stopped(ImportStop::Input(reason)));
    }

    fn send(&self, found: Found) -> Result<(), Gone> {
        self.found.blocking_send(found).map_err(|_| Gone)
    }
}

/// Collects the JSON files below `folder` with the names of their folders, sorted. Hidden names are skipped.
fn json_files(
    folder: &Path,
    names: &mut Vec<String>,
    files: &mut Vec<(Vec<String>, PathBuf)>,
) -> Result<(), (PathBuf, io::Error)> {
    // Links are followed, so the depth needs a bound: that of the deepest file, and one more to report
    // others.
    const DEEPEST: usize = 4;
    let failed = |error| (folder.to_owned(), error);
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            entries.push((name, entry.path()));
        }
    }
    entries.sort_unstable();
    for (name, path) in entries {
        let is_json = name.ends_with(".json");
        names.push(name);
        if path.is_dir() {
            if names.len() < DEEPEST {
                json_files(&path, names, files)?;
            }
        } else if is_json {
            files.push((names.clone(), path));
        }
        names.pop();
    }
    Ok(())
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let mut json = Vec::new();
    let file = fs::File::open(path);
    let read = file.and_then(|file| file.take(LARGEST_RECORD + 1).read_to_end(&mut json));
    match read {
        Ok(read) if read as u64 > LARGEST_RECORD => {
            Err(format!("the file has more than {LARGEST_RECORD} bytes, the limit"))
        }
        Ok(_) => Ok(json),
        Err(error) => Err(format!("could not be read: {error}")),
    }
}
