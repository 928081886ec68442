//! Messages between objects are carried out as calls. With the record that is taken out of the outbox goes what the call did, so
//! each is delivered once, and those between two objects in the order in which they were sent. A call that is refused is taken
//! back; it counts as a failure of the sender. Nobody waits for a message: a method that would wait is ended as one whose time has
//! run out.

use crate::access;
use crate::builtin::type_named;
use crate::call;
use crate::command::{Call, Caller, Identity, Invocation, ObjectName, Origin};
use crate::group::Core;
use crate::limits::{KEY_BYTES_MAX, MESSAGES_PER_TICK};
use crate::problem::Problem;
use crate::types;
use crate::user::{self, Message};

/// Carries messages out, as many as one tick may.
pub(crate) fn deliver(core: &mut Core) {
    for _ in 0..MESSAGES_PER_TICK {
        if !user::has_messages(core) || core.has_run_enough() || core.has_spent_enough() {
            return;
        }
        let Some(message) = user::take_message(core) else { return };
        if core.has_slices() {
            // It may wait for its turn, under its position.
            core.meta.position += 1;
        }
        (core.hops, core.sender) = (message.hops, Some(message.sender()));
        if let Err(problem) = carry_out(core, &message) {
            user::message_refused(core, &message.sender(), &message.target(), &problem);
        }
        (core.hops, core.sender) = (0, None);
    }
}

fn carry_out(core: &mut Core, message: &Message) -> Result<(), Problem> {
    let kind = type_named(&message.to_type).or_else(|| types::named(core, &message.to_type));
    let kind = kind.ok_or_else(crate::answer::no_such_type)?;
    let sender = core.user_type_name(message.from.kind).unwrap_or_default();
    let mut principal = format!("object:{sender}/{}", message.from.name);
    principal.truncate(principal.floor_char_boundary(KEY_BYTES_MAX));
    let origin = Origin { member: 0, number: 0 };
    let caller = Caller { origin, principal: principal.into(), identity: Identity::Anonymous };
    let invocation = Invocation { method: message.method.clone(), args: message.args.clone() };
    let (object, incarnation) = (ObjectName { kind, name: message.to_name.clone() }, None);
    let (wait_ms, opens) = (Some(0), None);
    access::admit(core, &caller.principal)?;
    call::deliver(core, &Call { caller, object, incarnation, create: true, wait_ms, opens, invocation })
}
