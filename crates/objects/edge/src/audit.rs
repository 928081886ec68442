//! Lines of the log about access: who was not let in, and what was done that takes the right to administer.
//!
//! Refusals are many if somebody tries: a second has a few lines of them, and the next one says how many there were more. What was
//! administered is always logged.

use base::MonoTime;
use net_http_server::RequestId;
use objects_http::{Edge, Note};

/// Lines of refusals in a second.
const REFUSALS_PER_SECOND: u32 = 5;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    notes: Vec<Note>,
    second: u64,
    logged: u32,
    unlogged: u64,
}

impl Audit {
    /// Logs what the edge has noted.
    pub(crate) fn log(&mut self, edge: &mut Edge<RequestId>, now: MonoTime) {
        edge.take_notes(&mut self.notes);
        for note in core::mem::take(&mut self.notes) {
            match note {
                Note::Administered { what } => tracing::info!("objects were administered: {what}"),
                Note::Refused { slug, detail } => {
                    if let Some(unlogged) = self.takes(now) {
                        tracing::warn!(unlogged, "objects: a request was refused ({slug}): {detail}");
                    }
                }
            }
        }
    }

    /// Whether a refusal is logged: then how many were not since the last one.
    fn takes(&mut self, now: MonoTime) -> Option<u64> {
        let second = now.ms() / 1_000;
        if second != self.second {
            (self.second, self.logged) = (second, 0);
        }
        if self.logged >= REFUSALS_PER_SECOND {
            self.unlogged += 1;
            return None;
        }
        self.logged += 1;
        Some(core::mem::take(&mut self.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_beyond_a_few_in_a_second_are_counted() {
        let (mut audit, at) = (Audit::default(), MonoTime::of_ms);
        let taken: Vec<_> = (0..8).map(|_| audit.takes(at(1_500))).collect();
        assert_eq!(taken[..5], [Some(0); 5]);
        assert_eq!(taken[5..], [None; 3]);
        assert_eq!((audit.takes(at(2_000)), audit.takes(at(2_000))), (Some(3), Some(0)));
    }
}
