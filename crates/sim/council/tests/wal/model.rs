//! What the write-ahead log must hold: everything that was done to its logs, in order, and how much of it was flushed.

use crate::owners::{Restoring, Summary};
use sim_council::disk::SimDisk;
use std::collections::BTreeMap;
use storage_wal::{LogId, Position, Wal};

/// What was done to a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It was created, with this label.
    Create(LogId, u64),
    Append(LogId, Vec<u8>),
    Drop(LogId),
}

/// A log as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LogState {
    label: u64,
    records: Vec<Vec<u8>>,
}

type Logs = BTreeMap<LogId, LogState>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    changes: Vec<Change>,
    /// How many of them were flushed.
    flushed: usize,
    /// How many records of each log are kept elsewhere, durably.
    pub(crate) floors: BTreeMap<LogId, u64>,
}

impl Model {
    pub(crate) fn add(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// What was added last did not happen.
    pub(crate) fn take_back(&mut self) {
        self.changes.pop();
    }

    pub(crate) fn flush(&mut self) {
        self.flushed = self.changes.len();
    }

    /// How many records of a log are flushed.
    pub(crate) fn flushed_records(&self, log: LogId) -> u64 {
        let changes = self.changes[..self.flushed].iter();
        changes.filter(|change| matches!(change, Change::Append(of, _) if *of == log)).count() as u64
    }

    /// The id that the next log is given.
    pub(crate) fn next_log(&self) -> LogId {
        next_log(&self.changes)
    }

    /// A record of a log.
    pub(crate) fn record(&self, log: LogId, number: u64) -> &[u8] {
        let of_log = |change: &&Change| matches!(change, Change::Append(of, _) if *of == log);
        let Some(Change::Append(_, payload)) = self.changes.iter().filter(of_log).nth(number as usize) else {
            panic!("log {log} has no record {number}")
        };
        payload
    }

    /// Compares what was recovered with what may be, and goes on from there.
    pub(crate) fn check(&mut self, restored: &Restoring<'_>, wal: &mut Wal<SimDisk>) -> Result<(), String> {
        let mut possible = (self.flushed..=self.changes.len()).rev();
        let fits = |until: &usize| {
            let changes = &self.changes[..*until];
            matches(&states(changes), restored) && next_log(changes) == next_of(wal, restored)
        };
        let Some(found) = possible.find(fits) else {
            let (given, flushed) = (&restored.given, states(&self.changes[..self.flushed]));
            let present = states(&self.changes);
            return Err(format!("given {given:#?}\nflushed was {flushed:#?}\npresent {present:#?}"));
        };
        self.changes.truncate(found);
        self.flushed = found;
        let next = self.next_log();
        self.floors.retain(|log, _| *log < next);
        for (log, floor) in &self.floors {
            if let Some(given) = restored.given.get(log).filter(|given| given.begin.records > *floor) {
                return Err(format!("log {log} begins with {:?}, and needs more than {floor}", given.begin));
            }
        }
        let live: Vec<LogId> = restored.given.keys().copied().collect();
        if !wal.logs().eq(live.iter().copied()) {
            return Err(format!("the logs should be {live:?}"));
        }
        for (log, given) in &restored.given {
            for (at, payload) in &given.records {
                let read = wal.read(*log, *at).map_err(|error| error.to_string())?;
                if read != *payload {
                    return Err(format!("log {log} holds something else at {at:?}"));
                }
            }
        }
        // Segments that no owner was given anything of were not verified.
        let begins = restored.given.values().map(|given| given.at.sequence);
        self.check_order(wal, begins.min().unwrap_or(wal.end().sequence))
    }

    /// All records of all logs, as they lie in the segments from this one on, are those that were appended last, in that
    /// order.
    pub(crate) fn check_order(&self, wal: &mut Wal<SimDisk>, from: u64) -> Result<(), String> {
        let mut found = Vec::new();
        for sequence in from..=wal.end().sequence {
            let begin = Position { sequence, offset: 0 };
            let mut reader = wal.reader(begin, None).map_err(|error| error.to_string())?;
            while let Some(record) = reader.next().map_err(|error| error.to_string())? {
                found.push((record.log, record.payload.to_vec()));
            }
        }
        let appended = self.changes.iter().filter_map(|change| match change {
            Change::Append(log, payload) => Some((*log, payload.clone())),
            Change::Create(..) | Change::Drop(_) => None,
        });
        let appended: Vec<_> = appended.collect();
        if appended.ends_with(&found) {
            return Ok(());
        }
        Err(format!("{} records lie in the segments in another order than they were appended", found.len()))
    }
}

fn next_log(changes: &[Change]) -> LogId {
    LogId(changes.iter().filter(|change| matches!(change, Change::Create(..))).count() as u64 + 1)
}

/// What the recovered log would give as the next id; a log that was dropped leaves no other trace than that.
fn next_of(wal: &Wal<SimDisk>, restored: &Restoring<'_>) -> LogId {
    let highest = restored.given.keys().next_back().map_or(0, |log| log.0);
    assert!(wal.next_log().0 > highest, "an id would be given twice");
    wal.next_log()
}

fn states(changes: &[Change]) -> Logs {
    let mut logs = Logs::new();
    for change in changes {
        match change {
            Change::Create(log, label) => {
                logs.insert(*log, LogState { label: *label, records: Vec::new() });
            }
            Change::Append(log, payload) => {
                logs.get_mut(log).expect("a log that there is").records.push(payload.clone());
            }
            Change::Drop(log) => drop(logs.remove(log)),
        }
    }
    logs
}

/// Whether each owner was given its log: a checkpoint that stands for the records before it, and all others.
fn matches(logs: &Logs, restored: &Restoring<'_>) -> bool {
    logs.keys().eq(restored.given.keys())
        && logs.values().zip(restored.given.values()).all(|(log, given)| {
            let Some((before, behind)) = log.records.split_at_checked(given.begin.records as usize) else {
                return false;
            };
            let mut summary = Summary::new(log.label);
            before.iter().for_each(|payload| summary.append(payload));
            summary == given.begin && given.records.iter().map(|(_, payload)| payload).eq(behind)
        })
}
