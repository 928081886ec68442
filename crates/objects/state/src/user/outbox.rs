//! Messages between objects: a module sends one to another object, which is called later, at a position of its own.
//!
//! A message is a record under the position of the run that sent it and its number there, written with what else the run did: a run
//! that is taken back has sent nothing. A tick takes messages out in this order and carries them out as calls; with the record
//! it takes out goes what the call did, so each is delivered once, and those between two objects in the order in which they were
//! sent. A call that is refused is taken back; it counts as a failure of the sender. Nobody waits for a message: a method
//! that would wait is ended as one whose time has run out.

use super::Guest;
use crate::call;
use crate::codec::record;
use crate::command::{Call, Caller, Identity, Invocation, ObjectName, Origin};
use crate::group::Core;
use crate::json::Json;
use crate::key::{self, kind};
use crate::limits::{
    ARGUMENT_BYTES_MAX, KEY_BYTES_MAX, MESSAGE_BYTES_MAX, MESSAGE_HOPS_MAX, MESSAGES_MAX, MESSAGES_PER_TICK,
    RUNS_PER_TICK, SPENT_MAX,
};
use crate::object;
use crate::problem::{Problem, Slug};
use crate::types;

record! {
    /// A message that is not delivered yet.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Message {
        from: ObjectName,
        /// The sender's space.
        space: u64,
        /// The type's name, which may be another type by then.
        to_type: String,
        to_name: String,
        method: String,
        args: Vec<u8>,
        /// How many messages led to it, itself included.
        hops: u32,
    }
}

record! {
    /// What waits.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Waiting {
        count: u64,
        bytes: u64,
    }
}

fn waiting(core: &Core) -> Waiting {
    core.read(&[kind::MESSAGE_TOTALS]).unwrap_or_default()
}

fn set_waiting(core: &mut Core, waiting: Waiting) {
    if waiting == Waiting::default() {
        core.store.remove(&[kind::MESSAGE_TOTALS]);
    } else {
        core.write(key::message_totals(), &waiting);
    }
}

/// Whether there is something to deliver.
pub(crate) fn has_messages(core: &Core) -> bool {
    core.store.get(&[kind::MESSAGE_TOTALS]).is_some()
}

/// An object sends a message.
///
/// # Errors
/// It is none, or too many wait.
pub(super) fn send(
    core: &mut Core,
    (from, space): (&ObjectName, u64),
    target: &str,
    method: String,
    args: Vec<u8>,
) -> Result<(), Problem> {
    let broken = |detail: &str| Problem::new(Slug::GuestTrap, detail);
    if core.meta.feature_level < super::GUARD_LEVEL {
        return Err(broken("members of an earlier build know no messages"));
    }
    let (to_type, to_name) = target.split_once('/').ok_or_else(|| broken("a message goes to `TYPE/NAME`"))?;
    let is_short = [target, &method].iter().all(|text| text.len() <= 2 * KEY_BYTES_MAX);
    if !is_short || args.len() > ARGUMENT_BYTES_MAX || !matches!(Json::parse(&args), Ok(Json::Object(_))) {
        return Err(broken("a message's arguments are a JSON object, and its target and method short words"));
    }
    let (before, bytes) = (waiting(core), args.len() as u64);
    if before.count >= MESSAGES_MAX || before.bytes + bytes > MESSAGE_BYTES_MAX {
        return Err(Problem::new(Slug::Quota, "too many messages wait in this group"));
    }
    let hops = core.hops + 1;
    if hops > MESSAGE_HOPS_MAX {
        let detail = format!("more than {MESSAGE_HOPS_MAX} messages led to one another");
        return Err(Problem::new(Slug::Quota, detail));
    }
    core.sent += 1;
    let (to_type, to_name) = (String::from(to_type), String::from(to_name));
    let message = Message { from: from.clone(), space, to_type, to_name, method, args, hops };
    core.write(key::message(core.meta.position, core.sent), &message);
    set_waiting(core, Waiting { count: before.count + 1, bytes: before.bytes + bytes });
    Ok(())
}

/// Carries messages out, as many as one tick may.
pub(crate) fn deliver(core: &mut Core) {
    for _ in 0..MESSAGES_PER_TICK {
        if !has_messages(core) || core.runs >= RUNS_PER_TICK || core.spent > SPENT_MAX {
            return;
        }
        let Some(key) = core.store.prefix(&[kind::MESSAGE]).next().map(|(key, _)| key.to_vec()) else {
            return;
        };
        let message: Option<Message> = core.read(&key);
        core.store.remove(&key);
        let (before, message) = (waiting(core), message);
        let bytes = message.as_ref().map_or(0, |message| message.args.len() as u64);
        let left =
            Waiting { count: before.count.saturating_sub(1), bytes: before.bytes.saturating_sub(bytes) };
        set_waiting(core, left);
        if let Some(message) = message {
            core.hops = message.hops;
            carry_out(core, message);
            core.hops = 0;
        }
    }
}

fn carry_out(core: &mut Core, message: Message) {
    let Message { from, space, to_type, to_name, method, args, .. } = message;
    let kind = crate::builtin::type_named(&to_type).or_else(|| types::named(core, &to_type));
    let outcome = match kind {
        Some(kind) => {
            let sender = core.user_type_name(from.kind).unwrap_or_default();
            let mut principal = format!("object:{sender}/{}", from.name);
            principal.truncate(principal.floor_char_boundary(KEY_BYTES_MAX));
            let origin = Origin { member: 0, number: 0 };
            let caller = Caller { origin, principal, identity: Identity::Anonymous };
            let (incarnation, opens, invocation) = (None, None, Invocation { method, args });
            let object = ObjectName { kind, name: to_name.clone() };
            let wait_ms = Some(0);
            call::deliver(
                core,
                &Call { caller, object, incarnation, create: true, wait_ms, opens, invocation },
            )
        }
        None => Err(crate::answer::no_such_type()),
    };
    if let Err(problem) = outcome {
        object::run_in_space::<Guest>(core, &from, space, |live, _| {
            let words = problem.code.as_deref().unwrap_or(problem.slug.name());
            live.root.failed(format!("message to {to_type}/{to_name}: {words}: {}", problem.detail));
        });
    }
}

/// Whether messages and their totals fit together.
pub(crate) fn sound(core: &Core) -> Result<(), crate::codec::Malformed> {
    let mut found = Waiting::default();
    for (_, value) in core.store.prefix(&[kind::MESSAGE]) {
        found.count += 1;
        found.bytes += crate::codec::decoded::<Message>(value)?.args.len() as u64;
    }
    if found == waiting(core) {
        Ok(())
    } else {
        Err(crate::codec::Malformed("check: messages are miscounted"))
    }
}
