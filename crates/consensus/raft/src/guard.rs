//! Which message of a peer the engine may be given.
//!
//! The engine trusts its peers: it asserts where a message contradicts what it knows, and takes over terms and indexes
//! as they come. A peer is another machine, whose memory, disk or program may be wrong. So every message is judged here
//! first, against what this member knows of itself. Knows nothing of who the members are: that is the member's part.
//!
//! What the engine (raft 0.7) asserts on the way of a message, and what keeps it from there:
//!
//! | in the engine | how a message could reach it | guarded by |
//! |---|---|---|
//! | `send`: "term should be set" | a vote request of term 0, or of the last term, behind which the next is 0 | [`Guard::term`] |
//! | `send`: "term should not be set" | a read index or a leadership transfer with a term, sent to a follower, which passes it on | [`Guard::read_index`]; transfers are refused |
//! | `handle_ready_read_index`, `add_request`: `entries[0]` | a read index without an entry | [`Guard::read_index`] |
//! | `become_leader`: all is persisted; `ready`: no record has entries | a vote that comes before this member has asked for it | [`Guard::vote`] |
//! | `maybe_append`: conflict with committed; slice of the entries | an append with gaps, or one that starts below what is committed | [`Guard::append`] |
//! | `handle_append_entries`: "term must be valid" | an append whose previous entry has a lower term than what is committed | [`Guard::append`] |
//! | `commit_to`: out of range | a heartbeat that says more is committed than is here; a response that says more is durable than the leader has | [`RaftNode::step`], [`Guard::response`] |
//! | `restore`: invalid configuration; a snapshot without its content | a snapshot that no transfer brought, or whose members contradict each other | [`Guard::offer`] |
//! | `hup`: unapplied entries are gone | a request to campaign in the middle of taking over a snapshot | [`Guard::timeout_now`] |
//! | additions of indexes and terms | numbers near 2^64 | [`INDEX_MAX`], [`TERM_MAX`] |
//!
//! [`RaftNode::step`]: crate::RaftNode::step

use raft::StateRole;
use raft::eraftpb::{Entry, EntryType, Message, MessageType};

use crate::message::MEMBERS_MAX;
use crate::{Change, LogIndex, MemberId, Membership, Step, Term};

/// The last term that a member takes over, or starts in. No ensemble reaches it: at an election each half second it
/// takes 18 billion years.
pub const TERM_MAX: Term = Term(1 << 60);
/// By how much a message may raise a member's term: what elections one after the other reach in about three months. A
/// member that was away meets the term of the others at once.
pub const TERM_JUMP_MAX: u64 = 1 << 24;
/// The last index that a message may name.
pub(crate) const INDEX_MAX: LogIndex = LogIndex(1 << 60);
/// Read indexes of others that a leader answers at a time; those beyond are asked for again.
pub(crate) const READS_MAX: usize = 4_096;
/// A context is the engine's name of a leadership transfer, or [`READ_BYTES`].
const CONTEXT_BYTES_MAX: usize = 16;
/// Who asks for a read index, and its number.
const READ_BYTES: usize = 16;

/// Why a message is refused: no member that works sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub &'static str);

/// Whether the engine is given a message: `false` for one that came too late, or to another than it was meant for.
type Verdict = Result<bool, Refused>;

/// What a member knows of itself when a message comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub(crate) id: MemberId,
    pub(crate) term: Term,
    pub(crate) state: StateRole,
    /// Who was heard to lead in this term.
    pub(crate) leader: Option<MemberId>,
    pub(crate) last_index: LogIndex,
    pub(crate) committed: LogIndex,
    pub(crate) committed_term: Term,
    pub(crate) may_campaign: bool,
    /// Whether its log may lack what it once acknowledged: then it gives no vote.
    pub(crate) is_doubtful: bool,
    /// The last term in which it asked for votes, and that request has left.
    pub(crate) asked_votes_in: Term,
    /// Read indexes that it was asked for and has not answered.
    pub(crate) reads: usize,
}

