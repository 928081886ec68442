//! The server's side: an empty token is answered with a challenge, the client's response with the proof that the server
//! knows the password, too.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::directives::{Directives, quoted};
use super::proof::{NONCE_COUNT, Prover, Transcript, Verifier};
use crate::sasl::{Failure, ServerStep};
use crate::{Passwords, constant_time_eq};

/// What clients must name as the server that they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint<'a> {
    /// The name of the protocol that carries the tokens, as registered for SASL.
    pub service: &'a str,
    /// The name of the host.
    pub host: &'a str,
    /// The name of the collection of users.
    pub realm: &'a str,
}

/// What all exchanges of a server share: its names and its users.
#[derive(Clone)]
pub struct Server {
    realm: String,
    digest_uri: String,
    users: BTreeMap<String, Verifier>,
}

impl Server {
    /// A server of this name with these users. Keeps no password, but what serves as one in this realm.
    #[must_use]
    pub fn new(endpoint: Endpoint<'_>, passwords: &Passwords) -> Self {
        let Endpoint { service, host, realm } = endpoint;
        let verifier = |user: &str, password: &str| Verifier::new(user, realm, password);
        let users =
            passwords.iter().map(|(user, password)| (String::from(user), verifier(user, &password.0)));
        Self { realm: String::from(realm), digest_uri: format!("{service}/{host}"), users: users.collect() }
    }

    /// Checks a response; gives the proof for the client, and the user's name.
    fn verify(&self, nonce: &str, response: &[u8]) -> Result<(String, String), Failure> {
        let directives = Directives::parse(response)?;
        let user = directives.required("username")?;
        let authorized_as = directives.optional("authzid")?;
        let digest_uri = directives.required("digest-uri")?;
        let expected = [
            ("nonce", directives.required("nonce")? == nonce),
            ("nc", directives.required("nc")? == NONCE_COUNT),
            ("qop", directives.optional("qop")?.is_none_or(|qop| qop == "auth")),
            ("realm", directives.optional("realm")?.unwrap_or_default() == self.realm),
            ("digest-uri", digest_uri.eq_ignore_ascii_case(&self.digest_uri)),
            ("authzid", authorized_as.is_none_or(|name| name.is_empty() || name == user)),
        ];
        if let Some((name, _)) = expected.iter().find(|(_, is_expected)| !is_expected) {
            return Err(Failure::Mismatch(name));
        }
        let client_nonce = directives.required("cnonce")?;
        let shown = directives.required("response")?;
        let known = self.users.get(user);
        // For an unknown user the same is computed.
        let verifier = *known.unwrap_or(&Verifier::OF_NOBODY);
        let transcript = Transcript { verifier, nonce, client_nonce, authorized_as, digest_uri };
        let proof = transcript.proof(Prover::Client);
        let is_right = constant_time_eq(proof.as_bytes(), shown.as_bytes()) & known.is_some();
        if !is_right {
            return Err(Failure::Credentials);
        }
        Ok((transcript.proof(Prover::Server), String::from(user)))
    }
}

impl fmt::Debug for Server {
    /// Without the users.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("users", &self.users.len()).finish_non_exhaustive()
    }
}

/// Where an exchange stands.
#[derive(Debug)]
enum Stage {
    Start,
    Challenged { nonce: String },
    Over,
}

/// One exchange.
#[derive(Debug)]
pub struct ServerExchange {
    stage: Stage,
}

impl ServerExchange {
    /// An exchange of which no token has come.
    #[must_use]
    pub const fn new() -> Self {
        Self { stage: Stage::Start }
    }

    /// An exchange whose challenge had this nonce.
    #[cfg(test)]
    pub(super) fn challenged(nonce: &str) -> Self {
        Self { stage: Stage::Challenged { nonce: String::from(nonce) } }
    }

    /// Takes the client's token. `entropy` makes the nonce: it must not be guessable, and new for each exchange.
    pub fn step(&mut self, server: &Server, token: &[u8], entropy: &[u8; 32]) -> ServerStep {
        match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Start if token.is_empty() => {
                let nonce = STANDARD.encode(entropy);
                let (realm, quoted_nonce) = (quoted(&server.realm), quoted(&nonce));
                let challenge =
                    format!("realm={realm},nonce={quoted_nonce},charset=utf-8,algorithm=md5-sess");
                self.stage = Stage::Challenged { nonce };
                ServerStep::Continue(challenge.into_bytes())
            }
            Stage::Challenged { nonce } => match server.verify(&nonce, token) {
                Ok((proof, user)) => {
                    ServerStep::Complete { token: format!("rspauth={proof}").into_bytes(), user }
                }
                Err(failure) => ServerStep::Failed(failure),
            },
            Stage::Start | Stage::Over => ServerStep::Failed(Failure::Unexpected),
        }
    }
}

impl Default for ServerExchange {
    fn default() -> Self {
        Self::new()
    }
}
