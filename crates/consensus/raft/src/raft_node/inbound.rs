//! What peers say, on its way to the engine: judged first, by what this member knows of itself.

use raft::eraftpb::{self, MessageType};

use super::RaftNode;
use crate::guard::{Guard, Refused};
use crate::{LogIndex, MemberId, Message, Term};

/// A leader counts on more of this member's log than there is: its disk may have lost what it had acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Doubt {
    /// The leader's term.
    term: Term,
    /// Up to where the leader has this member acknowledge what is committed.
    index: LogIndex,
}

impl RaftNode {
    /// A message of a peer.
    ///
    /// # Errors
    /// [`Refused`] when no member that works sends such a message; nothing has changed then.
    pub fn step(&mut self, message: Message) -> Result<(), Refused> {
        let mut message = message.0;
        if !self.guard().judge(&message)? {
            return Ok(());
        }
        // A heartbeat names what this member has acknowledged: the engine panics where it does not hold it.
        let last = self.node.raft.raft_log.last_index();
        if message.get_msg_type() == MessageType::MsgHeartbeat
            && message.term >= self.node.raft.term
            && message.commit > last
        {
            self.doubt = Some(Doubt { term: Term(message.term), index: LogIndex(message.commit) });
            message.commit = 0;
        }
        self.take(message);
        Ok(())
    }

    fn take(&mut self, message: eraftpb::Message) {
        let commits_more = message.get_msg_type() == MessageType::MsgAppend
            && message.entries.is_empty()
            && LogIndex(message.commit) > self.committed();
        let said = self.node.raft.msgs.len();
        // The only errors are messages of those who are no members and proposals; neither is answered.
        let _ = self.node.step(message);
        if self.node.raft.msgs.len() > said {
            self.withhold_repetition(commits_more);
        }
        self.note_leader();
        self.hold_timeout();
    }

    /// An append that only said what is committed is not answered where the answer would repeat the one before: the
    /// leader knows it. If it does not, for that answer was lost, its next heartbeat leads to another append, which is
    /// answered.
    fn withhold_repetition(&mut self, commits_more: bool) {
        let Some(answer) = self.node.raft.msgs.last() else { return };
        if answer.get_msg_type() != MessageType::MsgAppendResponse || answer.reject {
            return;
        }
        let acknowledged = (Term(answer.term), MemberId(answer.to), LogIndex(answer.index));
        if commits_more && self.acknowledged == acknowledged {
            self.node.raft.msgs.pop();
        }
        self.acknowledged = acknowledged;
    }

    /// The last index that is known to be committed, and its term.
    fn commit_info(&self) -> (LogIndex, Term) {
        let (committed, term) = self.node.raft.raft_log.commit_info();
        (LogIndex(committed), Term(term))
    }

    pub(super) fn note_leader(&mut self) {
        if let Some(leader) = self.leader() {
            self.led = (self.term(), Some(leader));
        }
    }

    fn guard(&self) -> Guard {
        let (committed, committed_term) = self.commit_info();
        let raft = &self.node.raft;
        let term = Term(raft.term);
        let led = self.leader().map_or(self.led, |leader| (term, Some(leader)));
        Guard {
            id: self.id(),
            term,
            state: raft.state,
            leader: led.1.filter(|_| led.0 == term),
            last_index: LogIndex(raft.raft_log.last_index()),
            committed,
            committed_term,
            may_campaign: self.may_campaign(),
            is_doubtful: self.doubt.is_some(),
            asked_votes_in: self.asked_votes_in,
            reads: raft.pending_read_count(),
        }
    }

    /// Whether the state that a message offers may be asked for: the leader of the present term offers it.
    ///
    /// # Errors
    /// [`Refused`] as [`Self::step`].
    pub fn may_take(&self, message: &Message) -> Result<bool, Refused> {
        let Some(offer) = message.snapshot() else { return Err(Refused("an offer of nothing")) };
        self.guard().offer(&message.0, &offer.membership)
    }

    /// Answers an offer, which [`Self::may_take`] approved, of state that is committed here already.
    ///
    /// # Errors
    /// [`Refused`] when it contradicts what is committed here.
    pub fn has_already(&mut self, message: Message) -> Result<(), Refused> {
        let meta = message.0.get_snapshot().get_metadata();
        let (index, term) = (LogIndex(meta.index), Term(meta.term));
        let (committed, committed_term) = self.commit_info();
        if index > committed || (index == committed && term != committed_term) {
            return Err(Refused("a snapshot that contradicts what is committed here"));
        }
        self.take(message.0);
        Ok(())
    }

    /// Up to which index a leader counts on this member's log while it is shorter: its disk may have lost what it had
    /// acknowledged. It gives no vote until it has that again, or what a later leader has committed in its own term:
    /// with its vote, members could elect a leader that lacks what only this one and others had.
    #[must_use]
    pub fn lacks(&self) -> Option<LogIndex> {
        self.doubt.map(|doubt| doubt.index)
    }

    pub(super) fn settle_doubt(&mut self) {
        if let Some(doubt) = self.doubt {
            let (committed, term) = self.commit_info();
            if committed >= doubt.index || term > doubt.term {
                self.doubt = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, HardState, Membership, RaftNode, Recovered};

    fn follower() -> RaftNode {
        let members = [1, 2, 3].map(MemberId);
        let recovered = Recovered {
            hard_state: HardState::default(),
            membership: Membership { voters: members.to_vec(), ..Membership::alone(MemberId(1)) },
            base_index: LogIndex::ZERO,
            base_term: Term::ZERO,
            entries: Vec::new(),
        };
        RaftNode::new(&Config::new(MemberId(2), 7), &recovered, LogIndex::ZERO)
    }

    /// An append of the leader, member 1: so many entries behind that index.
    fn append(node: &mut RaftNode, behind: u64, entries: u64, commit: u64) -> Vec<u64> {
        let mut message =
            eraftpb::Message { to: 2, from: 1, term: 1, index: behind, commit, ..Default::default() };
        message.set_msg_type(MessageType::MsgAppend);
        message.log_term = u64::from(behind > 0);
        let entry = |index| eraftpb::Entry { index, term: 1, ..Default::default() };
        message.set_entries((behind + 1..=behind + entries).map(entry).collect::<Vec<_>>().into());
        node.step(Message(message)).expect("a leader says this");
        while let Some(ready) = node.ready() {
            if let Some(persist) = ready.persist {
                node.persisted(persist.number);
            }
        }
        node.outbox().drain(..).map(|answer| answer.message.0.index).collect()
    }

    #[test]
    fn what_was_acknowledged_is_not_repeated_only_because_it_was_committed() {
        let mut node = follower();
        assert_eq!(append(&mut node, 0, 2, 0), [2]);
        assert_eq!(append(&mut node, 2, 0, 1), [0_u64; 0], "the leader knows it");
        assert_eq!(append(&mut node, 2, 0, 1), [2], "the leader asks, for it commits nothing");
        assert_eq!(append(&mut node, 2, 1, 2), [3], "entries are acknowledged, whatever is committed");
        assert_eq!(append(&mut node, 3, 0, 3), [0_u64; 0]);
    }

    #[test]
    fn what_is_committed_before_anything_was_acknowledged_is_answered() {
        let mut node = follower();
        assert_eq!(append(&mut node, 0, 2, 0), [2]);
        node.acknowledged = (Term::ZERO, MemberId(0), LogIndex::ZERO);
        assert_eq!(append(&mut node, 2, 0, 2), [2], "as after a restart");
    }
}
