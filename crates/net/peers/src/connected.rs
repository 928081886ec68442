//! When the process of each connected member started. Two machines may say that they have the same number: a restored image
//! beside its original, a replacement for one that only seemed to be dead. The switchboard keeps the one that started last.
//! The door refuses the other with the reason: otherwise that one would connect and be dropped again and again, a thousand
//! times a second, and never learn why.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::hello::Hello;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Connected {
    /// When the process started, by number.
    lives: Mutex<BTreeMap<u64, u64>>,
}

impl Connected {
    /// The member is connected.
    pub(crate) fn begin(&self, hello: &Hello) {
        self.lives.lock().insert(hello.number, hello.life);
    }

    /// It is not connected any more.
    pub(crate) fn end(&self, number: u64) {
        self.lives.lock().remove(&number);
    }

    /// Whether this process may be let in: no process of the same number that started later is connected.
    ///
    /// # Errors
    /// Why it is refused, for the logs of both.
    pub(crate) fn judge(&self, hello: &Hello) -> Result<(), String> {
        let number = hello.number;
        let connected = self.lives.lock().get(&number).copied();
        if !net_peer_pairs::is_outdated(hello.life, connected) {
            return Ok(());
        }
        Err(format!(
            "another machine that says that it is member {number} started later and is connected; hint: stop one of the \
             two; if this one was restored or replaced, empty its data directory before it starts again"
        ))
    }
}
