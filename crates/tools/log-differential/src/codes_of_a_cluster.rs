//! The error codes that APIs give a client of three brokers, and not of one: the scripts for a cluster must see these.

use tools_testbed::cells::Row;

/// Every run must see these.
pub(crate) const CODES: &[Row<'static>] = &[];

/// Codes that some seeds see and others do not.
pub(crate) const SOMETIMES: &[Row<'static>] = &[];
