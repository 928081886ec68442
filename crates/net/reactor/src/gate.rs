//! Who decides about connections that were accepted, before they cost anything.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use base::MonoTime;

/// A place among the connections that may be. It is given back when it is dropped.
pub trait Permit: Send {
    /// The peer has proved who it is, or need not: it is no stranger any more.
    fn authenticated(&self) {}
}

/// What a connection holds while it is there.
pub type ConnectionPermit = Box<dyn Permit>;

/// What becomes of a connection that was accepted.
pub enum Verdict {
    /// It is served.
    Admitted(ConnectionPermit),
    /// It is closed at once.
    Refused,
    /// It is closed after so many milliseconds, so that its client does not come back at once.
    ClosedLater(u64),
    /// It waits, as do all behind it. It is asked about again after so many milliseconds.
    Waits(u64),
}

/// Decides about connections. The log lines about those that are refused are the gate's.
pub trait Gate {
    /// Decides about a connection from `ip` with this descriptor.
    fn admit(&mut self, ip: IpAddr, descriptor: BorrowedFd<'_>, now: MonoTime) -> Verdict;
}
