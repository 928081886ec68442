//! After a leader's death no member need wait for a timeout: each that lost its connection to the leader says so, and once
//! a majority has, each forgets the leader and campaigns, the one with the longest log first.

use base::MonoTime;
use std::collections::BTreeMap;

use consensus_raft::{LogIndex, MemberId};

use super::LeaderTerm;

/// How much later than the one before it in line a member campaigns, milliseconds.
const STEP_MS: u64 = 12;
/// How often it campaigns before it falls back to waiting for a timeout.
const TRIES: u32 = 4;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct FastElection {
    lost: Option<LeaderTerm>,
    /// Who lost that leader, with the last index of each.
    reports: BTreeMap<MemberId, LogIndex>,
    campaign: Option<MonoTime>,
    tries: u32,
}

impl FastElection {
    /// A member lost this term's leader. Older terms are of no interest; a newer one begins the count anew.
    pub(crate) fn report(&mut self, lost: LeaderTerm, member: MemberId, last_index: LogIndex) {
        match self.lost {
            Some(known) if known.term > lost.term => return,
            Some(known) if known == lost => {}
            _ => {
                self.forget();
                self.lost = Some(lost);
            }
        }
        if Some(member) != lost.leader {
            self.reports.insert(member, last_index);
        }
    }

    /// The leader is heard again, or there is another.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Whether a majority has lost the leader of that term. Sets when `member` is to campaign, once.
    pub(crate) fn is_over(
        &mut self,
        lost: LeaderTerm,
        member: MemberId,
        majority: usize,
        now: MonoTime,
    ) -> bool {
        if self.lost != Some(lost) || self.reports.len() < majority || self.campaign.is_some() {
            return false;
        }
        self.campaign = Some(now.plus_ms(self.place(member) * STEP_MS));
        true
    }

    /// How many stand before that member in line.
    fn place(&self, member: MemberId) -> u64 {
        let own = (self.reports.get(&member).copied().unwrap_or_default(), member);
        self.reports.iter().filter(|(other, last)| (**last, **other) > own).count() as u64
    }

    /// Whether to campaign now; if it comes to nothing, the next time is set already.
    pub(crate) fn campaigns(&mut self, member: MemberId, now: MonoTime) -> bool {
        if self.campaign.is_none_or(|due| now < due) {
            return false;
        }
        self.tries += 1;
        let line = self.reports.len() as u64 + 1;
        self.campaign = Some(match self.tries < TRIES {
            // Twice as long each time: answers over a long link must find the campaign that asked for them.
            true => now.plus_ms((line + self.place(member)) * STEP_MS),
            false => MonoTime::MAX,
        });
        true
    }

    /// When [`Self::campaigns`] will be true.
    pub(crate) fn next_campaign(&self) -> Option<MonoTime> {
        self.campaign.filter(|due| *due != MonoTime::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consensus_raft::Term;

    const LOST: LeaderTerm = LeaderTerm { term: Term(5), leader: Some(MemberId(1)) };

    #[test]
    fn majority_ends_a_term_and_the_longest_log_campaigns_first() {
        let due = |own: u64, other: u64| {
            let mut election = FastElection::default();
            election.report(LOST, MemberId(2), LogIndex(own));
            assert!(!election.is_over(LOST, MemberId(2), 2, MonoTime::of_ms(100)));
            election.report(LOST, MemberId(1), LogIndex(99));
            assert!(
                !election.is_over(LOST, MemberId(2), 2, MonoTime::of_ms(100)),
                "the leader's own word does not count"
            );
            election.report(LOST, MemberId(3), LogIndex(other));
            assert!(election.is_over(LOST, MemberId(2), 2, MonoTime::of_ms(100)));
            election.next_campaign()
        };
        assert_eq!(
            (due(10, 9), due(9, 10)),
            (Some(MonoTime::of_ms(100)), Some(MonoTime::of_ms(100 + STEP_MS)))
        );
    }

    #[test]
    fn older_term_is_of_no_interest_and_a_newer_one_starts_anew() {
        let mut election = FastElection::default();
        election.report(LOST, MemberId(2), LogIndex(1));
        let next = LeaderTerm { term: Term(6), leader: Some(MemberId(3)) };
        election.report(next, MemberId(1), LogIndex(1));
        election.report(LOST, MemberId(2), LogIndex(1));
        assert!(!election.is_over(next, MemberId(1), 2, MonoTime::of_ms(0)));
        election.report(next, MemberId(2), LogIndex(1));
        assert!(election.is_over(next, MemberId(1), 2, MonoTime::of_ms(0)));
    }

    #[test]
    fn campaigns_are_repeated_a_few_times() {
        let mut election = FastElection::default();
        election.report(LOST, MemberId(2), LogIndex(1));
        assert!(election.is_over(LOST, MemberId(2), 1, MonoTime::of_ms(0)));
        let campaigns: Vec<_> =
            (0..1000).filter(|ms| election.campaigns(MemberId(2), MonoTime::of_ms(*ms))).collect();
        assert_eq!(campaigns, [0, 24, 48, 72]);
    }
}
