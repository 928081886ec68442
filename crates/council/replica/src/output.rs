//! What the components of a core have to say: to shards, to the journal, to other members, to the driver. The driver takes
//! it after each call; nothing here knows why it is said.

use consensus_raft::MemberId;
use net_event_loop::ConnId;
use std::sync::Arc;

use council_frontend::{ConnectRefusal, FromCore};
use council_tree::Change;

use crate::peer::PeerMessage;
use crate::refusals::{Refusal, Refusals};
use crate::{CoreEffect, SessionEnd};

/// Sessions that have ended and are kept to be told of; of more only the number is.
const SESSION_ENDS_MAX: usize = 64;

/// See the module.
#[derive(Debug)]
pub(crate) struct Output {
    /// One for each shard, in the order in which its shard is to take it.
    streams: Vec<Vec<FromCore>>,
    /// What the journal is to do, in order.
    effects: Vec<CoreEffect>,
    /// What other members are to be sent, in order for each.
    outgoing: Vec<(MemberId, PeerMessage)>,
    /// Sessions that have ended and that the driver has not been told of.
    session_ends: Vec<SessionEnd>,
    /// How many more there were than are kept for it.
    session_ends_untold: u64,
    refusals: Refusals,
}

impl Output {
    pub(crate) fn new(shards: u16) -> Self {
        Self {
            streams: (0..shards).map(|_| Vec::new()).collect(),
            effects: Vec::new(),
            outgoing: Vec::new(),
            session_ends: Vec::new(),
            session_ends_untold: 0,
            refusals: Refusals::default(),
        }
    }

    /// An item for one shard.
    pub(crate) fn tell(&mut self, shard: u16, item: FromCore) {
        self.streams[usize::from(shard)].push(item);
    }

    /// The same item for every shard.
    pub(crate) fn tell_shards(&mut self, item: impl Fn() -> FromCore) {
        self.streams.iter_mut().for_each(|stream| stream.push(item()));
    }

    /// What a transaction changed, for every shard.
    pub(crate) fn tell_changes(&mut self, changes: &Arc<[Change]>) {
        self.tell_shards(|| FromCore::Changes(Arc::clone(changes)));
    }

    /// A connection gets no session.
    pub(crate) fn refuse_connection(&mut self, shard: u16, conn: ConnId, reason: ConnectRefusal) {
        self.tell(shard, FromCore::ConnectRefused { conn, reason });
    }

    /// A shard's stream.
    pub(crate) fn stream(&mut self, shard: u16) -> &mut Vec<FromCore> {
        &mut self.streams[usize::from(shard)]
    }

    /// The journal is to do this, behind all that it was asked before.
    pub(crate) fn ask_journal(&mut self, effect: CoreEffect) {
        self.effects.push(effect);
    }

    /// A message for another member.
    pub(crate) fn send(&mut self, peer: MemberId, message: PeerMessage) {
        self.outgoing.push((peer, message));
    }

    /// The same message for each of these members.
    pub(crate) fn send_each(&mut self, peers: impl IntoIterator<Item = MemberId>, message: &PeerMessage) {
        self.outgoing.extend(peers.into_iter().map(|peer| (peer, message.clone())));
    }

    /// A session has ended.
    pub(crate) fn session_ended(&mut self, end: SessionEnd) {
        match self.session_ends.len() < SESSION_ENDS_MAX {
            true => self.session_ends.push(end),
            false => self.session_ends_untold += 1,
        }
    }

    /// A message is dropped that no member that works sends.
    pub(crate) fn refuse_message(&mut self, from: MemberId, reason: &'static str) {
        self.refusals.note(from, reason);
    }

    pub(crate) fn take_effects(&mut self) -> Vec<CoreEffect> {
        std::mem::take(&mut self.effects)
    }

    pub(crate) fn take_outgoing(&mut self) -> Vec<(MemberId, PeerMessage)> {
        std::mem::take(&mut self.outgoing)
    }

    pub(crate) fn take_session_ends(&mut self) -> (Vec<SessionEnd>, u64) {
        (std::mem::take(&mut self.session_ends), std::mem::take(&mut self.session_ends_untold))
    }

    pub(crate) fn take_refusals(&mut self) -> Vec<Refusal> {
        self.refusals.take()
    }

    pub(crate) const fn has_session_ends(&self) -> bool {
        !self.session_ends.is_empty()
    }

    /// How many messages were refused since the start.
    pub(crate) const fn refused_messages(&self) -> u64 {
        self.refusals.count()
    }
}

#[cfg(test)]
mod tests {
    use council_wire::SessionId;

    use super::*;

    #[test]
    fn session_ends_beyond_the_bound_are_only_counted() {
        let mut out = Output::new(1);
        let end = |id| SessionEnd { session: SessionId(id), timeout_ms: 1_000, expired: true };
        (0..SESSION_ENDS_MAX as i64 + 3).for_each(|id| out.session_ended(end(id)));
        let (ends, untold) = out.take_session_ends();
        assert_eq!((ends.len(), untold, ends[0]), (SESSION_ENDS_MAX, 3, end(0)));
        assert_eq!(out.take_session_ends(), (Vec::new(), 0));
        assert!(!out.has_session_ends());
    }

    #[test]
    fn streams_are_kept_apart_and_what_concerns_all_is_in_each() {
        let mut out = Output::new(2);
        out.tell_shards(|| FromCore::Serving(true));
        out.tell(1, FromCore::Writable(false));
        assert!(matches!(out.stream(0)[..], [FromCore::Serving(true)]));
        assert!(matches!(out.stream(1)[..], [FromCore::Serving(true), FromCore::Writable(false)]));
    }
}
