//! InitProducerId: a new producer id, or the next epoch for a transactional id.

use log_wire::messages::transactions::{InitProducerIdRequest, InitProducerIdResponse};
use log_wire::{ApiKey, ErrorCode, Malformed};

use crate::call::{Call, Handled};
use crate::node::Node;
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
    Ok(Handled::Done(call.form.response(&new_producer(node, &request))))
}

fn new_producer(node: &mut Node, request: &InitProducerIdRequest) -> InitProducerIdResponse {
    let mut response = InitProducerIdResponse { producer_epoch: -1, ..InitProducerIdResponse::default() };
    let error = if (request.producer_id == -1) != (request.producer_epoch == -1) {
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
