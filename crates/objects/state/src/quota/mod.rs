//! Quotas: how much a namespace, or a principal, may have of a group.
//!
//! # Interface
//! [`judged()`] carries out a piece of work, and refuses it (`quota`) if it takes one of them beyond its quota. [`settle()`] takes
//! account of what a command has changed so far. [`perform()`] sets quotas, [`count_some`] counts what was there before one was set.
//!
//! # What counts
//! | of | what |
//! |---|---|
//! | a namespace `team`: objects of all types whose names begin with `team/` | `objects`; `bytes` of their records, each with what a record takes beside them; `waiters`: calls that wait for them |
//! | a principal | `sessions` that it has open; `waiters`: its calls that wait |
//!
//! Of a waiting call the bytes count that it carries. What sessions hold and timers are no bytes: sessions are bounded otherwise.
//! Memory of modules is records, one for each page; what is kept for the way back of a migration is, too. What was cleared counts
//! until it has been swept. An object outlives who made it, and nothing says who that was: principals have no quotas of objects.
//!
//! # What is kept
//! Quotas and what is used are records, and so is what each object of such a namespace has (`Metered`): snapshots, joins
//! and the digest have nothing new, and what is refused is taken back with the rest. What is used follows from the changes of records
//! alone: [`settle()`] reads what the store notes for a rollback anyway. So no type and no command can forget to count.
//!
//! # Invariants
//! - *Right*: what is used is the sum of what there is. A loader counts it again (`sound`).
//! - *Growth is refused, nothing is deleted*: who has more than a new quota gives may go on with all that takes no more.
//! - *Nothing acknowledged is lost.* Only what a client asks for and waits for is refused: calls, those behind a long run too,
//!   creation, imports, migrations, sessions. What nobody called (timers, ends of waits and sessions) and messages that were
//!   accepted are carried out whatever the quotas are, and count.
//! - *The way out is open.* A call that adds no entry and a few bytes, as a lease or a counter's next digit, may go beyond the
//!   limit of bytes by a bounded reserve: a full queue can be emptied.
//! - *No quota costs nothing*: without one nothing is looked at, and nothing is kept.
//! - *Bounded*: [`crate::limits::QUOTAS_MAX`]. What was there is counted in pieces, one for each tick; until that is done what is
//!   used is what was counted, and less is refused.

mod count;
mod judge;
mod load;
mod perform;
mod settle;
mod shown;
mod sound;

pub(crate) use count::{count_some, is_counting};
pub(crate) use judge::{check, judged};
pub(crate) use load::load;
pub(crate) use perform::perform;
pub(crate) use settle::settle;
pub(crate) use shown::all as shown;
pub(crate) use sound::{is_readable, sound};
