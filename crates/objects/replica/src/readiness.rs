//! Versions of types that the leader's engine makes ready: the leader says so in the log when it is done. Other members wait
//! for their own engines when they apply that, so it is not said before.

use std::sync::Arc;

use base::MonoTime;
use objects_state::guest::{Engine, VersionHash};
use objects_state::{Command, State, TypeId};

/// How often the engine is asked while it works, milliseconds.
pub(crate) const ASK_MS: u64 = 20;
/// After how long what was proposed and not applied is taken for lost, milliseconds.
const LOST_MS: u64 = 2_000;

/// See the module.
pub(crate) struct Readiness {
    engine: Arc<dyn Engine>,
    preparing: Vec<(TypeId, VersionHash)>,
    proposed: Vec<((TypeId, VersionHash), MonoTime)>,
}

impl Readiness {
    pub(crate) fn new(state: &State) -> Self {
        let engine = Arc::clone(state.engine());
        Self { engine, preparing: state.preparing(), proposed: Vec::new() }
    }

    /// Commands were applied.
    pub(crate) fn look(&mut self, state: &State) {
        if !self.preparing.is_empty() || state.has_user_types() {
            self.preparing = state.preparing();
            self.proposed.retain(|(version, _)| self.preparing.contains(version));
        }
    }

    /// What this leader is to say now.
    pub(crate) fn due(&mut self, now: MonoTime) -> Vec<Command> {
        self.proposed.retain(|(_, at)| now < at.plus_ms(LOST_MS));
        let is_due = |version: &&(TypeId, VersionHash)| {
            !self.proposed.iter().any(|(known, _)| known == *version) && self.engine.is_done(version.1)
        };
        let due: Vec<_> = self.preparing.iter().filter(is_due).copied().collect();
        self.proposed.extend(due.iter().map(|version| (*version, now)));
        due.into_iter().map(|(kind, version)| Command::TypeReady { kind, version }).collect()
    }

    /// Another leads, or what was proposed is lost.
    pub(crate) fn forget_proposed(&mut self) {
        self.proposed.clear();
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.preparing.is_empty()
    }
}
