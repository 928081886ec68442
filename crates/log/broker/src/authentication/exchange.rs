//! One exchange of SASL, of whatever mechanism.

use std::net::IpAddr;

use base::Now;
use net_auth::sasl::{Failure, ServerStep, oauthbearer, scram};

use super::Authentication;
use crate::listener::{SaslConfig, SaslMechanism};

/// What a token leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A token for the client, which will answer it.
    Continue(Vec<u8>),
    /// The client has proved that it is this user, which holds until then, milliseconds since 1970.
    Complete { token: Vec<u8>, user: String, expires_ms: Option<i64> },
    /// It has not.
    Failed(Failure),
    /// What it has shown was not looked at: too much that was wrong came from its address.
    NotHeard,
}

/// See the module.
#[derive(Debug)]
pub(super) enum Exchange {
    Plain,
    Scram(scram::ServerExchange, scram::ScramHash),
    OauthBearer(oauthbearer::ServerExchange),
}

impl Exchange {
    pub(super) const fn new(mechanism: SaslMechanism) -> Self {
        match mechanism {
            SaslMechanism::Plain => Self::Plain,
            SaslMechanism::Scram(hash) => Self::Scram(scram::ServerExchange::new(), hash),
            SaslMechanism::OauthBearer => Self::OauthBearer(oauthbearer::ServerExchange::new()),
        }
    }

    /// Takes the client's token.
    pub(super) fn step(
        &mut self,
        token: &[u8],
        (shared, config): (&mut Authentication, &SaslConfig),
        ip: IpAddr,
        now: Now,
    ) -> Step {
        if !shared.take_attempt(ip, now) {
            return Step::NotHeard;
        }
        let step = match self {
            Self::Plain => config.plain.step(token),
            Self::Scram(exchange, hash) => {
                exchange.step(shared.users.server(*hash), token, &shared.nonces.next())
            }
            Self::OauthBearer(exchange) => match &config.tokens {
                Some(validator) => exchange.step(validator.as_ref(), token, now.wall.ms()),
                None => ServerStep::Failed(Failure::Unexpected),
            },
        };
        match step {
            ServerStep::Continue(token) => {
                // Only what is wrong counts; a token that is refused ends with the next one.
                shared.attempts.give_back(ip);
                Step::Continue(token)
            }
            ServerStep::Complete { token, user } => {
                shared.attempts.give_back(ip);
                let expires_ms = match self {
                    Self::OauthBearer(exchange) => exchange.expires_ms(),
                    _ => None,
                };
                Step::Complete { token, user, expires_ms }
            }
            ServerStep::Failed(failure) => Step::Failed(failure),
        }
    }
}
