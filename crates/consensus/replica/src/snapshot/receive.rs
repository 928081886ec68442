//! Taking another member's snapshot, chunk by chunk. Raft hears of it when it has arrived, and relies on it from then on:
//! it becomes durable before anything that follows it.
//!
//! Knows no state but the one that it builds; the replica puts that in the place of the old one.

use base::MonoTime;
use bytes::Bytes;
use consensus_raft::{LogIndex, MemberId, Message, RaftNode, Refused, SnapshotOffer};
use storage_raft_log::SnapshotMeta;

use crate::convert;
use crate::journal::JournalRequest;
use crate::output::Output;
use crate::peer_message::{PeerMessage, SnapshotEnd};
use crate::snapshot::{ASK_AGAIN_MS, TIMEOUT_MS};
use crate::state_machine::{ReplicatedState, SnapshotLoader};
use crate::view::View;

/// Chunks of a snapshot in one message, more than any build sends at a time, and ...
const CHUNKS_MAX: usize = 64;
/// ... their bytes.
const CHUNKS_BYTES_MAX: usize = 256 << 20;

/// A snapshot on its way here.
struct Receiving<R: ReplicatedState> {
    from: MemberId,
    offer: SnapshotOffer,
    /// For raft, once the snapshot is durable here.
    message: Message,
    /// The next chunk that is missing.
    next: u64,
    /// How many chunks have come and are not written yet.
    unwritten: usize,
    /// Whether chunks are asked for that have not come.
    asks: bool,
    asked: MonoTime,
    heard: MonoTime,
    stage: Stage<R>,
}

enum Stage<R: ReplicatedState> {
    Loading(Box<R::Loader>),
    /// Whole: raft is to take it over.
    Whole(Box<R::State>, SnapshotEnd),
    /// On its way to the disk, and the state is to be put in place.
    Due(Box<R::State>),
}

impl<R: ReplicatedState> Receiving<R> {
    const fn is_loading(&self) -> bool {
        matches!(self.stage, Stage::Loading(_))
    }

    const fn is_due(&self) -> bool {
        matches!(self.stage, Stage::Due(_))
    }

    /// Asks for what comes next.
    fn ask(&mut self, now: MonoTime, out: &mut Output<impl Clone>) {
        self.asks = true;
        self.asked = now;
        out.send(self.from, PeerMessage::Want { index: self.offer.index, chunk: self.next });
    }
}

/// A snapshot that has come whole and takes the place of everything here.
pub(crate) struct Received<S> {
    pub(crate) state: S,
    pub(crate) offer: SnapshotOffer,
}

/// See the module.
pub(crate) struct SnapshotReceiver<R: ReplicatedState> {
    receiving: Option<Receiving<R>>,
    /// A snapshot of another member that is on its way to the disk, and who gave it.
    saving: Option<(MemberId, SnapshotOffer)>,
    /// The seed of the state's tables, for states that come to take its place.
    seed: u64,
    /// How many took this member's state's place.
    states_replaced: u64,
}

