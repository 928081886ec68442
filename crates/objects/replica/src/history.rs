//! What a member remembers of an object's events, as JSON.
//!
//! It is this member's own memory of the latest events of all objects ([`crate::watches`]): another member may remember more or
//! less, and a process that begins remembers nothing.

use objects_state::{Event, ObjectName, Reply, State};

use crate::edge::EventId;
use crate::limits::HISTORY_BYTES_MAX;
use crate::watches::Watches;

/// The events behind that one, as many as have room.
pub(crate) fn page(state: &State, watches: &Watches, object: &ObjectName, after: Option<EventId>) -> String {
    let (mut shown, mut bytes, mut last, mut next) = (Vec::new(), 0, None, None);
    for (id, event) in watches.remembered(object, after) {
        if bytes >= HISTORY_BYTES_MAX {
            next = last;
            break;
        }
        let row = row(id, event);
        bytes += row.len();
        shown.push(row);
        last = Some(id);
    }
    Reply::new()
        .text("type", &state.type_name(object.kind).unwrap_or_default())
        .text("name", &object.name)
        .list("events", shown)
        .text("behind", &watches.forgotten().to_string())
        .text("latest", &watches.latest().to_string())
        .optional_text("next", next.map(|id: EventId| id.to_string()).as_deref())
        .finish()
}

fn row(id: EventId, event: &Event) -> String {
    let session = event.session.map(|session| session.to_string());
    let reply = Reply::new()
        .text("id", &id.to_string())
        .text("event", event.kind.name())
        .optional_text("session", session.as_deref())
        .number("position", event.position)
        .int("at_ms", event.at_ms);
    match &event.said {
        Some(said) => reply.text("topic", &said.topic).raw("body", &said.body).finish(),
        None => reply.finish(),
    }
}
