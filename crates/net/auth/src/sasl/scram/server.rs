//! The server's side.

use core::fmt;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::credential::{ScramCredential, ScramHash, xor};
use super::message::{gs2_header, take, text, unescaped};
use crate::constant_time_eq;
use crate::sasl::{Failure, ServerStep};

/// The fewest iterations with which a password may be salted.
pub const ITERATIONS_MIN: u32 = 4_096;
/// The salt of an unknown user has so many bytes.
const DECOY_SALT_BYTES: usize = 24;

/// What all exchanges of a server share: its users.
#[derive(Clone)]
pub struct Server {
    hash: ScramHash,
    users: BTreeMap<String, ScramCredential>,
    decoy_key: [u8; 32],
}

impl Server {
    /// A server without users. The salts of users that are unknown come of `decoy_key`, which must not be guessable: it is best
    /// the same at each start and at each server of a cluster.
    #[must_use]
    pub const fn new(hash: ScramHash, decoy_key: [u8; 32]) -> Self {
        Self { hash, users: BTreeMap::new(), decoy_key }
    }

    /// Another `decoy_key` from now on.
    pub const fn set_decoy_key(&mut self, decoy_key: [u8; 32]) {
        self.decoy_key = decoy_key;
    }

    /// Its hash.
    #[must_use]
    pub const fn hash(&self) -> ScramHash {
        self.hash
    }

    /// The user has this credential from now on, or none.
    pub fn set(&mut self, user: &str, credential: Option<ScramCredential>) {
        match credential {
            Some(credential) => drop(self.users.insert(user.into(), credential)),
            None => drop(self.users.remove(user)),
        }
    }

    /// The credential of a user.
    #[must_use]
    pub fn get(&self, user: &str) -> Option<&ScramCredential> {
        self.users.get(user)
    }

    /// All users, sorted by name.
    pub fn users(&self) -> impl Iterator<Item = (&str, &ScramCredential)> {
        self.users.iter().map(|(user, credential)| (user.as_str(), credential))
    }

    /// How many users there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// Whether there is no user.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// What an unknown user seems to have.
    fn decoy(&self, user: &str) -> ScramCredential {
        let mut salt = self.hash.hmac(&self.decoy_key, user.as_bytes());
        let key = self.hash.hmac(&self.decoy_key, &salt);
        salt.truncate(DECOY_SALT_BYTES);
        ScramCredential { salt, iterations: ITERATIONS_MIN, stored_key: key.clone(), server_key: key }
    }
}

impl fmt::Debug for Server {
    /// The number of users only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("hash", &self.hash)
            .field("users", &self.users.len())
            .finish_non_exhaustive()
    }
}

/// Where an exchange stands.
enum Stage {
    Start,
    Challenged(Challenged),
    Over,
}

/// What the client's proof is checked with.
struct Challenged {
    user: String,
    is_known: bool,
    credential: ScramCredential,
    /// Both nonces.
    nonce: String,
    header: String,
    /// What both sides have signed so far.
    signed: String,
}

/// One exchange.
pub struct ServerExchange {
    stage: Stage,
}

impl ServerExchange {
    /// An exchange of which no token has come.
    #[must_use]
    pub const fn new() -> Self {
        Self { stage: Stage::Start }
    }

    /// Takes the client's token. `entropy` makes the nonce: it must not be guessable, and new for each exchange.
    pub fn step(&mut self, server: &Server, token: &[u8], entropy: &[u8; 32]) -> ServerStep {
        let step = match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Start => self.challenge(server, token, &STANDARD.encode(entropy)),
            Stage::Challenged(challenged) => challenged.verify(server.hash, token),
            Stage::Over => Err(Failure::Unexpected),
        };
        step.unwrap_or_else(ServerStep::Failed)
    }

    pub(super) fn challenge(
        &mut self,
        server: &Server,
        token: &[u8],
        nonce: &str,
    ) -> Result<ServerStep, Failure> {
        let message = text(token)?;
        let (header, bare) = gs2_header(message)?;
        if bare.starts_with("m=") {
            return Err(Failure::Malformed("it has an extension that it demands"));
        }
        let mut rest = bare;
        let user = unescaped(take(&mut rest, "n")?)?;
        let client_nonce = take(&mut rest, "r")?;
        if user.is_empty() || client_nonce.is_empty() {
            return Err(Failure::Malformed("a name or a nonce is empty"));
        }
        if !header.authorized_as.is_empty() && unescaped(header.authorized_as)? != user {
            return Err(Failure::Mismatch("a"));
        }
        if rest.split(',').any(|extension| extension == "tokenauth=true") {
            return Err(Failure::Malformed("delegation tokens are not served"));
        }
        let known = server.get(&user);
        let credential = known.cloned().unwrap_or_else(|| server.decoy(&user));
        let nonce = format!("{client_nonce}{nonce}");
        let (salt, iterations) = (STANDARD.encode(&credential.salt), credential.iterations);
        let challenge = format!("r={nonce},s={salt},i={iterations}");
        let signed = format!("{bare},{challenge},");
        let header = STANDARD.encode(header.whole);
        let is_known = known.is_some();
        self.stage = Stage::Challenged(Challenged { user, is_known, credential, nonce, header, signed });
        Ok(ServerStep::Continue(challenge.into_bytes()))
    }
}

impl Challenged {
    fn verify(self, hash: ScramHash, token: &[u8]) -> Result<ServerStep, Failure> {
        let message = text(token)?;
        let (without_proof, proof) = message.rsplit_once(",p=").ok_or(Failure::Missing("p"))?;
        let mut rest = without_proof;
        if take(&mut rest, "c")? != self.header {
            return Err(Failure::Mismatch("c"));
        }
        if take(&mut rest, "r")? != self.nonce {
            return Err(Failure::Mismatch("r"));
        }
        let proof = STANDARD.decode(proof).map_err(|_| Failure::Malformed("its proof is not base64"))?;
        let signed = self.signed + without_proof;
        let signature = hash.hmac(&self.credential.stored_key, signed.as_bytes());
        // Of a shorter proof the key is shorter, and its hash another.
        let client_key = xor(&proof, &signature);
        let is_whole = proof.len() == signature.len();
        let shown = hash.hash(&client_key);
        if !(constant_time_eq(&shown, &self.credential.stored_key) & is_whole & self.is_known) {
            return Err(Failure::Credentials);
        }
        let signature = STANDARD.encode(hash.hmac(&self.credential.server_key, signed.as_bytes()));
        Ok(ServerStep::Complete { token: format!("v={signature}").into_bytes(), user: self.user })
    }
}

impl Default for ServerExchange {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ServerExchange {
    /// Whether it has begun, and no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Start => "start",
            Stage::Challenged(_) => "challenged",
            Stage::Over => "over",
        };
        f.debug_tuple("ServerExchange").field(&stage).finish()
    }
}