impl<R: ReplicatedState> SnapshotReceiver<R> {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { receiving: None, saving: None, seed, states_replaced: 0 }
    }

    /// The leader offers its snapshot. `is_busy`: this member saves one of its own.
    pub(crate) fn offered(
        &mut self,
        from: MemberId,
        message: Message,
        is_busy: bool,
        raft: &mut RaftNode,
        view: &View,
        out: &mut Output<impl Clone>,
    ) {
        if message.from() != from {
            return out.refuse_message(from, "an offer under another member's name");
        }
        match raft.may_take(&message) {
            Ok(true) => self.begin(from, message, is_busy, raft, view, out),
            // It is offered again when this member knows who leads.
            Ok(false) => {}
            Err(Refused(reason)) => out.refuse_message(from, reason),
        }
    }

    fn begin(
        &mut self,
        from: MemberId,
        message: Message,
        is_busy: bool,
        raft: &mut RaftNode,
        view: &View,
        out: &mut Output<impl Clone>,
    ) {
        let Some(offer) = message.snapshot() else { return };
        let index = offer.index;
        let comes = self.receiving.as_ref().map(|receiving| (receiving.from, receiving.offer.index));
        let is_saved = self.saving.as_ref().map(|(of, offer)| (*of, offer.index));
        if [comes, is_saved].contains(&Some((from, index))) {
            // Said again: it is answered once all of it is durable.
            return;
        }
        if index <= raft.committed() {
            // Raft says itself how far it is.
            out.send(from, PeerMessage::Taken { index, whole: true });
            if let Err(Refused(reason)) = raft.has_already(message) {
                out.refuse_message(from, reason);
            }
            return;
        }
        if self.is_finishing() || is_busy || !offer.membership.contains(view.own()) {
            out.send(from, PeerMessage::Taken { index, whole: false });
            return;
        }
        out.ask_journal(JournalRequest::SnapshotBegin);
        let stage = Stage::Loading(Box::new(R::loader(self.seed)));
        let now = view.now.mono();
        let (asks, asked, heard) = (false, now, now);
        let receiving = Receiving { from, offer, message, next: 0, unwritten: 0, asks, asked, heard, stage };
        self.receiving.insert(receiving).ask(now, out);
    }

    /// Chunks have come.
    pub(crate) fn take_chunks(
        &mut self,
        (from, index, first): (MemberId, LogIndex, u64),
        chunks: &[Bytes],
        end: Option<SnapshotEnd>,
        raft: &mut RaftNode,
        view: &View,
        out: &mut Output<impl Clone>,
    ) {
        let Some(receiving) = &mut self.receiving else { return };
        let Stage::Loading(loader) = &mut receiving.stage else { return };
        let fits = (receiving.from, receiving.offer.index) == (from, index) && receiving.next == first;
        if !fits || !receiving.asks {
            return;
        }
        if chunks.len() > CHUNKS_MAX || chunks.iter().map(Bytes::len).sum::<usize>() > CHUNKS_BYTES_MAX {
            return out.refuse_message(from, "more of a snapshot than is sent at a time");
        }
        receiving.asks = false;
        receiving.heard = view.now.mono();
        for chunk in chunks {
            if loader.chunk(chunk).is_err() {
                return self.give_up(out);
            }
            receiving.next += 1;
            receiving.unwritten += 1;
            out.ask_journal(JournalRequest::SnapshotChunk { bytes: chunk.to_vec(), hurry: false });
        }
        match end {
            None => self.ask_on(view, out),
            Some(end) => self.finish(end, raft, out),
        }
    }

    /// Asks for more chunks unless enough wait for the disk.
    fn ask_on(&mut self, view: &View, out: &mut Output<impl Clone>) {
        if let Some(receiving) = &mut self.receiving
            && receiving.is_loading()
            && !receiving.asks
            && receiving.unwritten <= view.config.chunks_unwritten_max
        {
            receiving.ask(view.now.mono(), out);
        }
    }

    fn finish(&mut self, end: SnapshotEnd, raft: &mut RaftNode, out: &mut Output<impl Clone>) {
        let Some(mut receiving) = self.receiving.take() else { return };
        let Stage::Loading(loader) = receiving.stage else { return };
        let (from, index, message) = (receiving.from, receiving.offer.index, receiving.message.clone());
        let whole = match loader.finish() {
            Ok(state) if R::digest(&state) == end.digest => {
                if raft.install(message) {
                    receiving.stage = Stage::Whole(Box::new(state), end);
                    self.receiving = Some(receiving);
                    return;
                }
                // The log has come as far by itself meanwhile.
                true
            }
            _ => false,
        };
        out.send(from, PeerMessage::Taken { index, whole });
    }

    /// Gives up what is still being loaded, and says so.
    pub(crate) fn give_up(&mut self, out: &mut Output<impl Clone>) {
        if let Some(Receiving { from, offer, .. }) = self.receiving.take() {
            out.send(from, PeerMessage::Taken { index: offer.index, whole: false });
        }
    }

    /// The connection to that member broke.
    pub(crate) fn stop(&mut self, peer: MemberId) {
        self.receiving.take_if(|receiving| receiving.from == peer && receiving.is_loading());
    }

    /// A chunk is on the disk.
    pub(crate) fn chunk_written(&mut self, view: &View, out: &mut Output<impl Clone>) {
        if let Some(receiving) = &mut self.receiving {
            receiving.unwritten = receiving.unwritten.saturating_sub(1);
            self.ask_on(view, out);
        }
    }

    /// A snapshot is durable. Gives its offer if it is the one that came in; its sender hears of it.
    pub(crate) fn saved(&mut self, index: LogIndex, out: &mut Output<impl Clone>) -> Option<SnapshotOffer> {
        let (from, offer) = self.saving.take_if(|(_, offer)| offer.index == index)?;
        out.send(from, PeerMessage::Taken { index, whole: true });
        Some(offer)
    }

    /// Raft relies on the snapshot: it becomes durable before anything that follows it, and its state is put in place at
    /// the next chance.
    pub(crate) fn take_over(&mut self, offer: SnapshotOffer, out: &mut Output<impl Clone>) {
        let Some(receiving) = &mut self.receiving else {
            panic!("raft took over a snapshot that never came");
        };
        assert_eq!(receiving.offer, offer, "raft took over another snapshot than came");
        let stage = std::mem::replace(&mut receiving.stage, Stage::Loading(Box::new(R::loader(self.seed))));
        let Stage::Whole(state, end) = stage else {
            panic!("raft took over a snapshot that is not whole");
        };
        receiving.stage = Stage::Due(state);
        let meta = SnapshotMeta {
            index: offer.index,
            term: offer.term,
            membership: convert::membership(&offer.membership),
            position: end.position,
            digest: end.digest,
            created: end.created,
        };
        out.ask_journal(JournalRequest::SnapshotFinish { meta, replaces: true });
        self.saving = Some((receiving.from, offer));
    }

    /// Takes the tree that is to be put in place, if there is one.
    pub(crate) fn take_due(&mut self) -> Option<Received<R::State>> {
        let receiving = self.receiving.take_if(|receiving| receiving.is_due())?;
        let Stage::Due(state) = receiving.stage else { return None };
        self.states_replaced += 1;
        Some(Received { state: *state, offer: receiving.offer })
    }

    /// Asks again for what does not come, and gives up on a sender that has fallen silent.
    pub(crate) fn tick(&mut self, committed: LogIndex, view: &View, out: &mut Output<impl Clone>) {
        let now = view.now.mono();
        // The sender may have given up, or a new leader may have sent the log instead. While a snapshot is awaited this
        // member takes none of its own, and whoever asks it for one waits.
        let is_over = |receiving: &Receiving<R>| {
            now > receiving.heard.plus_ms(TIMEOUT_MS) || receiving.offer.index <= committed
        };
        if self.receiving.as_ref().is_some_and(|receiving| receiving.is_loading() && is_over(receiving)) {
            self.give_up(out);
        }
        let Some(receiving) = &mut self.receiving else { return };
        // A slow disk is waited for, but not until the other side gives up.
        let timeout_ms = if receiving.asks { ASK_AGAIN_MS } else { TIMEOUT_MS / 2 };
        if receiving.is_loading() && now >= receiving.asked.plus_ms(timeout_ms) {
            receiving.ask(now, out);
        }
    }

    /// How many took this member's state's place.
    pub(crate) const fn states_replaced(&self) -> u64 {
        self.states_replaced
    }

    /// Whether the driver is to lend the state, so that another takes its place.
    pub(crate) fn is_due(&self) -> bool {
        self.receiving.as_ref().is_some_and(Receiving::is_due)
    }

    /// Whether a snapshot is on its way here, or to the disk.
    pub(crate) const fn is_active(&self) -> bool {
        self.receiving.is_some() || self.saving.is_some()
    }

    /// Whether one is on its way here, relied on or not.
    pub(crate) const fn is_receiving(&self) -> bool {
        self.receiving.is_some()
    }

    /// Whether raft has the members of one already and says so only in its next turn. What was committed before it
    /// must not be applied meanwhile: a change of members would change the members that the snapshot names.
    pub(crate) fn awaits_turn(&self) -> bool {
        self.receiving.as_ref().is_some_and(|receiving| matches!(receiving.stage, Stage::Whole(..)))
    }

    /// Whether raft relies on one that is not durable, or is about to.
    pub(crate) fn is_finishing(&self) -> bool {
        self.saving.is_some() || self.receiving.as_ref().is_some_and(|receiving| !receiving.is_loading())
    }
}
