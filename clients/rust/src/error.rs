//! Why a call gave nothing.

use std::error;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

/// What a call gives.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call gave nothing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// A refusal, or an answer that did not come.
    Problem(Box<Problem>),
    /// The time to wait has passed, and nothing was acquired.
    NotAcquired,
    /// The caller has cancelled the call. What it got meanwhile is given back.
    Cancelled,
}

/// Whether a call may have changed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It changed nothing, and never will.
    None,
    /// Nobody knows.
    Unknown,
}

/// A refusal, or an answer that did not come.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Its name: `not-owner`.
    pub slug: String,
    /// Of the response; 0 without one.
    pub status: u16,
    /// For people.
    pub detail: String,
    /// Whether the call may have changed something.
    pub effect: Effect,
    /// `now`, `later`, `same-key` or `no`.
    pub retry: String,
    /// When it may be tried again, if the member said so.
    pub retry_after: Option<Duration>,
    /// The wrong argument, as a JSON pointer.
    pub pointer: Option<String>,
    /// The code of a type of your own, if the slug is `guest-error`.
    pub code: Option<String>,
    /// What a call was granted that came to its end before it was cancelled.
    pub result: Option<Value>,
}

const URN: &str = "urn:diwan:problem:";

#[derive(Deserialize)]
struct Told {
    r#type: String,
    detail: Option<String>,
    effect: Option<String>,
    retry: Option<String>,
    retry_after_ms: Option<u64>,
    pointer: Option<String>,
    code: Option<String>,
    result: Option<Value>,
}

impl Problem {
    /// One of our own making.
    pub(crate) fn new(slug: &str, detail: impl Into<String>, effect: Effect, retry: &str) -> Self {
        Self {
            slug: slug.into(),
            status: 0,
            detail: detail.into(),
            effect,
            retry: retry.into(),
            retry_after: None,
            pointer: None,
            code: None,
            result: None,
        }
    }

    /// That of a response.
    pub(crate) fn of_response(status: u16, body: &[u8]) -> Self {
        let told = serde_json::from_slice(body).ok().filter(|told: &Told| told.r#type.starts_with(URN));
        let Some(told) = told else {
            // Not one of ours: a proxy in between, or another server. It says nothing about an effect.
            let detail = format!("status {status}");
            return Self { status, ..Self::new("bad-response", detail, Effect::Unknown, "same-key") };
        };
        Self {
            slug: told.r#type[URN.len()..].into(),
            status,
            detail: told.detail.unwrap_or_default(),
            effect: if told.effect.as_deref() == Some("none") { Effect::None } else { Effect::Unknown },
            retry: told.retry.unwrap_or_default(),
            retry_after: told.retry_after_ms.map(Duration::from_millis),
            pointer: told.pointer,
            code: told.code,
            result: told.result,
        }
    }

    /// The session has ended.
    pub(crate) fn session_ended(detail: &str) -> Self {
        Self { status: 410, ..Self::new("session-expired", detail, Effect::None, "no") }
    }
}

impl Error {
    /// The problem, if it is one.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Problem(problem) => Some(problem),
            Self::NotAcquired | Self::Cancelled => None,
        }
    }

    /// Whether it is the problem of that name.
    #[must_use]
    pub fn is(&self, slug: &str) -> bool {
        self.problem().is_some_and(|problem| problem.slug == slug)
    }

    /// Whether the call may have changed something.
    #[must_use]
    pub fn is_effect_unknown(&self) -> bool {
        match self {
            Self::Problem(problem) => problem.effect == Effect::Unknown,
            Self::NotAcquired => false,
            Self::Cancelled => true,
        }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Problem(problem) => problem.fmt(f),
            Self::NotAcquired => f.write_str("not acquired in time"),
            Self::Cancelled => f.write_str("cancelled by the caller"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.detail.is_empty() { "" } else { ": " };
        write!(f, "{}{separator}{}", self.slug, self.detail)
    }
}

impl error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::{Effect, Error, Problem};

    #[test]
    fn problems_of_the_server_are_told_from_other_responses() {
        let body = br#"{"type":"urn:diwan:problem:not-owner","detail":"no","effect":"none","retry":"no"}"#;
        let error = Error::from(Problem::of_response(409, body));
        assert!(error.is("not-owner") && !error.is_effect_unknown());
        assert_eq!(error.to_string(), "not-owner: no");
        for other in [&b"<html>"[..], br#"{"type":"about:blank"}"#] {
            let problem = Problem::of_response(502, other);
            assert_eq!((problem.slug.as_str(), problem.effect), ("bad-response", Effect::Unknown));
        }
    }
}
