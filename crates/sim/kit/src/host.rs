//! A host: its disk, its clocks, and their faults. Knows nothing of the process on it, nor how many of its faults can be
//! borne at a time: that is the world's budget.

use base::{MonoTime, Now};

use crate::disk::{Loss, SimDisk};
use crate::random::Random;

/// How far a monotonic clock strays at the most, millionths.
pub const DRIFT_MAX_PPM: i64 = 1_000;

/// What a wall clock says at the start of a world, milliseconds since 1970.
const WALL_START_MS: i64 = 1_700_000_000_000;

/// See the module.
#[derive(Debug)]
pub struct Host {
    /// Its disk.
    pub disk: SimDisk,
    drift_ppm: i64,
    /// When its process last began to stand still, and until when it does.
    paused_from_ms: u64,
    paused_until_ms: u64,
    /// Until when its disk does.
    stalled_until_ms: u64,
    /// How long a flush takes, until then.
    flush_ms: u64,
    slow_until_ms: u64,
    /// When the flush that is under way is done.
    flushed_ms: Option<u64>,
    full_until_ms: Option<u64>,
    /// Its disk was told to fail.
    failing: bool,
}

impl Host {
    /// One with a blank disk. Its clock has a pace of its own if it `drifts`.
    #[must_use]
    pub fn new(random: &mut Random, drifts: bool) -> Self {
        let drift_ppm = random.below(2 * DRIFT_MAX_PPM as u64 + 1) as i64 - DRIFT_MAX_PPM;
        Self {
            disk: SimDisk::new(random.number()),
            drift_ppm: if drifts { drift_ppm } else { 0 },
            paused_from_ms: 0,
            paused_until_ms: 0,
            stalled_until_ms: 0,
            flush_ms: 0,
            slow_until_ms: 0,
            flushed_ms: None,
            full_until_ms: None,
            failing: false,
        }
    }

    /// Its process stands still for so long.
    pub const fn pause(&mut self, now_ms: u64, long_ms: u64) {
        if !self.is_paused(now_ms) {
            self.paused_from_ms = now_ms;
        }
        self.paused_until_ms = now_ms + long_ms;
    }

    /// Its disk stands still until then.
    pub const fn stall_disk(&mut self, until_ms: u64) {
        self.stalled_until_ms = until_ms;
    }

    /// Each flush of its disk takes so long, until then.
    pub const fn slow_disk(&mut self, flush_ms: u64, until_ms: u64) {
        (self.flush_ms, self.slow_until_ms) = (flush_ms, until_ms);
    }

    /// The write or flush of its disk that comes after so many fails.
    pub fn fail_disk(&mut self, writes: bool, after: u64) {
        match writes {
            true => self.disk.fail_write(self.disk.operations() + after),
            false => self.disk.fail_flush(self.disk.flushes() + after),
        }
        self.failing = true;
    }

    /// Its disk has room for so many bytes, until then; and if it `copies` on write, not even for bytes in place of others.
    pub fn fill_disk(&mut self, room: u64, copies: bool, until_ms: u64) {
        self.disk.set_capacity(self.disk.used() + room);
        self.disk.copy_on_write(copies);
        self.full_until_ms = Some(until_ms);
    }

    /// Its disk has as much room as it may want.
    pub fn give_room(&mut self) {
        self.full_until_ms = None;
        self.disk.set_capacity(u64::MAX);
        self.disk.copy_on_write(false);
    }

    /// Its disk has room again if its time has come.
    pub fn give_room_in_time(&mut self, now_ms: u64) {
        if self.full_until_ms.is_some_and(|until_ms| until_ms <= now_ms) {
            self.give_room();
        }
    }

    /// Its process has ended: what it wrote is there, also what it did not flush. No fault outlasts it.
    pub fn end_process(&mut self) {
        self.disk.restart();
        self.end_faults();
    }

    /// Its power fails, and with it its process: of what was not flushed so much is lost. No fault outlasts it.
    pub fn crash(&mut self, loss: Loss) {
        self.disk.crash(loss);
        self.end_faults();
    }

    fn end_faults(&mut self) {
        self.disk.repair();
        (self.paused_from_ms, self.paused_until_ms) = (0, 0);
        (self.stalled_until_ms, self.slow_until_ms) = (0, 0);
        (self.flushed_ms, self.full_until_ms, self.failing) = (None, None, false);
    }

    /// Everything about it is well again, while its process goes on.
    pub fn heal(&mut self) {
        (self.paused_until_ms, self.stalled_until_ms, self.slow_until_ms) = (0, 0, 0);
        (self.full_until_ms, self.failing) = (None, false);
        self.disk.repair();
    }

    /// How many flushes its process may begin now, if one is what it does next: while its disk is slow, one at a time, once
    /// it has taken long enough.
    pub fn flushes_allowed(&mut self, now_ms: u64, awaits_flush: bool) -> u32 {
        if now_ms >= self.slow_until_ms {
            self.flushed_ms = None;
            return u32::MAX;
        }
        let began = awaits_flush.then(|| *self.flushed_ms.get_or_insert(now_ms + self.flush_ms));
        let is_done = began.is_some_and(|done_ms| now_ms >= done_ms);
        if is_done || began.is_none() {
            self.flushed_ms = None;
        }
        u32::from(is_done)
    }

    /// What its monotonic clock says at that time.
    #[must_use]
    pub const fn mono(&self, now_ms: u64) -> MonoTime {
        MonoTime::of_ms((now_ms as i64 + now_ms as i64 * self.drift_ppm / 1_000_000) as u64)
    }

    /// What its clocks say at that time, unless the wall clock was set.
    #[must_use]
    pub const fn now(&self, now_ms: u64) -> Now {
        let mono_ms = self.mono(now_ms).ms();
        Now::of_ms(mono_ms, WALL_START_MS + mono_ms as i64)
    }

    /// Whether its process stands still.
    #[must_use]
    pub const fn is_paused(&self, now_ms: u64) -> bool {
        now_ms < self.paused_until_ms
    }

    /// When its process last began to stand still, and until when it does or did; 0 if it never did.
    #[must_use]
    pub const fn last_pause_ms(&self) -> (u64, u64) {
        (self.paused_from_ms, self.paused_until_ms)
    }

    /// Whether its disk does nothing now.
    #[must_use]
    pub const fn is_disk_stalled(&self, now_ms: u64) -> bool {
        now_ms < self.stalled_until_ms
    }

    /// Whether its process may find that the disk fails.
    #[must_use]
    pub const fn may_fail(&self) -> bool {
        self.failing || self.full_until_ms.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flush_of_a_slow_disk_takes_its_time_and_the_next_one_as_long() {
        let mut host = Host::new(&mut Random::new(1), false);
        assert_eq!(host.flushes_allowed(0, true), u32::MAX);
        host.slow_disk(50, 200);
        let allowed = [10, 59, 60, 61, 110, 111, 200].map(|now_ms| host.flushes_allowed(now_ms, true));
        assert_eq!(allowed, [0, 0, 1, 0, 0, 1, u32::MAX]);
    }

    #[test]
    fn no_fault_outlasts_the_process() {
        let mut host = Host::new(&mut Random::new(1), true);
        host.pause(10, 100);
        host.stall_disk(100);
        host.fail_disk(true, 1);
        assert!(host.is_paused(20) && host.is_disk_stalled(20) && host.may_fail());
        host.crash(Loss::All);
        assert!(!host.is_paused(20) && !host.is_disk_stalled(20) && !host.may_fail());
        assert_eq!(host.last_pause_ms(), (0, 0));
    }
}
