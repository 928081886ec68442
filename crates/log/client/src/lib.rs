//! A client of brokers that speak Kafka's protocol.
//!
//! # Not done, and what that costs
//! There is only a load generator so far, behind the feature `load`.
#![deny(missing_docs)]

#[cfg(feature = "load")]
pub mod load;
