//! The client's side: it proves that it has the password, and checks that the server has what was made of it.

use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::credential::{ScramHash, xor};
use super::message::{escaped, take, text};
use crate::constant_time_eq;
use crate::sasl::{ClientStep, Failure, SaslUser};

/// The most iterations that a client does for a server: one that asks for more wants to keep it busy.
const ITERATIONS_MAX: u32 = 1_000_000;
/// The header of a client that binds to no channel and acts as itself.
const HEADER: &str = "n,,";

/// Where an exchange stands.
enum Stage {
    Start,
    /// The server's last token must be this signature.
    Proved {
        signature: Vec<u8>,
    },
    Over,
}

/// One exchange. It begins with [`Self::first`].
pub struct ClientExchange {
    hash: ScramHash,
    user: SaslUser,
    nonce: String,
    stage: Stage,
}

impl ClientExchange {
    /// An exchange of this user. `entropy` must not be guessable, and new for each exchange.
    #[must_use]
    pub fn new(hash: ScramHash, user: SaslUser, entropy: [u8; 24]) -> Self {
        Self { hash, user, nonce: STANDARD.encode(entropy), stage: Stage::Start }
    }

    /// The same exchange with another nonce of the client's.
    #[cfg(test)]
    pub(super) fn with_nonce(self, nonce: &str) -> Self {
        Self { nonce: String::from(nonce), ..self }
    }

    /// The first token for the server.
    #[must_use]
    pub fn first(&self) -> Vec<u8> {
        format!("{HEADER}{}", self.bare()).into_bytes()
    }

    fn bare(&self) -> String {
        format!("n={},r={}", escaped(&self.user.name), self.nonce)
    }

    /// Takes the server's token.
    pub fn step(&mut self, token: &[u8]) -> ClientStep {
        let step = match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Start => self.prove(token).map(ClientStep::Send),
            Stage::Proved { signature } => check(&signature, token).map(|()| ClientStep::Done),
            Stage::Over => Err(Failure::Unexpected),
        };
        step.unwrap_or_else(ClientStep::Failed)
    }

    fn prove(&mut self, challenge: &[u8]) -> Result<Vec<u8>, Failure> {
        let challenge = text(challenge)?;
        let mut rest = challenge;
        let nonce = take(&mut rest, "r")?;
        let salt = STANDARD.decode(take(&mut rest, "s")?);
        let salt = salt.map_err(|_| Failure::Malformed("its salt is not base64"))?;
        let iterations =
            take(&mut rest, "i")?.parse().ok().filter(|count| (1..=ITERATIONS_MAX).contains(count));
        let iterations = iterations.ok_or(Failure::Malformed("its number of iterations is out of range"))?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(Failure::Mismatch("r"));
        }
        let salted = self.hash.salted(&self.user.password.0, &salt, iterations);
        let client_key = self.hash.client_key(&salted);
        let without_proof = format!("c={},r={nonce}", STANDARD.encode(HEADER));
        let signed = format!("{},{challenge},{without_proof}", self.bare());
        let signature = self.hash.hmac(&self.hash.hash(&client_key), signed.as_bytes());
        let proof = STANDARD.encode(xor(&client_key, &signature));
        let signature = self.hash.hmac(&self.hash.server_key(&salted), signed.as_bytes());
        self.stage = Stage::Proved { signature };
        Ok(format!("{without_proof},p={proof}").into_bytes())
    }
}

/// Whether the server's last token proves that it knows the user.
fn check(expected: &[u8], token: &[u8]) -> Result<(), Failure> {
    let mut rest = text(token)?;
    let shown = STANDARD.decode(take(&mut rest, "v")?);
    let shown = shown.map_err(|_| Failure::Malformed("its signature is not base64"))?;
    if constant_time_eq(expected, &shown) { Ok(()) } else { Err(Failure::ServerProof) }
}

impl fmt::Debug for ClientExchange {
    /// Without what the server is expected to prove.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientExchange").field("user", &self.user).finish_non_exhaustive()
    }
}
