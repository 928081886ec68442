//! Connections between members.
//!
//! Between two members stand two connections: one for what keeps leads and leases alive, one for what is bulky, so that
//! a large entry holds no heartbeat up. Whoever knows where the other is dials both; what comes of it, once both sides
//! have said who they are ([`hello`]), is handed to the [`switchboard`], which the core's thread owns: it reads and
//! writes them between its other work, and no message changes threads.
//!
//! A member is known by its id, never by its address; names are resolved anew at each attempt.

pub(crate) mod dial;
pub(crate) mod door;
pub(crate) mod frame;
pub(crate) mod hello;
pub(crate) mod lane;
pub(crate) mod seat;
pub(crate) mod switchboard;
pub(crate) mod tls;

use std::net::TcpStream;

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
    /// Whether this member dialled, and which of its attempts it was; else the other's.
    pub(crate) dialled: bool,
    pub(crate) attempt: u64,
}