impl Guard {
    /// A message of any kind but one that offers a snapshot.
    pub(crate) fn judge(&self, message: &Message) -> Verdict {
        if message.to != self.id.0 {
            return Ok(false);
        }
        self.frame(message)?;
        match message.get_msg_type() {
            MessageType::MsgAppend => self.append(message),
            MessageType::MsgHeartbeat => self.leads(message),
            MessageType::MsgAppendResponse | MessageType::MsgHeartbeatResponse => self.response(message),
            MessageType::MsgRequestVote | MessageType::MsgRequestPreVote => self.vote_request(message),
            MessageType::MsgRequestVoteResponse | MessageType::MsgRequestPreVoteResponse => {
                self.vote(message)
            }
            MessageType::MsgTimeoutNow => Ok(self.timeout_now(message)),
            MessageType::MsgReadIndex => self.read_index(message),
            MessageType::MsgReadIndexResp => self.read_index_response(message),
            MessageType::MsgSnapshot => Err(Refused("a snapshot outside of a transfer")),
            MessageType::MsgTransferLeader => {
                Err(Refused("a leadership transfer that this member did not ask for"))
            }
            _ => Err(Refused("a message that is local to a member")),
        }
    }

    /// What holds for every kind.
    fn frame(&self, message: &Message) -> Result<(), Refused> {
        if sender_of(message) == MemberId::NOBODY || sender_of(message) == self.id {
            return Err(Refused("a message under a wrong name"));
        }
        if message.get_msg_type() != MessageType::MsgReadIndex {
            self.term(term_of(message))?;
        }
        let indexes = [message.index, message.commit, message.reject_hint].map(LogIndex);
        let terms = [message.log_term, message.commit_term].map(Term);
        let impossible =
            indexes.iter().any(|index| *index > INDEX_MAX) || terms.iter().any(|term| *term > TERM_MAX);
        if impossible || message.request_snapshot != 0 {
            return Err(Refused("a message with an impossible number"));
        }
        if message.context.len() > CONTEXT_BYTES_MAX {
            return Err(Refused("a message with a context that is too long"));
        }
        let entries = match message.get_msg_type() {
            MessageType::MsgAppend => return Ok(()),
            MessageType::MsgReadIndex | MessageType::MsgReadIndexResp => 1,
            _ => 0,
        };
        if message.entries.len() == entries {
            Ok(())
        } else {
            Err(Refused("a message with entries of others"))
        }
    }

    fn term(&self, term: Term) -> Result<(), Refused> {
        if term == Term::ZERO || term > TERM_MAX || term.since(self.term) > TERM_JUMP_MAX {
            return Err(Refused("a term that is out of reach"));
        }
        Ok(())
    }

    /// A term has one leader at the most.
    fn leads(&self, message: &Message) -> Verdict {
        if term_of(message) != self.term {
            return Ok(true);
        }
        if self.state == StateRole::Leader {
            return Err(Refused("a message of another leader in the term in which this member leads"));
        }
        if self.leader.is_some_and(|leader| leader != sender_of(message)) {
            return Err(Refused("a message of a second leader in one term"));
        }
        Ok(true)
    }

    fn append(&self, message: &Message) -> Verdict {
        let (mut index, mut term) = (index_of(message), Term(message.log_term));
        for entry in &message.entries {
            let (next, next_term) = (LogIndex(entry.index), Term(entry.term));
            if next != index.next() || next_term == Term::ZERO || next_term < term {
                return Err(Refused("entries that do not follow each other"));
            }
            (index, term) = (next, next_term);
            if !is_sound(entry) {
                return Err(Refused("a membership change that cannot be read"));
            }
        }
        if term > term_of(message) || index > INDEX_MAX {
            return Err(Refused("entries of a term that has not begun"));
        }
        let continues = term_of(message) >= self.term && index_of(message) >= self.committed;
        if continues && Term(message.log_term) < self.committed_term {
            return Err(Refused("entries that contradict what is committed here"));
        }
        self.leads(message)
    }

    /// What a follower says to its leader of its log.
    fn response(&self, message: &Message) -> Verdict {
        let says_term_only = message.get_msg_type() == MessageType::MsgAppendResponse;
        if term_of(message) != self.term {
            // A member that is in a later term says so in the form of a response to an append.
            return if term_of(message) < self.term || says_term_only {
                Ok(says_term_only)
            } else {
                Err(Refused("a response from a term that has not begun"))
            };
        }
        if self.state != StateRole::Leader {
            return Ok(false);
        }
        let indexes = [message.index, message.commit, message.reject_hint].map(LogIndex);
        if indexes.iter().any(|index| *index > self.last_index) {
            return Err(Refused("a response about entries that this leader does not have"));
        }
        Ok(true)
    }

    fn vote_request(&self, message: &Message) -> Verdict {
        if message.log_term > message.term
            || message.commit > message.index
            || message.commit_term > message.log_term
        {
            return Err(Refused("a request for a vote that contradicts itself"));
        }
        // The engine answers with its own term, which must not be 0.
        Ok(!self.is_doubtful && (self.term > Term::ZERO || self.last_index == LogIndex::ZERO))
    }

