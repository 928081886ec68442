//! The thread that compacts logs: the shipped compactor, a step at a time.

use log_broker::{CompactionCommand, CompactionEvent};
use log_storage::{Compactor, CompactorConfig, CompactorStep};
use sim_kit::disk::SimDisk;
use storage_wal::LogId;

/// How much a step reads: little, so that much happens between two.
const STEP_BYTES: usize = 4 << 10;

/// See the module.
pub(super) struct Compaction {
    compactor: Compactor<SimDisk>,
    /// The partition of the pass that is at work and does not wait for an answer.
    log: Option<LogId>,
    pub(super) commands: Vec<CompactionCommand>,
    pub(super) events: Vec<CompactionEvent>,
    /// The topic of the pass.
    topic: [u8; 16],
    /// Topics of segments that are to take the place of others.
    pub(super) made: Vec<[u8; 16]>,
}

impl Compaction {
    pub(super) const fn new(disk: SimDisk) -> Self {
        let compactor = Compactor::new(disk, CompactorConfig { step_bytes: STEP_BYTES });
        Self {
            compactor,
            log: None,
            commands: Vec::new(),
            events: Vec::new(),
            topic: [0; 16],
            made: Vec::new(),
        }
    }

    pub(super) fn step(&mut self) {
        for command in std::mem::take(&mut self.commands) {
            match command {
                CompactionCommand::Start(log, id, job) => {
                    self.topic = id.topic;
                    self.compactor.start(id, *job);
                    self.log = Some(log);
                }
                CompactionCommand::Taken(log) => {
                    self.compactor.taken();
                    self.log = Some(log);
                }
                CompactionCommand::Refused(_) => {
                    self.compactor.refused();
                    self.log = None;
                }
            }
        }
        let Some(log) = self.log else { return };
        let event = match self.compactor.step() {
            CompactorStep::More => return,
            CompactorStep::Ready(replacement) => {
                self.made.push(self.topic);
                CompactionEvent::Ready(log, replacement)
            }
            CompactorStep::Idle | CompactorStep::Done => CompactionEvent::Ended(log, Ok(())),
            CompactorStep::Failed(error) => CompactionEvent::Ended(log, Err(error)),
        };
        self.log = None;
        self.events.push(event);
    }
}
