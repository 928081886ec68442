//! How far a connection has come with proving who its client is, and what its next frame leads to.

use base::{MonoTime, Now};
use log_access::Principal;
use log_wire::messages::Blob;
use log_wire::messages::Field as _;
use log_wire::messages::security::{
    SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};
use log_wire::{ApiKey, ErrorCode, RequestHeader};

use super::answers::{Asked, Told, read, told};
use super::exchange::{Exchange, Step};
use super::{Authentication, answers};
use crate::client::Client;
use crate::listener::{BrokerListener, SaslMechanism};
use crate::response::{Form, Head, Response};

/// How many frames a client may send before it has proved who it is. Honest ones send six at the most.
const FRAMES_MAX: u32 = 20;
/// How soon a client may authenticate again, milliseconds.
const AGAIN_MS: u64 = 1_000;

/// What a frame leads to.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It is answered, and more may come.
    Answered(Head, Told),
    /// It is answered, and the client is this one from now on.
    Authenticated(Head, Response, Principal),
    /// It is answered after a while, and the connection ends. The log tells why.
    Failed(Head, Told, &'static str),
    /// The connection ends at once.
    Closed,
}

#[derive(Debug)]
enum Stage {
    /// Everybody may ask for everything, as far as rules allow it.
    Open,
    /// Nothing was asked, or something that could not be answered as it was meant.
    New,
    /// The versions were asked for.
    Versions,
    /// Tokens come, `bare` or in requests of their own.
    Tokens { mechanism: SaslMechanism, exchange: Exchange, bare: bool },
    /// The client has proved who it is.
    Known(Known),
    /// It ends.
    Over,
}

/// What is known of a client that has authenticated.
#[derive(Clone, Debug)]
struct Known {
    principal: Principal,
    mechanism: SaslMechanism,
    /// Until when it may ask for anything but to authenticate again.
    expires: Option<MonoTime>,
    /// When it has authenticated again last.
    again: Option<MonoTime>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Session {
    stage: Stage,
    /// Who the client was before it began to authenticate again.
    before: Option<Known>,
    frames: u32,
}

impl Session {
    /// Of a connection that has just come in at a listener.
    pub(crate) const fn of(listener: &BrokerListener) -> Self {
        let stage = if listener.protocol.has_sasl() { Stage::New } else { Stage::Open };
        Self { stage, before: None, frames: 0 }
    }

    /// Of a connection whose client need not prove who it is.
    pub(crate) const fn none() -> Self {
        Self { stage: Stage::Open, before: None, frames: 0 }
    }

    /// Whether the client has proved who it is, or need not.
    pub(crate) const fn is_known(&self) -> bool {
        matches!(self.stage, Stage::Open | Stage::Known(_)) || self.before.is_some()
    }

    /// Whether the next frame is one of authentication: it belongs to [`Self::frame`]. Otherwise it is an ordinary request.
    ///
    /// # Errors
    /// The client did not authenticate again in time.
    pub(crate) fn awaits(&mut self, frame: &[u8], now: MonoTime) -> Result<bool, Expired> {
        let known = match &self.stage {
            Stage::Open => return Ok(false),
            Stage::Known(known) => known,
            _ => return Ok(true),
        };
        let Some(expires) = known.expires else { return Ok(false) };
        let is_handshake = answers::api_key(frame) == Some(ApiKey::SaslHandshake);
        let may_again = known.again.is_none_or(|again| again.plus_ms(AGAIN_MS) <= now);
        if is_handshake && may_again {
            self.before = Some(known.clone());
            (self.stage, self.frames) = (Stage::Versions, 0);
            return Ok(true);
        }
        if expires <= now { Err(Expired) } else { Ok(false) }
    }

    /// Handles a frame of authentication.
    pub(crate) fn frame(
        &mut self,
        frame: &[u8],
        shared: &mut Authentication,
        (listener, client): (&BrokerListener, &Client),
        now: Now,
    ) -> Outcome {
        self.frames += 1;
        if self.frames > FRAMES_MAX {
            return self.close();
        }
        match &mut self.stage {
            Stage::Tokens { exchange, bare: true, .. } => {
                let step = exchange.step(frame, (shared, &listener.sasl), client.ip, now);
                self.bare(step, listener, now)
            }
            Stage::Tokens { .. } => self.token(frame, shared, (listener, client), now),
            Stage::New | Stage::Versions => self.before_tokens(frame, listener),
            Stage::Open | Stage::Known(_) | Stage::Over => self.close(),
        }
    }

    fn close(&mut self) -> Outcome {
        self.stage = Stage::Over;
        Outcome::Closed
    }

    fn before_tokens(&mut self, frame: &[u8], listener: &BrokerListener) -> Outcome {
        match read(frame) {
            Ok(Asked::Versions(head, error)) if matches!(self.stage, Stage::New) => {
                if error == ErrorCode::None {
                    self.stage = Stage::Versions;
                }
                Outcome::Answered(head, Told::Versions(error))
            }
            Ok(Asked::Request(head, header, mut body)) if head.api.key == ApiKey::SaslHandshake => {
                match SaslHandshakeRequest::read(&mut body, header.version) {
                    Ok(request) => self.handshake(head, &header, &request.mechanism, listener),
                    Err(_) => self.close(),
                }
            }
            _ => self.close(),
        }
    }

