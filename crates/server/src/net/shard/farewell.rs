//! A stop in good order: nothing more is read, what was read is answered, and then each client is told goodbye. Closing
//! with unread input would reset the connection, and could destroy the last replies on their way: so what clients
//! still send is thrown away until they close, for a moment.

use super::Shard;
use super::socket::Stage;
use crate::clock::Moment;

/// How long answers may take.
const ANSWERING_MS: u64 = 1_000;
/// How long clients may take to close.
const PARTING_MS: u64 = 300;

/// How far a stop has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Farewell {
    /// Nobody has asked for it.
    No,
    /// What was read is being answered.
    Answering { until_ms: u64 },
    /// Clients have been told.
    Parting { until_ms: u64 },
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
    /// The stop begins.
    pub(super) fn begin_farewell(&mut self, now: Moment) {
        if self.farewell == Farewell::No {
            self.farewell = Farewell::Answering { until_ms: now.mono_ms() + ANSWERING_MS };
        }
    }

    /// Goes on with a stop that has begun.
    pub(super) fn go_on_with_farewell(&mut self, now: Moment) {
        let now_ms = now.mono_ms();
        match self.farewell {
            Farewell::Answering { until_ms } if now_ms >= until_ms || self.front.stats().outstanding == 0 => {
                self.part(now);
                self.farewell = Farewell::Parting { until_ms: now_ms + PARTING_MS };
            }
            Farewell::Parting { until_ms } if now_ms >= until_ms || self.sockets.count == 0 => {
                self.farewell = Farewell::Done;
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
