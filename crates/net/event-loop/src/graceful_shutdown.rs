//! Disconnecting clients in good order: nothing more is read, what was read is answered, and then each connection is
//! shut down. Closing with unread input would reset the connection, and could destroy the last replies on their way. So
//! what clients still send is discarded until they close, for a short time.
//!
//! A server that stops does this and ends; one that must not serve any more does this and runs on.

use base::{MonoTime, Now};

use crate::driver::SocketDriver;
use crate::frontend::Frontend;
use crate::sockets::Stage;
use crate::{EventLoop, TICK_MS};

/// How long answers may take.
const ANSWERING_MS: u64 = 1_000;
/// How long clients may take to close.
const PARTING_MS: u64 = 300;
/// The longest sleep meanwhile.
const FAREWELL_TICK_MS: u64 = 5;

/// How far a parting has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GracefulShutdown {
    /// There is none.
    No,
    /// What was read is being answered. `ends` says whether the thread ends afterwards.
    Answering { until: MonoTime, ends: bool },
    /// The connections were shut down.
    Parting { until: MonoTime, ends: bool },
    /// Nothing is left to do.
    Done,
}

impl GracefulShutdown {
    /// Whether sockets are read from.
    pub(crate) const fn reads(self) -> bool {
        !matches!(self, Self::Answering { .. })
    }

    /// The longest sleep between two turns.
    pub(crate) const fn tick_ms(self) -> u64 {
        match self {
            Self::No => TICK_MS,
            _ => FAREWELL_TICK_MS,
        }
    }
}

impl<S> EventLoop<S> {
    /// The parting begins. One that is under way goes on, and ends the thread if either is to.
    pub fn begin_shutdown(&mut self, ends: bool, now: Now) {
        match &mut self.farewell {
            GracefulShutdown::No => {
                self.farewell = GracefulShutdown::Answering { until: now.mono().plus_ms(ANSWERING_MS), ends };
            }
            GracefulShutdown::Answering { ends: also, .. } | GracefulShutdown::Parting { ends: also, .. } => {
                *also |= ends
            }
            GracefulShutdown::Done => {}
        }
    }

    /// Whether a parting that was to end the thread is over.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self.farewell, GracefulShutdown::Done)
    }

    /// Goes on with a parting that has begun.
    pub(crate) fn continue_shutdown<D, F>(&mut self, driver: &mut D, front: &mut F, now: Now)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        match self.farewell {
            GracefulShutdown::Answering { until, ends } if now.mono() >= until || front.is_answered() => {
                self.part(driver, front, now);
                self.farewell = GracefulShutdown::Parting { until: now.mono().plus_ms(PARTING_MS), ends };
            }
            GracefulShutdown::Parting { until, ends } if now.mono() >= until || self.sockets.count == 0 => {
                self.farewell = if ends { GracefulShutdown::Done } else { GracefulShutdown::No };
            }
            _ => {}
        }
    }

    fn part<D, F>(&mut self, driver: &mut D, front: &mut F, now: Now)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        for token in self.sockets.tokens() {
            match self.sockets.get(token).map(|socket| socket.stage) {
                Some(Stage::Open | Stage::Closing) => self.linger(driver, front, token, now),
                Some(Stage::Opening) => self.drop_socket(driver, front, token),
                Some(Stage::Lingering) | None => {}
            }
        }
    }
}
