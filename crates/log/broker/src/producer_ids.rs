//! Producer ids: from blocks of the council, each of which is given to one broker (L22).

use core::ops::Range;

use log_partition::ProducerId;
use log_wire::ErrorCode;
use log_wire::messages::transactions::{InitProducerIdRequest, InitProducerIdResponse};

use crate::broker::{Broker, CatalogCommand};

/// With so few ids left another block is asked for.
const LOW: i64 = 200;

/// The ids that this broker may still give.
#[derive(Debug, Default)]
pub(crate) struct ProducerIds {
    present: Range<i64>,
    next: Range<i64>,
    asked: bool,
}

impl Broker {
    /// The council has given a block of ids to this broker, and gives it to nobody else.
    pub fn producer_ids_given(&mut self, block: Range<i64>) {
        self.producer_ids.next = block;
        self.producer_ids.asked = false;
    }

    /// An id that nobody has; nothing until the council has given some.
    pub(crate) fn next_producer_id(&mut self) -> Option<ProducerId> {
        let ids = &mut self.producer_ids;
        if ids.present.is_empty() {
            ids.present = core::mem::take(&mut ids.next);
        }
        let id = ids.present.next().map(ProducerId);
        let left = (ids.present.end - ids.present.start) + (ids.next.end - ids.next.start);
        if left < LOW && !ids.asked {
            ids.asked = true;
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
