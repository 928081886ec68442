//! Entries that some members get a little later, several in one go.
//!
//! A commit needs a majority. While a client writes one thing after the other, the leader sends each entry at once to as many
//! members as that takes with itself, and to all at whom somebody may wait for it. For every other member, to receive,
//! flush and acknowledge each entry alone would be work that nobody waits for: its entries wait here for each other.
//!
//! Invariants:
//! - *Nothing is overtaken.* What the log is built on goes to a member in order: whatever else of the log is for it takes what
//!   waits along.
//! - *Bounded.* So many messages, so many bytes, so many milliseconds. If a member that was sent an entry at once does not
//!   acknowledge it, the others have it that much later.
//! - *Only what follows closely waits.* An entry after a pause goes to all at once: nothing may come that it could wait for.

use base::MonoTime;
use consensus_raft::{MemberId, Message};

/// For how long entries wait at the most, milliseconds.
const WAIT_MS: u64 = 2;
/// Messages that wait for a member at the most, and ...
const MESSAGES_MAX: usize = 16;
/// ... the bytes of one that may wait.
const BYTES_MAX: usize = 4 << 10;
/// Entries come closely if they are no further apart than this, milliseconds.
const CLOSE_MS: u64 = 1;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct DeferredAppends {
    /// By receiver, in order for each. One stays with an empty list once it had entries that waited.
    waiting: Vec<(MemberId, Vec<Message>)>,
    /// When the first of them began to wait.
    since: Option<MonoTime>,
    /// When an entry was sent or put off last.
    last: Option<MonoTime>,
    /// Whether that was close to the one before.
    close: bool,
}

impl DeferredAppends {
    /// Entries are about to be sent, to whomever.
    pub(crate) fn comes(&mut self, now: MonoTime) {
        self.close = self.last.is_some_and(|last| now.since(last) <= CLOSE_MS);
        self.last = Some(now);
    }

    /// Whether entries of so many bytes may wait.
    pub(crate) const fn may_wait(&self, bytes: usize) -> bool {
        self.close && bytes <= BYTES_MAX
    }

    /// This message waits. True if what waits for that member is to be sent now.
    pub(crate) fn put_off(&mut self, peer: MemberId, message: Message, now: MonoTime) -> bool {
        self.since.get_or_insert(now);
        let place = self.waiting.iter().position(|(other, _)| *other == peer).unwrap_or_else(|| {
            self.waiting.push((peer, Vec::new()));
            self.waiting.len() - 1
        });
        let messages = &mut self.waiting[place].1;
        messages.push(message);
        messages.len() >= MESSAGES_MAX
    }

    /// What waits for that member, in order.
    pub(crate) fn take(&mut self, peer: MemberId) -> impl Iterator<Item = Message> {
        let of = self.waiting.iter_mut().find(|(other, _)| *other == peer);
        let taken = of.map(|(_, messages)| core::mem::take(messages)).unwrap_or_default();
        if !taken.is_empty() && self.waiting.iter().all(|(_, messages)| messages.is_empty()) {
            self.since = None;
        }
        taken.into_iter()
    }

    /// A member for whom entries wait that have waited long enough.
    pub(crate) fn due(&self, now: MonoTime) -> Option<MemberId> {
        let is_due = self.deadline().is_some_and(|deadline| now >= deadline);
        let waits = |(_, messages): &&(MemberId, Vec<Message>)| !messages.is_empty();
        self.waiting.iter().find(waits).filter(|_| is_due).map(|(peer, _)| *peer)
    }

    /// When what waits is to be sent.
    pub(crate) fn deadline(&self) -> Option<MonoTime> {
        self.since.map(|since| since.plus_ms(WAIT_MS))
    }

    /// The connection to that member broke: the engine sends what waits for it anew.
    pub(crate) fn forget(&mut self, peer: MemberId) {
        // Whoever takes it drops it.
        self.take(peer).for_each(drop);
    }

    /// This member leads no more.
    pub(crate) fn forget_all(&mut self) {
        *self = Self::default();
    }
}
