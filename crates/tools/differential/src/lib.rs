//! The differential test: generated scripts on the raw wire, to a real Apache ZooKeeper and to Diwan, side by side.
//!
//! [`generate`] writes a [`script`] from a seed, [`play`] plays it on a server and records what the clients see,
//! [`normalise`] takes out times and ids, [`compare`] finds the first difference that [`table`] does not excuse,
//! [`coverage`] counts which operation gave which code. [`pair`] keeps the servers.

pub mod capture;
pub mod compare;
pub mod coverage;
mod encode;
pub mod generate;
mod keeper;
pub mod normalise;
pub mod op;
mod page;
pub mod pair;
pub mod play;
pub mod run;
pub mod script;
pub mod table;
mod words;
