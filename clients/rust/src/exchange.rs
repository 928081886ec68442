//! Requests: to which member they go, and again until they are answered.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Effect, Error, Problem, Result};
use crate::http::{Asked, Connections, Fields};
use crate::tls::{Tls, is_refused};
use crate::token::Credentials;
use crate::wait::Cancel;

/// How long a member may hold a call that waits before it answers with a ticket.
pub(crate) const HOLD: Duration = Duration::from_secs(10);
/// For how long one member is asked.
pub(crate) const ATTEMPT: Duration = Duration::from_secs(5);
/// For how long a member that did not serve is not gone to because a response names it.
const SHUN: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(500);
const ACCEPTED: u16 = 202;
const DEFAULT_PORT: u16 = 7180;
const ENCRYPTED: &str = "https://";

/// Refusals of members, not of the replicated state: the same request is sent again.
const AGAIN: [&str; 5] = ["no-leader", "outcome-unknown", "rate", "bad-response", "too-slow"];

/// Random bytes.
pub(crate) fn random<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes).expect("the system has random bytes");
    bytes
}

/// 32 random hexadecimal digits.
pub(crate) fn random_id() -> String {
    format!("{:032x}", u128::from_le_bytes(random()))
}

/// What is sent, perhaps more than once.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// It and the fields are asked before each attempt.
    pub(crate) target: &'a (dyn Fn() -> String + Sync),
    pub(crate) fields: &'a (dyn Fn() -> Fields + Sync),
    pub(crate) body: &'a [u8],
    /// For how long it is tried again while no member answers.
    pub(crate) patience: Duration,
    pub(crate) attempt: Duration,
    pub(crate) cancel: &'a Cancel,
}

/// Status and body.
pub(crate) type Answer = (u16, Vec<u8>);

/// Why one attempt gave nothing.
pub(crate) enum Missed {
    Refused(Box<Problem>),
    Unanswered(std::io::Error),
}

#[derive(Debug)]
struct Members {
    listed: Vec<String>,
    current: usize,
    /// When each of them did not serve.
    failures: Vec<Option<Instant>>,
    position: u64,
}

impl Members {
    /// Goes on to the next member, if that one is the present one.
    fn failed(&mut self, member: &str) {
        let Some(place) = self.listed.iter().position(|listed| listed == member) else { return };
        self.failures[place] = Some(Instant::now());
        if self.current == place {
            self.current = (self.current + 1) % self.listed.len();
        }
    }

    /// A response names a leader: whether we go there next. Only to one whose address was given: what a response says must not
    /// send a token anywhere else. Nor to one that did not serve a moment ago.
    fn follow(&mut self, leader: &str) -> bool {
        let Some(place) = self.listed.iter().position(|listed| listed == leader) else { return false };
        let follows = self.failures[place].is_none_or(|failed| failed.elapsed() >= SHUN);
        if follows {
            self.current = place;
        }
        follows
    }
}

/// The members of a cluster, and the connections to them.
#[derive(Debug)]
pub(crate) struct Exchange {
    members: Mutex<Members>,
    /// How many are listed.
    count: usize,
    connections: Connections,
    /// Who asks.
    credentials: Credentials,
}

