//! What is being made durable, in its order.

use core::hash::{Hash, Hasher};
use std::collections::VecDeque;

use crate::{Epoch, PersistId, Position, Seq};

/// So many places are kept while nothing waits: those of a log that is busy are used again at once.
const KEPT: usize = 16;

/// What holds once something is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Point {
    /// Nothing of an older epoch is taken.
    pub(crate) promised: Epoch,
    /// How far the log has come.
    pub(crate) position: Position,
    /// Up to where it is the log of the leader of the promised epoch; nothing if that is not known.
    pub(crate) matched: Option<Seq>,
    /// Where the log starts.
    pub(crate) start: Seq,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    durable: Point,
    last: PersistId,
    waiting: VecDeque<(PersistId, Point)>,
}

impl Pending {
    /// Nothing is being made durable; this much was, before.
    pub(crate) const fn new(promised: Epoch, position: Position, start: Seq) -> Self {
        let durable = Point { promised, position, matched: None, start };
        Self { durable, last: PersistId(0), waiting: VecDeque::new() }
    }

    /// Something is to be made durable, behind all that waits.
    pub(crate) fn add(&mut self, point: Point) -> PersistId {
        self.last = self.last.next();
        self.waiting.push_back((self.last, point));
        self.last
    }

    /// This holds as soon as all that waits is durable: nothing new is needed for it.
    pub(crate) fn note(&mut self, point: Point) {
        match self.waiting.back_mut() {
            Some((_, last)) => *last = point,
            None => self.durable = point,
        }
    }

    /// Everything up to `id` is durable.
    pub(crate) fn done(&mut self, id: PersistId) {
        while let Some((_, point)) = self.waiting.pop_front_if(|(waiting, _)| *waiting <= id) {
            self.durable = point;
        }
        if self.waiting.is_empty() && self.waiting.capacity() > KEPT {
            self.waiting = VecDeque::new();
        }
    }

    /// Gives back the memory that is kept for what will wait: thousands of partitions are idle at a time.
    pub(crate) fn rest(&mut self) {
        self.waiting.shrink_to_fit();
    }

    /// The last number that was given.
    pub(crate) const fn last(&self) -> PersistId {
        self.last
    }

    /// What is durable.
    pub(crate) const fn durable(&self) -> Point {
        self.durable
    }
}

impl Pending {
    fn points(&self) -> impl Iterator<Item = Point> {
        self.waiting.iter().map(|(_, point)| *point)
    }
}

// Numbers only say in which order things are done: two of them that wait for the same are equal.
impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        self.durable == other.durable && self.points().eq(other.points())
    }
}

impl Eq for Pending {}

impl Hash for Pending {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.durable.hash(state);
        self.waiting.len().hash(state);
        self.points().for_each(|point| point.hash(state));
    }
}
