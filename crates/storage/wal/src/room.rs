//! Room: the next segment made ready ahead of need, what the present one can still take, and a full disk.

use crate::config::{Class, Progress, Space};
use crate::error::{AppendError, Fault};
use crate::limits::SEGMENT_BYTES_MAX;
use crate::log::Checkpoints;
use crate::segment::{SUCCESSOR_BYTES, SegmentStart};
use crate::wal::{Wal, next_segment_bytes};
use storage_disk::{Disk, DiskError};

/// How many steps of making the next segment are done at once, if it is late.
const KEEP_AHEAD_STEPS_MAX: usize = 16;

impl<D: Disk> Wal<D> {
    /// One step of making the next segment ready, if it is time for that. To be called between flushes.
    ///
    /// # Errors
    /// A fault poisons the log.
    pub fn prepare(&mut self) -> Result<Progress, Fault> {
        self.check()?;
        let preallocation = &mut self.preallocation;
        let early = self.current.end < self.current.capacity / 8 && !preallocation.is_growing();
        if early || preallocation.is_full() || preallocation.is_ready() {
            return Ok(Progress::Idle);
        }
        let bytes = next_segment_bytes(&self.config, self.current.capacity);
        let sequence = self.current.sequence + 1;
        let stepped = preallocation.step(&mut self.disk, &self.config, sequence, bytes);
        self.poison_by(stepped)?;
        let done = self.preallocation.is_full() || self.preallocation.is_ready();
        Ok(if done { Progress::Idle } else { Progress::More })
    }

    /// As many steps of [`prepare`](Wal::prepare) as are needed for the next segment to be ready in time, mostly
    /// none. To be called after each flush that was answered: under load there may be no idle moment, and a segment
    /// not ready when it is needed must be made while everything waits.
    ///
    /// # Errors
    /// A fault poisons the log.
    pub fn keep_ahead(&mut self) -> Result<(), Fault> {
        // From the first eighth on, and done when three quarters are used.
        let eighth = self.current.capacity / 8;
        let (used, room) = (self.current.end.saturating_sub(eighth), 5 * eighth);
        for _ in 0..KEEP_AHEAD_STEPS_MAX {
            let (made, bytes) = (self.preallocation.made_bytes(), self.next_bytes());
            let behind = u128::from(used) * u128::from(bytes) > u128::from(made) * u128::from(room);
            if !behind || self.prepare()? == Progress::Idle {
                break;
            }
        }
        Ok(())
    }

    /// Whether there is room for more. It is [`Space::Full`] as soon as the next segment cannot be made ready, long
    /// before records are refused: what is under way still fits.
    pub fn space(&self) -> Space {
        if self.shortage().is_some() { Space::Full } else { Space::Plenty }
    }

    /// How many bytes of ordinary records still fit, in one group or in several, without a further segment, as long as
    /// no log is created. [`record_bytes_max`](crate::record_bytes_max) says what a record takes.
    pub fn room(&self, checkpoints: &impl Checkpoints) -> u64 {
        let left = self.current.limit().saturating_sub(self.current.end);
        let kept = self.config.kept_bytes(self.current.capacity);
        let Some(next) = self.preallocation.ready_bytes() else { return left.saturating_sub(kept) };
        let start_bytes = self.start_bytes_max(checkpoints);
        left.max(next.saturating_sub(start_bytes + SUCCESSOR_BYTES + self.config.kept_bytes(next)))
    }

    /// Makes the next segment ready at once if [`room`](Wal::room) is less than `bytes`. If the disk has no room
    /// for it, [`space`](Wal::space) says so afterwards.
    ///
    /// # Errors
    /// No segment can be so large, or a fault, which poisons the log.
    pub fn ensure_room(&mut self, bytes: u64, checkpoints: &impl Checkpoints) -> Result<(), AppendError> {
        self.check()?;
        match self.make_room(bytes, Class::Ordinary, checkpoints) {
            Err(AppendError::Full) => Ok(()),
            other => other,
        }
    }

    /// What the disk had no room for, and how many bytes that was; nothing while there is room.
    pub fn shortage(&self) -> Option<(&Fault, u64)> {
        let unwritten = self.unwritten.as_ref().map(|(fault, bytes)| (fault, *bytes));
        unwritten.or_else(|| self.preallocation.shortage())
    }

    /// Tries again to make the next segment ready. To be called from time to time while the disk is full.
    ///
    /// # Errors
    /// A fault poisons the log.
    pub fn try_preallocate(&mut self) -> Result<Space, Fault> {
        self.check()?;
        if self.unwritten.is_some() {
            match self.flush() {
                Err(fault) if fault.error == DiskError::Full => return Ok(Space::Full),
                other => other?,
            }
        }
        if self.preallocation.is_full() {
            let bytes = self.next_bytes().max(self.preallocation.lacking());
            let sequence = self.current.sequence + 1;
            let completed = self.preallocation.complete(&mut self.disk, &self.config, sequence, bytes);
            self.poison_by(completed)?;
        }
        Ok(self.space())
    }

    /// Sees to it that `bytes` of records find a place, and that enough is left for the reserved class.
    pub(crate) fn make_room(
        &mut self,
        bytes: u64,
        class: Class,
        checkpoints: &impl Checkpoints,
    ) -> Result<(), AppendError> {
        let left = self.current.limit().saturating_sub(self.current.end);
        let kept = self.config.kept_bytes(self.current.capacity);
        let fits = bytes <= left;
        let spared = class == Class::Reserved || bytes + kept <= left || self.preallocation.is_ready();
        if fits && spared {
            return Ok(());
        }
        let start_bytes = self.start_bytes_max(checkpoints);
        if !self.fits_a_segment(start_bytes + bytes) {
            return Err(AppendError::TooLarge { bytes });
        }
        let need = self.config.capacity_for(start_bytes + bytes + SUCCESSOR_BYTES);
        let next_bytes = need.max(self.next_bytes());
        if self.preallocation.is_full() && !self.preallocation.holds(next_bytes) {
            return Err(AppendError::Full);
        }
        let sequence = self.current.sequence + 1;
        let completed = self.preallocation.complete(&mut self.disk, &self.config, sequence, next_bytes);
        if self.poison_by(completed)? { Ok(()) } else { Err(AppendError::Full) }
    }

    /// Whether a segment can be made that takes so many bytes of records, its first one included.
    pub(crate) fn fits_a_segment(&self, bytes: u64) -> bool {
        self.config.capacity_for(bytes + SUCCESSOR_BYTES) <= SEGMENT_BYTES_MAX
    }

    fn start_bytes_max(&self, checkpoints: &impl Checkpoints) -> u64 {
        SegmentStart::record_bytes_max(self.logs.len(), checkpoints.bytes_max())
    }

    fn next_bytes(&self) -> u64 {
        next_segment_bytes(&self.config, self.current.capacity)
    }
}
