//! The gate: which member may say what now. Nothing that arrives reaches the engine or changes anything before it has
//! passed here; what it says is checked where it is taken in. Pure: a table.
//!
//! A driver vouches for the sender's number and id. What is left to judge is the part that it has among the members, as
//! far as this member has applied them, and what this member is itself.
//!
//! A message is *ignored* that an honest member may send: it comes late, or from a member that does not know yet what has
//! changed. One that no honest member sends is *refused*: it is counted, and told to the driver.

use consensus_raft::{MemberId, RaftNode, Role};

use crate::founding::FoundingMessage;
use crate::membership::Relation;
use crate::output::Output;
use crate::peer_message::{MachineMessage, OwnRole, PeerMessage};
use crate::view::View;

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is taken in; its content is checked there.
    Accept,
    /// It is dropped.
    Ignore,
    /// It is dropped, counted and told.
    Refuse(&'static str),
}

/// The table.
pub(crate) fn judge<X: MachineMessage>(message: &PeerMessage<X>, from: Relation, own: OwnRole) -> Verdict {
    use Relation::{Evicted, Joining, Learner, Unknown, Voter};
    use Verdict::{Accept, Ignore, Refuse};
    let when = |may: bool| if may { Accept } else { Ignore };
    match (message, from) {
        (PeerMessage::Founding(FoundingMessage::Blank { .. }), Joining) => Accept,
        (PeerMessage::Founding(FoundingMessage::Blank { .. }), _) => {
            Refuse("a member that has an id says that its disk is blank")
        }
        // It was meant for this member before that had its id.
        (PeerMessage::Founding(FoundingMessage::Propose { .. }), _) => Ignore,
        (_, Joining) => Refuse("a member without an id says more than that it has none"),
        // Its content says whether it counts.
        (PeerMessage::Founding(FoundingMessage::Replaced { .. }), _) => Accept,
        // Late answers to what this member asked before it had its id.
        (PeerMessage::Founding(_), _) => Ignore,
        // Also from those who are unknown: a member that was away for long may know none of those who lead now.
        (PeerMessage::Engine(_) | PeerMessage::Offer(_), Voter | Learner) => Accept,
        (PeerMessage::Engine(_) | PeerMessage::Offer(_), Unknown) => when(!own.leads),
        // It may have been let in again under its id, and lead now, while this member lagged.
        (PeerMessage::Engine(_) | PeerMessage::Offer(_), Evicted) => when(own.follows || own.is_leaderless),
        (PeerMessage::LeaseAsk { .. }, _) => Accept,
        (_, Evicted | Unknown) if !own.follows => Ignore,
        (PeerMessage::Machine(message), _) => when(message.may_be_said_to(own)),
        (PeerMessage::LeaseGrant { .. }, _) => when(own.follows || (own.leads && from == Voter)),
        (PeerMessage::LeaderLost { .. } | PeerMessage::Digest { .. }, _) => when(from == Voter),
        (PeerMessage::Want { .. } | PeerMessage::Chunks { .. } | PeerMessage::Taken { .. }, _) => Accept,
    }
}

