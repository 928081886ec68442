//! What the threads of one process share: the clock, how dates are written, mailboxes between them, how often something
//! may be done, how many descriptors connections may take, and where the failure of one of them is noticed. Knows no
//! socket and nothing of what is sent.

pub mod calendar;
mod clock;
mod descriptors;
mod mailbox;
mod rate_limit;
mod supervisor;

pub use clock::Clock;
pub use descriptors::Descriptors;
pub use mailbox::{Mailbox, ThreadWaker};
pub use rate_limit::{Pass, RateLimit, Wait};
pub use supervisor::{FaultReason, Supervisor, ThreadFault, spawn};
