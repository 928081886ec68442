//! PLAIN (RFC 4616): a name and a password as they are. Offer it over TLS only.

use crate::Passwords;
use crate::sasl::{Failure, ServerStep, TOKEN_BYTES_MAX};

/// What all exchanges of a server share: its users.
#[derive(Clone, Debug, Default)]
pub struct Server(Passwords);

impl Server {
    /// With these users.
    #[must_use]
    pub const fn new(passwords: Passwords) -> Self {
        Self(passwords)
    }

    /// Takes the only token of an exchange: as whom the client wants to act, its name and its password, with a zero byte
    /// between two of them.
    #[must_use]
    pub fn step(&self, token: &[u8]) -> ServerStep {
        self.verify(token)
            .map_or_else(ServerStep::Failed, |user| ServerStep::Complete { token: Vec::new(), user })
    }

    fn verify(&self, token: &[u8]) -> Result<String, Failure> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(Failure::TooLong { bytes: token.len() });
        }
        let text = core::str::from_utf8(token).map_err(|_| Failure::Malformed("it is not UTF-8"))?;
        let mut parts = text.split('\0');
        let (Some(authorized_as), Some(user), Some(password), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Failure::Malformed("it has not three parts"));
        };
        if user.is_empty() || password.is_empty() {
            return Err(Failure::Malformed("the name or the password is empty"));
        }
        if !self.0.verify(user, password.as_bytes()) {
            return Err(Failure::Credentials);
        }
        if !authorized_as.is_empty() && authorized_as != user {
            return Err(Failure::Mismatch("authorization id"));
        }
        Ok(user.into())
    }
}

/// The token of a client.
#[must_use]
pub fn client_token(user: &crate::sasl::SaslUser) -> Vec<u8> {
    format!("\0{}\0{}", user.name, user.password.0).into_bytes()
}

#[cfg(test)]
mod tests {
    use base::Secret;

    use super::*;
    use crate::sasl::SaslUser;

    fn server() -> Server {
        Server::new([("bob", Secret("secret".into()))].into_iter().collect())
    }

    #[test]
    fn client_with_the_password_is_its_user() {
        let done = ServerStep::Complete { token: Vec::new(), user: "bob".into() };
        assert_eq!(server().step(&client_token(&SaslUser::new("bob", "secret"))), done);
        assert_eq!(server().step(b"bob\0bob\0secret"), done);
    }

    #[test]
    fn what_is_wrong_is_told_by_kind_and_a_stranger_learns_no_user() {
        let failed = |token: &[u8]| match server().step(token) {
            ServerStep::Failed(failure) => failure,
            other => panic!("{other:?}"),
        };
        let malformed = |failure: Failure| matches!(failure, Failure::Malformed(_));
        for token in
            [&b""[..], b"bob", b"\0bob", b"\0bob\0secret\0x", b"\0\0secret", b"\0bob\0", b"\0b\xff\0x"]
        {
            assert!(malformed(failed(token)), "{token:?}");
        }
        for token in [&b"\0bob\0Secret"[..], b"\0eve\0secret", b"eve\0bob\0wrong"] {
            assert_eq!(failed(token), Failure::Credentials);
        }
        assert_eq!(failed(b"eve\0bob\0secret"), Failure::Mismatch("authorization id"));
        let long = [&b"\0bob\0"[..], &[b'x'; TOKEN_BYTES_MAX]].concat();
        assert!(matches!(failed(&long), Failure::TooLong { .. }));
    }
}