impl Exchange {
    /// Encrypted, if it is said how, or an address begins with `https://`.
    pub(crate) fn new(addresses: &str, tls: Option<Tls>, credentials: Credentials) -> Result<Self> {
        let is_encrypted = addresses.split(',').any(|address| address.trim().starts_with(ENCRYPTED));
        let tls = match tls {
            None if is_encrypted => Some(Tls::of_system()?),
            said => said,
        };
        let listed: Vec<String> = addresses.split(',').filter_map(address).collect();
        if listed.is_empty() {
            let detail = format!("`{addresses}` names no member");
            return Err(Problem::new("bad-argument", detail, Effect::None, "no").into());
        }
        let current = usize::from(u16::from_le_bytes(random())) % listed.len();
        let members = Members { failures: vec![None; listed.len()], listed, current, position: 0 };
        let count = members.listed.len();
        Ok(Self { members: Mutex::new(members), count, connections: Connections::new(tls), credentials })
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The latest position that was heard of.
    pub(crate) fn position(&self) -> u64 {
        self.members().position
    }

    pub(crate) fn close(&self) {
        self.connections.close();
    }

    fn pick(&self) -> String {
        let members = self.members();
        members.listed[members.current].clone()
    }

    /// Goes on to the next member.
    fn failed(&self, member: &str) {
        self.members().failed(member);
    }

    /// One attempt at one member, and another one by a token that has replaced the one that was refused.
    pub(crate) fn once(
        &self,
        asked: &Asked<'_>,
        attempt: Duration,
        cancel: &Cancel,
    ) -> std::result::Result<Answer, Missed> {
        let deadline = Instant::now() + attempt;
        let token = self.credentials.token();
        let answer = self.attempt(asked, token.as_deref(), deadline, cancel);
        let is_refused = matches!(&answer, Err(Missed::Refused(told)) if told.slug == "unauthenticated");
        if is_refused && self.credentials.is_replaced(token.as_deref()) {
            return self.attempt(asked, self.credentials.token().as_deref(), deadline, cancel);
        }
        answer
    }

    fn attempt(
        &self,
        asked: &Asked<'_>,
        token: Option<&str>,
        deadline: Instant,
        cancel: &Cancel,
    ) -> std::result::Result<Answer, Missed> {
        let member = self.pick();
        let mut fields = asked.fields.clone();
        fields.extend(token.map(|token| ("Authorization", format!("Bearer {token}"))));
        let asked = Asked { method: asked.method, target: asked.target, fields: &fields, body: asked.body };
        let response = self.connections.request(&member, &asked, deadline, cancel).map_err(|error| {
            if !cancel.is_cancelled() {
                self.failed(&member);
            }
            Missed::Unanswered(error)
        })?;
        let follows = {
            let mut members = self.members();
            members.position = members.position.max(response.position.unwrap_or(0));
            response.leader.is_some_and(|leader| members.follow(&leader))
        };
        if (200..400).contains(&response.status) {
            return Ok((response.status, response.body));
        }
        let refused = Problem::of_response(response.status, &response.body);
        if AGAIN.contains(&refused.slug.as_str()) && !follows {
            self.failed(&member);
        }
        Err(Missed::Refused(Box::new(refused)))
    }

    /// Sends a request until it is answered, or cancelled.
    pub(crate) fn send(&self, request: &Request<'_>) -> Result<Answer> {
        let mut tries = Tries::new(request.patience);
        loop {
            if request.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let (target, fields) = ((request.target)(), (request.fields)());
            let asked =
                Asked { method: request.method, target: &target, fields: &fields, body: request.body };
            match self.once(&asked, request.attempt, request.cancel) {
                Ok(answer) if answer.0 != ACCEPTED || target.contains("hold_ms=0") => return Ok(answer),
                // It waits: we ask again, and join it.
                Ok(_) => tries = Tries { has_waited: true, ..Tries::new(request.patience) },
                Err(_) if request.cancel.is_cancelled() => return Err(Error::Cancelled),
                Err(missed) => request.cancel.rest(tries.pause(missed, self.count)?),
            }
        }
    }
}

/// The attempts at one request.
struct Tries {
    end: Instant,
    pause: Duration,
    is_effect_unknown: bool,
    /// Whether a member said that the call waits.
    has_waited: bool,
    /// How many members in a row did not agree on encryption.
    unencrypted: usize,
}

impl Tries {
    fn new(patience: Duration) -> Self {
        let end = Instant::now() + patience;
        Self { end, pause: FIRST_PAUSE, is_effect_unknown: false, has_waited: false, unencrypted: 0 }
    }

