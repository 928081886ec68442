//! What belongs to an instance besides its memory: the run that is under way.

use std::sync::Arc;

use wasmtime::{Memory, ResourceLimiter};

use super::Acts;
use crate::description::Codec;
use crate::dirty::Dirty;
use crate::log::Log;
use crate::memory::Borrowed;
use crate::meter::Meter;

/// What may be done in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// An image is made: there is no object.
    #[default]
    Image,
    /// A call that may wait.
    Call,
    /// Another part of a command.
    Event,
    /// Nothing is changed.
    Query,
}

/// Numbers that follow from a seed (SplitMix64).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let next = self.next().to_le_bytes();
            chunk.copy_from_slice(&next[..chunk.len()]);
        }
    }
}

/// What a run is told.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) phase: Phase,
    pub(crate) codec: Codec,
    pub(crate) now_ms: i64,
    pub(crate) position: u64,
    pub(crate) random: Random,
}

/// How large the memory may become.
#[derive(Debug)]
pub(crate) struct Growth {
    /// What an instance begins with was looked at before it was compiled.
    bytes_max: Option<usize>,
    /// Whether more was asked for in this run.
    pub(crate) is_refused: bool,
}

impl ResourceLimiter for Growth {
    fn memory_growing(&mut self, _: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let fits = self.bytes_max.is_none_or(|most| desired <= most)
            && maximum.is_none_or(|maximum| desired <= maximum);
        self.is_refused |= !fits;
        Ok(fits)
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(true)
    }
}

/// Data of an instance's store.
pub(crate) struct Cell {
    pub(crate) memory: Option<Memory>,
    pub(crate) meter: Option<Meter>,
    pub(crate) dirty: Option<Dirty>,
    pub(crate) host: Borrowed,
    pub(crate) facts: Facts,
    /// Who calls, in words, once the module has asked.
    pub(super) caller: Option<String>,
    pub(crate) acts: Acts,
    pub(crate) growth: Growth,
    /// The last line of this run.
    pub(crate) last_logged: String,
    log: Arc<Log>,
}

impl Cell {
    pub(crate) fn new(log: Arc<Log>) -> Self {
        Self {
            memory: None,
            meter: None,
            dirty: None,
            host: Borrowed::default(),
            facts: Facts::default(),
            caller: None,
            acts: Acts::default(),
            growth: Growth { bytes_max: None, is_refused: false },
            last_logged: String::new(),
            log,
        }
    }

    /// From now on the memory may have so many bytes at the most.
    pub(crate) fn bound_growth(&mut self, bytes_max: usize) {
        self.growth.bytes_max = Some(bytes_max);
    }

    /// Begins a run.
    pub(crate) fn begin(&mut self, facts: Facts) {
        self.facts = facts;
        self.caller = None;
        self.acts = Acts::default();
        self.growth.is_refused = false;
        self.last_logged.clear();
    }

    /// Takes a line, already short enough.
    pub(super) fn log(&mut self, line: &[u8]) {
        self.last_logged = String::from_utf8_lossy(line).trim_end().to_owned();
        self.log.push(self.last_logged.clone());
    }
}
