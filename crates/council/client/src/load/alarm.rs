//! A timer finer than the poll's: its timeout counts whole milliseconds, an open pace counts tens of microseconds.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// Wakes a poll.
#[derive(Debug)]
pub struct Alarm(OwnedFd);

impl Alarm {
    /// Joins a poll under a token.
    ///
    /// # Errors
    /// The system has no timer for it.
    pub fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        registry.register(&mut SourceFd(&timer.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Self(timer))
    }

    /// Goes off once, after `wait`; what was set before is forgotten.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn set(&self, wait: Duration) -> io::Result<()> {
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let once = Timespec::try_from(wait).map_err(io::Error::other)?;
        timerfd_settime(
            &self.0,
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: none, it_value: once },
        )?;
        Ok(())
    }
}
