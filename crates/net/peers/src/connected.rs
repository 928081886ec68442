//! When the process of each connected member started. Two machines may say that they have the same number: a restored image
//! beside its original, a replacement for one that only seemed to be dead. The switchboard keeps the one that started last.
//! The door refuses the other with the reason: otherwise that one would connect and be dropped again and again, a thousand
//! times a second, and never learn why.

use std::collections::BTreeMap;

use net_peer_pairs::PeerNumber;
use parking_lot::Mutex;

use crate::refusal::Refusal;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Connected {
    /// When the process started, by number.
    lives: Mutex<BTreeMap<PeerNumber, u64>>,
    /// The processes that are known to run, by number: no earlier one is let in. Empty where nobody says so.
    required: Mutex<BTreeMap<PeerNumber, u64>>,
}

impl Connected {
    /// The member is connected, whose process started then.
    pub(crate) fn begin(&self, number: PeerNumber, life: u64) {
        self.lives.lock().insert(number, life);
    }

    /// These processes are known to run. Gives the members of which none was known, or an earlier one.
    pub(crate) fn require(&self, lives: BTreeMap<PeerNumber, u64>) -> Vec<PeerNumber> {
        let mut required = self.required.lock();
        let is_news = |(number, life): (&PeerNumber, &u64)| {
            required.get(number).is_none_or(|known| known < life).then_some(*number)
        };
        let started = lives.iter().filter_map(is_news).collect();
        *required = lives;
        started
    }

    /// Whether a process is at least the one that is known to run.
    ///
    /// # Errors
    /// It is an earlier one.
    pub(crate) fn judge_required(&self, number: PeerNumber, life: u64) -> Result<(), Refusal> {
        let required = self.required.lock().get(&number).copied();
        match net_peer_pairs::is_outdated(life, required) {
            true => Err(Refusal::StartedEarlier(number)),
            false => Ok(()),
        }
    }

    /// It is not connected any more.
    pub(crate) fn end(&self, number: PeerNumber) {
        self.lives.lock().remove(&number);
    }

    /// Whether a member's process that started then may be let in: no process of the same number that started later is
    /// connected.
    ///
    /// # Errors
    /// It is refused, for the logs of both.
    pub(crate) fn judge(&self, number: PeerNumber, life: u64) -> Result<(), Refusal> {
        self.judge_required(number, life)?;
        let connected = self.lives.lock().get(&number).copied();
        match net_peer_pairs::is_outdated(life, connected) {
            true => Err(Refusal::StartedEarlier(number)),
            false => Ok(()),
        }
    }
}
