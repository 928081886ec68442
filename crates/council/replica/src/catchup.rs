//! Members that lag behind the log that is kept are given the newest saved snapshot, piece by piece, as they ask for
//! it. The engine hears of it when it has arrived and is durable.

use bytes::Bytes;
use consensus_raft::{MemberId, Message, Refused, SnapshotOffer};
use council_frontend::FromCore;
use council_tree::{Loader, Tree};
use storage_raft_log::SnapshotMeta;

use crate::core::{Core, Fault};
use crate::peer::{PeerMessage, SnapshotEnd};
use crate::pieces::Pieces;
use crate::{CoreEffect, convert};

/// After how long without a word the other side of a transfer is given up, milliseconds.
const PATIENCE_MS: u64 = 10_000;
/// After how long pieces are asked for again, milliseconds.
const ASK_AGAIN_MS: u64 = 1_000;

/// Pieces of a snapshot in one message, more than any build sends at a time, and ...
const PIECES_MAX: usize = 64;
/// ... their bytes.
const PIECES_BYTES_MAX: usize = 256 << 20;

/// A snapshot on its way to a member.
#[derive(Debug)]
pub(crate) struct Sending {
    peer: u64,
    pub(crate) index: u64,
    /// Said again to whoever says nothing: the first may be lost, or the word that all has arrived.
    offer: Message,
    offered_ms: u64,
    heard_ms: u64,
    /// Whether the journal reads pieces of it.
    reads: bool,
}

/// A snapshot on its way here.
pub(crate) struct Receiving {
    from: u64,
    offer: SnapshotOffer,
    /// For the engine, once the snapshot is durable here.
    message: Message,
    /// The next piece that is missing.
    next: u64,
    /// How many pieces have come and are not written yet.
    unwritten: usize,
    /// Whether pieces are asked for that have not come.
    asks: bool,
    asked_ms: u64,
    heard_ms: u64,
    stage: Stage,
}

enum Stage {
    Loading(Box<Loader>),
    /// Whole: the engine is to take it over.
    Whole(Box<Tree>, SnapshotEnd),
    /// On its way to the disk, and the tree is to be put in place.
    Due(Box<Tree>),
}

impl Receiving {
    /// Whether the driver is to lend the tree for it.
    pub(crate) const fn is_due(&self) -> bool {
        matches!(self.stage, Stage::Due(_))
    }

    const fn is_loading(&self) -> bool {
        matches!(self.stage, Stage::Loading(_))
    }

    /// Asks for what comes next.
    fn ask(&mut self, now_ms: u64) -> (u64, PeerMessage) {
        self.asks = true;
        self.asked_ms = now_ms;
        (self.from, PeerMessage::Want { index: self.offer.index, piece: self.next })
    }
}

impl Core {
    /// Somebody lags behind the log that is kept, and no snapshot is offered that would do: a new one is taken.
    pub(crate) fn offer_what_is_wanted(&mut self) {
        if !self.raft.wants_snapshot() {
            return;
        }
        self.await_snapshot();
        if !self.snapshotter.is_busy() {
            self.snapshotter.ask(self.applied_index);
        }
    }

    /// The engine wants that member to have the snapshot.
    pub(crate) fn send_offer(&mut self, peer: u64, index: u64, message: Message) {
        self.sending.retain(|sending| sending.peer != peer);
        let (offer, now_ms) = (message.clone(), self.now.mono_ms);
        self.sending.push(Sending { peer, index, offer, offered_ms: now_ms, heard_ms: now_ms, reads: false });
        self.outgoing.push((peer, PeerMessage::Offer(message)));
    }

    /// The other side asks for pieces.
    pub(crate) fn wanted(&mut self, peer: u64, index: u64, first: u64) {
        let now_ms = self.now.mono_ms;
        let sending = self.sending.iter_mut().find(|sending| sending.peer == peer && sending.index == index);
        if let Some(sending) = sending {
            sending.heard_ms = now_ms;
            // One question at a time; what is lost is asked for again.
            if !std::mem::replace(&mut sending.reads, true) {
                self.effects.push(CoreEffect::SnapshotRead { peer, index, first });
            }
        }
    }

    /// The journal has read what was asked for.
    pub(crate) fn send_pieces(&mut self, peer: u64, index: u64, first: u64, read: Option<Pieces>) {
        let mut sending = self.sending.iter_mut();
        if let Some(sending) = sending.find(|sending| sending.peer == peer && sending.index == index) {
            sending.reads = false;
        }
        match read {
            Some((pieces, end)) => {
                self.outgoing.push((peer, PeerMessage::Pieces { index, first, pieces, end }));
            }
            None => self.stop_sending(peer),
        }
    }

    /// The other side is done with it.
    pub(crate) fn taken(&mut self, peer: u64, index: u64, whole: bool) {
        if self.sending.iter().any(|sending| sending.peer == peer && sending.index == index) {
            self.sending.retain(|sending| sending.peer != peer);
            if whole {
                self.trail(peer, index);
            }
            self.raft.snapshot_sent(MemberId(peer), whole);
        }
    }

