//! InitProducerId: a new producer id, or the next epoch for a transactional id.

use log_wire::messages::transactions::{InitProducerIdRequest, InitProducerIdResponse};
use log_wire::{ApiKey, ErrorCode, Malformed};

use crate::call::{Call, Handled};
use crate::node::Node;
use crate::rights::{By, CLUSTER_IDEMPOTENT_WRITE};
use crate::transactions::Transactions;

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[ApiKey::InitProducerId];

/// Handles a request.
///
/// # Errors
/// It is malformed.
pub(crate) fn dispatch(
    node: &mut Node,
    transactions: &mut Transactions,
    mut call: Call<'_>,
) -> Result<Handled, Malformed> {
    let (of, now) = (call.caller(), call.now);
    let request: InitProducerIdRequest = call.body()?;
    if request.transactional_id.is_some() {
        return Ok(transactions.init_producer_id(node, &request, of, now));
    }
    Ok(Handled::Done(call.form.response(&new_producer(node, of.by, &request))))
}

/// Who may write to any topic may have a producer id.
fn new_producer(node: &mut Node, by: By<'_>, request: &InitProducerIdRequest) -> InitProducerIdResponse {
    let mut response = InitProducerIdResponse { producer_epoch: -1, ..InitProducerIdResponse::default() };
    let may = node.may_on_cluster(by, CLUSTER_IDEMPOTENT_WRITE);
    let error = if let Some(error) = may.err().filter(|_| !node.may_write_any(by.client)) {
        error
    } else if (request.producer_id == -1) != (request.producer_epoch == -1) {
        ErrorCode::InvalidRequest
    } else if let Some(id) = node.take_producer_ids(1).next() {
        (response.producer_id, response.producer_epoch) = (id, 0);
        ErrorCode::None
    } else {
        ErrorCode::CoordinatorLoadInProgress
    };
    response.error_code = error.code();
    response
}
