//! What other members said and no honest member says: counted, and kept until the driver logs it.

use consensus_raft::MemberId;

/// Reasons for refusals that are kept until the driver takes them.
const UNTOLD_MAX: usize = 32;

/// A refused message, for the driver to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The sender.
    pub from: MemberId,
    /// Why.
    pub reason: &'static str,
    /// How many messages of the sender were refused for this since the last time.
    pub times: u64,
}

/// What was refused.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    untold: Vec<Refusal>,
    /// All since the start.
    count: u64,
}

impl Refusals {
    pub(crate) fn note(&mut self, from: MemberId, reason: &'static str) {
        self.count += 1;
        let is_full = self.untold.len() == UNTOLD_MAX;
        let same = |known: &&mut Refusal| (known.from, known.reason) == (from, reason);
        match self.untold.iter_mut().find(same) {
            Some(known) => known.times += 1,
            None if is_full => {}
            None => self.untold.push(Refusal { from, reason, times: 1 }),
        }
    }

    /// Takes what was refused since the last time, by sender and reason.
    pub(crate) fn take(&mut self) -> Vec<Refusal> {
        std::mem::take(&mut self.untold)
    }

    /// How many were refused since the start.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_sender_and_reason_and_bounded() {
        let mut refusals = Refusals::default();
        for from in 0..100 {
            refusals.note(MemberId(from), "a reason");
            refusals.note(MemberId(1), "another");
        }
        assert_eq!(refusals.untold.len(), UNTOLD_MAX);
        assert!(refusals.untold.contains(&Refusal { from: MemberId(1), reason: "another", times: 100 }));
    }
}
