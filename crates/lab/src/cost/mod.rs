//! What things cost, measured on real processes, and how far `sim`'s predictions are from what was measured.
//!
//! A [`Point`] is a load on so many real members of this machine. What it costs each kind of thread is read from the kernel
//! (`threads`), how often each kind does what is taken from the simulation of the same load; prices are solved from many
//! points together (`solve`), again and again, because how often depends on the prices. Points that are held out are
//! measured too, and used for nothing but the comparison. What a watch event costs is measured apart (`watched`), for no
//! point has any.
//!
//! Knows nothing of how a member works; `sim::cost` does.

mod fit;
pub mod machine;
mod measured;
mod point;
pub mod profile;
mod solve;
pub mod tables;
mod threads;
mod watched;

pub use fit::fit;
pub use measured::{Measured, Recorded, measure};
pub use point::{POINTS, Point};
pub use watched::{Watched, price_events};
