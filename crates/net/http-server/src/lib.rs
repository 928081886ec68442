//! HTTP/1.1 for the clients of a service: connections that stay open, many at a time, on threads of our own.
//!
//! `hyper`'s state machine reads and writes HTTP over bytes in memory; the event loop moves these bytes, once a turn for
//! each connection, so that the responses that are ready in a turn leave with one write. There is no asynchronous runtime:
//! a state machine is polled when bytes came, when its reply is there, and when its output has found room.
//!
//! A [`Handler`] gets requests that are whole and answers them at once or later, when other threads have sent it mail. A
//! streamed body takes pieces until its client reads too slowly; then it ends with the words that were given for that.
//!
//! Invariants:
//! - *One at a time.* A connection shows its next request when the one before is answered; its bytes wait meanwhile, a
//!   bounded number of them.
//! - *One end.* Every request that was shown is answered by the handler, or the handler is told that it is gone.
//! - *Bounded.* [`HttpLimits`] names each limit. A request beyond one is refused in the handler's words, except for a
//!   head that is no HTTP or too long, which `hyper` answers without a body (400, 414, 431).
//!
//! A client that closes its side of the connection is gone, whatever it still waits for: a process that was killed shows
//! nothing else.
//!
//! # Not done, and what that costs
//! - Requests that are sent ahead on a connection are answered one after the other, not side by side: a client that wants
//!   calls under way at the same time opens several connections.
//! - HTTP/2. Upgrades. Certificates of clients reach no handler.

mod connection;
mod exchange;
mod front;
mod handler;
mod limits;
mod message;
mod pipe;
mod places;
mod server;
mod shard;

pub use bytes::Bytes;
pub use handler::{Handler, Replies};
pub use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
pub use limits::HttpLimits;
pub use message::{Body, Refusal, Request, RequestId, Response};
pub use server::{HttpConfig, HttpServer, PreparedServer, ShardMail};
