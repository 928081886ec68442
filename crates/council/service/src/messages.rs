//! What the threads of a server tell each other, besides what the core's machine and the front's say to each other.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use council_frontend::Front;
use council_replica::Core;
use net_event_loop::ConnId;
use net_reactor::Accepted;

use crate::restore::Restoration;

/// Words that may wait; one more closes its connection unanswered.
const WAITING_MAX: usize = 1024;

/// Something for the core's thread, besides what shards, journal and other members say.
pub(crate) enum CoreMail {
    /// A question of another thread.
    Ask(Box<dyn FnOnce(&mut Core) + Send>),
    /// A tree to go on with instead, for a server that is alone.
    Restore(Box<Restoration>),
    /// End.
    Stop,
}

/// Something for a shard to do, besides the core's stream.
pub(crate) enum ShardMail {
    /// A new connection.
    Accepted(Accepted),
    /// A piece of the answer to a four-letter word.
    Word { conn: ConnId, text: Vec<u8>, last: bool },
    /// A question of another thread, to be answered from the front.
    Ask(Box<dyn FnOnce(&mut Front) + Send>),
    /// Answer what was asked, then close everything: this member was removed.
    Part,
    /// The same, and end.
    Stop,
}

/// A word that a client asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordRequest {
    pub(crate) shard: u16,
    pub(crate) conn: ConnId,
    pub(crate) word: [u8; 4],
    pub(crate) argument: Option<i64>,
}

/// Where four-letter words are handed in. When all of these are gone, the thread that answers them ends.
pub(crate) struct WordQueue {
    queue: SyncSender<WordRequest>,
}

impl WordQueue {
    /// A queue, and the end of it at which words are taken.
    pub(crate) fn new() -> (Arc<Self>, Receiver<WordRequest>) {
        let (queue, requests) = sync_channel(WAITING_MAX);
        (Arc::new(Self { queue }), requests)
    }

    /// Hands a word in; false when too many wait.
    pub(crate) fn ask(&self, request: WordRequest) -> bool {
        self.queue.try_send(request).is_ok()
    }
}
