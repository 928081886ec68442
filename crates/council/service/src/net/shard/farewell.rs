//! Parting from clients in good order: nothing more is read, what was read is answered, and then each client is told
//! goodbye. Closing with unread input would reset the connection, and could destroy the last replies on their way: so
//! what clients still send is thrown away until they close, for a moment.
//!
//! A server that stops parts like this and ends; a member that was removed parts like this and stays.

use super::Shard;
use super::socket::Stage;
use crate::clock::Moment;

/// How long answers may take.
const ANSWERING_MS: u64 = 1_000;
/// How long clients may take to close.
const PARTING_MS: u64 = 300;

/// How far a parting has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Farewell {
    /// There is none.
    No,
    /// What was read is being answered. `ends` says whether the shard ends afterwards.
    Answering { until_ms: u64, ends: bool },
    /// Clients have been told.
    Parting { until_ms: u64, ends: bool },
    /// Nothing is left to do.
    Done,
}

impl Farewell {
    /// Whether sockets are read from.
    pub(super) const fn reads(self) -> bool {
        !matches!(self, Self::Answering { .. })
    }
}

impl Shard {
    /// The parting begins. One that is under way goes on, and ends the shard if either is to.
    pub(super) fn begin_farewell(&mut self, ends: bool, now: Moment) {
        match &mut self.farewell {
            Farewell::No => {
                self.farewell = Farewell::Answering { until_ms: now.mono_ms() + ANSWERING_MS, ends };
            }
            Farewell::Answering { ends: also, .. } | Farewell::Parting { ends: also, .. } => *also |= ends,
            Farewell::Done => {}
        }
    }

    /// Goes on with a parting that has begun.
    pub(super) fn go_on_with_farewell(&mut self, now: Moment) {
        let now_ms = now.mono_ms();
        match self.farewell {
            Farewell::Answering { until_ms, ends }
                if now_ms >= until_ms || (self.front.stats().outstanding == 0 && !self.front.has_long()) =>
            {
                self.part(now);
                self.farewell = Farewell::Parting { until_ms: now_ms + PARTING_MS, ends };
            }
            Farewell::Parting { until_ms, ends } if now_ms >= until_ms || self.sockets.count == 0 => {
                self.farewell = if ends { Farewell::Done } else { Farewell::No };
            }
            _ => {}
        }
    }

    fn part(&mut self, now: Moment) {
        for token in self.sockets.tokens() {
            match self.sockets.get(token).map(|socket| socket.stage) {
                Some(Stage::Open | Stage::Closing) => self.linger(token, now),
                Some(Stage::Opening) => self.drop_socket(token),
                Some(Stage::Lingering) | None => {}
            }
        }
    }
}
