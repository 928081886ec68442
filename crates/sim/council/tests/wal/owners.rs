//! The owners of the logs: what each can say of its log, and what it was given back.
//!
//! The checkpoint of a log says how many records it had and what they were in all, so that one that does not stand for
//! exactly the records before it is noticed.

use std::collections::{BTreeMap, VecDeque};
use storage_wal::codec::Malformed;
use storage_wal::{Checkpoints, LogId, Position, Restore};

/// The most bytes that a checkpoint is padded with.
pub(crate) const PADDING_MAX: u64 = 150;

/// What an owner says of its log in a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) label: u64,
    /// How many records the log had.
    pub(crate) records: u64,
    /// What they were.
    pub(crate) digest: u64,
}

impl Summary {
    pub(crate) fn new(label: u64) -> Self {
        Summary { label, records: 0, digest: 0 }
    }

    pub(crate) fn append(&mut self, payload: &[u8]) {
        self.records += 1;
        for byte in payload.iter().chain(&[0xff]) {
            self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(7);
        }
    }

    /// Longer for some logs than for others.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        for number in [self.label, self.records, self.digest] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.resize(out.len() + (self.label % PADDING_MAX) as usize, 0xaa);
    }

    pub(crate) fn bytes(&self) -> usize {
        24 + (self.label % PADDING_MAX) as usize
    }

    fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map(u64::from_le_bytes).ok_or(Malformed)
        };
        let summary = Summary { label: number(0)?, records: number(8)?, digest: number(16)? };
        if bytes.len() == summary.bytes() { Ok(summary) } else { Err(Malformed) }
    }
}

/// An owner at work.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) summary: Summary,
    /// The segments, as far as this owner knows of them: the number of each, and how many records the log had when it
    /// was begun.
    pub(crate) segments: VecDeque<(u64, u64)>,
    /// Where records lie that it may want to read again, the first of them the record of this number.
    pub(crate) places: (u64, Vec<Position>),
}

impl Owner {
    pub(crate) fn new(label: u64) -> Self {
        Owner { summary: Summary::new(label), segments: VecDeque::new(), places: (0, Vec::new()) }
    }

    /// Takes note of a record that was appended here.
    pub(crate) fn append(&mut self, payload: &[u8], at: Position) {
        self.reach(at.sequence);
        self.places.1.push(at);
        self.summary.append(payload);
    }

    /// The log goes on in this segment: it had all its records when that was begun.
    pub(crate) fn reach(&mut self, sequence: u64) {
        if self.segments.back().is_none_or(|(newest, _)| *newest < sequence) {
            self.segments.push_back((sequence, self.summary.records));
        }
    }

    /// The newest segment with whose checkpoint it could begin, if it no longer wants the first `floor` records.
    pub(crate) fn needed_from(&self, floor: u64) -> Option<u64> {
        self.segments.iter().rfind(|(_, records)| *records <= floor).map(|(sequence, _)| *sequence)
    }
}

/// All owners at work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owners(pub(crate) BTreeMap<LogId, Owner>);

impl Checkpoints for Owners {
    fn bytes_max(&self) -> usize {
        self.0.values().map(|owner| owner.summary.bytes()).sum()
    }

    fn encode(&self, log: LogId, out: &mut Vec<u8>) {
        self.0[&log].summary.encode(out);
    }
}

/// What an owner was given when the log was opened.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// What it began with, and where.
    pub(crate) begin: Summary,
    pub(crate) at: Position,
    pub(crate) records: Vec<(Position, Vec<u8>)>,
}

/// All owners while the log is opened.
pub(crate) struct Restoring<'f> {
    /// How many records of each log are kept elsewhere, durably: no owner wants those.
    pub(crate) floors: &'f BTreeMap<LogId, u64>,
    pub(crate) given: BTreeMap<LogId, Given>,
    pub(crate) segments: BTreeMap<LogId, VecDeque<(u64, u64)>>,
}

impl<'f> Restoring<'f> {
    pub(crate) fn new(floors: &'f BTreeMap<LogId, u64>) -> Self {
        Restoring { floors, given: BTreeMap::new(), segments: BTreeMap::new() }
    }

    /// The owners go to work with what they were given.
    pub(crate) fn owners(&self) -> Owners {
        let owner = |(log, given): (&LogId, &Given)| {
            let segments = self.segments.get(log).cloned().unwrap_or_default();
            let mut owner =
                Owner { summary: given.begin, segments, places: (given.begin.records, Vec::new()) };
            given.records.iter().for_each(|(at, payload)| owner.append(payload, *at));
            (*log, owner)
        };
        Owners(self.given.iter().map(owner).collect())
    }
}

impl Restore for Restoring<'_> {
    fn offer(&mut self, log: LogId, sequence: u64, checkpoint: &[u8]) -> Result<bool, Malformed> {
        let records = Summary::decode(checkpoint)?.records;
        let segments = self.segments.entry(log).or_default();
        assert!(segments.front().is_none_or(|(later, _)| *later > sequence), "offered out of order");
        segments.push_front((sequence, records));
        Ok(records <= self.floors.get(&log).copied().unwrap_or(0))
    }

    fn begin(&mut self, log: LogId, at: Position, checkpoint: &[u8]) -> Result<(), Malformed> {
        let begin = Summary::decode(checkpoint)?;
        let before = self.given.insert(log, Given { begin, at, records: Vec::new() });
        assert!(before.is_none(), "log {log} begins twice");
        Ok(())
    }

    fn record(&mut self, log: LogId, at: Position, payload: &[u8]) -> Result<(), Malformed> {
        let given = self.given.get_mut(&log).expect("a record before the log begins");
        assert!(given.records.last().is_none_or(|(last, _)| *last < at), "records out of order");
        given.records.push((at, payload.to_vec()));
        Ok(())
    }

    fn dropped(&mut self, log: LogId) {
        self.given.remove(&log);
    }
}
