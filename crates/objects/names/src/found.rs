//! What is found for a query.

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::Record;

/// What answers a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub(crate) code: ResponseCode,
    pub(crate) answers: Vec<Record>,
    pub(crate) authorities: Vec<Record>,
    pub(crate) additionals: Vec<Record>,
}
