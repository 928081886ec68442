//! What the threads of one process share: the clock, mailboxes between them, how often something may be done, and how many
//! descriptors connections may take. Knows no socket and nothing of what is sent.

mod clock;
mod descriptors;
mod mailbox;
mod rate_limit;

pub use clock::Clock;
pub use descriptors::Descriptors;
pub use mailbox::{Doorbell, Mailbox};
pub use rate_limit::{Pass, RateLimit, Wait};
