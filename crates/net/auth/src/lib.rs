//! Authentication that no service owns: SASL mechanisms, passwords and where they are read from, the limit on guesses, and
//! the identity that a certificate gives.
//!
//! | module | what it holds |
//! |---|---|
//! | [`sasl`] | SASL exchanges as state machines: a token comes in, a token goes out. [`sasl::digest_md5`], [`sasl::plain`], [`sasl::scram`], [`sasl::oauthbearer`] |
//! | [`Passwords`] | users and their passwords |
//! | [`jaas`] | the users that the text of a JAAS file names |
//! | [`AttemptLimiter`] | how often an address may show a wrong password |
//! | [`Nonces`] | bytes that cannot be guessed, from a seed |
//! | [`certificate_subject`] | the name of a certificate's holder |
//! | [`constant_time_eq`] | compares secrets |
//!
//! # How a service uses it
//! A service knows its own protocol: how a token is framed, which mechanisms it offers, its name and its host, what an
//! authenticated user may do, and what the others are told. It keeps one exchange for each connection, gives it the
//! client's tokens, and sends what comes back.
//!
//! Each mechanism is one module of [`sasl`] with the same types, as far as it needs them: what the server keeps for all exchanges
//! (`Server`), one exchange on the server's side (`ServerExchange`), and one on the client's side (`ClientExchange`). Steps and
//! failures are [`sasl::ServerStep`], [`sasl::ClientStep`] and [`sasl::Failure`] for all mechanisms, so that a further mechanism is a
//! further module, and no service changes that does not offer it.
//!
//! # Invariants
//! - **Pure.** No clock, socket, file or random source: times, texts, certificates and unguessable bytes are arguments.
//! - **Bounded.** The longest token has a name ([`sasl::TOKEN_BYTES_MAX`], [`sasl::oauthbearer::BEARER_BYTES_MAX`]), an exchange takes a fixed number of tokens,
//!   and after its last one it refuses every token. Addresses that the limiter remembers are bounded. Reading a
//!   certificate or a JAAS text takes time and memory proportional to its length.
//! - **No secret is shown.** `Debug` of nothing here prints a password, or what can be used in place of one. A
//!   [`sasl::Failure`] names no user and repeats no byte of the peer.
//! - **Constant time.** Passwords and proofs are compared by [`constant_time_eq`].
//! - **An unknown user looks like a wrong password**: the same steps, the same failure, and the same hashes computed. What
//!   remains is the search for the name in a sorted map: some comparisons of names, below a microsecond.
//! - **No replay.** A server's nonce is used in one exchange, and an exchange accepts one response.
//!
//! # Not done, and what that costs
//! - GSSAPI would need a Kerberos library.
//! - SCRAM without channel binding: a client that insists on it fails.
//! - DIGEST-MD5 authenticates only: no protection of what follows (`auth-int`, `auth-conf`), and no second authentication
//!   under the same nonce. Clients that insist on either fail.
//! - Names and passwords are taken as they are, without the Unicode normalisation of `SASLprep`: a user whose keyboard
//!   composes a letter in another way than the file does is refused.
//! - Of a section of a JAAS file only the first login module is read.
//! - Passwords stay in memory until the process ends: they are not overwritten.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod attempts;
mod constant_time;
mod der;
pub mod jaas;
mod nonces;
mod passwords;
pub mod sasl;
mod subject;

pub use attempts::{AttemptLimiter, AttemptLimits};
pub use constant_time::constant_time_eq;
pub use nonces::Nonces;
pub use passwords::Passwords;
pub use subject::certificate_subject;