/// Whether the message may be taken in. Refuses, and counts, what no honest member sends.
pub(crate) fn admits<X: MachineMessage>(
    from: MemberId,
    message: &PeerMessage<X>,
    raft: &RaftNode,
    view: &View,
    out: &mut Output<X>,
) -> bool {
    if from.number() == view.own().number() {
        out.refuse_message(from, "a message under this member's own number");
        return false;
    }
    let role = raft.role();
    let (leads, leader) = (role == Role::Leader, raft.leader());
    let follows = !leads && leader.is_some_and(|leader| leader == from);
    let own = OwnRole { leads, follows, is_leaderless: leader.is_none() };
    match judge(message, view.membership.relation(from), own) {
        Verdict::Accept => true,
        Verdict::Ignore => false,
        Verdict::Refuse(reason) => {
            out.refuse_message(from, reason);
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use consensus_raft::{LogIndex, Term};

    use super::*;
    use crate::test_support::{Note, raft};

    const NOBODY: OwnRole = OwnRole { leads: false, follows: false, is_leaderless: false };
    const FOLLOWS: OwnRole = OwnRole { follows: true, ..NOBODY };
    const LEADS: OwnRole = OwnRole { leads: true, ..NOBODY };
    const WAITS: OwnRole = OwnRole { is_leaderless: true, ..NOBODY };

    /// Which of these relations and states may say it: `v`oter, `l`earner, `j`oining, `e`victed, `u`nknown, each to one
    /// that follows it, to a leader, and to any other. `x` accepts, `-` ignores, `!` refuses.
    fn table(message: &PeerMessage<Note>) -> String {
        let relations =
            [Relation::Voter, Relation::Learner, Relation::Joining, Relation::Evicted, Relation::Unknown];
        let row = |relation: Relation| {
            let cell = |own| match judge(message, relation, own) {
                Verdict::Accept => 'x',
                Verdict::Ignore => '-',
                Verdict::Refuse(_) => '!',
            };
            [FOLLOWS, LEADS, NOBODY].map(cell).iter().collect::<String>()
        };
        relations.map(row).join(" ")
    }

    #[test]
    fn gate_lets_in_what_each_may_say() {
        let founding = PeerMessage::Founding;
        let lost = PeerMessage::LeaderLost { term: Term(1), leader: MemberId(2), last_index: LogIndex(3) };
        let chunks = PeerMessage::Chunks { index: LogIndex(1), first: 0, chunks: Vec::new(), end: None };
        let rows = [
            // Relation:               voter learner joining evicted unknown; to: follower, leader, other
            // A note is for a leader.
            (PeerMessage::Machine(Note(1)), "-x- -x- !!! --- ---"),
            (PeerMessage::LeaseAsk { term: Term(1), at: base::MonoTime::of_ms(1) }, "xxx xxx !!! xxx xxx"),
            (PeerMessage::LeaseGrant { term: Term(1), at: base::MonoTime::of_ms(1) }, "xx- x-- !!! x-- x--"),
            (lost, "xxx --- !!! --- ---"),
            (PeerMessage::Want { index: LogIndex(1), chunk: 1 }, "xxx xxx !!! x-- x--"),
            (chunks, "xxx xxx !!! x-- x--"),
            (PeerMessage::Taken { index: LogIndex(1), whole: true }, "xxx xxx !!! x-- x--"),
            (PeerMessage::Digest { position: 1, digest: 1 }, "xxx --- !!! --- ---"),
            (founding(FoundingMessage::Blank { incarnation: [1; 16], founds: true }), "!!! !!! xxx !!! !!!"),
            (
                founding(FoundingMessage::Replaced { id: MemberId(1), index: LogIndex(1) }),
                "xxx xxx !!! xxx xxx",
            ),
            (founding(FoundingMessage::Seated { cluster: [1; 16], untouched: None }), "--- --- !!! --- ---"),
            (
                founding(FoundingMessage::Propose { cluster: [1; 16], voters: Vec::new() }),
                "--- --- --- --- ---",
            ),
        ];
        for (message, expected) in rows {
            assert_eq!(table(&message), expected, "{message:?}");
        }
    }

    #[test]
    fn leader_that_was_a_member_once_is_heard_by_one_that_knows_no_other() {
        let mut candidate = raft(2, &[1, 2, 3]);
        candidate.campaign();
        while candidate.ready().is_some() {}
        let asks = candidate.outbox().pop().expect("it asks for votes");
        let message = PeerMessage::<Note>::Engine(asks.message);
        assert_eq!(table(&message), "xxx xxx !!! x-- x-x");
        let verdict = |own| judge(&message, Relation::Evicted, own);
        assert_eq!([FOLLOWS, WAITS, LEADS].map(verdict), [Verdict::Accept, Verdict::Accept, Verdict::Ignore]);
    }
}