    pub(crate) fn stop_sending(&mut self, peer: u64) {
        if self.sending.iter().any(|sending| sending.peer == peer) {
            self.sending.retain(|sending| sending.peer != peer);
            self.raft.snapshot_sent(MemberId(peer), false);
        }
    }

    /// The leader offers its snapshot.
    pub(crate) fn offered(&mut self, from: u64, message: Message) {
        if message.from().0 != from {
            return self.refuse_message(from, "an offer under another member's name");
        }
        match self.raft.may_take(&message) {
            Ok(true) => self.begin_receiving(from, message),
            // It is offered again when this member knows who leads.
            Ok(false) => {}
            Err(Refused(reason)) => self.refuse_message(from, reason),
        }
    }

    fn begin_receiving(&mut self, from: u64, message: Message) {
        let Some(offer) = message.snapshot() else { return };
        let index = offer.index;
        let comes = self.receiving.as_ref().map(|receiving| (receiving.from, receiving.offer.index));
        let is_saved = self.saving.as_ref().map(|(of, offer)| (*of, offer.index));
        if [comes, is_saved].contains(&Some((from, index))) {
            // Said again: it is answered once all of it is durable.
            return;
        }
        if index <= self.raft.committed() {
            // The engine says itself how far it is.
            self.outgoing.push((from, PeerMessage::Taken { index, whole: true }));
            if let Err(Refused(reason)) = self.raft.has_already(message) {
                self.refuse_message(from, reason);
            }
            return;
        }
        let finishing = self.saving.is_some() || self.receiving.as_ref().is_some_and(|old| !old.is_loading());
        if finishing || self.snapshotter.is_busy() || !offer.membership.contains(self.config.member) {
            self.outgoing.push((from, PeerMessage::Taken { index, whole: false }));
            return;
        }
        self.effects.push(CoreEffect::SnapshotBegin);
        let stage = Stage::Loading(Box::new(Tree::loader(self.table_seed)));
        let now_ms = self.now.mono_ms;
        let (asks, asked_ms, heard_ms) = (false, now_ms, now_ms);
        let receiving =
            Receiving { from, offer, message, next: 0, unwritten: 0, asks, asked_ms, heard_ms, stage };
        let asked = self.receiving.insert(receiving).ask(now_ms);
        self.outgoing.push(asked);
    }

    /// Pieces have come.
    pub(crate) fn take_pieces(
        &mut self,
        from: u64,
        index: u64,
        first: u64,
        pieces: &[Bytes],
        end: Option<SnapshotEnd>,
    ) {
        let Some(receiving) = &mut self.receiving else { return };
        let Stage::Loading(loader) = &mut receiving.stage else { return };
        let fits = (receiving.from, receiving.offer.index) == (from, index) && receiving.next == first;
        if !fits || !receiving.asks {
            return;
        }
        if pieces.len() > PIECES_MAX || pieces.iter().map(Bytes::len).sum::<usize>() > PIECES_BYTES_MAX {
            return self.refuse_message(from, "more of a snapshot than is sent at a time");
        }
        receiving.asks = false;
        receiving.heard_ms = self.now.mono_ms;
        for piece in pieces {
            if loader.chunk(piece).is_err() {
                return self.give_up_receiving();
            }
            receiving.next += 1;
            receiving.unwritten += 1;
            self.effects.push(CoreEffect::SnapshotChunk { bytes: piece.to_vec(), hurry: false });
        }
        match end {
            None => self.ask_on(),
            Some(end) => self.finish_receiving(end),
        }
    }

    /// Asks for more pieces unless enough wait for the disk.
    fn ask_on(&mut self) {
        let now_ms = self.now.mono_ms;
        if let Some(receiving) = &mut self.receiving
            && receiving.is_loading()
            && !receiving.asks
            && receiving.unwritten <= self.config.pieces_unwritten_max
        {
            let asked = receiving.ask(now_ms);
            self.outgoing.push(asked);
        }
    }

    fn finish_receiving(&mut self, end: SnapshotEnd) {
        let Some(mut receiving) = self.receiving.take() else { return };
        let Stage::Loading(loader) = receiving.stage else { return };
        let (from, index, message) = (receiving.from, receiving.offer.index, receiving.message.clone());
        let whole = match loader.finish() {
            Ok(tree) if tree.digest() == end.digest => {
                if self.raft.install(message) {
                    receiving.stage = Stage::Whole(Box::new(tree), end);
                    self.receiving = Some(receiving);
                    return;
                }
                // The log has come as far by itself meanwhile.
                true
            }
            _ => false,
        };
        self.outgoing.push((from, PeerMessage::Taken { index, whole }));
    }

    fn give_up_receiving(&mut self) {
        if let Some(Receiving { from, offer, .. }) = self.receiving.take() {
            self.outgoing.push((from, PeerMessage::Taken { index: offer.index, whole: false }));
        }
    }

    pub(crate) fn stop_receiving(&mut self, peer: u64) {
        self.receiving.take_if(|receiving| receiving.from == peer && receiving.is_loading());
    }

