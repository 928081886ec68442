//! InitProducerId of producers without a transactional id.

use core::ops::Range;

use log_partition::ProducerId;
use log_wire::ErrorCode;
use log_wire::messages::transactions::{InitProducerIdRequest, InitProducerIdResponse};

use crate::broker::Broker;
use crate::catalog_command::CatalogCommand;

impl Broker {
    /// The council has given a block of ids to this broker, and gives it to nobody else.
    pub fn producer_ids_given(&mut self, block: Range<i64>) {
        self.producer_ids.given(block);
    }

    fn next_producer_id(&mut self) -> Option<ProducerId> {
        let id = self.producer_ids.next();
        if self.producer_ids.wants_more() {
            self.catalog_commands.push(CatalogCommand::ProducerIds);
        }
        id
    }

    /// Handles a request without a transactional id.
    pub fn init_producer_id(&mut self, request: &InitProducerIdRequest) -> InitProducerIdResponse {
        let mut response =
            InitProducerIdResponse { producer_id: -1, producer_epoch: -1, ..Default::default() };
        let error = if request.transactional_id.is_some() {
            ErrorCode::CoordinatorNotAvailable
        } else if (request.producer_id == -1) != (request.producer_epoch == -1) {
            ErrorCode::InvalidRequest
        } else {
            match self.next_producer_id() {
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
}
