//! SASL (RFC 4422): a client authenticates by tokens, as many as its mechanism wants, over any protocol that carries
//! them. One module a mechanism; what all mechanisms share is here. Knows no connection and no framing of tokens.

pub mod digest_md5;
pub mod oauthbearer;
pub mod plain;
pub mod scram;

use std::fmt;

use base::Secret;

/// Bytes of the longest token that is looked at, on either side. Tokens of honest peers have about 250 bytes.
pub const TOKEN_BYTES_MAX: usize = 4096;

/// A user of SASL, with a password: the identity that a client claims.
#[derive(Clone, PartialEq, Eq)]
pub struct SaslUser {
    /// The name of the user.
    pub name: String,
    /// The password.
    pub password: Secret,
}

impl SaslUser {
    /// The user of this name, with this password.
    #[must_use]
    pub fn new(name: &str, password: &str) -> Self {
        Self { name: String::from(name), password: Secret(String::from(password)) }
    }
}

impl fmt::Debug for SaslUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaslUser").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a client's token leads to, on the server's side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerStep {
    /// A token for the client, which will answer it.
    Continue(Vec<u8>),
    /// The client has authenticated.
    Complete {
        /// The last token for the client.
        token: Vec<u8>,
        /// The user.
        user: String,
    },
    /// The client could not prove its identity, or does not follow the mechanism. The exchange is over.
    Failed(Failure),
}

/// What a server's token leads to, on the client's side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientStep {
    /// The next token for the server.
    Send(Vec<u8>),
    /// Both sides have shown that they know the password.
    Done,
    /// The server does not know the password, or does not follow the mechanism. The exchange is over.
    Failed(Failure),
}

/// Why an exchange failed: for the log of the side that says so. It names no user and repeats nothing that the peer has
/// sent. The service decides what the peer is told; a server says the same for each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A token where the mechanism expects none.
    #[error("a token came that the exchange does not expect")]
    Unexpected,
    /// A token that is not looked at.
    #[error("a token has {bytes} bytes, more than {TOKEN_BYTES_MAX}")]
    TooLong {
        /// How many it has.
        bytes: usize,
    },
    /// A token that the mechanism cannot read.
    #[error("a token cannot be read: {0}")]
    Malformed(&'static str),
    /// A token of which a part is missing.
    #[error("a token has no `{0}`")]
    Missing(&'static str),
    /// A token with a part that is there twice, so that it could mean either.
    #[error("a token has `{0}` twice")]
    Repeated(&'static str),
    /// A token of which a part is not what was offered or asked for.
    #[error("a token has another `{0}` than this exchange")]
    Mismatch(&'static str),
    /// The user is unknown, or the password is wrong; it does not say which.
    #[error("the user is unknown, or the password is wrong")]
    Credentials,
    /// The server has not shown that it knows the password.
    #[error("the server did not prove that it knows the password")]
    ServerProof,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_does_not_show_its_password() {
        let shown = format!("{:?}", SaslUser::new("bob", "hush"));
        assert!(shown.contains("bob") && !shown.contains("hush"), "{shown}");
    }
}
