//! Types of live objects of Diwan, written in Rust: a plain struct, its methods, and [`export!`], which names the methods that
//! callers may call.
//!
//! ```no_run
//! use diwan_object::{Refused, export};
//!
//! struct Hits {
//!     count: i64,
//! }
//!
//! impl Hits {
//!     fn new(start: Option<i64>) -> Self {
//!         Self { count: start.unwrap_or(0) }
//!     }
//!
//!     fn hit(&mut self, by: Option<i64>) -> Result<i64, Refused> {
//!         let by = by.unwrap_or(1);
//!         self.count = self.count.checked_add(by).ok_or_else(|| Refused::new("overflow", "too many hits"))?;
//!         Ok(self.count)
//!     }
//!
//!     fn get(&self) -> i64 {
//!         self.count
//!     }
//! }
//!
//! export!(Hits as "hits" {
//!     new(start: Option<i64>);
//!     command hit(by: Option<i64>);
//!     query get();
//! });
//! # fn main() {}
//! ```
//!
//! Each member of the cluster runs each command, so equal calls must lead to equal objects everywhere. A module has no clock, no
//! files and no network; [`now_ms`] and [`random`] give the same at every member. A method that refuses, or panics, has changed
//! nothing.
//!
//! # Not done, and what that costs
//! Methods that take bytes do not wait. The description that [`export!`] writes tells the names of
//! arguments and their Rust types, not their JSON Schema.

mod arguments;
mod buffers;
mod describe;
mod entry;
mod export;
mod host;
mod refused;
mod ticket;

pub use arguments::Arguments;
pub use buffers::Output;
pub use entry::{Answer, Bytes, Constructed, Wait};
pub use host::{
    Caller, caller, clear_timer, emit, log, now_ms, position, random, random_bytes, send, send_bytes,
    set_timer,
};
pub use refused::Refused;
pub use ticket::{Ticket, park};

pub use {serde, serde_json};

/// What [`export!`] expands to uses these; nobody else should.
#[doc(hidden)]
pub mod expanded {
    pub use crate::buffers::{hand_over, read, read_text};
    pub use crate::describe::{joined, length};
    pub use crate::entry::{Slot, call, enter, init};
    pub use crate::host::output;
}
