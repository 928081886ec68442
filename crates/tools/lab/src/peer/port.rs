//! Free ports on loopback.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Ports that were free a moment ago, all different. The kernel hands out numbers in turn, so that a number
/// just given back is not given to the next process that asks.
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
        let [a, b, c] = super::free().unwrap();
        assert!(a != b && b != c && a != c && a != 0);
    }
}
