//! Answers to requests about topics, as far as they are known.

use log_metadata::{Ended, TopicNode};
use log_wire::ErrorCode;
use log_wire::messages::topics::{CreateTopicsResponse, DeleteTopicsResponse};

use crate::council_calls::CouncilAnswer;
use crate::response::{Form, Response};

impl CouncilAnswer for CreateTopicsResponse {
    fn ended(&mut self, part: usize, ended: Ended) {
        let Some(result) = self.topics.get_mut(part) else { return };
        match ended {
            Ended::Done(data) => {
                let node = data.and_then(|data| TopicNode::read(&data).ok());
                result.topic_id = node.map_or([0; 16], |node| node.id);
            }
            Ended::Refused(error, why) => {
                (result.error_code, result.error_message) = (error.code(), Some(why));
                (result.num_partitions, result.replication_factor, result.configs) = (-1, -1, None);
            }
        }
    }

    fn time_out(&mut self) {
        let open = self.topics.iter_mut();
        open.filter(|result| result.error_code == 0 && result.topic_id == [0; 16])
            .for_each(|result| result.error_code = ErrorCode::RequestTimedOut.code());
    }

    fn response(&self, form: Form) -> Response {
        form.response(self)
    }
}

/// An answer to DeleteTopics, with the parts that have not ended.
#[derive(Debug)]
pub(super) struct DeleteAnswer {
    pub(super) response: DeleteTopicsResponse,
    pub(super) open: Vec<usize>,
}

impl CouncilAnswer for DeleteAnswer {
    fn ended(&mut self, part: usize, ended: Ended) {
        self.open.retain(|open| *open != part);
        if let (Ended::Refused(error, _), Some(result)) = (ended, self.response.responses.get_mut(part)) {
            result.error_code = error.code();
        }
    }

    fn time_out(&mut self) {
        for part in std::mem::take(&mut self.open) {
            if let Some(result) = self.response.responses.get_mut(part) {
                result.error_code = ErrorCode::RequestTimedOut.code();
            }
        }
    }

    fn response(&self, form: Form) -> Response {
        form.response(&self.response)
    }
}
