//! Which host names requests for commands may use. A web page can make its own name lead to this machine (DNS
//! rebinding), and a browser then lets it read what a server at a loopback address answers. The header `Host` still has
//! the page's name, so such a request can be recognised.

use std::net::{IpAddr, SocketAddr};

/// The names that are taken at one address.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// Only a listener that others cannot reach counts on that.
    checked: bool,
    names: Vec<String>,
}

impl Hosts {
    /// What holds for a listener at `address`, under further `names` of this machine.
    pub fn new(address: SocketAddr, names: impl IntoIterator<Item = String>) -> Self {
        Self { checked: address.ip().to_canonical().is_loopback(), names: names.into_iter().collect() }
    }

    /// Whether a request with this header may be answered. Without the header it comes from no browser.
    pub fn allow(&self, host: Option<&str>) -> bool {
        let Some(host) = host.filter(|_| self.checked) else { return true };
        let name = without_port(host.trim());
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        let name = name.strip_suffix('.').unwrap_or(name);
        let same = |own: &str| own.eq_ignore_ascii_case(name);
        let below_localhost = || name.to_ascii_lowercase().ends_with(".localhost");
        bare.parse::<IpAddr>().is_ok()
            || same("localhost")
            || below_localhost()
            || self.names.iter().any(|own| same(own))
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            // An address without brackets has no port.
            if name.contains(':') && !name.ends_with(']') { host } else { name }
        }
        _ => host,
    }
}

/// This machine's name, if the system has one.
pub fn own_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(String::from(name.trim())).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_names_are_refused_at_a_loopback_address() {
        for address in ["127.0.0.1:7000", "127.1.2.3:7000", "[::1]:7000"] {
            let hosts = Hosts::new(address.parse().unwrap(), [String::from("zk1.example.com")]);
            let own = [
                "127.0.0.1",
                "127.0.0.1:7000",
                "10.0.0.1:80",
                "[::1]:7000",
                "[::1]",
                "::1",
                "localhost",
                "LOCALHOST:7000",
                "localhost.:7000",
                "diwan.localhost:7000",
                "zk1.example.com:7000",
                "ZK1.example.com",
            ];
            assert!(own.iter().all(|host| hosts.allow(Some(host))), "{address}");
            assert!(hosts.allow(None));
            let foreign = [
                "evil.example:7000",
                "localhost.evil.example",
                "",
                ":7000",
                "127.0.0.1.evil.example",
                "[evil]",
            ];
            assert!(!foreign.iter().any(|host| hosts.allow(Some(host))), "{address}");
        }
    }

    #[test]
    fn any_name_is_taken_where_others_can_reach_the_address() {
        for address in ["0.0.0.0:8080", "[::]:8080", "10.1.1.1:8080"] {
            assert!(Hosts::new(address.parse().unwrap(), []).allow(Some("zk1.example.com:8080")));
        }
    }
}
