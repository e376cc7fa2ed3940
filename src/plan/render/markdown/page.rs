//! A page that never exceeds its limit.

use std::collections::BTreeMap;

use super::super::defused;
use super::lines::{self, PageLines};
use crate::document::Diagnostic;
use crate::model::{EnvironmentId, counted, listed};
use crate::plan::Change;

/// The room for the sentence about what is left out.
const RESERVE: usize = 400;
/// The room for the markup of a fold or a heading.
const MARKUP: usize = 100;

/// Collects the parts of a page in the order of their importance, as long as they fit.
pub(super) struct Page<'a> {
    limit: usize,
    /// The number of bytes that are left.
    room: usize,
    head: String,
    foot: String,
    sections: BTreeMap<EnvironmentId, Section<'a>>,
    findings: String,
    drift: String,
    left_out: LeftOut,
}

/// One environment.
#[derive(Default)]
struct Section<'a> {
    heading: String,
    published: Vec<&'a Change>,
    /// The reasons of holds, each with the changes that would be published otherwise.
    notes: Vec<(String, Vec<&'a Change>)>,
    /// The lines of the changes.
    lines: Vec<String>,
    diffs: Vec<String>,
}

/// The numbers of parts that do not fit.
#[derive(Default)]
pub(super) struct LeftOut {
    environments: usize,
    reasons: usize,
    findings: usize,
    drift: usize,
    pub(super) changes: usize,
    pub(super) diffs: usize,
}

impl<'a> Page<'a> {
    pub(super) fn new(limit: usize, head: String, foot: String) -> Self {
        Self {
            limit,
            room: limit.saturating_sub(head.len() + foot.len() + RESERVE),
            head,
            foot,
            sections: BTreeMap::new(),
            findings: String::new(),
            drift: String::new(),
            left_out: LeftOut::default(),
        }
    }

    fn take(&mut self, bytes: usize) -> bool {
        match self.room.checked_sub(bytes) {
            Some(room) => self.room = room,
            None => return false,
        }
        true
    }

    /// Adds an environment.
    pub(super) fn section(&mut self, environment: EnvironmentId, heading: String) {
        // Very many environments would leave no room for the changes.
        match self.room > self.limit / 2 && self.take(heading.len() + MARKUP) {
            true => {
                let section = Section {
                    heading,
                    ..Section::default()
                };
                self.sections.insert(environment, section);
            }
            false => self.left_out.environments += 1,
        }
    }

    /// Adds the reason of a hold, with the changes that it holds.
    pub(super) fn note(&mut self, environment: &EnvironmentId, line: String, held: Vec<&'a Change>) {
        let fits = self.room > self.limit / 4 && self.take(line.len());
        match self.sections.get_mut(environment) {
            Some(section) if fits => section.notes.push((line, held)),
            _ => {
                self.left_out.reasons += 1;
                self.left_out.changes += held.len();
            }
        }
    }

    /// Adds findings, in at most a quarter of the page.
    pub(super) fn findings(&mut self, findings: &[Diagnostic], lines: PageLines<'_>) {
        if findings.is_empty() {
            return;
        }
        let limit = self.room.saturating_sub(MARKUP).min(self.limit / 4);
        let (text, left_out) = lines::findings(findings, lines, limit);
        self.take(text.len() + MARKUP);
        self.findings = text;
        self.left_out.findings = left_out;
    }

    /// Adds what was changed on the service, in at most a quarter of the page.
    pub(super) fn drift(&mut self, rows: &[String]) {
        let limit = self.limit / 4;
        for row in rows.iter().map(|row| defused(row)) {
            match self.drift.len() + row.len() <= limit && self.take(row.len() + MARKUP) {
                true => self.drift.push_str(&row),
                false => self.left_out.drift += 1,
            }
        }
    }

    /// Adds the changes of an environment.
    pub(super) fn changes(&mut self, environment: &EnvironmentId, changes: Vec<&'a Change>) {
        match self.sections.get_mut(environment) {
            Some(section) => section.published = changes,
            None => self.left_out.changes += changes.len(),
        }
    }

