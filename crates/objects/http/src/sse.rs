//! Events as Server-Sent Events.

use objects_replica::edge::{EventId, Happening};
use objects_state::{Outcome, Reply, type_name};

use crate::namespace::Namespace;

/// What is sent while nothing happens, so that both sides notice when the other one has gone.
pub(crate) const ALIVE: &str = ": alive\n\n";

/// Events before this point are not known: the client must look at the state again.
pub(crate) const LOST: &str = "event: lost\ndata: {}\n\n";

/// The beginning of a stream: behind which event it goes on.
pub(crate) fn begin(id: EventId) -> String {
    format!("id: {}.{}\n: watching\n\n", id.position, id.ordinal)
}

/// One event.
pub(crate) fn event(id: EventId, what: &Happening, namespace: Option<&Namespace>) -> String {
    let (name, data) = match what {
        Happening::Object(event) => {
            let name = &*event.object.name;
            let name = namespace.map_or(name, |namespace| namespace.inner(name));
            let data = Reply::new()
                .text("type", event.user_type.as_deref().or(type_name(event.object.kind)).unwrap_or_default())
                .text("name", name)
                .optional_text("session", event.session.map(|session| session.to_string()).as_deref())
                .number("position", event.position)
                .int("at_ms", event.at_ms);
            let data = match &event.said {
                Some(said) => data.text("topic", &said.topic).raw("body", &said.body),
                None => data,
            };
            (event.kind.name(), data)
        }
        Happening::SessionEnded { session, expired } => {
            let name = if *expired { "expired" } else { "closed" };
            (name, Reply::new().text("session", &session.to_string()).number("position", id.position))
        }
    };
    format!("id: {}.{}\nevent: {name}\ndata: {}\n\n", id.position, id.ordinal, data.finish())
}

/// Why a stream has no more events.
pub(crate) fn end(outcome: &Outcome) -> String {
    let name = if matches!(outcome, Outcome::Refused(_)) { "problem" } else { "end" };
    format!("event: {name}\ndata: {}\n\n", outcome.to_json())
}

#[cfg(test)]
mod tests {
    use objects_state::{Event, EventKind, ObjectName, SessionId, TypeId};

    use super::*;

    #[test]
    fn event_has_its_id_its_name_and_one_line_of_data() {
        let object = ObjectName { kind: TypeId(1), name: "a\nb".into() };
        let session = Some(SessionId([0xab; 16]));
        let (kind, user_type, said) = (EventKind::Acquired, None, None);
        let (position, at_ms) = (17, 1_000);
        let what = Happening::Object(Event { kind, object, session, position, at_ms, user_type, said });
        let text = event(EventId { position: 17, ordinal: 2 }, &what, None);
        assert_eq!(
            text,
            format!(
                "id: 17.2\nevent: acquired\ndata: {{\"type\":\"lock\",\"name\":\"a\\nb\",\"session\":\"{}\",\
                 \"position\":17,\"at_ms\":1000}}\n\n",
                "ab".repeat(16)
            )
        );
    }
}
