//! Connect strings: `host:port,host:port/chroot`.

use council_client_core::validate_path;

use crate::error::ConnectError;

/// The port where none is named.
const PORT: u16 = 2181;

/// Servers, and the node that a client takes for its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectString {
    /// Servers as `(host, port)`.
    pub hosts: Vec<(String, u16)>,
    /// The root, empty when it is the tree's own.
    pub chroot: String,
}

impl ConnectString {
    /// Reads `host[:port][,host[:port]]..[/chroot]`; an IPv6 address stands in brackets.
    ///
    /// # Errors
    /// When there is no host, a port is not one, or the chroot is not a path.
    pub fn parse(text: &str) -> Result<Self, ConnectError> {
        let wrong = |why| ConnectError::Address { text: String::from(text), why };
        let (hosts, chroot) = match text.find('/') {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        let chroot = if chroot == "/" { "" } else { chroot };
        if !chroot.is_empty() {
            validate_path(chroot).map_err(wrong)?;
        }
        let hosts: Vec<(String, u16)> = hosts
            .split(',')
            .map(str::trim)
            .filter(|host| !host.is_empty())
            .map(|host| host_and_port(host).ok_or_else(|| wrong("a port that is not one")))
            .collect::<Result<_, _>>()?;
        if hosts.is_empty() {
            Err(wrong("no host in it"))
        } else {
            Ok(Self { hosts, chroot: String::from(chroot) })
        }
    }
}

fn host_and_port(text: &str) -> Option<(String, u16)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().ok()?,
            None if port.is_empty() => PORT,
            None => return None,
        };
        return Some((String::from(host), port));
    }
    match text.rsplit_once(':') {
        // More colons than one: a bare IPv6 address.
        Some((host, _)) if host.contains(':') => Some((String::from(text), PORT)),
        Some((host, port)) => Some((String::from(host), port.parse().ok()?)),
        None => Some((String::from(text), PORT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<(Vec<(String, u16)>, String)> {
        ConnectString::parse(text).ok().map(|parsed| (parsed.hosts, parsed.chroot))
    }

    fn hosts(hosts: &[(&str, u16)]) -> Vec<(String, u16)> {
        hosts.iter().map(|(host, port)| (String::from(*host), *port)).collect()
    }

    #[test]
    fn hosts_and_chroot_are_told_apart() {
        assert_eq!(parse("a:1,b"), Some((hosts(&[("a", 1), ("b", 2181)]), String::new())));
        assert_eq!(parse("a:1, b:2 /x/y"), Some((hosts(&[("a", 1), ("b", 2)]), "/x/y".into())));
        assert_eq!(parse("a/"), Some((hosts(&[("a", 2181)]), String::new())));
        assert_eq!(
            parse("[::1]:7,[::2],::3"),
            Some((hosts(&[("::1", 7), ("::2", 2181), ("::3", 2181)]), String::new()))
        );
    }

    #[test]
    fn what_is_not_one_is_refused() {
        for text in ["", ",", "/x", "a:x", "a:70000", "a:1/x/", "a:1//x", "[::1]x"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
