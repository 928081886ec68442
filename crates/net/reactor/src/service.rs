//! What a reactor needs of a service that has a part of its thread.

use std::io;

use base::Now;
use net_event_loop::Readiness;

/// A service's connections on one thread, with the mailboxes through which other threads reach them. All mailboxes wake
/// the reactor's waker.
pub trait Service {
    /// Whether something lies in a mailbox.
    fn has_mail(&self) -> bool;

    /// Takes what lies in the mailboxes that concern the thread itself: new connections, questions, an order to stop.
    fn read_mail(&mut self, now: Now);

    /// The poll has reported an event of one of its sockets.
    fn announced(&mut self, token: u32, readiness: Readiness);

    /// One turn of its event loop.
    fn turn(&mut self, now: Now);

    /// How long the reactor may wait before the next turn, if neither a message nor a socket is there. Milliseconds.
    fn wait_max_ms(&self) -> u64;

    /// Whether it has ended, after it disconnected its clients.
    fn is_done(&self) -> bool;

    /// The thread ends: closes what is left.
    ///
    /// # Errors
    /// Why the service failed.
    fn end(&mut self, now: Now) -> io::Result<()>;
}