    /// Adds the lines and the diffs that fit. Returns the page and what it lacks.
    pub(super) fn finish(mut self, lines: PageLines<'_>) -> (String, LeftOut) {
        let mut sections = std::mem::take(&mut self.sections);
        let mut order: Vec<&mut Section<'_>> = sections.values_mut().collect();
        // The smallest one first, so that it leaves what it does not need to the others.
        order.sort_by_key(|section| section.groups().map(|(changes, _)| changes.len()).sum::<usize>());
        let count = order.len();
        for (at, section) in order.into_iter().enumerate() {
            let share = self.room / (count - at);
            self.fill(section, lines, share);
        }
        if self.left_out.changes > 0 {
            // A line is worth more than a diff.
            self.room = 0;
        }
        for section in sections.values_mut() {
            self.fold(section, lines);
        }
        let mut out = self.head + &self.left_out.to_string();
        for section in sections.values() {
            section.write(&mut out);
        }
        if !self.findings.is_empty() {
            out.push_str(&format!("#### Findings\n\n{}\n", self.findings));
        }
        if !self.drift.is_empty() {
            out.push_str(&format!("#### Drift\n\n{}\n", self.drift));
        }
        out.push_str(&self.foot);
        if out.len() > self.limit {
            // Only a limit below the size of a heading leads here.
            let end = (0..=self.limit).rev().find(|end| out.is_char_boundary(*end));
            out.truncate(end.unwrap_or_default());
        }
        (out, self.left_out)
    }

    /// Adds the lines of changes that fit into `share` bytes.
    fn fill(&mut self, section: &mut Section<'a>, lines: PageLines<'_>, mut share: usize) {
        let mut texts = Vec::new();
        for (changes, indent) in section.groups() {
            let (mut text, mut left) = (String::new(), changes.len());
            for (count, line) in lines.changes(changes, indent) {
                let Some(rest) = share.checked_sub(line.len()) else {
                    // The share is used up, so that later lines are not rendered.
                    share = 0;
                    break;
                };
                self.room -= line.len();
                share = rest;
                left -= count;
                text.push_str(&line);
            }
            self.left_out.changes += left;
            texts.push(text);
        }
        section.lines = texts;
    }

    /// Adds the diff of each change that fits.
    fn fold(&mut self, section: &mut Section<'a>, lines: PageLines<'_>) {
        /// No diff is smaller.
        const SMALLEST: usize = 80;
        let changes: Vec<&Change> = section
            .groups()
            .flat_map(|(changes, _)| changes.iter().copied())
            .collect();
        for change in changes {
            let diff = if self.room < SMALLEST {
                None
            } else {
                Some(lines.diff(change))
            };
            match diff.filter(|diff| self.take(diff.len())) {
                Some(diff) => section.diffs.push(diff),
                None => self.left_out.diffs += 1,
            }
        }
    }
}

impl<'a> Section<'a> {
    /// Returns the groups of changes with the indentation of their lines: published changes, then held ones.
    fn groups(&self) -> impl Iterator<Item = (&Vec<&'a Change>, &'static str)> {
        let held = self.notes.iter().map(|(_, held)| (held, "  "));
        std::iter::once((&self.published, "")).chain(held)
    }

    fn write(&self, out: &mut String) {
        out.push_str(&self.heading);
        let mut lines = self.lines.iter();
        out.extend(lines.next().map(String::as_str));
        for ((note, _), held) in self.notes.iter().zip(lines) {
            out.push_str(note);
            out.push_str(held);
        }
        out.push('\n');
        if !self.diffs.is_empty() {
            let diffs = self.diffs.concat();
            let summary = counted(self.diffs.len(), "diff");
            out.push_str(&format!(
                "<details><summary>{summary}</summary>\n\n{diffs}</details>\n\n"
            ));
        }
    }
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            environments,
            reasons,
            findings,
            drift,
            changes,
            diffs,
        } = self;
        let parts = [
            (*environments, "environment"),
            (*reasons, "reason"),
            (*findings, "finding"),
            (*drift, "drifted toggle"),
            (*changes, "change"),
            (*diffs, "diff"),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, noun)| counted(count, noun)).collect();
        match parts.is_empty() {
            true => Ok(()),
            false => write!(
                f,
                "> **Shortened**: {} did not fit here; `gitoggle plan -o json` lists everything.\n\n",
                listed(&parts)
            ),
        }
    }
}
