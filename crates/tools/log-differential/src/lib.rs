//! The differential test of the log: generated scripts of requests, to a real Apache Kafka and to our broker, side by side.
//!
//! [`scene`] writes [`script`]s from a seed, with what a [`story`] gives it; [`play`] plays them on a broker and records what
//! its connections see; [`normalise`] takes out times and ids, [`compare`] finds what differs and [`table`] does not excuse
//! ([`faults`] are those that are known and open), [`coverage`] counts versions and codes, [`planted`] changes replies to see
//! that the comparison finds it. [`pair`] keeps the brokers, [`trio`] a cluster of three, [`run`] plays many scripts at once and shrinks what fails.
//! [`schema`] reads and writes messages as Kafka's own definitions say, which come with its jars: nothing here depends on our
//! broker's crates. [`capture`] writes what the real broker was asked and answered to files.
//!
//! # Not done, and what that costs
//! What is compared is what both show when they have come to rest: how long that takes, and what clients see meanwhile, is tested
//! elsewhere. Quotas are set and read, and not felt.

pub mod capture;
mod codes;
mod codes_of_a_cluster;
pub mod compare;
pub mod coverage;
pub mod difference;
pub mod faults;
mod flags;
mod hex;
pub mod normalise;
pub mod pair;
pub mod planted;
pub mod play;
pub mod records;
pub mod run;
pub mod scene;
pub mod schema;
pub mod script;
pub mod served;
mod settings;
pub mod story;
pub mod table;
pub mod trio;
mod users;
pub mod variables;
