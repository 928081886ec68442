//! Names of members, objects, memberships and elections in the domain name system: a query's bytes and a borrowed state
//! in, an answer's bytes out.
//!
//! [`receive`] reads a query, and refuses what needs no state; [`look_up`] finds records in a [`View`]; [`encode`] writes
//! the answer. They are apart so that one thread reads and writes packets, and another one, which has the state, only looks
//! up. [`answer`] is all three. [`Limiter`] says how much a network may ask. Knows no socket, clock or random source: the
//! time, and by how much records are rotated, are arguments.
//!
//! # What is served
//! Names are relative to the [`Zone`]. See `place.rs` for what a name stands for, `records.rs` for its records.
//!
//! # Rules
//! - *Authoritative only.* What is outside the zone is refused, there is no recursion and no transfer. A response is never
//!   answered, so that two servers cannot keep each other busy.
//! - *No staler than the lease.* Without a [`View`] the answer is SERVFAIL, so that resolvers ask another member.
//! - *Bounded.* One question, [`RECORDS_MAX`] records of a type, [`HOPS_MAX`] aliases in a row, [`UDP_BYTES_MAX`] bytes
//!   over UDP. A longer answer is truncated, and the client asks again over TCP.
//! - *Whole sets.* An answer over UDP holds all of its records or none: a resolver never keeps a part of a set.
//! - *Minimal ANY* (RFC 8482): the alias if the name is one, otherwise one HINFO record.
//!
//! # Not done, and what that costs
//! - DNSSEC: a resolver that validates must be told that the zone is not signed.
//! - Transfers, notifications, dynamic updates, wildcards, cookies, reverse names.
//! - Object names are found as asked, or in lower case; capital letters are lost behind a resolver that changes them.
//! - An object whose name has a dot is not there for a resolver that asks for one label after the other and trusts "no
//!   such name" on the way.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod announcement;
mod found;
mod limiter;
mod lookup;
mod place;
mod query;
mod receive;
mod records;
mod reply;
mod view;
mod zone;

pub use announcement::Announcement;
pub use found::Found;
pub use limiter::{Limiter, Rate, Verdict};
pub use lookup::{HOPS_MAX, look_up};
pub use query::Query;
pub use receive::{Received, receive};
pub use records::RECORDS_MAX;
pub use reply::{UDP_BYTES_MAX, encode, truncated};
pub use view::{Seat, View};
pub use zone::{BadZone, Zone};

/// How a query came, and so how long its answer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// As a datagram.
    Udp,
    /// On a connection, behind its length.
    Tcp,
}

/// The answer to a query, if it gets one.
#[must_use]
pub fn answer(
    zone: &Zone,
    bytes: &[u8],
    transport: Transport,
    view: Option<&View<'_>>,
    rotation: u32,
) -> Option<Vec<u8>> {
    match receive(zone, bytes) {
        Received::Silence => None,
        Received::Answer(answer) => Some(answer),
        Received::Question(query) => Some(encode(&query, look_up(zone, &query, view, rotation), transport)),
    }
}
