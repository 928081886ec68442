//! A page of who waits for whom, as JSON.

use objects_state::{Holder, NamedSession, Reply, State, WaitedFor, WaitingCall, Waits, WaitsOf};

use crate::limits::{LISTED_MAX, WAITS_BYTES_MAX};

/// When a position was reached, milliseconds since 1970, if that is known.
pub(crate) type When<'a> = dyn Fn(u64) -> Option<i64> + 'a;

/// The page. `path`: whether the next one is asked for by type and name; otherwise the type is known.
pub(crate) fn page(state: &State, of: &WaitsOf<'_>, path: bool, when: &When<'_>) -> String {
    let Waits { objects, next } = state.waits(&WaitsOf { limit: of.limit.clamp(1, LISTED_MAX), ..*of });
    let (mut shown, mut bytes, mut next) = (Vec::new(), 0, next);
    let mut objects = objects.into_iter().peekable();
    while let Some(found) = objects.next() {
        let row = object(state, &found, when);
        bytes += row.len();
        shown.push(row);
        if bytes >= WAITS_BYTES_MAX && objects.peek().is_some() {
            next = Some(found.object);
            break;
        }
    }
    let next = next.map(|next| match path {
        true => format!("{}/{}", state.type_name(next.kind).unwrap_or_default(), next.name),
        false => next.name,
    });
    Reply::new()
        .list("objects", shown)
        .optional_text("next", next.as_deref())
        .number("position", state.position())
        .int("stamp_ms", state.stamp().ms())
        .finish()
}

fn object(state: &State, found: &WaitedFor, when: &When<'_>) -> String {
    let calls = fitting(found.calls.iter().map(|one| call(one, when)));
    let holders = fitting(found.holders.iter().map(holder));
    let has_more = found.has_more_holders || holders.len() < found.holders.len();
    let more_calls = u64::from(found.waiting).saturating_sub(calls.len() as u64);
    Reply::new()
        .text("type", &state.type_name(found.object.kind).unwrap_or_default())
        .text("name", &found.object.name)
        .number("waiting", u64::from(found.waiting))
        .list("calls", calls)
        .number("more_calls", more_calls)
        .list("holders", holders)
        .flag("more_holders", has_more)
        .finish()
}

/// As many as have room.
fn fitting(rows: impl Iterator<Item = String>) -> Vec<String> {
    let mut bytes = 0;
    let has_room = |row: &String| {
        bytes += row.len();
        bytes <= WAITS_BYTES_MAX
    };
    rows.take_while(has_room).collect()
}

fn call(call: &WaitingCall, when: &When<'_>) -> String {
    let reply = Reply::new()
        .number("ticket", call.ticket)
        .optional_text("method", call.method.as_deref())
        .text("for", if call.for_holders { "holders" } else { "others" });
    let reply = session(reply, call.session.as_ref())
        .text("principal", &call.principal)
        .optional("since_ms", when(call.ticket).and_then(|ms| u64::try_from(ms).ok()));
    let until = call.deadline.and_then(|until| u64::try_from(until.ms()).ok());
    reply.optional("until_ms", until).finish()
}

fn holder(holder: &Holder) -> String {
    let reply = session(Reply::new(), Some(&holder.session));
    let reply = reply.text("principal", &holder.principal).text("holds", holder.holds.name());
    reply.number(if holder.holds.has_fence() { "fence" } else { "position" }, holder.position).finish()
}

fn session(reply: Reply, session: Option<&NamedSession>) -> Reply {
    let id = session.map(|session| session.id.to_string());
    reply
        .optional_text("session", id.as_deref())
        .optional_text("session_name", session.and_then(|session| session.name.as_deref()))
}
