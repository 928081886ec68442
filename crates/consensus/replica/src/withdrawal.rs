//! A member whose state is another than a majority's withdraws: from then on it serves and applies nothing. Its vote it keeps for
//! a while. Meanwhile the others hear what it knows of the difference, and no two members give up their votes at the same time:
//! each has a moment of its own, and waits for voters that are away.

use base::MonoTime;

use crate::Fault;
use crate::view::View;

/// How much later than the voter before it a member gives up its vote, milliseconds.
const APART_MS: u64 = 500;
/// How long voters that are away are waited for, milliseconds.
const PATIENCE_MS: u64 = 20_000;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Withdrawal(Option<(Fault, MonoTime)>);

impl Withdrawal {
    /// The member withdraws, for this reason. Says whether it had not.
    pub(crate) fn begin(&mut self, fault: Fault, view: &View) -> bool {
        let is_new = self.0.is_none();
        if is_new {
            self.0 = Some((fault, view.now.mono()));
        }
        is_new
    }

    pub(crate) const fn is_begun(&self) -> bool {
        self.0.is_some()
    }

    /// The reason, when it is time to stop. `parting_ms`: how long the others are told of the difference.
    pub(crate) fn due(&self, parting_ms: u64, view: &View) -> Option<&Fault> {
        let (fault, since) = self.0.as_ref()?;
        let (own, now) = (view.own(), view.now.mono());
        let voters = &view.members().voters;
        let place = voters.iter().filter(|voter| **voter < own).count() as u64;
        if now < since.plus_ms(parting_ms + APART_MS * place) {
            return None;
        }
        let are_there = voters.iter().all(|voter| *voter == own || view.peers.is_connected(*voter));
        (are_there || now >= since.plus_ms(PATIENCE_MS)).then_some(fault)
    }
}

#[cfg(test)]
mod tests {
    use base::Now;
    use consensus_raft::MemberId;

    use super::*;
    use crate::test_support::view;

    fn fault() -> Fault {
        Fault::Driver { reason: "odd".into() }
    }

    /// When a member of three gives up its vote that withdraws at 1,000 ms and waits for 100.
    fn gives_up_at(own: u64, connected: &[u64]) -> u64 {
        let mut view = view(own, &[1, 2, 3]);
        connected.iter().for_each(|peer| view.peers.connect(MemberId(*peer), view.now.mono()));
        let mut withdrawal = Withdrawal::default();
        view.now = Now::of_ms(1_000, 0);
        assert!(withdrawal.begin(fault(), &view) && !withdrawal.begin(fault(), &view));
        (1_000..100_000)
            .step_by(100)
            .find(|at| {
                view.now = Now::of_ms(*at, 0);
                withdrawal.due(100, &view) == Some(&fault())
            })
            .expect("it gives up at last")
    }

    #[test]
    fn members_that_withdraw_at_the_same_time_give_up_their_votes_one_after_the_other() {
        let at = [(1, [2, 3]), (2, [1, 3]), (3, [1, 2])].map(|(own, others)| gives_up_at(own, &others));
        assert_eq!(at, [1_100, 1_600, 2_100]);
    }

    #[test]
    fn member_that_withdraws_waits_for_a_voter_that_is_away_for_a_bounded_time() {
        assert_eq!(gives_up_at(2, &[1]), 21_000);
    }
}
