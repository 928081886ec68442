//! What a core's thread has for the journal: handed over in order, and flushed on the core's own thread where that is little.

use std::sync::Arc;

use consensus_replica::{Fault, JournalRequest};
use node_threads::Mailbox;
use storage_raft_log::Disk;

use crate::journal_loop::{JournalMail, SharedJournal};

/// See the module.
pub struct JournalPort<D: Disk> {
    journal: Arc<SharedJournal<D>>,
    mail: Arc<Mailbox<JournalMail>>,
    /// The journal was handed a small batch and not woken.
    unflushed: bool,
    requests: Vec<JournalMail>,
}

impl<D: Disk> JournalPort<D> {
    /// Of a journal, and where its thread takes its work.
    #[must_use]
    pub const fn new(journal: Arc<SharedJournal<D>>, mail: Arc<Mailbox<JournalMail>>) -> Self {
        Self { journal, mail, unflushed: false, requests: Vec::new() }
    }

    /// Adds a request; [`Self::hand_over`] gives it to the journal.
    pub fn add(&mut self, request: JournalRequest) {
        self.requests.push(JournalMail::Effect(request));
    }

    /// Whether a small batch waits to be flushed on the core's thread.
    #[must_use]
    pub const fn is_unflushed(&self) -> bool {
        self.unflushed
    }

    /// Gives the journal what was added. A small batch may wait for the end of this turn, to be flushed on this thread.
    pub fn hand_over(&mut self, now_us: u64) {
        if self.requests.is_empty() {
            return;
        }
        let is_alone = !self.unflushed && self.requests.len() == 1;
        self.unflushed =
            is_alone && matches!(&self.requests[0], JournalMail::Effect(request) if request.is_small_batch());
        self.mail.put_all_quietly_at(&mut self.requests, now_us);
        if !self.unflushed {
            self.mail.wake();
        }
    }

    /// This thread has other things to do: the journal's thread flushes what waits.
    pub fn leave_to_journal(&mut self) {
        if std::mem::take(&mut self.unflushed) {
            self.mail.wake();
        }
    }

    /// Flushes what the journal was handed on this thread, if it was not woken for that and this thread has nothing else to
    /// do (`is_busy`). Whether that was done.
    ///
    /// # Errors
    /// This host cannot keep its promise any more.
    pub fn flush_here(&mut self, is_busy: impl FnOnce() -> bool) -> Result<bool, Fault> {
        if !std::mem::take(&mut self.unflushed) {
            return Ok(false);
        }
        let flush_here =
            || self.journal.flush_here().map_err(|fault| Fault::Driver { reason: fault.to_string() });
        if is_busy() || !flush_here()? {
            self.mail.wake();
            return Ok(false);
        }
        Ok(true)
    }
}
