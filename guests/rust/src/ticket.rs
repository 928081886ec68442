//! Calls that wait.

use serde::{Deserialize, Serialize};

use crate::host::{imports, json};
use crate::refused::Refused;

/// A call that waits. An object keeps it, and ends it in a later command; if the call ends otherwise (its time, its caller), the
/// method `ticket_ended(&mut self, ticket: Ticket)` is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// The call of this method waits, at most that long; the caller's own limit (`wait_ms`) rules if there is none here. The tag is a
/// note for a later version of the type. The method returns [`Wait::Parked`](crate::Wait::Parked) then.
#[must_use]
pub fn park(tag: u64, wait_ms: Option<i64>) -> Ticket {
    Ticket(imports::park(tag, wait_ms.map_or(-1, |limit| limit.max(0))))
}

impl Ticket {
    /// Ends the call with a result. False: nobody waits under this ticket any more.
    ///
    /// # Panics
    /// The result cannot be written as JSON.
    pub fn wake(self, result: &impl Serialize) -> bool {
        let result = json(result);
        // SAFETY: the result is ours.
        unsafe { imports::wake(self.0, result.as_ptr(), result.len()) != 0 }
    }

    /// Refuses the call. False: nobody waits under this ticket any more.
    pub fn refuse(self, why: &Refused) -> bool {
        refuse(self.0, why)
    }
}

/// Ticket 0 is the running call: then this does not return.
pub(crate) fn refuse(ticket: u64, Refused { code, detail }: &Refused) -> bool {
    // SAFETY: both texts are ours.
    unsafe { imports::fail(ticket, code.as_ptr(), code.len(), detail.as_ptr(), detail.len()) != 0 }
}

impl Serialize for Ticket {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Ticket {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Self)
    }
}
