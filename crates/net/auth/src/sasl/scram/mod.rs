//! SCRAM (RFC 5802, RFC 7677) over SHA-256 and SHA-512, without channel binding.
//!
//! ```text
//! client                            server
//! user, client's nonce        ->
//!                             <-    both nonces, salt, iterations
//! both nonces, proof          ->
//!                             <-    signature
//! ```
//!
//! The server keeps no password and nothing that could be used in place of one: the proof shows that the client has the
//! key that the server keeps a hash of. For an unknown user the server goes on with a salt of its own, always the same
//! for that name, so that a stranger does not learn which users there are.

mod client;
mod credential;
mod message;
mod server;
#[cfg(test)]
mod tests;

pub use client::ClientExchange;
pub use credential::{ScramCredential, ScramHash};
pub use server::{ITERATIONS_MIN, Server, ServerExchange};
