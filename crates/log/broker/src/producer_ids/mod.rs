//! InitProducerId of producers without a transactional id.

mod block;

use log_metadata::{Decision, Ended, Found, paths};
use log_partition::ProducerId;
use log_wire::messages::transactions::{InitProducerIdRequest, InitProducerIdResponse};
use log_wire::{ApiKey, ErrorCode, Malformed};

use crate::call::{Call, Handled};
use crate::council::Purpose;
use crate::node::Node;
use crate::rights::{By, CLUSTER_IDEMPOTENT_WRITE, TRANSACTION_WRITE};
pub(crate) use block::ProducerIds;

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[ApiKey::InitProducerId];

impl ProducerIds {
    /// Handles a request.
    ///
    /// # Errors
    /// It is malformed.
    pub(crate) fn dispatch(&mut self, node: &mut Node, mut call: Call<'_>) -> Result<Handled, Malformed> {
        let by = call.by();
        let response = init(self, node, by, &call.body()?);
        Ok(Handled::Done(call.form.response(&response)))
    }
}

fn init(
    ids: &mut ProducerIds,
    node: &mut Node,
    by: By<'_>,
    request: &InitProducerIdRequest,
) -> InitProducerIdResponse {
    let mut response = InitProducerIdResponse { producer_id: -1, producer_epoch: -1, ..Default::default() };
    let error = if let Err(error) = may(node, by, request) {
        error
    } else if request.transactional_id.is_some() {
        ErrorCode::CoordinatorNotAvailable
    } else if (request.producer_id == -1) != (request.producer_epoch == -1) {
        ErrorCode::InvalidRequest
    } else {
        match next(ids, node) {
            Some(id) => {
                (response.producer_id, response.producer_epoch) = (id.0, 0);
                ErrorCode::None
            }
            None => ErrorCode::CoordinatorLoadInProgress,
        }
    };
    response.error_code = error.code();
    response
}

/// Whether a client may have a producer id.
fn may(node: &Node, by: By<'_>, request: &InitProducerIdRequest) -> Result<(), ErrorCode> {
    match &request.transactional_id {
        Some(id) => node.may(by, TRANSACTION_WRITE, id),
        None if node.may_write_any(by.client) => Ok(()),
        None => node.may_on_cluster(by, CLUSTER_IDEMPOTENT_WRITE),
    }
}

/// An id that nobody has; nothing until the council has given some.
fn next(ids: &mut ProducerIds, node: &mut Node) -> Option<ProducerId> {
    let id = ids.next();
    if ids.wants_more() {
        node.council.ask(paths::PRODUCER_IDS.into(), Purpose::ProducerIds, take_block);
    }
    id
}

/// How many ids a broker takes at once.
const BLOCK: i64 = 1_000;

/// The next block of ids: whoever raises the number in the council has those below it. A block whose end nobody knows is lost.
fn take_block(found: Found<'_>) -> Decision {
    Decision::Write((next_of(found.data) + BLOCK).to_string().into_bytes())
}

fn next_of(data: Option<&[u8]>) -> i64 {
    data.and_then(|data| std::str::from_utf8(data).ok()?.trim().parse().ok()).unwrap_or(0)
}

impl ProducerIds {
    /// The council has given a block to this broker, whose end is the data of the node; or it has refused.
    pub(crate) fn ended(&mut self, ended: &Ended) {
        match ended {
            Ended::Done(data) => {
                let end = next_of(data.as_deref());
                self.given(end - BLOCK..end);
            }
            Ended::Refused(..) => self.given(0..0),
        }
    }
}