    /// An answer counts if it was asked for. A vote that comes before the request has left could make a leader of a
    /// member whose own vote, or whose log, is not durable.
    fn vote(&self, message: &Message) -> Verdict {
        if message.get_msg_type() == MessageType::MsgRequestPreVoteResponse {
            let fits = message.reject || term_of(message) == self.term.next();
            return Ok(self.state == StateRole::PreCandidate && fits);
        }
        if term_of(message) > self.term {
            return Err(Refused("a vote in a term that has not begun"));
        }
        let asked = self.state == StateRole::Candidate && self.asked_votes_in == self.term;
        Ok(asked && term_of(message) == self.term)
    }

    fn timeout_now(&self, message: &Message) -> bool {
        self.state == StateRole::Follower
            && term_of(message) == self.term
            && self.leader == Some(sender_of(message))
            && self.may_campaign
    }

    fn read_index(&self, message: &Message) -> Verdict {
        if message.term != 0 || !names(message, sender_of(message)) {
            return Err(Refused("a question for a read index that was not its sender's"));
        }
        Ok(self.state == StateRole::Leader && self.reads < READS_MAX)
    }

    fn read_index_response(&self, message: &Message) -> Verdict {
        if !names(message, self.id) {
            return Err(Refused("a read index that this member did not ask for"));
        }
        let of_leader = term_of(message) == self.term && self.leader == Some(sender_of(message));
        Ok(of_leader && self.state == StateRole::Follower)
    }

    /// A snapshot that a leader offers. The engine takes it over when its content has come.
    pub(crate) fn offer(&self, message: &Message, membership: &Membership) -> Verdict {
        if message.to != self.id.0 {
            return Ok(false);
        }
        self.frame(message)?;
        let meta = message.get_snapshot().get_metadata();
        let (index, term) = (LogIndex(meta.index), Term(meta.term));
        let impossible =
            index == LogIndex::ZERO || index > INDEX_MAX || term == Term::ZERO || term > term_of(message);
        if impossible {
            return Err(Refused("a snapshot of an impossible place in the log"));
        }
        if !membership.is_sound() {
            return Err(Refused("a snapshot whose members contradict each other"));
        }
        let continues = term_of(message) >= self.term && index >= self.committed;
        if continues && term < self.committed_term {
            return Err(Refused("a snapshot that contradicts what is committed here"));
        }
        self.leads(message)?;
        // One of a later term is offered again, when a heartbeat has told of that term.
        Ok(term_of(message) == self.term && self.leader == Some(sender_of(message)))
    }
}

const fn sender_of(message: &Message) -> MemberId {
    MemberId(message.from)
}

const fn term_of(message: &Message) -> Term {
    Term(message.term)
}

const fn index_of(message: &Message) -> LogIndex {
    LogIndex(message.index)
}

/// Whether the question or answer names that member as the one who asks.
fn names(message: &Message, asker: MemberId) -> bool {
    let data = message.entries.first().map(|entry| &entry.data[..]);
    data.is_some_and(|data| data.len() == READ_BYTES && data.starts_with(&asker.0.to_le_bytes()))
}

/// Whether the entry can be applied, as far as the engine is concerned.
fn is_sound(entry: &Entry) -> bool {
    if entry.get_entry_type() == EntryType::EntryNormal {
        return true;
    }
    let names_nobody = |step: &Step| {
        let (Step::Voter(id) | Step::Learner(id) | Step::Remove(id)) = step;
        *id == MemberId::NOBODY
    };
    Change::decode(&entry.context)
        .is_ok_and(|change| change.steps.len() <= MEMBERS_MAX && !change.steps.iter().any(names_nobody))
}

impl Membership {
    /// Whether a raft node can be made of it.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let lists = [&self.voters, &self.learners, &self.voters_outgoing, &self.learners_next];
        let is_list = |list: &&Vec<MemberId>| {
            let mut sorted = (*list).clone();
            sorted.sort_unstable();
            sorted.dedup();
            sorted.len() == list.len() && !sorted.contains(&MemberId::NOBODY) && sorted.len() <= MEMBERS_MAX
        };
        let votes = |id: &MemberId| self.voters.contains(id) || self.voters_outgoing.contains(id);
        let is_joint = !self.voters_outgoing.is_empty();
        !self.voters.is_empty()
            && lists.iter().all(is_list)
            && !self.learners.iter().any(votes)
            && self
                .learners_next
                .iter()
                .all(|id| self.voters_outgoing.contains(id) && !self.voters.contains(id))
            && (is_joint || !self.auto_leave)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn follower() -> Guard {
        Guard {
            id: MemberId(1),
            term: Term(5),
            state: StateRole::Follower,
            leader: Some(MemberId(2)),
            last_index: LogIndex(50),
            committed: LogIndex(40),
            committed_term: Term(4),
            may_campaign: true,
            is_doubtful: false,
            asked_votes_in: Term::ZERO,
            reads: 0,
        }
    }

