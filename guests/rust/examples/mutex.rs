//! A lock that callers wait for, in the order in which they came. It is its holder's session's: when that ends, the next one
//! has it.

use std::collections::VecDeque;

use diwan_object::{Refused, Ticket, Wait, caller, export, park, position};
use serde::Serialize;

struct Mutex {
    holder: Option<Grant>,
    waiting: VecDeque<Waiter>,
}

#[derive(Clone, Serialize)]
struct Grant {
    fence: u64,
    session: String,
}

struct Waiter {
    ticket: Ticket,
    session: String,
}

#[derive(Serialize)]
struct State<'a> {
    holder: Option<&'a Grant>,
    waiting: usize,
}

impl Mutex {
    fn new() -> Self {
        Self { holder: None, waiting: VecDeque::new() }
    }

    fn acquire(&mut self) -> Result<Wait<Grant>, Refused> {
        let session = caller().session.ok_or_else(|| Refused::new("no-session", "a lock is a session's"))?;
        if self.holder.is_none() {
            return Ok(Wait::Done(self.grant(session)));
        }
        let ticket = park(0, None);
        self.waiting.push_back(Waiter { ticket, session });
        Ok(Wait::Parked(ticket))
    }

    fn release(&mut self, fence: u64) -> Result<(), Refused> {
        if self.holder.as_ref().is_none_or(|holder| holder.fence != fence) {
            return Err(Refused::new("not-owner", format!("the lock is not held under {fence}")));
        }
        self.hand_on();
        Ok(())
    }

    fn state(&self) -> State<'_> {
        State { holder: self.holder.as_ref(), waiting: self.waiting.len() }
    }

    fn ticket_ended(&mut self, ticket: Ticket) {
        self.waiting.retain(|waiter| waiter.ticket != ticket);
    }

    fn session_expired(&mut self, session: String) {
        self.waiting.retain(|waiter| waiter.session != session);
        if self.holder.as_ref().is_some_and(|holder| holder.session == session) {
            self.hand_on();
        }
    }

    /// The position rises with every command, so no two grants have the same.
    fn grant(&mut self, session: String) -> Grant {
        self.holder.insert(Grant { fence: position(), session }).clone()
    }

    fn hand_on(&mut self) {
        self.holder = None;
        while let Some(Waiter { ticket, session }) = self.waiting.pop_front() {
            let grant = self.grant(session);
            if ticket.wake(&grant) {
                return;
            }
            self.holder = None;
        }
    }
}

export!(Mutex as "mutex" {
    new();
    blocking acquire();
    command release(fence: u64);
    query state();
    event ticket_ended(ticket: Ticket);
    event session_expired(session: String);
});
