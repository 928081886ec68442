//! An engine that comes to other results than those of the other members, as a compiler with a bug or a processor that fails would:
//! of calls whose arguments say so, so that whoever calls decides which run it is.

use std::sync::Arc;

use objects_state::guest::{
    Ended, Engine, Entry, Host, PAGE_BYTES, Progress, Rejected, Run, RunId, Version, VersionHash,
};

/// The word among a call's arguments.
const WORD: &[u8] = b"uneven";
/// A page that such a run writes, and that no module of ours uses: nothing writes over it later.
const PAGE: u32 = 1_000;

/// See the module.
pub(super) struct Uneven {
    inner: Arc<dyn Engine>,
    /// What it writes: engines with different ones come to different results.
    by: u8,
}

impl Uneven {
    pub(super) fn new(inner: Arc<dyn Engine>, by: u8) -> Self {
        Self { inner, by }
    }
}

impl Engine for Uneven {
    fn run(&self, run: &Run<'_>, host: &dyn Host) -> Ended {
        let mut ended = self.inner.run(run, host);
        let is_meant = match run.entry {
            Entry::Call { args, .. } => args.windows(WORD.len()).any(|word| word == WORD),
            _ => false,
        };
        if is_meant && ended.outcome.is_ok() {
            ended.pages.whole(PAGE, &[self.by; PAGE_BYTES]);
        }
        ended
    }

    fn prepare(&self, version: &Version<'_>) {
        self.inner.prepare(version);
    }

    fn ready(&self, version: VersionHash) -> Result<(), Rejected> {
        self.inner.ready(version)
    }

    fn is_done(&self, version: VersionHash) -> bool {
        self.inner.is_done(version)
    }

    fn unfinished(&self) -> usize {
        self.inner.unfinished()
    }

    fn takes_memory_over(&self, from: VersionHash, to: VersionHash, host: &dyn Host) -> Result<(), String> {
        self.inner.takes_memory_over(from, to, host)
    }

    fn forgive(&self, space: u64, position: u64) {
        self.inner.forgive(space, position);
    }

    fn description(&self, version: VersionHash) -> Option<Vec<u8>> {
        self.inner.description(version)
    }

    fn begin(&self, run: &Run<'_>, host: &dyn Host) {
        self.inner.begin(run, host);
    }

    fn progress(&self, space: u64, run: RunId) -> Progress {
        self.inner.progress(space, run)
    }

    fn query(&self, run: &Run<'_>, host: &dyn Host) -> Ended {
        self.inner.query(run, host)
    }

    fn begin_query(&self, run: &Run<'_>, host: &dyn Host) -> Option<u64> {
        self.inner.begin_query(run, host)
    }

    fn take_query(&self, number: u64) -> Option<Ended> {
        self.inner.take_query(number)
    }

    fn forget_queries(&self) {
        self.inner.forget_queries();
    }

    fn forget_version(&self, version: VersionHash) {
        self.inner.forget_version(version);
    }

    fn forget(&self, space: u64) {
        self.inner.forget(space);
    }

    fn forget_all(&self) {
        self.inner.forget_all();
    }
}

#[cfg(test)]
#[path = "uneven_tests.rs"]
mod tests;
