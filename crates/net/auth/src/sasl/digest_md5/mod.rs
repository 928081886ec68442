//! DIGEST-MD5 (RFC 2831), as Java implements it: protection `auth` only, one authentication a nonce.
//!
//! ```text
//! client                            server
//!        (empty token)        ->
//!                             <-    realm, nonce
//! user, nonce, client's nonce,
//! response                    ->
//!                             <-    rspauth
//! ```
//!
//! `response` proves that the client knows the password, `rspauth` that the server does; both are MD5 sums over the
//! password and both nonces. RFC 6331 moved the mechanism to *historic*, because MD5 is fast to search and the server keeps
//! what suffices to log in: offer it for compatibility, and TLS with it.

mod client;
mod directives;
mod proof;
mod server;
#[cfg(test)]
mod tests;

pub use client::ClientExchange;
pub use server::{Endpoint, Server, ServerExchange};
