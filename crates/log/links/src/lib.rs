//! The links between the brokers of one cluster: connections that carry the messages of [`replication_wire`] between replicas
//! and controllers.
//!
//! A link is two connections between two processes: [`Lane::Control`] for what is urgent (fences, reports, acknowledgements,
//! heartbeats), [`Lane::Bulk`] for entries, so that no entry delays a fence. [`net_peers`] dials, authenticates, frames and
//! decides which pair of connections is kept. This crate puts one thread around it, which owns all links of a broker, and
//! bounded queues between that thread and all others. It does not decode a message and knows no coordination service: its
//! owner tells it which brokers are announced ([`Links::set_peers`]).
//!
//! | thread | what it does |
//! |---|---|
//! | links | reads, writes and listens on all links; the only one that touches them once they stand |
//! | acceptor | answers all that dial this broker, until each has proved who it is |
//! | dial | one for each broker with a lower number: asleep while a link stands, otherwise it dials |
//!
//! # A link
//! 1. The owners of two brokers read of each other in the coordination service and call [`Links::set_peers`]. The broker with
//!    the greater number dials both connections, the other one answers. If that one does not know the dialler yet, it refuses,
//!    and the dialler tries again: after 50 ms at first, every 500 ms at last.
//! 2. If TLS is configured, both sides show certificates. Then both prove that they know the cluster's secret, the dialler
//!    first. The proof covers the cluster's id, both numbers, the incarnation and the TLS connection. A process that is older
//!    than the announced one, a broker of another cluster and a number that is not announced are refused.
//! 3. The links' thread takes over both connections and tells [`LinkEvent::Connected`]. The owner takes the event, and from
//!    then on [`Links::send`] accepts messages for the link.
//!
//! # A message
//! 1. Any thread calls [`Links::send`]. It counts the bytes against the bound of that broker and lane, queues the message and
//!    wakes the links' thread, if that sleeps. If the bound is reached, the caller gets [`NotSent::Full`], stops reading what it
//!    would send, and goes on at [`LinkEvent::Room`].
//! 2. The links' thread takes all queued messages at once, appends each with its length and checksum to the outbox of its
//!    connection, and writes each outbox with as few system calls as the socket allows.
//! 3. At the other end the links' thread reads, checks length and checksum, appends [`LinkEvent::Message`] to the events, and
//!    calls the owner's `wake` if there were none. The owner takes all events at once ([`Links::take`]).
//!
//! # A crash
//! The system closes the sockets of a killed process. The links' thread reads the end and tells [`LinkEvent::Broken`] at once,
//! behind all messages that came before. If a whole machine dies, or the process is stopped, nothing comes any more:
//! [`LinkEvent::Silent`] after 300 ms, and `Broken` after 3 s. If the links' thread itself did not run for a heartbeat, it counts
//! silence from when it runs again: brokers of a machine that is too busy do not take each other for dead.
//! The next process of the broker is announced with a greater incarnation; the owner calls
//! [`Links::set_peers`], which ends a delay of the dialler, and `Connected` tells the new incarnation.
//!
//! # Invariants
//! - *Order.* For each broker, events alternate: `Connected`, then messages and signs of life, then `Broken`. On one lane,
//!   messages arrive in the order in which they were sent. Between two lanes there is no order.
//! - *No gap.* Messages of one lane and one link arrive without a gap. What is lost is lost with the link, and `Broken` tells.
//! - *No crossing.* A message goes over the link that the owner knew when it sent, or nowhere: never over a later link.
//! - *One process.* A link is with one incarnation, never with an earlier one than the announced, and never with a broker that
//!   is not announced.
//! - *Bounded.* What waits for a broker is bounded for each lane, what came and was not taken is bounded for each broker
//!   (nothing more is read from it then), a message is as long as [`replication_wire::message_bytes_max`] allows, and so many
//!   brokers are linked. A connection that has proved nothing costs a few kilobytes in a table of 576.
//! - *Alone.* A broker that stops reading, or an owner that stops taking what one broker sends, delays no other broker's link.
//!
//! # Not done, and what that costs
//! - A thread sleeps for each broker with a lower number, to resolve names and to dial. It costs a stack and no processor time.
//! - A link needs the broker with the lower number to be reachable from the other one. The other direction is not tried.
//! - One thread does all reading, writing and checksums. Beyond what one core can copy, a broker needs a thread for each half of
//!   its links.
//! - A message is copied into the outbox on its way out, and from the buffer of reads into that of its connection on its way
//!   in. `writev` of the owner's buffers would save the first copy, but not with TLS. A message that the owner keeps may keep
//!   others in memory that came with it.
//! - A round of the links' thread looks at every link, also at those on which nothing happens.
//! - The secret does not change while brokers run. Replacing it means to stop all brokers.
//! - Without TLS nothing that follows the handshake is encrypted or protected against changes on the path.
//! - A certificate names a broker as it names a member of an ensemble, `diwan:member:N`. If one authority signs for both, the
//!   certificate of member 1 is also one of broker 1; the secret still tells them apart.
//! - Texts of refusals in the log call brokers members, and hints name settings of an ensemble.
#![deny(missing_docs)]

mod driver;
mod error;
mod event;
mod exchange;
mod figures;
mod links;
mod settings;

pub use error::{LinkError, TooManyPeers};
pub use event::{LinkEvent, NotSent, Peer};
pub use figures::LinkFigures;
pub use links::Links;
pub use net_peers::{EnsembleSecret, Lane, PeerTlsConfig, RefusalCounts};
pub use settings::{LinkLimits, LinkSettings, LinkTiming};
