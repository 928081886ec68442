//! Stands in for the crate of this name, whose licence (LGPL-3.0) does not fit: whole numbers of any size, by `num-bigint`, after
//! which that crate's interface was made.

pub use num_bigint::*;