    /// A piece is on the disk: of our own snapshot, or of one that is coming in.
    pub(crate) fn piece_written(&mut self) {
        if self.snapshotter.is_scanning() {
            self.snapshotter.written();
        }
        if let Some(receiving) = &mut self.receiving {
            receiving.unwritten = receiving.unwritten.saturating_sub(1);
            self.ask_on();
        }
    }

    /// A snapshot is durable: our own, or one that came in.
    pub(crate) fn snapshot_saved(&mut self, index: u64) {
        match self.saving.take_if(|(_, offer)| offer.index == index) {
            Some((from, offer)) => {
                self.raft.offer_snapshot(Some(offer));
                self.outgoing.push((from, PeerMessage::Taken { index, whole: true }));
            }
            None => {
                self.snapshotter.saved(self.now.mono_ms);
                self.raft.offer_snapshot(self.snapshotter.offer());
            }
        }
    }

    pub(crate) fn snapshot_failed(&mut self, reason: &str) -> Result<(), Fault> {
        if self.saving.is_some() || self.receiving.as_ref().is_some_and(|receiving| !receiving.is_loading()) {
            // The engine stands behind it already.
            return Err(Fault(format!("the snapshot of another member could not be kept: {reason}")));
        }
        match self.receiving {
            Some(_) => self.give_up_receiving(),
            None => self.snapshotter.failed(),
        }
        Ok(())
    }

    /// The engine stands behind the snapshot: it becomes durable before anything that follows it, and its tree is put
    /// in place at the next chance.
    pub(crate) fn take_over(&mut self, offer: SnapshotOffer) {
        let Some(receiving) = &mut self.receiving else {
            panic!("the engine took over a snapshot that never came");
        };
        assert_eq!(receiving.offer, offer, "the engine took over another snapshot than came");
        let stage =
            std::mem::replace(&mut receiving.stage, Stage::Loading(Box::new(Tree::loader(self.table_seed))));
        let Stage::Whole(tree, end) = stage else {
            panic!("the engine took over a snapshot that is not whole");
        };
        receiving.stage = Stage::Due(tree);
        let meta = SnapshotMeta {
            index: offer.index,
            term: offer.term,
            membership: convert::membership(&offer.membership),
            zxid: end.zxid,
            digest: end.digest,
            created_ms: end.created_ms,
        };
        self.effects.push(CoreEffect::SnapshotFinish { meta, replaces: true });
        self.saving = Some((receiving.from, offer));
        self.committed.clear();
        self.entry_offset = 0;
    }

    /// Puts the tree that came in the place of the old one, which the caller is given to drop at leisure. Clients have
    /// to come again: what they missed is not in any stream.
    pub(crate) fn replace(&mut self, tree: &mut Tree) -> Option<Tree> {
        let receiving = self.receiving.take_if(|receiving| receiving.is_due())?;
        let Stage::Due(new) = receiving.stage else { return None };
        let old = tree.replace(*new);
        let SnapshotOffer { index, term, membership } = receiving.offer;
        (self.applied_index, self.applied_term) = (index, term);
        self.membership = membership;
        self.raft.applied(index);
        self.status.serving = false;
        self.status.trees_replaced += 1;
        self.attachments.clear();
        self.expiry.track_all(tree, self.now.mono_ms);
        self.read_roster(tree);
        let zxid = tree.last_zxid();
        self.tell_shards(|| FromCore::TreeReplaced { zxid });
        Some(old)
    }

    /// Asks again for what does not come, and gives up on who has fallen silent.
    pub(crate) fn catch_up_tick(&mut self) {
        self.trail_tick();
        let now_ms = self.now.mono_ms;
        let silent = |sending: &&Sending| now_ms > sending.heard_ms + PATIENCE_MS;
        let silent: Vec<_> = self.sending.iter().filter(silent).map(|sending| sending.peer).collect();
        silent.into_iter().for_each(|peer| self.stop_sending(peer));
        let again = self
            .sending
            .iter_mut()
            .filter(|sending| now_ms >= sending.heard_ms.max(sending.offered_ms) + ASK_AGAIN_MS);
        for sending in again {
            sending.offered_ms = now_ms;
            self.outgoing.push((sending.peer, PeerMessage::Offer(sending.offer.clone())));
        }
        let committed = self.raft.committed();
        // The sender may have given up, or a new leader may have sent the log instead. While a snapshot is awaited this
        // member takes none of its own, and whoever asks it for one waits.
        let is_over = |receiving: &Receiving| {
            now_ms > receiving.heard_ms + PATIENCE_MS || receiving.offer.index <= committed
        };
        if self.receiving.as_ref().is_some_and(|receiving| receiving.is_loading() && is_over(receiving)) {
            self.give_up_receiving();
        }
        let Some(receiving) = &mut self.receiving else { return };
        // A slow disk is waited for, but not until the other side gives up.
        let patience_ms = if receiving.asks { ASK_AGAIN_MS } else { PATIENCE_MS / 2 };
        if receiving.is_loading() && now_ms >= receiving.asked_ms + patience_ms {
            let asked = receiving.ask(now_ms);
            self.outgoing.push(asked);
        }
    }
}
