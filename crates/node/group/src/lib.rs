//! What the driver of a member of any consensus group needs, whatever the group replicates: the journal's thread, the thread on
//! which a core has its turns, data that is put aside, and the wait for the other members before there is a core.
//!
//! The rules are in `consensus-replica`; here are the threads, files and connections that carry them out. Knows no state
//! machine, no command and no client.
//!
//! # Not done, and what that costs
//! What a core does in a turn is not here: what it hears and tells besides its journal and its peers differs between services.
//! So each service has a loop of its own, of a few hundred lines.

pub mod aside;
pub mod backup_file;
mod core_turns;
mod data_config;
mod fault;
mod join;
mod journal_counters;
mod journal_loop;
mod journal_port;
pub mod restoration;
#[cfg(test)]
mod test_support;

pub use core_turns::{CoreLoop, CoreTurns, fall_asleep, poll_fault};
pub use data_config::DataConfig;
pub use fault::DataFault;
pub use join::{Inbox, ask_others};
pub use journal_counters::{JournalCounters, RequestTimes};
pub use journal_loop::{
    CHUNKS_PER_READ, JournalLinks, JournalMail, JournalSettings, SharedJournal, SnapshotNews,
};
pub use journal_port::JournalPort;
