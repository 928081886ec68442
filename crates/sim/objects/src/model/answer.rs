//! Answers: a JSON result, or a refusal by its name.

use objects_state::{Origin, SessionId, TicketEnd};
use serde_json::{Value, json};

/// A refusal. It had no effect, unless it says that this is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Its name.
    pub(crate) slug: &'static str,
    /// It is not remembered: a late copy of the request may be carried out.
    pub(crate) unknown: bool,
    /// At which position.
    pub(crate) position: u64,
    /// The result of a call that was granted before it was cancelled.
    pub(crate) result: Option<Value>,
}

/// How a call is answered.
pub(crate) type Answer = Result<Value, Refusal>;

/// What a command did, for those who wait.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    /// A request is answered.
    Answered(Origin, Answer),
    /// A request waits under a ticket.
    Parked(Origin, u64),
    /// A ticket ended.
    Ended(u64, TicketEnd, Answer),
    /// A session was opened or continued.
    Opened(SessionId, u32),
    /// A session ended, by silence or on purpose.
    Closed(SessionId, bool),
}

pub(crate) fn refusal(slug: &'static str) -> Refusal {
    Refusal { slug, unknown: false, position: 0, result: None }
}

pub(crate) fn refuse<T>(slug: &'static str) -> Result<T, Refusal> {
    Err(refusal(slug))
}

pub(crate) fn bad_argument<T>() -> Result<T, Refusal> {
    refuse("bad-argument")
}

/// An answer as JSON, as a batch and a cancelled call that was granted show it.
pub(crate) fn shown(answer: &Answer) -> Value {
    match answer {
        Ok(result) => result.clone(),
        Err(refusal) => json!({
            "type": format!("urn:diwan:problem:{}", refusal.slug),
            "effect": if refusal.unknown { "unknown" } else { "none" },
            "position": refusal.position,
        }),
    }
}
