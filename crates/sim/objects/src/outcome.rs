//! What the state said, in the form in which the model says it.

use objects_state::{Command, Effect, Identity, Outcome, Problem, SideEffect, type_name};
use serde_json::{Value, json};

use crate::model::{Answer, Refusal, Told};

/// The effects that the model has too: all but events.
pub(crate) fn told_by(effects: &[Effect]) -> Vec<Told> {
    effects.iter().filter_map(told).collect()
}

fn told(effect: &Effect) -> Option<Told> {
    Some(match effect {
        Effect::Answered { origin, outcome } => Told::Answered(*origin, answer(outcome)),
        Effect::Parked { origin, ticket } => Told::Parked(*origin, *ticket),
        Effect::TicketEnded { ticket, end, outcome } => Told::Ended(*ticket, *end, answer(outcome)),
        Effect::SessionOpened { session, generation } => Told::Opened(*session, *generation),
        Effect::SessionEnded { session, expired } => Told::Closed(*session, *expired),
        Effect::Event(_) => return None,
    })
}

pub(crate) fn answer(outcome: &Outcome) -> Answer {
    match outcome {
        // What is not JSON equals no result of the model. Bytes are a text.
        Outcome::Done(_) => Ok(plain(parsed(&outcome.to_json()))),
        Outcome::Refused(problem) => Err(refusal(problem)),
    }
}

pub(crate) fn refusal(problem: &Problem) -> Refusal {
    Refusal {
        slug: problem.slug.name(),
        unknown: problem.effect == SideEffect::Unknown,
        position: problem.position,
        result: problem.result.as_deref().map(|result| plain(parsed(result))),
    }
}

pub(crate) fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!({ "not JSON": text }))
}

/// Problems within a result are told by name, effect and position: their words are for people.
pub(crate) fn plain(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(fields) => {
            let is_problem =
                fields.get("type").and_then(Value::as_str).is_some_and(|kind| kind.starts_with("urn:diwan:"));
            let is_kept = |name: &str| !is_problem || ["type", "effect", "position"].contains(&name);
            fields
                .into_iter()
                .filter(|(name, _)| is_kept(name))
                .map(|(name, value)| (name.clone(), known(&name, plain(value))))
                .collect()
        }
        other => other,
    }
}

/// How many bytes are used the models do not know.
fn known(name: &str, mut value: Value) -> Value {
    if let (Value::Object(fields), "used") = (&mut value, name) {
        fields.remove("bytes");
    }
    value
}

/// A command in few words.
pub(crate) fn brief(command: &Command) -> String {
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.chars().take(300).collect::<String>()
    };
    let who = |identity: &Identity| match identity {
        Identity::Session { session, request, acknowledged, above } => {
            let above: Vec<_> = above.iter().collect();
            let who = &session.to_string()[28..];
            format!("session {who} request {request} acknowledged {acknowledged} {above:?}")
        }
        other => format!("{other:?}"),
    };
    match command {
        Command::Call(call) => format!(
            "{}/{}.{} {} by {} ({}), wait {:?}, incarnation {:?}, create {}, opens {:?}",
            type_name(call.object.kind).unwrap_or_default(),
            call.object.name,
            call.invocation.method,
            text(&call.invocation.args),
            call.caller.principal.name,
            who(&call.caller.identity),
            call.wait_ms,
            call.incarnation,
            call.create,
            call.opens.as_ref().map(|new| (new.id, new.ttl_ms)),
        ),
        Command::Batch(batch) => {
            let calls = batch.invocations.iter();
            let calls: Vec<_> = calls.map(|call| format!("{} {}", call.method, text(&call.args))).collect();
            let (caller, object) = (&batch.caller, &batch.object);
            format!("batch {object:?} {calls:?} by {} ({})", caller.principal.name, who(&caller.identity))
        }
        Command::Create { caller, object, args } => {
            let (by, who) = (&caller.principal.name, who(&caller.identity));
            format!("create {object:?} {} by {by} ({who})", text(args))
        }
        other => format!("{other:?}"),
    }
}