    fn message(kind: MessageType, from: u64, term: u64) -> Message {
        let mut message = Message { to: 1, from, term, ..Message::default() };
        message.set_msg_type(kind);
        message
    }

    fn append(index: u64, log_term: u64, entries: &[(u64, u64)]) -> Message {
        let mut message = message(MessageType::MsgAppend, 2, 5);
        (message.index, message.log_term) = (index, log_term);
        let entry = |(index, term): &(u64, u64)| Entry { index: *index, term: *term, ..Entry::default() };
        message.set_entries(entries.iter().map(entry).collect::<Vec<_>>().into());
        message
    }

    fn read(kind: MessageType, from: u64, term: u64, asker: u64) -> Message {
        let mut message = message(kind, from, term);
        let data = [asker.to_le_bytes(), [7; 8]].concat();
        message.set_entries(vec![Entry { data: Bytes::from(data), ..Entry::default() }].into());
        message
    }

    #[test]
    fn terms_out_of_reach_are_refused() {
        let guard = follower();
        for term in [0, 5 + TERM_JUMP_MAX + 1, TERM_MAX.next().0, u64::MAX] {
            for kind in [MessageType::MsgHeartbeat, MessageType::MsgRequestVote, MessageType::MsgAppend] {
                assert!(guard.judge(&message(kind, 2, term)).is_err(), "{kind:?} of term {term}");
            }
        }
        assert_eq!(guard.judge(&message(MessageType::MsgHeartbeat, 3, 6)), Ok(true));
    }

    #[test]
    fn appends_must_follow_each_other_and_what_is_committed() {
        let guard = follower();
        assert_eq!(guard.judge(&append(45, 5, &[(46, 5), (47, 5)])), Ok(true));
        assert_eq!(guard.judge(&append(2, 1, &[(3, 1)])), Ok(true), "the engine says how far it is");
        for odd in [
            append(2, 5, &[(900_000, 5)]),
            append(45, 5, &[(46, 5), (48, 5)]),
            append(45, 5, &[(46, 4)]),
            append(45, 5, &[(46, 6)]),
            append(45, 3, &[(46, 5)]),
            append(INDEX_MAX.0, 5, &[(INDEX_MAX.next().0, 5)]),
            append(u64::MAX, 5, &[]),
        ] {
            assert!(guard.judge(&odd).is_err(), "{odd:?}");
        }
        let mut change = append(45, 5, &[(46, 5)]);
        change.entries[0].set_entry_type(EntryType::EntryConfChangeV2);
        change.entries[0].context = Bytes::from_static(b"garbage");
        assert!(guard.judge(&change).is_err());
    }

    #[test]
    fn a_term_has_one_leader() {
        let heartbeat = message(MessageType::MsgHeartbeat, 3, 5);
        assert!(follower().judge(&heartbeat).is_err());
        let leader = Guard { state: StateRole::Leader, leader: Some(MemberId(1)), ..follower() };
        assert!(leader.judge(&heartbeat).is_err());
        assert_eq!(leader.judge(&message(MessageType::MsgHeartbeat, 3, 6)), Ok(true));
    }

    #[test]
    fn responses_about_entries_that_the_leader_lacks_are_refused() {
        let leader = Guard { state: StateRole::Leader, leader: Some(MemberId(1)), ..follower() };
        for kind in [MessageType::MsgAppendResponse, MessageType::MsgHeartbeatResponse] {
            assert_eq!(leader.judge(&Message { index: 50, ..message(kind, 2, 5) }), Ok(true));
            assert!(leader.judge(&Message { index: 51, ..message(kind, 2, 5) }).is_err());
            assert!(leader.judge(&Message { commit: 1 << 40, ..message(kind, 2, 5) }).is_err());
            assert_eq!(follower().judge(&message(kind, 2, 5)), Ok(false), "it asked for nothing");
        }
        let request = Message { request_snapshot: 1, ..message(MessageType::MsgAppendResponse, 2, 5) };
        assert!(leader.judge(&request).is_err());
    }

