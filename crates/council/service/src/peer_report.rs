//! What an operator should know of what other members say: that messages were refused, that others believe this member to
//! be replaced, that its leader counts on what it lacks. Logged now and then, however often it happens.

use base::{LogIndex, MemberId, MonoTime};
use consensus_replica::Denials;
use council_replica::Core;

/// How often something is logged at the most, milliseconds.
const INTERVAL_MS: u64 = 5_000;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct PeerReport {
    /// When something may be logged next.
    next: MonoTime,
    lacks_index: LogIndex,
}

impl PeerReport {
    /// Logs what is new, if it is time for that.
    pub(crate) fn tell(&mut self, core: &mut Core, now: MonoTime) {
        if now < self.next {
            return;
        }
        self.next = now.plus_ms(INTERVAL_MS);
        for refusal in core.take_refusals() {
            let (from, number) = (refusal.from, refusal.from.number());
            tracing::warn!(
                member = number.0,
                id = if from.is_blank() { MemberId::founder(number).0 } else { from.0 },
                messages = refusal.times,
                reason = refusal.reason,
                "messages of a member were refused; hint: see which program runs at that member's address, and who may \
                 connect to the members' ports"
            );
        }
        let Denials { numbers, known, needed } = core.denials();
        if !numbers.is_empty() {
            tracing::warn!(
                members = ?numbers.iter().map(|number| number.0).collect::<Vec<_>>(),
                known,
                needed,
                "members say that this member's number was given to another disk: it keeps its data until enough of those \
                 that it knows say so; hint: if those are gone for good, stop it and empty its data directory"
            );
        }
        self.tell_lack(core.lacks());
    }

    fn tell_lack(&mut self, index: LogIndex) {
        if index != self.lacks_index {
            match index {
                LogIndex::ZERO => {
                    tracing::info!("this member has again all that its leader counted on, and votes")
                }
                _ => tracing::error!(
                    index = index.0,
                    "the leader counts on this member's log up to an entry that it does not have: it gives no vote until \
                     it has; hint: if its disk was set back to an earlier state, empty its data directory; if it was \
                     not, restart it"
                ),
            }
        }
        self.lacks_index = index;
    }
}
