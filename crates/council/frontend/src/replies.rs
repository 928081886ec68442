//! The queue of replies that a connection is owed, and how a reply is written.
//!
//! No reply overtakes another: a reply that is ready at once still waits behind earlier replies that are not. The queue
//! exists only while something waits; with nothing in it, answers go straight to the output.

use std::collections::VecDeque;

use council_wire::{OpCode, ReplyHeader, Writer, Zxid, end_frame, start_frame};

use crate::event::CloseReason;
use crate::long::Long;
use crate::pending_audit::PendingAudit;

/// A reply without its place in the order of zxids yet.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) xid: i32,
    /// `None` takes the last applied transaction at the moment it is released: so zxids never go back.
    pub(crate) zxid: Option<Zxid>,
    pub(crate) error: i32,
    pub(crate) body: Box<[u8]>,
    pub(crate) operation: Option<OpCode>,
    /// Whether the connection is closed behind it.
    pub(crate) close: Option<CloseReason>,
}

impl Reply {
    pub(crate) fn of_error(xid: i32, operation: Option<OpCode>, error: i32) -> Self {
        Self { xid, zxid: None, error, body: Box::default(), operation, close: None }
    }
}

/// Ephemeral nodes that writes under way create if they succeed, and the bytes that they count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ephemerals {
    pub(crate) nodes: u32,
    pub(crate) bytes: u32,
}

impl Ephemerals {
    pub(crate) const fn add(&mut self, more: Self) {
        self.nodes = self.nodes.saturating_add(more.nodes);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }

    pub(crate) const fn take(&mut self, less: Self) {
        self.nodes = self.nodes.saturating_sub(less.nodes);
        self.bytes = self.bytes.saturating_sub(less.bytes);
    }
}

/// A place in the queue.
#[derive(Debug)]
pub(crate) enum Slot {
    /// A write under way.
    Write {
        xid: i32,
        operation: OpCode,
        sequence: u64,
        received_us: u64,
        /// Bytes of the command.
        bytes: u32,
        ephemerals: Ephemerals,
        audit: Option<Box<PendingAudit>>,
    },
    /// A read under way in the core; its request has this many bytes.
    Read { xid: i32, operation: OpCode, received_us: u64, bytes: u32 },
    /// A request about the connection's own watches, done when its turn comes.
    Local { xid: i32, operation: OpCode, body: Box<[u8]>, received_us: u64 },
    /// A request that takes more than one turn; the last in the queue.
    Long(Box<Long>),
    /// Complete except for its zxid.
    Ready { reply: Box<Reply>, received_us: u64 },
    /// A whole frame that came before its turn.
    Done { frame: Box<[u8]>, answered: Answered, received_us: u64 },
    /// An event that must not overtake the reply before it.
    Event { frame: Box<[u8]> },
}

/// What counters want to know of a reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    pub(crate) xid: i32,
    pub(crate) zxid: Zxid,
    pub(crate) operation: Option<OpCode>,
    /// Whether the connection is closed behind it.
    pub(crate) close: Option<CloseReason>,
}

impl Slot {
    /// Whether only the core can complete it.
    pub(crate) const fn is_waiting(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::Read { .. })
    }

    /// Whether it takes more than one turn.
    pub(crate) const fn is_long(&self) -> bool {
        matches!(self, Self::Long(_))
    }

    /// Bytes of a write under way.
    pub(crate) const fn written(&self) -> u32 {
        match self {
            Self::Write { bytes, .. } => *bytes,
            _ => 0,
        }
    }

    /// Ephemeral nodes of a write under way.
    pub(crate) fn ephemerals(&self) -> Ephemerals {
        match self {
            Self::Write { ephemerals, .. } => *ephemerals,
            _ => Ephemerals::default(),
        }
    }

    /// Bytes of its reply, which count as unsent.
    pub(crate) fn unsent(&self) -> usize {
        match self {
            Self::Done { frame, .. } => frame.len(),
            Self::Long(long) => long.counted(),
            _ => 0,
        }
    }

    /// Bytes of requests that are kept until the slot is done.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Write { bytes, .. } | Self::Read { bytes, .. } => *bytes as usize,
            Self::Local { body, .. } => body.len(),
            Self::Long(long) => long.body.len(),
            _ => 0,
        }
    }
}

/// Writes a frame of a header and a body that is ready.
pub(crate) fn put(out: &mut Vec<u8>, header: ReplyHeader, body: &[u8]) {
    let start = start_frame(out);
    let mut writer = Writer::new(out);
    header.write(&mut writer);
    writer.raw(body);
    end_frame(out, start);
}

/// Queues of connections that have none now, so that a burst of writes allocates once.
#[derive(Debug, Default)]
pub(crate) struct QueuePool(Vec<VecDeque<Slot>>);

const QUEUES_MAX: usize = 256;
const QUEUE_SLOTS_MAX: usize = 1024;

impl QueuePool {
    /// Appends to a queue, which gets room from the pool if it has none.
    pub(crate) fn push(&mut self, queue: &mut VecDeque<Slot>, slot: Slot) {
        if queue.capacity() == 0
            && let Some(spare) = self.0.pop()
        {
            *queue = spare;
        }
        queue.push_back(slot);
    }

    /// Takes back the room of a queue that is empty.
    pub(crate) fn reclaim(&mut self, queue: &mut VecDeque<Slot>) {
        if queue.is_empty() && queue.capacity() > 0 {
            let room = core::mem::take(queue);
            if self.0.len() < QUEUES_MAX && room.capacity() <= QUEUE_SLOTS_MAX {
                self.0.push(room);
            }
        }
    }
}
