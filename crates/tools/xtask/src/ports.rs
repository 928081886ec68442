//! Ports for the servers under test.
//!
//! They lie below the range from which the system picks a client's own port: a client that retries while
//! its server is down could otherwise be given the server's port and connect to itself.

use std::net::TcpListener;

use anyhow::bail;

/// Where to look first when the caller does not say.
const FIRST: u16 = 20_000;
const SPREAD: u32 = 10_000;
/// How many neighbours of a port are tried.
const TRIES: u16 = 500;

/// Hands out ports nobody listens on, each only once.
pub(crate) struct Ports {
    next: u16,
}

impl Ports {
    /// From the given port on; else from one that differs between runs side by side.
    pub(crate) fn from(first: Option<u16>) -> Self {
        let spread = u16::try_from(std::process::id() % SPREAD).unwrap_or_default();
        Self { next: first.unwrap_or(FIRST + spread) }
    }

    pub(crate) fn free(&mut self) -> anyhow::Result<u16> {
        let first = self.next;
        for port in first..first.saturating_add(TRIES) {
            if TcpListener::bind(("127.0.0.1", port)).is_ok() {
                self.next = port + 1;
                return Ok(port);
            }
        }
        bail!("no free port in the {TRIES} from {first} on")
    }
}