    #[test]
    fn votes_count_only_when_asked_for() {
        let vote = message(MessageType::MsgRequestVoteResponse, 2, 5);
        let candidate = Guard { state: StateRole::Candidate, leader: None, ..follower() };
        assert_eq!(candidate.judge(&vote), Ok(false), "the request is on its way to the disk");
        assert_eq!(Guard { asked_votes_in: Term(5), ..candidate }.judge(&vote), Ok(true));
        assert!(candidate.judge(&message(MessageType::MsgRequestVoteResponse, 2, 6)).is_err());
        let doubtful = Guard { is_doubtful: true, ..follower() };
        let asks = Message { index: 60, log_term: 5, ..message(MessageType::MsgRequestVote, 3, 6) };
        assert_eq!((follower().judge(&asks), doubtful.judge(&asks)), (Ok(true), Ok(false)));
    }

    #[test]
    fn what_only_a_leader_or_nobody_may_say_is_not_taken_of_others() {
        let guard = follower();
        assert_eq!(guard.judge(&message(MessageType::MsgTimeoutNow, 2, 5)), Ok(true));
        assert_eq!(guard.judge(&message(MessageType::MsgTimeoutNow, 3, 5)), Ok(false));
        for kind in [MessageType::MsgTransferLeader, MessageType::MsgSnapshot, MessageType::MsgPropose] {
            assert!(guard.judge(&message(kind, 2, 5)).is_err(), "{kind:?}");
        }
    }

    #[test]
    fn read_indexes_belong_to_who_asked() {
        let (guard, leader) =
            (follower(), Guard { state: StateRole::Leader, leader: Some(MemberId(1)), ..follower() });
        let (ask, answer) = (MessageType::MsgReadIndex, MessageType::MsgReadIndexResp);
        assert_eq!(leader.judge(&read(ask, 2, 0, 2)), Ok(true));
        assert_eq!(guard.judge(&read(ask, 2, 0, 2)), Ok(false), "it does not lead");
        assert!(leader.judge(&read(ask, 2, 0, 3)).is_err());
        assert!(leader.judge(&read(ask, 2, 5, 2)).is_err());
        assert!(leader.judge(&message(ask, 2, 0)).is_err(), "it asks nothing");
        let full = Guard { reads: READS_MAX, ..leader };
        assert_eq!(full.judge(&read(ask, 2, 0, 2)), Ok(false));
        assert_eq!(guard.judge(&read(answer, 2, 5, 1)), Ok(true));
        assert_eq!(guard.judge(&read(answer, 3, 5, 1)), Ok(false));
        assert!(guard.judge(&read(answer, 2, 5, 2)).is_err());
    }

    #[test]
    fn memberships_that_contradict_themselves_are_told() {
        let sound = Membership {
            voters: [1, 2].map(MemberId).to_vec(),
            learners: [3].map(MemberId).to_vec(),
            ..Membership::default()
        };
        assert!(sound.is_sound());
        let joint = Membership {
            voters_outgoing: [2, 4].map(MemberId).to_vec(),
            learners_next: [4].map(MemberId).to_vec(),
            ..sound.clone()
        };
        assert!(joint.is_sound());
        for odd in [
            Membership::default(),
            Membership { voters: [1, 1].map(MemberId).to_vec(), ..sound.clone() },
            Membership { voters: [0, 1].map(MemberId).to_vec(), ..sound.clone() },
            Membership { learners: [2].map(MemberId).to_vec(), ..sound.clone() },
            Membership { learners_next: [5].map(MemberId).to_vec(), ..sound.clone() },
            Membership { auto_leave: true, ..sound.clone() },
        ] {
            assert!(!odd.is_sound(), "{odd:?}");
        }
    }

    #[test]
    fn offers_come_from_the_leader_of_the_present_term() {
        let offer = |from, term, index, snapshot_term| {
            let mut message = message(MessageType::MsgSnapshot, from, term);
            let meta = message.mut_snapshot().mut_metadata();
            (meta.index, meta.term) = (index, snapshot_term);
            message
        };
        let members = Membership { voters: [1, 2, 3].map(MemberId).to_vec(), ..Membership::default() };
        let judge = |message: &Message| follower().offer(message, &members);
        assert_eq!(judge(&offer(2, 5, 90, 5)), Ok(true));
        assert_eq!((judge(&offer(3, 6, 90, 5)), judge(&offer(3, 4, 90, 4))), (Ok(false), Ok(false)));
        for odd in [offer(3, 5, 90, 5), offer(2, 5, 90, 6), offer(2, 5, 90, 3), offer(2, 5, u64::MAX, 5)] {
            assert!(judge(&odd).is_err(), "{odd:?}");
        }
        assert!(follower().offer(&offer(2, 5, 90, 5), &Membership::default()).is_err());
    }
}
