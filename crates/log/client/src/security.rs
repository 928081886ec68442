//! What a connection begins with: encryption, and proof of who the client is.

use std::fmt;
use std::sync::Arc;

use base::Secret;
use log_wire::messages::Blob;
use log_wire::messages::security::{SaslAuthenticateRequest, SaslHandshakeRequest};
use net_auth::sasl::scram::{ClientExchange, ScramHash};
use net_auth::sasl::{ClientStep, SaslUser, plain};
use rustls::ClientConfig;

use crate::connection::{ANSWER, CONNECT, Connection};
use crate::error::{Error, Result};

/// How brokers let a client in. By default connections are neither encrypted nor authenticated.
#[derive(Clone, Debug, Default)]
pub struct Security {
    /// Encrypts connections.
    pub tls: Option<Arc<ClientConfig>>,
    /// Authenticates by SASL.
    pub sasl: Option<Login>,
}

impl Security {
    /// Connects with a broker at `HOST:PORT`, encrypts and authenticates.
    ///
    /// # Errors
    /// There is no such host, it does not answer, or it does not let the client in.
    pub fn connect(&self, address: &str, client_id: &str) -> Result<Connection> {
        let mut connection = Connection::open(address, client_id, self.tls.as_ref())?;
        if let Some(login) = &self.sasl {
            connection.set_patience(CONNECT)?;
            login.prove(&mut connection)?;
            connection.set_patience(ANSWER)?;
        }
        Ok(connection)
    }
}

/// Who a client is to SASL, and by which mechanism it proves that.
#[derive(Clone)]
pub enum Login {
    /// PLAIN: the password itself.
    Plain(SaslUser),
    /// SCRAM: proof that it has the password.
    Scram(ScramHash, SaslUser),
    /// OAUTHBEARER: a token that an identity provider has signed.
    Bearer(Secret),
}

impl fmt::Debug for Login {
    /// Without what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mechanism())
    }
}

impl Login {
    /// As the protocol names it.
    #[must_use]
    pub const fn mechanism(&self) -> &'static str {
        match self {
            Self::Plain(_) => "PLAIN",
            Self::Scram(ScramHash::Sha256, _) => "SCRAM-SHA-256",
            Self::Scram(ScramHash::Sha512, _) => "SCRAM-SHA-512",
            Self::Bearer(_) => "OAUTHBEARER",
        }
    }

    /// Proves who the client is, before anything else is asked on the connection.
    fn prove(&self, connection: &mut Connection) -> Result<()> {
        let handshake = SaslHandshakeRequest { mechanism: self.mechanism().into() };
        let answer = connection.call(&handshake)?;
        if answer.error_code != 0 {
            let what = format!("the mechanism {}", self.mechanism());
            let detail = Some(format!("the broker takes {}", answer.mechanisms.join(", ")));
            return Err(Error::Refused { what, code: answer.error_code, detail });
        }
        match self {
            Self::Plain(user) => tell(connection, plain::client_token(user)).map(drop),
            Self::Bearer(token) => {
                let told = format!("n,,\u{1}auth=Bearer {}\u{1}\u{1}", token.0);
                let answer = tell(connection, told.into_bytes())?;
                if answer.is_empty() {
                    return Ok(());
                }
                // It says why it refuses, and refuses once it is told that this was read.
                tell(connection, vec![1]).map(drop)
            }
            Self::Scram(hash, user) => {
                let mut entropy = [0; 24];
                getrandom::fill(&mut entropy).map_err(|error| connection.failed(error.into()))?;
                let mut exchange = ClientExchange::new(*hash, user.clone(), entropy);
                let mut token = exchange.first();
                loop {
                    match exchange.step(&tell(connection, token)?) {
                        ClientStep::Send(next) => token = next,
                        ClientStep::Done => return Ok(()),
                        ClientStep::Failed(why) => {
                            let source = std::io::Error::new(std::io::ErrorKind::PermissionDenied, why);
                            return Err(connection.failed(source));
                        }
                    }
                }
            }
        }
    }
}

/// Sends a token, and gives the broker's.
fn tell(connection: &mut Connection, token: Vec<u8>) -> Result<Vec<u8>> {
    let answer = connection.call(&SaslAuthenticateRequest { auth_bytes: Blob(token) })?;
    if answer.error_code == 0 {
        return Ok(answer.auth_bytes.0);
    }
    let detail = answer.error_message.filter(|message| !message.is_empty());
    Err(Error::Refused { what: "authentication".into(), code: answer.error_code, detail })
}
