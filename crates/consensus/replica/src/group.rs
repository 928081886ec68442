//! What a replica knows and holds beside the machine, and what of it the machine may use while it is called.

use base::{MonoTime, Now};
use bytes::Bytes;
use consensus_raft::{Config, LogIndex, MemberId, MemberNumber, Progress, RaftNode, Role};

use crate::ReplicaConfig;
use crate::applier::Applier;
use crate::feature_level::FeatureLevel;
use crate::journal::JournalRequest;
use crate::leadership::{Leadership, Lease};
use crate::membership::{GroupMembership, WantedMembers};
use crate::output::Output;
use crate::peer_message::PeerMessage;
use crate::peers::Peers;
use crate::read_index::{ReadIndex, Waiter};
use crate::start::Seat;
use crate::view::View;

/// See the module. `X` is what machines say to each other, `W` what waits in a machine for a read index.
pub struct Group<X, W> {
    pub(crate) view: View,
    pub(crate) raft: RaftNode,
    pub(crate) out: Output<X>,
    pub(crate) leadership: Leadership,
    pub(crate) lease: Lease,
    pub(crate) read_index: ReadIndex<Waiter<W>>,
    pub(crate) applier: Applier,
    pub(crate) feature_level: FeatureLevel,
}

impl<X: Clone, W> Group<X, W> {
    /// The group as a member finds it that takes this seat. `wanted` are the members that are to be; nothing where they
    /// are not changed.
    #[must_use]
    pub fn new(
        config: ReplicaConfig,
        seat: &Seat,
        wanted: Option<WantedMembers>,
        raft_seed: u64,
        now: Now,
    ) -> Self {
        let mut raft = RaftNode::new(&Config::new(config.member, raft_seed), &seat.recovered, seat.applied.0);
        if seat.recovered.membership.voters == [config.member] {
            raft.campaign();
        }
        raft.offer_snapshot(seat.snapshot.clone());
        let members = seat.recovered.membership.clone();
        Self {
            raft,
            out: Output::default(),
            leadership: Leadership::default(),
            lease: Lease::default(),
            read_index: ReadIndex::new(raft_seed),
            applier: Applier::new(seat.applied, config.apply_bytes_max),
            feature_level: FeatureLevel::default(),
            view: View {
                membership: GroupMembership::new(config.member, members, wanted, now),
                config,
                peers: Peers::default(),
                now,
            },
        }
    }

    /// The members, who of them is in reach, and the time of the present call.
    pub const fn view(&self) -> &View {
        &self.view
    }

    /// The time of the present call.
    pub const fn now(&self) -> Now {
        self.view.now
    }

    /// Whether this member leads, as the engine says. It may not have applied its own first command yet: [`Self::leads`].
    pub fn is_leader(&self) -> bool {
        self.raft.role() == Role::Leader
    }

    /// Whether this member leads and has applied its own first command.
    pub const fn leads(&self) -> bool {
        self.leadership.leads()
    }

    /// Whether this member holds a lease and serves clients.
    pub const fn serves(&self) -> bool {
        self.lease.serves()
    }

    /// Whether clients may begin something here: this member serves, and is not being removed.
    pub const fn is_serving(&self) -> bool {
        self.lease.serves() && !self.view.membership.is_leaving()
    }

    /// Until when a member that this leader has not heard of since may serve clients.
    pub fn serves_until(&self, peer: MemberId) -> MonoTime {
        self.leadership.serves_until(peer, &self.view)
    }

    /// Until when members of that number may have heard of clients of which nobody can be asked any more: they were removed,
    /// or their connection broke and their process may have died. [`MonoTime::ZERO`] if there are none.
    pub fn departed_until(&self, number: MemberNumber) -> MonoTime {
        let peers = &self.view.peers;
        let broken = peers.breaks(number).map(|last| {
            let served_until = self.leadership.served_until(last.heard, &self.view);
            served_until.min(last.until)
        });
        broken.fold(peers.departed_until(number), MonoTime::max)
    }

    /// The last entry of this member's log.
    pub fn last_index(&self) -> LogIndex {
        self.raft.last_index()
    }

    /// How far the other members have come; known to a leader alone.
    pub fn progress(&self) -> Vec<Progress> {
        self.raft.progress()
    }

    /// How many turns of the engine wait for the disk.
    pub fn persisting(&self) -> usize {
        self.raft.persisting()
    }

    /// Puts entries into the log. False if the engine refuses: leadership is being handed over, say.
    pub fn propose(&mut self, contents: Vec<Bytes>) -> bool {
        // The engine takes no proposal of nothing.
        let taken = contents.is_empty() || self.raft.propose(contents).is_ok();
        if !taken {
            self.feature_level.lost();
        }
        taken
    }

    /// The journal is to make room for so many bytes of records.
    pub fn make_room(&mut self, bytes: u64) {
        self.out.ask_journal(JournalRequest::MakeRoom { bytes });
    }

    /// A message for the machine of another member.
    pub fn send(&mut self, peer: MemberId, message: X) {
        self.out.send(peer, PeerMessage::Machine(message));
    }

    /// The same message for the machine of each of these members.
    pub fn send_each(&mut self, peers: impl IntoIterator<Item = MemberId>, message: X) {
        self.out.send_each(peers, &PeerMessage::Machine(message));
    }

    /// A message is dropped that no member that works sends.
    pub fn refuse_message(&mut self, from: MemberId, reason: &'static str) {
        self.out.refuse_message(from, reason);
    }

    /// `waiter` is to go on once everything is applied that is committed now.
    pub fn wait(&mut self, waiter: W) {
        self.read_index.wait(Waiter::Machine(waiter));
    }

    /// What was asked of the leader may be lost, and is asked again.
    pub fn ask_again(&mut self) {
        self.read_index.again();
    }

    /// The first command of a leader's term is applied. Whether this member leads in that term, and only begins to now.
    pub fn begin_term(&mut self) -> bool {
        let is_own = self.is_leader() && self.applier.entry_term() == self.raft.term();
        if !is_own || self.leadership.leads() {
            return false;
        }
        self.leadership.begin(self.view.now.mono());
        self.feature_level.lost();
        true
    }

    /// The feature level that a leader is to propose, if all members understand a higher one than the `present` one of its
    /// state. `is_new`: nothing has happened in the group yet.
    pub fn level_to_raise(&mut self, present: u32, is_new: bool) -> Option<u32> {
        self.feature_level.raise(present, is_new, &self.view)
    }

    /// The members that are to be are these from now on. The leader makes it so.
    pub fn want_members(&mut self, wanted: Option<WantedMembers>) {
        self.view.membership.want(wanted, self.view.now);
        if self.view.membership.is_leaving() {
            self.transfer_to_those_who_stay();
        }
    }

    /// It is this time now: for tests of a machine without a replica.
    pub const fn set_now(&mut self, now: Now) {
        self.view.now = now;
    }

    /// Takes what was sent: for tests of a machine without a replica.
    pub fn take_sent(&mut self) -> Vec<(MemberId, PeerMessage<X>)> {
        self.out.take_outgoing()
    }

    pub(crate) fn transfer_to_those_who_stay(&mut self) {
        let membership = &self.view.membership;
        self.leadership.transfer(&mut self.raft, &self.view, |id| membership.is_to_vote(id));
    }
}
