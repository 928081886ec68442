//! O30: messages that guests send arrive once, in the order in which they were sent, each at a position of its own; what a run
//! sends that fails is not sent. A message that is refused counts as a failure of its sender, and has no other effect.
//!
//! A tick has a position for itself, and one for each message that it delivers: so the log says how many these are. Which they are,
//! and what comes of them, is known here.

use std::collections::VecDeque;

use objects_state::{Effect, ObjectName, State};
use serde_json::Value;

use super::{Guests, Key, Object, Seen, Ticket, Wait, Woken};
use crate::guests::messages::Message;
use crate::guests::{Asked, GuestType, Ran, TYPES};
use crate::outcome::parsed;
use crate::rules::Wrong;

/// The name of the built-in objects to which guests send, and clients do not.
const NAME: &str = "m";

/// The object that has sent a message, and its incarnation.
pub(super) type Sender = (Key, u64);

/// Messages that are not delivered yet, and what is known of built-in objects by those that were.
#[derive(Default)]
pub(super) struct Outbox {
    waiting: VecDeque<(Sender, Message)>,
    /// What `counter/m` has, and `value/m`.
    counter: u64,
    value: Option<u64>,
}

impl Outbox {
    /// Takes what an object's run has sent.
    pub(super) fn take(&mut self, key: &Key, object: &mut Object) {
        let sender = (key.clone(), object.incarnation);
        let sent = std::mem::take(&mut object.guest.sent);
        self.waiting.extend(sent.into_iter().map(|message| (sender.clone(), message)));
    }

    /// Built-in objects are what messages have made of them.
    ///
    /// # Errors
    /// One is not.
    pub(super) fn look(&self, state: &State) -> Result<(), Wrong> {
        let shown = |of| {
            let kind = state.type_named(of)?;
            let told = state.query(&ObjectName { kind, name: NAME.into() }, None, true, "get", b"{}");
            Some(parsed(&told.ok()?)["value"].clone())
        };
        let due =
            [("counter", Value::from(self.counter)), ("value", self.value.map_or(Value::Null, Value::from))];
        for (of, due) in due {
            let told = shown(of);
            if told.as_ref() != Some(&due) {
                return Err((30, format!("`{of}` shows {told:?}, and by its messages {due:?}")));
            }
        }
        Ok(())
    }

    /// # Errors
    /// Something was sent and never delivered.
    pub(super) fn is_done(&self) -> Result<(), Wrong> {
        match self.waiting.len() {
            0 => Ok(()),
            left => Err((30, format!("{left} messages were never delivered: {:?}", self.waiting.front()))),
        }
    }
}

impl Guests {
    /// A tick delivers messages.
    pub(super) fn deliver(&mut self, seen: &Seen<'_>, woken: &mut Woken) -> Result<(), Wrong> {
        let last = seen.state.position();
        if last == seen.first && !self.outbox.waiting.is_empty() {
            return Err((30, format!("a tick delivers none of {} messages", self.outbox.waiting.len())));
        }
        for position in seen.first + 1..=last {
            let Some((sender, message)) = self.outbox.waiting.pop_front() else {
                return Err((30, format!("a message is delivered at {position} that nobody has sent")));
            };
            let told = |(rule, words): Wrong| (rule, format!("{words}\nof {sender:?}: {message:?}"));
            let ran = self.delivered((&sender, &message), position, seen, woken).map_err(told)?;
            self.judged(30, "messages");
            let Some(ran) = ran else { continue };
            let what = (message.form.target.0, message.form.method);
            self.note_run("message ", what, &ran)?;
            if matches!(ran, Ran::Fails(..)) {
                self.judged(30, "messages that are refused");
                self.message_failed(&sender);
            }
        }
        Ok(())
    }

    /// What a message comes to; nothing if it waits for its turn.
    fn delivered(
        &mut self,
        (sender, message): (&Sender, &Message),
        position: u64,
        seen: &Seen<'_>,
        woken: &mut Woken,
    ) -> Result<Option<Ran>, Wrong> {
        let (of, name) = message.form.target;
        let Some(of) = TYPES.into_iter().find(|known| known.name() == of) else {
            return Ok(Some(self.built_in(message)));
        };
        let key = (of, name.to_owned());
        let has_type = seen.state.type_named(of.name()).is_some();
        let Some(incarnation) = self.objects.get(&key).map(|object| object.incarnation) else {
            let slug = if has_type { "no-such-object" } else { "no-such-type" };
            return Ok(Some(Ran::Fails(slug, None)));
        };
        let waits = seen
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::Parked { ticket, .. } if *ticket == position));
        let (method, number, hops) = (message.form.method, message.number, message.hops);
        if of == GuestType::Rogue && waits {
            let wait = Wait::Run { method: method.to_owned(), number, hops, sender: Some(sender.clone()) };
            self.tickets.insert(position, Ticket { key, incarnation, wait });
            self.judged(21, "runs that take long, or wait for one");
            return Ok(None);
        }
        let args = message.args();
        let asked = Asked { method, number, args: args.as_bytes(), position, hops };
        let ran = self.run(&key, &asked);
        self.listen(&key, None, (&asked, seen.stamp_ms), &ran);
        if waits != (ran == Ran::Parks) {
            return Err((30, format!("it waits {waits}, and should come to {ran:?}")));
        }
        if let Ran::Gives(_, Some((ticket, result))) = &ran {
            woken.insert(*ticket, result.clone());
        }
        if waits && let Some(object) = self.objects.get_mut(&key) {
            // Nobody waits for a message: its time is over at once.
            object.ticket_ended(position);
        }
        Ok(Some(ran))
    }

    fn built_in(&mut self, message: &Message) -> Ran {
        let done = Ran::Gives(String::new(), None);
        match (message.form.target.0, message.form.method) {
            ("counter", "increment") => {
                self.outbox.counter += message.number;
                done
            }
            ("value", "set") => {
                self.outbox.value = Some(message.number);
                done
            }
            ("counter" | "value", _) => Ran::Fails("no-such-method", None),
            _ => Ran::Fails("no-such-type", None),
        }
    }

    /// It counts as a failure of who has sent it.
    pub(super) fn message_failed(&mut self, (key, incarnation): &Sender) {
        let sender = self.objects.get_mut(key).filter(|object| object.incarnation == *incarnation);
        if let Some(sender) = sender {
            sender.failures += 1;
        }
    }
}
