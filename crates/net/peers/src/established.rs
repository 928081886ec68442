//! A connection on which both sides have said who they are, on its way to the switchboard.

use std::net::TcpStream;

use net_peer_pairs::Offer;
use rustls::Connection;

use crate::hello::Hello;

/// A connection on which both sides have said who they are.
pub struct Established {
    pub(crate) stream: TcpStream,
    pub(crate) encryption: Option<Connection>,
    /// What the other side said.
    pub(crate) hello: Hello,
    /// Whether this side said that it has a seat.
    pub(crate) seated: bool,
    /// Whether the other has proved by key or secret that it is a member.
    pub(crate) proved: bool,
    /// Whether this member dialled, and which of its attempts it was; else the other's.
    pub(crate) dialled: bool,
    pub(crate) attempt: u64,
}

impl Established {
    /// What the table of pairs is to know of it.
    pub(crate) fn offer(&self) -> Offer {
        let Hello { seat, life, level, lane, .. } = self.hello;
        Offer {
            number: self.hello.known_number(),
            id: seat.map(|(id, _)| id),
            process: life,
            level,
            lane,
            dialled: self.dialled,
            attempt: self.attempt,
            proven: self.proved,
            as_member: self.seated,
        }
    }
}
