//! Behaviour of single consumer groups, as a client sees it. The error codes, epochs and assignments are those that a Kafka 4.3.1
//! answered to the same requests, unless a test says otherwise.

mod bench;
mod conversion;
mod leading;
mod membership;
#[path = "../support/topics.rs"]
mod topics;
