//! The configurations of a subscription to client metrics (resource 16).

use crate::definition::{Definition, int, list};

pub(super) const CLIENT_METRICS: &[Definition] =
    &[int("interval.ms").default("300000"), list("match").default(""), list("metrics").default("")];
