//! The engine of those who judge: the shipped one, which begins nothing that kills whoever runs it, and says of it what members must
//! say in the end.

use objects_guest::{Guests, Settings};
use objects_state::guest::{
    Ended, Engine, Failure, Host, Pages, Progress, Rejected, Run, RunId, Version, VersionHash,
};

use crate::guests::deadly::{self, Kills};

/// See the module.
pub(crate) struct Unharmed(Guests);

impl Unharmed {
    pub(crate) fn new() -> Self {
        Self(Guests::new(Settings::default()))
    }
}

/// Every member's words must be the same: they are in its state.
fn words(run: &Run<'_>) -> String {
    format!("the process of a member has died 2 times in the call at position {}", run.position)
}

fn deadly(detail: String) -> Ended {
    let (pages, registers, acts) = (Pages::default(), None, Vec::new());
    Ended { outcome: Err(Failure::Deadly { detail }), pages, registers, acts, fuel: 0 }
}

impl Engine for Unharmed {
    fn prepare(&self, version: &Version<'_>) {
        self.0.prepare(version);
    }

    fn ready(&self, version: VersionHash) -> Result<(), Rejected> {
        self.0.ready(version)
    }

    fn is_done(&self, version: VersionHash) -> bool {
        self.0.is_done(version)
    }

    fn description(&self, version: VersionHash) -> Option<Vec<u8>> {
        self.0.description(version)
    }

    fn takes_memory_over(&self, from: VersionHash, to: VersionHash, host: &dyn Host) -> Result<(), String> {
        self.0.takes_memory_over(from, to, host)
    }

    fn begin(&self, run: &Run<'_>, host: &dyn Host) {
        self.0.begin(run, host);
    }

    fn progress(&self, space: u64, run: RunId) -> Progress {
        self.0.progress(space, run)
    }

    fn run(&self, run: &Run<'_>, host: &dyn Host) -> Ended {
        let is_beside = run.slice.is_none() && deadly::of_long_run(run.entry) == Kills::Always;
        match deadly::of_run(run.entry) {
            _ if is_beside => {
                // Its end is taken, that it is not found under way.
                self.0.forget(run.space);
                deadly(words(run))
            }
            Kills::Always => deadly(words(run)),
            _ => self.0.run(run, host),
        }
    }

    fn query(&self, run: &Run<'_>, host: &dyn Host) -> Ended {
        match deadly::of_query(run.entry) {
            Kills::Always => deadly("a query that kills".to_owned()),
            _ => self.0.query(run, host),
        }
    }

    fn forget_version(&self, version: VersionHash) {
        self.0.forget_version(version);
    }

    fn forget(&self, space: u64) {
        self.0.forget(space);
    }

    fn forget_all(&self) {
        self.0.forget_all();
    }
}
