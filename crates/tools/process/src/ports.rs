//! Free ports for servers under test.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where to look first when the caller does not say.
const FIRST: u16 = 20_000;
const SPREAD: u32 = 10_000;
/// How many ports after a port are tried.
const TRIES: u16 = 500;
/// Clusters that one process starts at the same time look from different ports on.
const APART: u32 = 40;
/// How many have begun without a first port.
static BEGUN: AtomicU32 = AtomicU32::new(0);

/// Hands out ports without a listener, each only once, for servers that are killed and started again under clients.
///
/// They lie below the range from which the system picks a client's own port: a client that retries while
/// its server is down could otherwise be given the server's port and connect to itself.
#[derive(Debug)]
pub struct Ports {
    next: u16,
}

impl Ports {
    /// From the given port on; otherwise from one that differs between runs side by side, and between calls.
    #[must_use]
    pub fn from(first: Option<u16>) -> Self {
        let next = first.unwrap_or_else(|| {
            let begun = BEGUN.fetch_add(1, Ordering::Relaxed).wrapping_mul(APART);
            let spread = std::process::id().wrapping_add(begun) % SPREAD;
            FIRST + u16::try_from(spread).unwrap_or_default()
        });
        Self { next }
    }

    /// The next free one.
    ///
    /// # Errors
    /// None of the next ports is free.
    pub fn free(&mut self) -> io::Result<u16> {
        let first = self.next;
        for port in first..first.saturating_add(TRIES) {
            if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
                self.next = port + 1;
                return Ok(port);
            }
        }
        let what = format!("no free port in the {TRIES} from {first} on");
        Err(io::Error::new(io::ErrorKind::AddrInUse, what))
    }
}

/// Ports that were free a moment ago, all different, for servers that stay up. The kernel hands out numbers in turn, so
/// that a number just given back is not given to the next process that asks.
///
/// # Errors
/// The host has no free port.
pub fn free<const N: usize>() -> io::Result<[u16; N]> {
    let mut held = Vec::with_capacity(N);
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    #[test]
    fn are_distinct() {
        let [a, b, c] = super::free().expect("ports");
        assert!(a != b && b != c && a != c && a != 0);
        let mut ports = super::Ports::from(None);
        let [a, b] = [(); 2].map(|()| ports.free().expect("ports"));
        assert!(a < b);
        let other = super::Ports::from(None).free().expect("a port");
        assert!(other != a && other != b, "two at the same time do not hand out the same");
    }
}
