//! Where a broker listens, and the name of this machine.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};

/// The address of a host and a port; no host stands for every address of this machine.
///
/// # Errors
/// The host has no address.
pub(crate) fn of(host: Option<&str>, port: u16) -> io::Result<SocketAddr> {
    let Some(host) = host else { return Ok(SocketAddr::new(any(), port)) };
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, port));
    }
    let none = || io::Error::new(io::ErrorKind::NotFound, "no such host");
    (host, port).to_socket_addrs()?.next().ok_or_else(none)
}

/// The address that takes connections to IPv6 and IPv4 alike, where there is IPv6.
pub(crate) fn any() -> IpAddr {
    match UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)) {
        Ok(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        Err(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

/// How this process reaches what listens at that address.
pub(crate) fn from_here(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The name of this machine, as others may know it.
pub(crate) fn own_name() -> String {
    let name = rustix::system::uname();
    let name = name.nodename().to_string_lossy();
    if name.is_empty() { String::from("localhost") } else { name.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_may_be_an_address_a_name_or_none() {
        assert_eq!(of(Some("127.0.0.2"), 7).ok(), "127.0.0.2:7".parse().ok());
        assert_eq!(of(Some("::1"), 7).ok(), "[::1]:7".parse().ok());
        assert!(of(Some("localhost"), 7).expect("it is known everywhere").ip().is_loopback());
        assert!(of(None, 7).expect("every address").ip().is_unspecified());
        assert!(from_here(of(None, 7).expect("every address")).ip().is_loopback());
    }
}
