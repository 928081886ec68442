//! The client's side: it answers the server's challenge, and checks that the server knows the password, too.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::directives::{Directives, quoted};
use super::proof::{NONCE_COUNT, Prover, Transcript, Verifier};
use crate::constant_time_eq;
use crate::sasl::{ClientStep, Failure, SaslUser};

/// Where an exchange stands.
enum Stage {
    Start,
    /// What the server's last token must prove.
    Responded {
        expected: String,
    },
    Over,
}

/// One exchange. It begins with an empty token of the client's.
pub struct ClientExchange {
    user: SaslUser,
    digest_uri: String,
    client_nonce: String,
    stage: Stage,
}

impl ClientExchange {
    /// An exchange with the server of this name. `entropy` must not be guessable, and new for each exchange.
    #[must_use]
    pub fn new(user: SaslUser, service: &str, host: &str, entropy: [u8; 16]) -> Self {
        let digest_uri = format!("{service}/{host}");
        Self { user, digest_uri, client_nonce: STANDARD.encode(entropy), stage: Stage::Start }
    }

    /// The same exchange with another nonce of the client's.
    #[cfg(test)]
    pub(super) fn with_nonce(self, nonce: &str) -> Self {
        Self { client_nonce: String::from(nonce), ..self }
    }

    /// Takes the server's token.
    pub fn step(&mut self, token: &[u8]) -> ClientStep {
        let step = match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Start => self.respond(token).map(ClientStep::Send),
            Stage::Responded { expected } => check(&expected, token).map(|()| ClientStep::Done),
            Stage::Over => Err(Failure::Unexpected),
        };
        step.unwrap_or_else(ClientStep::Failed)
    }

    /// The response to a challenge.
    fn respond(&mut self, challenge: &[u8]) -> Result<Vec<u8>, Failure> {
        let directives = Directives::parse(challenge)?;
        let nonce = directives.required("nonce")?;
        // A server may offer several realms.
        let realm = directives.first("realm").unwrap_or_default();
        let offers_auth = |qop: &str| qop.split(',').any(|one| one.trim() == "auth");
        if !directives.optional("qop")?.is_none_or(offers_auth) {
            return Err(Failure::Mismatch("qop"));
        }
        if directives.required("algorithm")? != "md5-sess" {
            return Err(Failure::Mismatch("algorithm"));
        }
        let Self { user, digest_uri, client_nonce, .. } = &*self;
        let verifier = Verifier::new(&user.name, realm, &user.password.0);
        let transcript = Transcript { verifier, nonce, client_nonce, authorized_as: None, digest_uri };
        let response = format!(
            "charset=utf-8,username={},realm={},nonce={},nc={NONCE_COUNT},cnonce={},digest-uri={},\
             maxbuf=65536,response={},qop=auth",
            quoted(&user.name),
            quoted(realm),
            quoted(nonce),
            quoted(client_nonce),
            quoted(digest_uri),
            transcript.proof(Prover::Client),
        );
        self.stage = Stage::Responded { expected: transcript.proof(Prover::Server) };
        Ok(response.into_bytes())
    }
}

/// Whether the server's last token proves that it knows the password.
fn check(expected: &str, token: &[u8]) -> Result<(), Failure> {
    let directives = Directives::parse(token)?;
    let shown = directives.required("rspauth")?;
    if constant_time_eq(expected.as_bytes(), shown.as_bytes()) { Ok(()) } else { Err(Failure::ServerProof) }
}

impl fmt::Debug for ClientExchange {
    /// Without what the server is expected to prove.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientExchange").field("user", &self.user).finish_non_exhaustive()
    }
}
