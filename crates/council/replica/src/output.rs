//! What the council's part of a core has to say: to its shards, and to the driver of sessions that have ended. The driver
//! takes it after each call.

use std::sync::Arc;

use council_frontend::{ConnectRefusal, FromCore};
use council_tree::Change;
use council_wire::SessionId;
use net_event_loop::ConnId;

/// Sessions that have ended and are kept to be told of; of more only the number is.
const SESSION_ENDS_MAX: usize = 64;

/// A session that has ended, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionEnd {
    /// The session.
    pub session: SessionId,
    /// Its timeout in milliseconds; 0 if it is not known here.
    pub timeout_ms: u64,
    /// Whether it was silent for too long; otherwise its client closed it.
    pub expired: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Output {
    /// One for each shard, in the order in which its shard is to take it.
    streams: Vec<Vec<FromCore>>,
    /// Sessions that have ended and that the driver has not been told of.
    session_ends: Vec<SessionEnd>,
    /// How many more there were than are kept for it.
    session_ends_untold: u64,
}

impl Output {
    pub(crate) fn new(shards: u16) -> Self {
        Self {
            streams: (0..shards).map(|_| Vec::new()).collect(),
            session_ends: Vec::new(),
            session_ends_untold: 0,
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

    /// A session has ended.
    pub(crate) fn session_ended(&mut self, end: SessionEnd) {
        match self.session_ends.len() < SESSION_ENDS_MAX {
            true => self.session_ends.push(end),
            false => self.session_ends_untold += 1,
        }
    }

    pub(crate) fn take_session_ends(&mut self) -> (Vec<SessionEnd>, u64) {
        (std::mem::take(&mut self.session_ends), std::mem::take(&mut self.session_ends_untold))
    }

    pub(crate) const fn has_session_ends(&self) -> bool {
        !self.session_ends.is_empty()
    }
}

#[cfg(test)]
mod tests {
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