    /// How long to rest before the next attempt, if there is one, at one of so many members.
    fn pause(&mut self, missed: Missed, members: usize) -> Result<Duration> {
        self.unencrypted = match &missed {
            Missed::Unanswered(error) if is_refused(error) => self.unencrypted + 1,
            _ => 0,
        };
        let last = match missed {
            Missed::Refused(mut refused) if !AGAIN.contains(&refused.slug.as_str()) => {
                // An attempt before this one may have had the effect whose memory is gone.
                if self.is_effect_unknown
                    && ["request-forgotten", "session-expired"].contains(&&*refused.slug)
                {
                    refused.effect = Effect::Unknown;
                }
                // A member that lets nobody in does not look whether there was an attempt before: we know.
                if ["unauthenticated", "forbidden"].contains(&&*refused.slug) {
                    let is_unknown = self.is_effect_unknown || self.has_waited;
                    refused.effect = if is_unknown { Effect::Unknown } else { Effect::None };
                    refused.retry = if is_unknown { "same-key" } else { "no" }.into();
                }
                return Err(Error::Problem(refused));
            }
            Missed::Refused(refused) => {
                self.is_effect_unknown |= refused.effect == Effect::Unknown;
                *refused
            }
            Missed::Unanswered(error) => {
                if self.unencrypted >= members {
                    // Asking again changes nothing.
                    let effect = if self.is_effect_unknown { Effect::Unknown } else { Effect::None };
                    return Err(Problem::new("no-tls", error.to_string(), effect, "no").into());
                }
                self.is_effect_unknown |= self.unencrypted == 0;
                Problem::new("no-answer", error.to_string(), Effect::Unknown, "now")
            }
        };
        if Instant::now() + self.pause > self.end {
            if !self.is_effect_unknown {
                return Err(last.into());
            }
            let unknown = Problem::new("outcome-unknown", last.to_string(), Effect::Unknown, "same-key");
            return Err(Problem { status: 504, ..unknown }.into());
        }
        let pause = self.pause.mul_f64(0.5 + f64::from(random::<1>()[0]) / 256.0);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Ok(pause)
    }
}

/// `host:port`, from what people write.
fn address(text: &str) -> Option<String> {
    let text = text.trim();
    let bare = text.strip_prefix("http://").or_else(|| text.strip_prefix(ENCRYPTED));
    let text = bare.unwrap_or(text).trim_end_matches('/');
    let behind = text.rsplit_once(']').map_or(text, |(_, behind)| behind);
    match behind.rsplit_once(':') {
        Some((host, _)) if host.is_empty() && behind.len() == text.len() => None,
        Some(_) => Some(text.into()),
        None if text.is_empty() => None,
        None => Some(format!("{text}:{DEFAULT_PORT}")),
    }
}

/// A part of a path.
pub(crate) fn encoded(part: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let each = |byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    part.bytes().map(each).collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::{Members, address, encoded};

    #[test]
    fn leader_is_followed_to_an_address_that_was_given_and_to_no_other() {
        let listed: Vec<String> = ["a:1", "b:2", "c:3"].map(String::from).to_vec();
        let mut members = Members { failures: vec![None; 3], listed, current: 0, position: 0 };
        assert!(!members.follow("d:4") && !members.follow("") && !members.follow("a:1/"), "nobody has named these");
        assert_eq!(members.current, 0);
        assert!(members.follow("c:3"));
        assert_eq!(members.current, 2);
        members.failed("c:3");
        assert_eq!(members.current, 0, "the next one");
        assert!(!members.follow("c:3"), "it did not serve a moment ago");
        members.failed("b:2");
        assert_eq!(members.current, 0, "it was another one");
        assert!(members.follow("a:1"));
    }

    #[test]
    fn addresses_get_the_usual_port() {
        for (text, wanted) in [
            ("a", Some("a:7180")),
            (" http://a:1/ ", Some("a:1")),
            ("https://a", Some("a:7180")),
            ("[::1]", Some("[::1]:7180")),
            ("[::1]:9", Some("[::1]:9")),
            ("", None),
            (":7180", None),
        ] {
            assert_eq!(address(text).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn names_are_percent_encoded() {
        assert_eq!(encoded("a/b ä?"), "a%2Fb%20%C3%A4%3F");
    }
}
