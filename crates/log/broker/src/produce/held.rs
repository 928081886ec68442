//! Produce requests that wait before anything of them is appended: until their transaction's coordinator has said whether it may be,
//! or until it is known who leads. The next request of the connection waits behind such a one, so batches of a producer do not
//! overtake each other.

use std::sync::Arc;

use base::Now;
use log_partition::PartitionId;
use log_wire::ApiKey;

use crate::client::Client;
use crate::response::Form;
use crate::rights::By;
use crate::waits::Waiter;

/// A request that is handled.
pub(super) struct Asked<'r> {
    /// Who asks.
    pub(super) client: &'r Arc<Client>,
    pub(super) form: Form,
    /// The body, as it came.
    pub(super) body: &'r [u8],
    pub(super) waiter: Waiter,
    pub(super) now: Now,
}

impl<'r> Asked<'r> {
    /// Who asks for what: for its rights.
    pub(super) const fn by(&self) -> By<'r> {
        By { client: self.client, api: ApiKey::Produce }
    }

    /// It is handled later.
    pub(super) fn keep(&self) -> Kept {
        Kept { client: Arc::clone(self.client), form: self.form, body: self.body.to_vec() }
    }
}

/// A request that is handled later.
#[derive(Debug)]
pub(super) struct Kept {
    client: Arc<Client>,
    form: Form,
    pub(super) body: Vec<u8>,
}

impl Kept {
    /// It is handled now.
    pub(super) fn asked(&self, waiter: Waiter, now: Now) -> Asked<'_> {
        Asked { client: &self.client, form: self.form, body: &self.body, waiter, now }
    }
}

/// A request that waits for a coordinator.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) request: Kept,
    /// The partitions that its coordinator was asked about.
    pub(super) asked: Vec<PartitionId>,
    pub(super) has_answer: bool,
}
