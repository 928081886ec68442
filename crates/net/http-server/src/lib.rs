//! HTTP/1.1 for the clients of a service: connections that stay open, many at a time, on threads of our own.
//!
//! `hyper`'s state machine reads requests out of bytes in memory. It answers one request after the other, so it is given a
//! placeholder for each response and reads on at once; what it writes is looked at (interim responses, errors) and thrown
//! away. The responses are written here, in the order of the requests. The event loop moves the bytes, once a turn for each
//! connection, so that all responses that are ready in a turn leave with one write. There is no asynchronous runtime: a
//! state machine is polled when bytes came, and a silent connection has none.
//!
//! A [`Handler`] gets requests that are whole and answers them at once or later, when other threads have sent it mail. A
//! streamed body takes pieces until its client reads too slowly; then it ends with the words that were given for that.
//!
//! Invariants:
//! - *In order.* Requests of a connection are shown in their order, 16 under way at the most, and answered in it.
//! - *One end.* Every request that was shown is answered by the handler, or the handler is told that it is gone.
//! - *Bounded.* [`HttpLimits`] names each limit. A request beyond one is refused in the handler's words.
//!
//! A client that closes its side of the connection is gone, whatever it still waits for: a process that was killed shows
//! nothing else.
//!
//! # Not done, and what that costs
//! - HTTP/2. Upgrades.

mod connection;
mod exchange;
mod front;
mod handler;
mod headers;
mod limits;
mod message;
mod pipe;
mod placeholder;
mod places;
mod response;
mod server;
mod shard;

pub use bytes::Bytes;
pub use handler::{Handler, Replies};
pub use headers::Headers;
pub use http::{HeaderMap, Method, StatusCode, Uri};
pub use limits::{HttpLimits, LargeBodies};
pub use message::{Body, Refusal, Request, RequestId, Response};
pub use server::{HttpConfig, HttpServer, HttpTls, PreparedServer, ShardMail};
