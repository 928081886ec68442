//! The servers that a load connects to: where each is, by which name its certificate is checked, and how clients
//! authenticate.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use crate::{Access, ConnectString, Options};

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The name that its certificate must have, if connections are encrypted.
    pub host: String,
    /// Where connections go.
    pub address: SocketAddr,
}

impl From<SocketAddr> for Server {
    /// A server that is named by its address.
    fn from(address: SocketAddr) -> Self {
        Self { host: address.ip().to_string(), address }
    }
}

/// The servers of one ensemble.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    /// Each of them.
    pub list: Vec<Server>,
    /// How clients are let in.
    pub access: Access,
}

impl From<Vec<SocketAddr>> for Servers {
    /// In plain text, without any user.
    fn from(addresses: Vec<SocketAddr>) -> Self {
        Self { list: addresses.into_iter().map(Server::from).collect(), access: Access::default() }
    }
}

impl From<SocketAddr> for Servers {
    fn from(address: SocketAddr) -> Self {
        vec![address].into()
    }
}

impl From<&[SocketAddr]> for Servers {
    fn from(addresses: &[SocketAddr]) -> Self {
        addresses.to_vec().into()
    }
}

impl Servers {
    /// Reads `host:port,host:port` and resolves the names; of a name with several addresses the first is taken.
    ///
    /// # Errors
    /// The text is of another form, or a name has no address.
    pub fn resolve(text: &str) -> io::Result<Self> {
        let ConnectString { hosts, chroot } = ConnectString::parse(text).map_err(io::Error::other)?;
        if !chroot.is_empty() {
            return Err(io::Error::other(format!("`{text}` has a chroot: a load works on the whole tree")));
        }
        let server = |(host, port): (String, u16)| {
            let wrong = |why: String| io::Error::other(format!("`{host}:{port}`: {why}"));
            let mut found =
                (host.as_str(), port).to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
            let address = found.next().ok_or_else(|| wrong(String::from("the name has no address")))?;
            Ok(Server { host, address })
        };
        let list = hosts.into_iter().map(server).collect::<io::Result<_>>()?;
        Ok(Self { list, access: Access::default() })
    }

    /// One of them alone, counted from 0.
    #[must_use]
    pub fn only(&self, place: usize) -> Option<Self> {
        let one = self.list.get(place)?.clone();
        Some(Self { list: vec![one], access: self.access.clone() })
    }

    /// The options of a [`Client`](crate::Client) of these servers.
    #[must_use]
    pub fn options(&self) -> Options {
        Options::new().access(self.access.clone())
    }

    /// The connect string of a [`Client`](crate::Client) that begins with the server at `first`, counted from 0.
    #[must_use]
    pub fn connect_string(&self, first: usize) -> String {
        let one = |place: usize| {
            let Server { host, address } = &self.list[(first + place) % self.list.len()];
            match host.contains(':') {
                true => format!("[{host}]:{}", address.port()),
                false => format!("{host}:{}", address.port()),
            }
        };
        (0..self.list.len()).map(one).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_keep_the_names_by_which_their_certificates_are_checked() {
        let servers = Servers::resolve("localhost:2281,[::1]:7").unwrap();
        let names: Vec<_> = servers.list.iter().map(|server| server.host.as_str()).collect();
        assert_eq!(names, ["localhost", "::1"]);
        assert_eq!(servers.list[0].address.port(), 2281);
        assert_eq!(servers.connect_string(1), "[::1]:7,localhost:2281");
        assert_eq!(servers.only(1).unwrap().connect_string(0), "[::1]:7");
        assert!(servers.only(2).is_none());
    }

    #[test]
    fn servers_of_another_form_are_refused() {
        for text in ["", "localhost:x", "localhost:1/app"] {
            assert!(Servers::resolve(text).is_err(), "{text}");
        }
    }
}
