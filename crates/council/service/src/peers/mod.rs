//! Connections between members.
//!
//! Between two members stand two connections: one for what keeps leads and leases alive, one for what is bulky, so that
//! a large entry holds no heartbeat up. Whoever knows where the other is dials both; what comes of it, once both sides
//! have said who they are ([`hello`]), is handed to the [`switchboard`], which the core's thread owns: it reads and
//! writes them between its other work, and no message changes threads.
//!
//! Nothing that a connection says counts before both sides have proved who they are: by a certificate that names the
//! member ([`tls`], [`certificate`]), by a secret that all members share ([`proof`]), by both, or, where the operator gave
//! neither, by coming from a member's address ([`names`]). From then on everything that arrives on it is that member's,
//! whatever it says of itself. Before that a connection costs a few kilobytes in a table of limited size ([`door`],
//! [`places`]), and no thread.

pub(crate) mod certificate;
pub(crate) mod connected;
pub(crate) mod credentials;
pub(crate) mod dial;
pub(crate) mod door;
pub(crate) mod frame;
pub(crate) mod handshake;
pub(crate) mod hello;
pub(crate) mod lane;
pub(crate) mod names;
pub(crate) mod other_ensembles;
pub(crate) mod places;
pub(crate) mod proof;
pub(crate) mod switchboard;
pub(crate) mod tls;
pub(crate) mod trouble;
mod visitor;
pub mod wire;

use std::net::TcpStream;

use council_replica::peer_pairs::Offer;
use rustls::Connection;

use self::hello::Hello;

/// A connection on which both sides have said who they are.
pub(crate) struct Established {
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
        let Hello { number, seat, life, level, lane, .. } = self.hello;
        Offer {
            number,
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
