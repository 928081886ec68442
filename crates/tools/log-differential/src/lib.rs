//! The differential test of the log: generated scripts of requests, to a real Apache Kafka and to our broker, side by side.
//!
//! [`scene`] writes [`script`]s from a seed, with what a [`story`] gives it; [`play`] plays them on a broker and records what
//! its connections see; [`normalise`] takes out times and ids, [`compare`] finds what differs and [`table`] does not excuse
//! ([`faults`] are those that are known and open), [`coverage`] counts versions and codes, [`planted`] changes replies to see
//! that the comparison finds it. [`pair`] keeps the brokers, [`run`] plays many scripts at once and shrinks what fails.
//! [`schema`] reads and writes messages as Kafka's own definitions say, which come with its jars: nothing here depends on our
//! broker's crates. [`capture`] writes what the real broker was asked and answered to files.
//!
//! # Not done, and what that costs
//! One broker on each side, without faults: what changes of leaders and restarts show to clients is tested elsewhere. Quotas
//! are set and read, and not felt.

pub mod capture;
mod codes;
pub mod compare;
pub mod coverage;
pub mod difference;
pub mod faults;
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
pub mod story;
pub mod table;
mod users;
pub mod variables;
