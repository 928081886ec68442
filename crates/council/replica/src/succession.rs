//! After a leader's death nobody need wait for a timeout: whoever lost its connection to the leader says so, and once
//! a majority has, each forgets the leader and campaigns, the one with the longest log first.

use std::collections::BTreeMap;

/// How much later than the one before it in line a member campaigns, milliseconds.
const STEP_MS: u64 = 12;
/// How often it campaigns before it falls back to waiting for a timeout.
const TRIES: u32 = 4;

/// A reign that may have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reign {
    pub(crate) term: u64,
    pub(crate) leader: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Succession {
    reign: Option<Reign>,
    /// Who lost that leader, with the last index of each.
    reports: BTreeMap<u64, u64>,
    campaign_ms: Option<u64>,
    tries: u32,
}

impl Succession {
    /// A member lost this reign's leader. Older reigns are of no interest; a newer one begins the count anew.
    pub(crate) fn report(&mut self, reign: Reign, member: u64, last_index: u64) {
        match self.reign {
            Some(known) if known.term > reign.term => return,
            Some(known) if known == reign => {}
            _ => {
                self.forget();
                self.reign = Some(reign);
            }
        }
        if member != reign.leader {
            self.reports.insert(member, last_index);
        }
    }

    /// The leader is heard again, or there is another.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Whether a majority has lost the leader of that reign. Sets when `member` is to campaign, once.
    pub(crate) fn is_over(&mut self, reign: Reign, member: u64, majority: usize, now_ms: u64) -> bool {
        if self.reign != Some(reign) || self.reports.len() < majority || self.campaign_ms.is_some() {
            return false;
        }
        self.campaign_ms = Some(now_ms + self.place(member) * STEP_MS);
        true
    }

    /// How many stand before that member in line.
    fn place(&self, member: u64) -> u64 {
        let own = (self.reports.get(&member).copied().unwrap_or(0), member);
        self.reports.iter().filter(|(other, last)| (**last, **other) > own).count() as u64
    }

    /// Whether to campaign now; if it comes to nothing, the next time is set already.
    pub(crate) fn campaigns(&mut self, member: u64, now_ms: u64) -> bool {
        if self.campaign_ms.is_none_or(|due| now_ms < due) {
            return false;
        }
        self.tries += 1;
        let line = self.reports.len() as u64 + 1;
        self.campaign_ms = Some(match self.tries < TRIES {
            true => now_ms + (line + self.place(member)) * STEP_MS,
            false => u64::MAX,
        });
        true
    }

    /// When [`Self::campaigns`] will be true.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.campaign_ms.filter(|due| *due != u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REIGN: Reign = Reign { term: 5, leader: 1 };

    #[test]
    fn a_majority_ends_a_reign_and_the_longest_log_campaigns_first() {
        let due = |own: u64, other: u64| {
            let mut succession = Succession::default();
            succession.report(REIGN, 2, own);
            assert!(!succession.is_over(REIGN, 2, 2, 100));
            succession.report(REIGN, 1, 99);
            assert!(!succession.is_over(REIGN, 2, 2, 100), "the leader's own word does not count");
            succession.report(REIGN, 3, other);
            assert!(succession.is_over(REIGN, 2, 2, 100));
            succession.next_ms()
        };
        assert_eq!((due(10, 9), due(9, 10)), (Some(100), Some(100 + STEP_MS)));
    }

    #[test]
    fn an_older_reign_is_of_no_interest_and_a_newer_one_starts_anew() {
        let mut succession = Succession::default();
        succession.report(REIGN, 2, 1);
        let next = Reign { term: 6, leader: 3 };
        succession.report(next, 1, 1);
        succession.report(REIGN, 2, 1);
        assert!(!succession.is_over(next, 1, 2, 0));
        succession.report(next, 2, 1);
        assert!(succession.is_over(next, 1, 2, 0));
    }

    #[test]
    fn campaigns_are_repeated_a_few_times() {
        let mut succession = Succession::default();
        succession.report(REIGN, 2, 1);
        assert!(succession.is_over(REIGN, 2, 1, 0));
        let mut campaigns = 0;
        for now_ms in 0..1000 {
            campaigns += u32::from(succession.campaigns(2, now_ms));
        }
        assert_eq!(campaigns, TRIES);
    }
}
