//! OAUTHBEARER (RFC 7628): the client shows a token of somebody whom the server trusts. Who that is, and what a token says, is
//! a [`TokenValidator`]'s to know.

use core::fmt;

use crate::sasl::{Failure, ServerStep};

/// Bytes of the longest token that is looked at.
pub const BEARER_BYTES_MAX: usize = 32 << 10;

/// What a token says that is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BearerToken {
    /// Whose it is.
    pub user: String,
    /// Until when it holds, milliseconds since 1970.
    pub expires_ms: i64,
}

/// Why a token is refused, for the log. It repeats nothing of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadToken(pub &'static str);

/// Knows which tokens are good.
pub trait TokenValidator: fmt::Debug + Send + Sync {
    /// Judges a token at that time, milliseconds since 1970.
    ///
    /// # Errors
    /// It is not good.
    fn validate(&self, token: &str, now_ms: i64) -> Result<BearerToken, BadToken>;
}

#[derive(Debug)]
enum Stage {
    Start,
    /// The client was told that its token is refused, and has to agree.
    Refused,
    Over,
}

/// One exchange.
#[derive(Debug)]
pub struct ServerExchange {
    stage: Stage,
    expires_ms: Option<i64>,
}

/// What a client is told whose token is refused.
const REFUSAL: &[u8] = br#"{"status":"invalid_token"}"#;

impl ServerExchange {
    /// An exchange of which no token has come.
    #[must_use]
    pub const fn new() -> Self {
        Self { stage: Stage::Start, expires_ms: None }
    }

    /// Until when what the client has shown holds, milliseconds since 1970: once it has authenticated.
    #[must_use]
    pub const fn expires_ms(&self) -> Option<i64> {
        self.expires_ms
    }

    /// Takes the client's token.
    pub fn step(&mut self, validator: &dyn TokenValidator, token: &[u8], now_ms: i64) -> ServerStep {
        match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Start => match self.verify(validator, token, now_ms) {
                Ok(user) => ServerStep::Complete { token: Vec::new(), user },
                Err(Failure::Credentials) => {
                    self.stage = Stage::Refused;
                    ServerStep::Continue(REFUSAL.to_vec())
                }
                Err(failure) => ServerStep::Failed(failure),
            },
            Stage::Refused => ServerStep::Failed(Failure::Credentials),
            Stage::Over => ServerStep::Failed(Failure::Unexpected),
        }
    }

    fn verify(
        &mut self,
        validator: &dyn TokenValidator,
        token: &[u8],
        now_ms: i64,
    ) -> Result<String, Failure> {
        if token.len() > BEARER_BYTES_MAX {
            return Err(Failure::TooLong { bytes: token.len() });
        }
        let text = core::str::from_utf8(token).map_err(|_| Failure::Malformed("it is not UTF-8"))?;
        let (header, pairs) =
            text.split_once(",\u{1}").ok_or(Failure::Malformed("its header does not end"))?;
        let authorized_as = match header.strip_prefix("n,") {
            Some("") => "",
            Some(identity) => {
                identity.strip_prefix("a=").ok_or(Failure::Malformed("its header has no `a`"))?
            }
            None => return Err(Failure::Malformed("it does not begin with `n`")),
        };
        let mut pairs =
            pairs.strip_suffix("\u{1}\u{1}").ok_or(Failure::Malformed("it does not end"))?.split('\u{1}');
        let bearer = pairs.find_map(|pair| pair.strip_prefix("auth=")).ok_or(Failure::Missing("auth"))?;
        let (scheme, bearer) = bearer.split_once(' ').ok_or(Failure::Malformed("`auth` has no token"))?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Failure::Mismatch("auth"));
        }
        let token = validator.validate(bearer.trim(), now_ms).map_err(|BadToken(_)| Failure::Credentials)?;
        if !authorized_as.is_empty() && authorized_as != token.user {
            return Err(Failure::Mismatch("a"));
        }
        self.expires_ms = Some(token.expires_ms);
        Ok(token.user)
    }
}

impl Default for ServerExchange {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Only(&'static str);

    impl TokenValidator for Only {
        fn validate(&self, token: &str, now_ms: i64) -> Result<BearerToken, BadToken> {
            let good = token == self.0 && now_ms < 100;
            if good { Ok(BearerToken { user: "bob".into(), expires_ms: 100 }) } else { Err(BadToken("no")) }
        }
    }

    fn step(token: &str, now_ms: i64) -> (ServerStep, ServerExchange) {
        let mut exchange = ServerExchange::new();
        (exchange.step(&Only("t0k"), token.as_bytes(), now_ms), exchange)
    }

    #[test]
    fn client_is_whose_token_it_shows() {
        for token in ["n,,\u{1}auth=Bearer t0k\u{1}\u{1}", "n,a=bob,\u{1}x=y\u{1}auth=bearer t0k\u{1}\u{1}"] {
            let (done, exchange) = step(token, 5);
            assert_eq!(done, ServerStep::Complete { token: Vec::new(), user: "bob".into() });
            assert_eq!(exchange.expires_ms(), Some(100));
        }
    }

    #[test]
    fn token_that_is_refused_is_answered_and_ends_with_the_next() {
        for (token, now_ms) in
            [("n,,\u{1}auth=Bearer other\u{1}\u{1}", 5), ("n,,\u{1}auth=Bearer t0k\u{1}\u{1}", 100)]
        {
            let (told, mut exchange) = step(token, now_ms);
            assert_eq!(told, ServerStep::Continue(REFUSAL.to_vec()));
            let mut again = || exchange.step(&Only("t0k"), b"\x01", 5);
            assert_eq!(again(), ServerStep::Failed(Failure::Credentials));
            assert_eq!(again(), ServerStep::Failed(Failure::Unexpected));
        }
    }

    #[test]
    fn what_is_no_message_fails() {
        for token in [
            "",
            "n,,",
            "n,,\u{1}",
            "n,,\u{1}\u{1}",
            "y,,\u{1}auth=Bearer t0k\u{1}\u{1}",
            "n,,\u{1}auth=Bearer t0k\u{1}",
            "n,,\u{1}auth=Basic t0k\u{1}\u{1}",
            "n,,\u{1}auth=t0k\u{1}\u{1}",
            "n,x,\u{1}auth=Bearer t0k\u{1}\u{1}",
            "n,a=eve,\u{1}auth=Bearer t0k\u{1}\u{1}",
        ] {
            assert!(matches!(step(token, 5).0, ServerStep::Failed(_)), "{token:?}");
        }
        let long = format!("n,,\u{1}auth=Bearer {}\u{1}\u{1}", "x".repeat(BEARER_BYTES_MAX));
        assert!(matches!(step(&long, 5).0, ServerStep::Failed(Failure::TooLong { .. })));
    }
}
