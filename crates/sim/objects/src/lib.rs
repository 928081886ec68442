//! The simulator of live objects: commands as clients, members and leaders send them, played into `objects_state::State`
//! and into sequential models that were written from the specification (`specification 1, 2, 4`). One seed decides
//! everything.
//!
//! # Who judges
//! After every command the state's effects are compared with the model's: every reply by its meaning, every refusal by its
//! name, which call waits, which is granted or ends, in which order, which session ends. Between commands, queries. The rules
//! are those of the specification's section 5, each in its own function of [`rules`]; the most special one speaks, and a run
//! ends with the first that is broken. A second state gets the same commands encoded and never goes through a snapshot: its
//! digest must be equal.
//!
//! # What has happened
//! Each method and each of its outcomes is a cell of [`cells`]. A run that meets one that is not in the table is wrong; some
//! hundred seeds must have met all of them.
//!
//! # Not done, and what that costs
//! - Limits of the whole group (200,000 waiting calls, 100,000 sessions, a million keys) are not reached: a linear model of
//!   them is too slow.
//! - Events are not compared, only what calls are answered and which sessions end.
//! - Members, leaders and networks: [`MembersWorld`] has them, and judges its log by the same models and rules.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod book;
pub mod cells;
mod copies;
mod crowd;
mod elsewhere;
mod forgotten;
mod guests;
mod imports;
mod members;
mod model;
mod outcome;
mod quotas;
mod roles;
pub mod rules;
mod told;
mod world;

pub use members::MembersWorld;
pub use world::ObjectsWorld;
