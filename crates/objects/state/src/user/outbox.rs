//! Messages between objects: a module sends one to another object, which is called later, at a position of its own.
//!
//! A message is a record under the position of the run that sent it and its number there, written with what else the run did: a run
//! that is taken back has sent nothing. A tick takes messages out in this order (`messages.rs`).

use super::Guest;
use crate::codec::record;
use crate::command::ObjectName;
use crate::group::Core;
use crate::json::Json;
use crate::key::{self, Key, kind};
use crate::limits::{ARGUMENT_BYTES_MAX, KEY_BYTES_MAX, MESSAGE_BYTES_MAX, MESSAGE_HOPS_MAX, MESSAGES_MAX};
use crate::object;
use crate::problem::{Problem, Slug};
use crate::types;

record! {
    /// A message that is not delivered yet.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Message {
        pub(crate) from: ObjectName,
        /// The sender's space.
        space: u64,
        /// The type's name, which may be another type by then.
        pub(crate) to_type: String,
        pub(crate) to_name: String,
        pub(crate) method: String,
        pub(crate) args: Vec<u8>,
        /// How many messages led to it, itself included.
        pub(crate) hops: u32,
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
    core.read(&key::message_totals()).unwrap_or_default()
}

fn set_waiting(core: &mut Core, waiting: Waiting) {
    if waiting == Waiting::default() {
        core.store.remove(&key::message_totals());
    } else {
        core.write(key::message_totals(), &waiting);
    }
}

/// Whether there is something to deliver.
pub(crate) fn has_messages(core: &Core) -> bool {
    core.store.get(&key::message_totals()).is_some()
}

/// An object sends a message.
///
/// # Errors
/// It is none, it goes to an object of another group, or too many wait.
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
    let is_json = || matches!(Json::parse(&args), Ok(Json::Object(_)));
    if !is_short
        || args.len() > ARGUMENT_BYTES_MAX
        || !(is_json() || takes_bytes(core, (to_type, to_name), &method))
    {
        return Err(broken("a message's arguments are a JSON object, and its target and method short words"));
    }
    // It would be refused when it is delivered, and be lost.
    if !core.slots.accepts(to_type, to_name) {
        return Err(core.slots.refusal());
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

/// Whether that is a method of an object which takes bytes.
fn takes_bytes(core: &Core, (to_type, to_name): (&str, &str), method: &str) -> bool {
    let kind = types::named(core, to_type);
    kind.is_some_and(|kind| super::takes_bytes(core, &ObjectName { kind, name: to_name.into() }, method))
}

/// Takes the next message out. It is the caller's to carry it out in the same command.
pub(crate) fn take(core: &mut Core) -> Option<Message> {
    let key = core.store.prefix(&[kind::MESSAGE]).next().map(|(key, _)| Key::from(key))?;
    let message: Message = core.read(&key)?;
    core.store.remove(&key);
    let before = waiting(core);
    let (count, bytes) = (before.count.saturating_sub(1), message.args.len() as u64);
    set_waiting(core, Waiting { count, bytes: before.bytes.saturating_sub(bytes) });
    Some(message)
}

/// A message was refused: its sender has failed.
pub(crate) fn refused(core: &mut Core, (from, space): &(ObjectName, u64), target: &str, problem: &Problem) {
    let words = problem.code.as_deref().unwrap_or(problem.slug.name());
    let words = format!("message to {target}: {words}: {}", problem.detail);
    object::run_in_space::<Guest>(core, from, *space, |live, _| live.root.failed(words));
}

impl Message {
    /// The object that has sent it, and its space.
    pub(crate) fn sender(&self) -> (ObjectName, u64) {
        (self.from.clone(), self.space)
    }

    /// Where it goes, as `TYPE/NAME`.
    pub(crate) fn target(&self) -> String {
        format!("{}/{}", self.to_type, self.to_name)
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
