//! Which partition is compacted next, and what becomes of each step of a pass.
//!
//! One pass is at work at a time, so that its map of keys has all the memory that there is for maps. It runs elsewhere, over
//! files that nobody changes; the driver carries commands there and events back. What a pass has made is taken only if the
//! partition is as it was when the pass began, and is still to be compacted: retention, deleted records and topics, and
//! changed settings win over it.

use std::collections::BTreeMap;

use base::{MonoTime, Now};
use log_partition::{CompactionJob, PartitionId, Replacement, Segment};
use log_storage::CompactionError;
use storage_wal::LogId;

use crate::node::Node;
use crate::notice::Notice;

/// How long a partition is left alone after a pass over it has failed, milliseconds.
const RETRY_MS: u64 = 60_000;

/// What the compactor is told.
#[derive(Debug)]
pub enum CompactionCommand {
    /// Begin a pass.
    Start(LogId, PartitionId, Box<CompactionJob>),
    /// What it has made was taken: go on.
    Taken(LogId),
    /// What it has made was refused: remove it and end the pass.
    Refused(LogId),
}

/// What the compactor tells.
#[derive(Debug)]
pub enum CompactionEvent {
    /// A step of the pass is made. It is answered with [`CompactionCommand::Taken`] or [`CompactionCommand::Refused`].
    Ready(LogId, Box<Replacement>),
    /// The pass is over.
    Ended(LogId, Result<(), CompactionError>),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Compactions {
    /// When partitions are looked at again.
    due: MonoTime,
    /// The log of the pass that is at work, with the segments that it reads.
    running: Option<(LogId, Vec<Segment>)>,
    /// Partitions that are left alone until then.
    failed: BTreeMap<LogId, MonoTime>,
    commands: Vec<CompactionCommand>,
}

impl Compactions {
    pub(crate) const fn new() -> Self {
        let (due, running) = (MonoTime::ZERO, None);
        Self { due, running, failed: BTreeMap::new(), commands: Vec::new() }
    }

    /// Begins a pass if none is at work and a partition needs one.
    pub(crate) fn tick(&mut self, node: &mut Node, now: Now) {
        if self.running.is_some() || now.mono() < self.due || !node.config.compacts {
            return;
        }
        self.due = now.mono().plus_ms(node.config.compaction_check_ms);
        self.failed.retain(|_, until| *until > now.mono());
        let (failed, map_bytes_max) = (&self.failed, node.config.compaction_map_bytes_max);
        let neediest = node.partitions.neediest(now, map_bytes_max, |log| !failed.contains_key(&log));
        if let Some((log, id, job)) = neediest {
            self.running = Some((log, job.segments.clone()));
            self.commands.push(CompactionCommand::Start(log, id, Box::new(job)));
        }
    }

    /// The compactor tells something.
    pub(crate) fn event(&mut self, node: &mut Node, event: CompactionEvent, now: Now) {
        match event {
            CompactionEvent::Ready(log, replacement) => {
                let running = self.running.take().filter(|(of, _)| *of == log);
                self.running = running.filter(|(_, read)| node.partitions.replace(log, &replacement, read));
                let is_taken = self.running.is_some();
                self.commands.push(match is_taken {
                    true => CompactionCommand::Taken(log),
                    false => CompactionCommand::Refused(log),
                });
            }
            CompactionEvent::Ended(log, ended) => {
                self.running = None;
                if let Err(error) = ended {
                    self.failed(node, log, error, now);
                } else {
                    // Others may have waited for it.
                    self.due = now.mono();
                }
            }
        }
    }

    fn failed(&mut self, node: &mut Node, log: LogId, error: CompactionError, now: Now) {
        if error == CompactionError::Gone {
            return;
        }
        let is_damaged = matches!(error, CompactionError::Damaged { .. });
        let until = if is_damaged { MonoTime::MAX } else { now.mono().plus_ms(RETRY_MS) };
        self.failed.insert(log, until);
        let id = node.partitions.id_of(log);
        node.notices.extend(id.map(|id| Notice::NotCompacted(id, error)));
    }

    /// Takes what the compactor is told.
    pub(crate) fn take_commands(&mut self) -> Vec<CompactionCommand> {
        std::mem::take(&mut self.commands)
    }
}
