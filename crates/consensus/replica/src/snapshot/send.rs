//! Giving a saved snapshot to members that lag behind the log that is kept, chunk by chunk, as they ask for it.
//!
//! Reads nothing itself: the journal is asked for chunks, and what it has read is sent on.

use base::{MonoTime, Now};
use consensus_raft::{LogIndex, MemberId, Message, RaftNode};

use crate::journal::{Chunks, JournalRequest};
use crate::output::Output;
use crate::peer_message::PeerMessage;
use crate::snapshot::{ASK_AGAIN_MS, TIMEOUT_MS};

/// A snapshot on its way to a member.
#[derive(Debug)]
struct Transfer {
    peer: MemberId,
    index: LogIndex,
    /// Said again to a member that says nothing: the first may be lost, or the message that all has arrived.
    offer: Message,
    offered: MonoTime,
    heard: MonoTime,
    /// Whether the journal reads chunks of it.
    reads: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct SnapshotSender {
    transfers: Vec<Transfer>,
}

impl SnapshotSender {
    /// Raft wants that member to have the snapshot.
    pub(crate) fn offer<X: Clone>(
        &mut self,
        peer: MemberId,
        index: LogIndex,
        message: Message,
        now: Now,
        out: &mut Output<X>,
    ) {
        self.transfers.retain(|transfer| transfer.peer != peer);
        let (offer, now) = (message.clone(), now.mono());
        let transfer = Transfer { peer, index, offer, offered: now, heard: now, reads: false };
        self.transfers.push(transfer);
        out.send(peer, PeerMessage::Offer(message));
    }

    /// The other side asks for chunks.
    pub(crate) fn wanted<X: Clone>(
        &mut self,
        peer: MemberId,
        index: LogIndex,
        first: u64,
        now: Now,
        out: &mut Output<X>,
    ) {
        if let Some(transfer) = self.transfer(peer, index) {
            transfer.heard = now.mono();
            // One question at a time; what is lost is asked for again.
            if !std::mem::replace(&mut transfer.reads, true) {
                out.ask_journal(JournalRequest::SnapshotRead { peer, index, first });
            }
        }
    }

    /// The journal has read what was asked for.
    pub(crate) fn read<X: Clone>(
        &mut self,
        (peer, index, first): (MemberId, LogIndex, u64),
        read: Option<Chunks>,
        raft: &mut RaftNode,
        out: &mut Output<X>,
    ) {
        if let Some(transfer) = self.transfer(peer, index) {
            transfer.reads = false;
        }
        match read {
            Some((chunks, end)) => out.send(peer, PeerMessage::Chunks { index, first, chunks, end }),
            None => self.stop(peer, raft),
        }
    }

    /// The other side is done with it. Says whether that ends a transfer.
    pub(crate) fn taken(&mut self, peer: MemberId, index: LogIndex) -> bool {
        let known = self.transfer(peer, index).is_some();
        if known {
            self.transfers.retain(|transfer| transfer.peer != peer);
        }
        known
    }

    /// Gives up on that member, if it is given anything.
    pub(crate) fn stop(&mut self, peer: MemberId, raft: &mut RaftNode) {
        if self.transfers.iter().any(|transfer| transfer.peer == peer) {
            self.transfers.retain(|transfer| transfer.peer != peer);
            raft.snapshot_sent(peer, false);
        }
    }

    /// Gives up on who has fallen silent, and offers again to who has not answered.
    pub(crate) fn tick<X: Clone>(&mut self, now: Now, raft: &mut RaftNode, out: &mut Output<X>) {
        let now = now.mono();
        let silent = |transfer: &&Transfer| now > transfer.heard.plus_ms(TIMEOUT_MS);
        let silent: Vec<_> = self.transfers.iter().filter(silent).map(|transfer| transfer.peer).collect();
        silent.into_iter().for_each(|peer| self.stop(peer, raft));
        let again = self
            .transfers
            .iter_mut()
            .filter(|transfer| now >= transfer.heard.max(transfer.offered).plus_ms(ASK_AGAIN_MS));
        for transfer in again {
            transfer.offered = now;
            out.send(transfer.peer, PeerMessage::Offer(transfer.offer.clone()));
        }
    }

    /// The indexes of the snapshots that are on their way: what lies behind them has to stay in the log.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = LogIndex> {
        self.transfers.iter().map(|transfer| transfer.index)
    }

    fn transfer(&mut self, peer: MemberId, index: LogIndex) -> Option<&mut Transfer> {
        self.transfers.iter_mut().find(|transfer| transfer.peer == peer && transfer.index == index)
    }
}
