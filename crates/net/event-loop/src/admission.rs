//! Which clients may connect: counts of connections, in all and by address.
//!
//! Pure counting, so that one thread can use it for itself, or a driver with several threads for all of them.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Counts connections against two limits.
#[derive(Clone, Debug)]
pub struct Admission {
    connections_max: u32,
    per_ip_max: u32,
    connections: u32,
    by_ip: BTreeMap<IpAddr, u32>,
}

/// The limit that a connection met, with the connections that it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// For all together.
    Everybody(u32),
    /// For one address.
    Address(u32),
}

impl Admission {
    /// Limits of 0 are none.
    #[must_use]
    pub const fn new(connections_max: u32, per_ip_max: u32) -> Self {
        Self { connections_max, per_ip_max, connections: 0, by_ip: BTreeMap::new() }
    }

    /// Counts one more connection from `ip`.
    ///
    /// # Errors
    /// It is one too many, and is not counted.
    pub fn admit(&mut self, ip: IpAddr) -> Result<(), Full> {
        let is_full = |count: u32, max: u32| max != 0 && count >= max;
        let of_ip = self.by_ip.get(&ip).copied().unwrap_or(0);
        if is_full(self.connections, self.connections_max) {
            return Err(Full::Everybody(self.connections_max));
        }
        if is_full(of_ip, self.per_ip_max) {
            return Err(Full::Address(self.per_ip_max));
        }
        self.connections += 1;
        if self.per_ip_max != 0 {
            self.by_ip.insert(ip, of_ip + 1);
        }
        Ok(())
    }

    /// Counts one less: a connection that was admitted is gone.
    pub fn release(&mut self, ip: IpAddr) {
        self.connections = self.connections.saturating_sub(1);
        if let Some(count) = self.by_ip.get_mut(&ip) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_ip.remove(&ip);
            }
        }
    }

    /// How many connections there are.
    #[must_use]
    pub const fn connections(&self) -> u32 {
        self.connections
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn each_address_and_all_together_are_limited() {
        let [a, b, c] = [1, 2, 3].map(|last| IpAddr::from(Ipv4Addr::new(127, 0, 0, last)));
        let mut admission = Admission::new(3, 2);
        let (address, everybody) = (Err(Full::Address(2)), Err(Full::Everybody(3)));
        assert_eq!([a, a, a].map(|ip| admission.admit(ip)), [Ok(()), Ok(()), address]);
        assert_eq!([b, c].map(|ip| admission.admit(ip)), [Ok(()), everybody]);
        admission.release(a);
        assert_eq!([c, a].map(|ip| admission.admit(ip)), [Ok(()), everybody]);
        assert_eq!(Admission::new(0, 0).admit(a), Ok(()));
    }
}
