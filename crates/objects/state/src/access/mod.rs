//! Who may do what (rule O32): tokens, rights of principals, and whether rights are looked at.
//!
//! # Interface
//! A command has a [`crate::Principal`]. [`admit`] asks of every command whether what vouches for the name still holds; [`judge`]
//! asks of a new request whether the principal may do what it asks. Queries, watches and lists are judged by the same two
//! where they are evaluated ([`crate::State::admit_principal`], [`crate::State::judge`]). [`perform()`] carries out
//! [`crate::AccessChange`]s, and [`end_token`] lets one end by time.
//!
//! # What is kept
//! Tokens by their numbers, with the hash of the secret and never the secret; rights by principals; that access is closed, if it
//! is. All are records: digest, snapshots and joins have nothing new. [`crate::rights::Table`] is made from them and looked up by calls.
//!
//! A waiting call has what it was asked by ([`crate::asked`]) if anybody may want to know later: access is closed, or it came by a
//! token. Such calls are found by their principals.
//!
//! # Invariants
//! - *At the position.* Nothing that was judged before counts when a command is applied: not the edge's judgement, nor that the
//!   token was valid when the request came.
//! - *Nothing for strangers.* A request that is not admitted changes nothing, and nothing of it is kept: neither under its key
//!   nor in its session. One that is admitted and refused is kept as any other refusal, so a copy is answered the same.
//! - *A reply is its principal's.* A copy of a request that was carried out is answered its reply, also if the right has gone
//!   since; [`judge`] asks of new requests alone. Who is not admitted is told nothing, and nothing is claimed of what a copy did.
//! - *One position.* With a token or a right go, at the same position, all calls that wait by it, before any of them is granted:
//!   they end `forbidden`. What they would have been given goes to the next.
//! - *What is whose.* A session, a ticket and a key belong to a principal's name. Nobody else uses them, whoever knows the
//!   session's secret.
//! - *Nobody is locked out.* Access is closed only if a token without an end administers everything, and the last such token, or
//!   its right, is not taken away while access is closed; only a root token may do that, for it is a way back.
//! - *Open costs nothing.* While access is open, a request without a token looks up nothing, and leaves nothing behind.
//! - *Bounded* by [`crate::limits`], those of waiting calls of a principal included: all end at one position.
//!
//! # Walks
//! *A call by a token.* The edge sends the hash of the token. The core of the member finds the token's number and principal in
//! its state, asks [`admit`] and [`judge`], and gives the command with both to the leader. When it is applied the token is
//! looked up again by its number. It is there and belongs to that principal; the principal may call the method; the call is
//! carried out. Had somebody revoked the token in between, the answer would be `unauthenticated`, and nothing would be left of it.
//!
//! *A query* is evaluated at one member when the state is fresh enough, and judged then and there, by its principal and token.
//!
//! *A revocation under a ticket.* Principal `ci` waits for a lock that `ann` holds, and `bob` behind it. `RevokeToken` at q takes
//! the token from the records and the table; then the calls are looked at that wait by it: that of `ci` leaves the lock's queue
//! with outcome `forbidden`, and the lock grants whom it can: nobody, for it is held. The edge that holds the request gets
//! the answer; streams of events that came by the token end. A release at q+1 grants `bob`. The session of `ci` is heard of no
//! more, for none of its requests is admitted: it ends with its time to live, and what it held is free.
//!
//! *A crash* of the leader between the call and the revocation: both commands are in the queues of their members and are given
//! to the next leader, in whatever order. If the revocation comes first, the call is refused at its position; at no member does
//! it take effect. A crash behind the revocation: token and right are missing from the records from which the table is made.
//!
//! # What is judged how
//! | right | allows |
//! |---|---|
//! | `query` | queries, the description, events; a list of all whose names begin so |
//! | `call` | commands and calls that wait; what they use is created |
//! | a method's name | that method |
//! | `create` | creating on purpose, with arguments |
//! | `admin` | all of these; deletion, migration, rollback, quarantine; `steal`; on all of a type: its versions; on all: tokens and rights, tickets and sessions of others |
//!
//! A principal has the rights of its roles besides its own ([`roles`]). Rights of `anonymous` are everybody's. An object that sends a message is the principal `object:TYPE/NAME`, and has the rights
//! of `object:TYPE/*` besides.
//!
//! # Members of earlier builds
//! They cannot read these commands, nor a command that came by a token, and do not ask whose a session is. So all of that is
//! from feature level [`crate::rights::LEVEL`] on; the leader raises it once all members support it.
//!
//! # Not done, and what that costs
//! - Rights of namespaces: rights are of principals and roles, and patterns of names say of what.
//! - What a principal's sessions hold is not taken at the position of the revocation: it is free within their time to live.

mod judge;
mod perform;
mod records;
mod roles;
mod shown;
mod waits;

pub use judge::Act;
pub(crate) use judge::{act_of, admit, is_admin, judge};
pub(crate) use perform::{end_token, may_concern_all, perform};
pub(crate) use records::{is_end_of_token, load, sound, sound_ticket};
pub(crate) use shown::{shown, tokens};
