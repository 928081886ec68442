//! Requests that take more work or more bytes than one turn: done in pieces, between which others are served and the
//! tree may change.
//!
//! While a connection has such a request nothing more is read from it, so it has one at the most, the last in its
//! queue. A read is evaluated when its turn has come: behind the writes of its session that came before it, and before
//! any that comes later. What it answers is what the tree showed at one moment between request and reply, however many
//! pieces it took; [`list`] says how. `getAllChildrenNumber` alone promises no more than ZooKeeper does. When a
//! snapshot replaces the tree in between, which a shard may see before it is told, a read that is half done begins
//! again.
//!
//! Replies are bounded by [`crate::FrontConfig::reply_bytes_max`]. One of a shard's connections at a time makes a long
//! reply or sets many watches, and begins a reply only while there is room for what is not sent yet: so all of them
//! together take no more than that room, and one reply.

mod ephemerals;
mod lines;
mod list;

use council_tree::{Descent, Tree};
use council_wire::{
    ErrorCode, FRAME_HEADER, OpCode, ReplyHeader, Request, Writer, Zxid, end_frame, start_frame,
};

pub(crate) use self::ephemerals::Ephemerals;
pub(crate) use self::lines::Lines;
pub(crate) use self::list::{List, Listed};
use crate::asker::Asker;
use crate::cost::{BYTES_PER_WORK, Meter, Over};
use crate::judge::Judge;
use crate::read::{self, ReadEffects, set_error};
use crate::watch::SetAgain;

/// How often what changed meanwhile is read again in pieces; then it is read as a whole.
const RESTARTS_MAX: u8 = 3;
/// Where the body of a reply begins.
const LIST_AT: usize = FRAME_HEADER + 16;

/// A request that takes more than one turn.
#[derive(Debug)]
pub(crate) struct Long {
    pub(crate) xid: i32,
    pub(crate) operation: OpCode,
    pub(crate) body: Box<[u8]>,
    pub(crate) received_us: u64,
    /// The reply so far; what is counted of it among unsent bytes.
    pub(crate) frame: Vec<u8>,
    pub(crate) counted: usize,
    pub(crate) progress: Progress,
    /// Whether it has its place among those that get turns.
    pub(crate) queued: bool,
    /// As many bytes were not enough for it.
    pub(crate) tried_bytes: usize,
}

/// How far a request has come.
#[derive(Debug)]
pub(crate) enum Progress {
    /// Nothing is done yet.
    New,
    /// It is read in one piece.
    AtOnce,
    List(List),
    Count(Descent),
    Ephemerals(Ephemerals),
    Set(Box<SetAgain>),
}

/// What a read is about, for one piece.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) request: &'a Request<'a>,
    pub(crate) who: Asker<'a>,
    /// The most that the reply may have.
    pub(crate) bytes_max: usize,
    /// Whether it may never have more, however much room there is.
    pub(crate) bytes_are_final: bool,
}

/// How a piece ended.
pub(crate) enum Step {
    More,
    /// The reply is complete except for its header.
    Done(ErrorCode),
    /// There is no reply but this error.
    Failed(ErrorCode),
    /// The reply takes more bytes than it may have.
    Over,
    /// It must be done as a whole: what it reads changes faster than it is read.
    Whole,
}

impl Long {
    pub(crate) fn new(xid: i32, operation: OpCode, body: Box<[u8]>, received_us: u64) -> Self {
        Self {
            xid,
            operation,
            body,
            received_us,
            frame: Vec::new(),
            counted: 0,
            progress: Progress::New,
            queued: false,
            tried_bytes: 0,
        }
    }

    /// The transaction at which a setWatches happens, when that is known and not all of it is done.
    pub(crate) fn settled(&self) -> Option<Zxid> {
        match &self.progress {
            Progress::Set(set) => set.settled(),
            _ => None,
        }
    }

    /// Bytes of the reply so far, as they are counted.
    pub(crate) const fn counted(&self) -> usize {
        self.counted
    }

    /// Whether it holds memory between its pieces: its reply may be large, or its paths and events many.
    pub(crate) const fn bears_bytes(&self) -> bool {
        !matches!(self.operation, OpCode::GetAllChildrenNumber)
    }

    /// Forgets what was done.
    pub(crate) fn reset(&mut self) {
        self.frame = Vec::new();
        self.progress = Progress::New;
    }

    /// The header comes first, and is filled in at the end.
    pub(crate) fn begin(&mut self) {
        self.frame.clear();
        start_frame(&mut self.frame);
        ReplyHeader { xid: self.xid, zxid: 0, err: 0 }.write(&mut Writer::new(&mut self.frame));
    }

    pub(crate) fn end(&mut self, zxid: Zxid, error: ErrorCode) {
        if let Some(place) = self.frame.get_mut(FRAME_HEADER + 4..FRAME_HEADER + 12) {
            place.copy_from_slice(&zxid.0.to_be_bytes());
        }
        if error != ErrorCode::Ok {
            set_error(&mut self.frame, 0, error);
        }
        end_frame(&mut self.frame, 0);
    }
}

/// How a read is made in pieces.
pub(crate) fn begin(question: Question<'_>) -> Result<Progress, ErrorCode> {
    Ok(match question.request {
        Request::GetChildren { .. } | Request::GetChildren2 { .. } | Request::MultiRead(_) => {
            Progress::List(List::default())
        }
        Request::GetAllChildrenNumber { path } => {
            Judge::new(question.who, false).readable(question.tree, path)?;
            Progress::Count(question.tree.descend(path).ok_or(ErrorCode::NoNode)?)
        }
        Request::GetEphemerals { .. } => Progress::Ephemerals(Ephemerals::begin(question)),
        _ => Progress::AtOnce,
    })
}

/// Reads data or an ACL, which no request can have made much larger than a request may be.
pub(crate) fn at_once(
    question: Question<'_>,
    xid: i32,
    frame: &mut Vec<u8>,
    trail: &mut impl ReadEffects,
    work: &mut usize,
) -> Step {
    frame.clear();
    let Question { tree, request, who, bytes_max, .. } = question;
    let mut meter = Meter::new(frame, bytes_max, usize::MAX);
    match read::answer(tree, request, xid, who, &mut meter, frame, trail) {
        Ok(error) => {
            let looked_at = usize::MAX - meter.work();
            *work = work.saturating_sub(1 + looked_at + frame.len() / BYTES_PER_WORK);
            Step::Done(error)
        }
        Err(Over) => Step::Over,
    }
}
