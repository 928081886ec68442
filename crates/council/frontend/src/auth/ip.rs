//! Scheme `ip`: every connection has its address as an identity, written as Java writes it.

use std::net::IpAddr;

/// The address in Java's form: no part of an IPv6 address is left out, and one that only wraps an IPv4 address is that.
#[must_use]
pub fn host_address(ip: IpAddr) -> String {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => {
            let parts = ip.segments().map(|part| format!("{part:x}"));
            parts.join(":")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_look_as_in_java() {
        for (ip, shown) in [
            ("::1", "0:0:0:0:0:0:0:1"),
            ("127.0.0.1", "127.0.0.1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("fe80::ABC", "fe80:0:0:0:0:0:0:abc"),
        ] {
            assert_eq!(host_address(ip.parse().unwrap()), shown);
        }
    }
}
