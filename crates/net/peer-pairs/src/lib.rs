//! Which connections stand between this member and each other one.
//!
//! Two members are connected by a *pair* of connections: one for what keeps leaderships and leases alive, one for what is
//! bulky, so that a large entry holds no heartbeat up. Either side may dial, and both may at once. The table decides which
//! pair is kept, when another takes its place, and when one is given up. A driver keeps sockets and feeds it; what `C`
//! stands for, bytes and how members prove who they are is not known here.
//!
//! # Rules
//! - At most one pair stands between two members. Pairs are told apart by a key: when the other's process started, who
//!   dialled, and which of the dialler's attempts it was. The greater key is kept, and both sides find the same one greater.
//! - A pair of a later process of the other member replaces one of an earlier. Where members prove nothing, though, all of
//!   that is only a claim: a pair that stands is replaced if nothing has come on it for `QUIET_MS`, or if it is so young
//!   that both may have dialled at once.
//! - A member is told as connected when both connections stand, and as not connected any more when that pair ends. Between
//!   the two, what comes is of that pair: a pair is known by a [`PairRef`] that no other ever has, and what comes on a
//!   connection of a pair that was dropped is for nobody.
//! - The times below are those of [`Timing::DEFAULT`]; a table may have others.
//! - A pair on which nothing comes for `SILENCE_MS` is given up, and so is one of whose connections only one stands for as
//!   long: the other was refused, or lost with its host. Who has nothing to say sends a sign of life every
//!   `PING_MS`.
//! - When this member gets an identity, or loses it, all pairs end: the others are to know it under what it is now.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod number;
mod offer;
mod pair;
mod table;
#[cfg(test)]
mod tests;
mod timing;

pub use number::PeerNumber;
pub use offer::{Lane, Offer};
pub use pair::{Dropped, Pair, PairRef, Pulse};
pub use table::{PeerPairs, Refusal, Verdict, is_outdated};
pub use timing::{PING_MS, QUIET_MS, SILENCE_MS, Timing, YOUTH_MS};
