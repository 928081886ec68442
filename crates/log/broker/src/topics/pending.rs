//! Requests about topics that wait for the council: what of the answer is known.

use log_wire::ErrorCode;
use log_wire::messages::topics::{CreateTopicsResponse, DeleteTopicsResponse};

use crate::response::{Form, Response};

/// A request that waits for the council.
#[derive(Debug)]
pub(crate) struct PendingTopics {
    pub(crate) form: Form,
    pub(crate) answer: TopicsAnswer,
    pub(crate) missing: usize,
}

#[derive(Debug)]
pub(crate) enum TopicsAnswer {
    Create(CreateTopicsResponse),
    Delete(DeleteTopicsResponse),
}

impl TopicsAnswer {
    pub(crate) fn response(&self, form: Form) -> Response {
        match self {
            Self::Create(response) => form.response(response),
            Self::Delete(response) => form.response(response),
        }
    }

    pub(crate) fn done(&mut self, part: usize, error: ErrorCode, id: [u8; 16]) {
        match self {
            Self::Create(response) => {
                if let Some(result) = response.topics.get_mut(part) {
                    (result.error_code, result.topic_id) = (error.code(), id);
                    if error != ErrorCode::None {
                        (result.num_partitions, result.replication_factor, result.configs) = (-1, -1, None);
                    }
                }
            }
            Self::Delete(response) => {
                if let Some(result) = response.responses.get_mut(part) {
                    result.error_code = error.code();
                }
            }
        }
    }

    pub(crate) fn time_out(&mut self) {
        let late = ErrorCode::RequestTimedOut.code();
        match self {
            Self::Create(response) => {
                let open = response.topics.iter_mut();
                open.filter(|result| result.error_code == 0 && result.topic_id == [0; 16])
                    .for_each(|result| result.error_code = late);
            }
            Self::Delete(response) => {
                response
                    .responses
                    .iter_mut()
                    .filter(|result| result.error_code == 0)
                    .for_each(|result| result.error_code = late);
            }
        }
    }
}