    fn handshake(
        &mut self,
        head: Head,
        header: &RequestHeader<'_>,
        name: &str,
        listener: &BrokerListener,
    ) -> Outcome {
        let served = &listener.sasl.mechanisms;
        let mechanisms = served.iter().map(|mechanism| mechanism.name().into()).collect();
        let form = Form { version: head.version, flexible: false };
        let mechanism = SaslMechanism::of_name(name).filter(|mechanism| served.contains(mechanism));
        let Some(mechanism) = mechanism else {
            self.stage = Stage::Over;
            let error_code = ErrorCode::UnsupportedSaslMechanism.code();
            let response = form.response(&SaslHandshakeResponse { error_code, mechanisms });
            return Outcome::Failed(
                head,
                Told::Response(response),
                "it wants a mechanism that is not served",
            );
        };
        let bare = header.version == 0;
        self.stage = Stage::Tokens { mechanism, exchange: Exchange::new(mechanism), bare };
        let response = form.response(&SaslHandshakeResponse { error_code: 0, mechanisms });
        Outcome::Answered(head, Told::Response(response))
    }

    /// A token in a request of its own.
    fn token(
        &mut self,
        frame: &[u8],
        shared: &mut Authentication,
        (listener, client): (&BrokerListener, &Client),
        now: Now,
    ) -> Outcome {
        let (head, mut body) = match read(frame) {
            Ok(Asked::Request(head, _, body)) => (head, body),
            Ok(Asked::Versions(head, _)) => return self.out_of_order(head),
            Err(_) => return self.close(),
        };
        if head.api.key != ApiKey::SaslAuthenticate {
            return self.out_of_order(head);
        }
        let request = SaslAuthenticateRequest::read(&mut body, head.version);
        let Ok(SaslAuthenticateRequest { auth_bytes: Blob(token) }) = request else { return self.close() };
        let Stage::Tokens { exchange, .. } = &mut self.stage else { return self.close() };
        let step = exchange.step(&token, (shared, &listener.sasl), client.ip, now);
        let form = Form { version: head.version, flexible: head.api.is_flexible(head.version) };
        let mut response =
            SaslAuthenticateResponse { error_message: Some(String::new()), ..Default::default() };
        match step {
            Step::Continue(token) => {
                response.auth_bytes = Blob(token);
                Outcome::Answered(head, Told::Response(form.response(&response)))
            }
            Step::Complete { token, user, expires_ms } => {
                match self.complete(&user, expires_ms, listener, now) {
                    Ok((principal, lifetime_ms)) => {
                        (response.auth_bytes, response.session_lifetime_ms) = (Blob(token), lifetime_ms);
                        Outcome::Authenticated(head, form.response(&response), principal)
                    }
                    Err(why) => Outcome::Failed(head, Told::Response(form.response(&failed(why))), why),
                }
            }
            other => {
                self.stage = Stage::Over;
                let (message, why) = told(&other);
                Outcome::Failed(head, Told::Response(form.response(&failed(message))), why)
            }
        }
    }

    /// A bare token was looked at.
    fn bare(&mut self, step: Step, listener: &BrokerListener, now: Now) -> Outcome {
        let head = answers::bare_head();
        match step {
            Step::Continue(token) => Outcome::Answered(head, Told::Response(Response::Bare(token))),
            Step::Complete { token, user, expires_ms } => {
                match self.complete(&user, expires_ms, listener, now) {
                    Ok((principal, _)) => Outcome::Authenticated(head, Response::Bare(token), principal),
                    Err(why) => Outcome::Failed(head, Told::Response(Response::Close), why),
                }
            }
            other => {
                self.stage = Stage::Over;
                Outcome::Failed(head, Told::Response(Response::Close), told(&other).1)
            }
        }
    }

    /// A request that must not come between tokens.
    fn out_of_order(&mut self, head: Head) -> Outcome {
        self.stage = Stage::Over;
        let why = "it asked for something else than its authentication";
        Outcome::Failed(head, answers::illegal_state(head), why)
    }

    /// The client has proved that it is that user. Gives for how long that holds, milliseconds.
    fn complete(
        &mut self,
        user: &str,
        expires_ms: Option<i64>,
        listener: &BrokerListener,
        now: Now,
    ) -> Result<(Principal, i64), &'static str> {
        let principal = Principal::user(user);
        let Stage::Tokens { mechanism, .. } = self.stage else { return Err("no token was expected") };
        let before = self.before.take();
        if before
            .as_ref()
            .is_some_and(|before| before.principal != principal || before.mechanism != mechanism)
        {
            self.stage = Stage::Over;
            return Err("another user, or another mechanism than before, authenticates again");
        }
        let of_token = expires_ms.map(|at| u64::try_from(at.saturating_sub(now.wall.ms())).unwrap_or(0));
        let lifetime_ms = of_token.into_iter().chain(listener.sasl.reauthentication_ms).min();
        self.stage = Stage::Known(Known {
            principal: principal.clone(),
            mechanism,
            expires: lifetime_ms.map(|ms| now.mono().plus_ms(ms)),
            again: before.map(|_| now.mono()),
        });
        self.frames = 0;
        Ok((principal, lifetime_ms.map_or(0, |ms| i64::try_from(ms).unwrap_or(i64::MAX))))
    }
}

/// A client did not authenticate again in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expired;

fn failed(message: &str) -> SaslAuthenticateResponse {
    SaslAuthenticateResponse {
        error_code: ErrorCode::SaslAuthenticationFailed.code(),
        error_message: Some(message.into()),
        ..Default::default()
    }
}
