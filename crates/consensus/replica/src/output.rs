//! What the components of a replica have to say: to the journal, to other members, to the driver. The driver takes it after
//! each call; nothing here knows why it is said.

use consensus_raft::MemberId;

use crate::journal::JournalRequest;
use crate::peer_message::PeerMessage;
use crate::refusals::{Refusal, Refusals};

/// See the module. `X` is what machines say to each other.
#[derive(Debug)]
pub(crate) struct Output<X> {
    /// What the journal is to do, in order.
    requests: Vec<JournalRequest>,
    /// What other members are to be sent, in order for each.
    outgoing: Vec<(MemberId, PeerMessage<X>)>,
    refusals: Refusals,
}

impl<X> Default for Output<X> {
    fn default() -> Self {
        Self { requests: Vec::new(), outgoing: Vec::new(), refusals: Refusals::default() }
    }
}

impl<X: Clone> Output<X> {
    /// The journal is to do this, behind all that it was asked before.
    pub(crate) fn ask_journal(&mut self, request: JournalRequest) {
        self.requests.push(request);
    }

    /// A message for another member.
    pub(crate) fn send(&mut self, peer: MemberId, message: PeerMessage<X>) {
        self.outgoing.push((peer, message));
    }

    /// The same message for each of these members.
    pub(crate) fn send_each(&mut self, peers: impl IntoIterator<Item = MemberId>, message: &PeerMessage<X>) {
        self.outgoing.extend(peers.into_iter().map(|peer| (peer, message.clone())));
    }

    /// A message is dropped that no member that works sends.
    pub(crate) fn refuse_message(&mut self, from: MemberId, reason: &'static str) {
        self.refusals.note(from, reason);
    }

    pub(crate) fn take_requests(&mut self) -> Vec<JournalRequest> {
        std::mem::take(&mut self.requests)
    }

    pub(crate) fn take_outgoing(&mut self) -> Vec<(MemberId, PeerMessage<X>)> {
        std::mem::take(&mut self.outgoing)
    }

    pub(crate) fn take_refusals(&mut self) -> Vec<Refusal> {
        self.refusals.take()
    }

    /// How many messages were refused since the start.
    pub(crate) const fn refused_messages(&self) -> u64 {
        self.refusals.count()
    }
}
