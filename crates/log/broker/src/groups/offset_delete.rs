//! OffsetDelete: offsets that a group has committed, and does not need any more.

use base::Now;
use log_coordinators::{Answer, Request};
use log_wire::messages::offsets::{
    OffsetDeleteRequest, OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use log_wire::{ErrorCode, TopicName};

use super::Groups;
use super::call::Kind;
use super::requests::{asks_nothing, known_partition, text};
use crate::call::Caller;
use crate::node::Node;
use crate::response::Response;
use crate::rights::{GROUP_DELETE, TOPIC_READ};

/// The response as far as it is known: partitions without an error have theirs from the coordinator, in order.
#[derive(Debug)]
pub(crate) struct DeletePlan(OffsetDeleteResponse);

impl Groups {
    /// Handles a request.
    pub(super) fn offset_delete(
        &mut self,
        node: &mut Node,
        request: &OffsetDeleteRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let (mut response, mut known) = (OffsetDeleteResponse::default(), Vec::new());
        if let Err(error) = node.may(of.by, GROUP_DELETE, &request.group_id) {
            response.error_code = error.code();
            return Some(of.form.response(&response));
        }
        if request.group_id.is_empty() {
            response.error_code = ErrorCode::InvalidGroupId.code();
            return Some(of.form.response(&response));
        }
        for topic in &request.topics {
            let may = node.may(of.by, TOPIC_READ, &topic.name);
            let name = TopicName::Name(&topic.name);
            if may.is_ok() && asks_nothing(&node.catalog, name, topic.partitions.len()) {
                continue;
            }
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for wanted in &topic.partitions {
                let partition_index = wanted.partition_index;
                let name = TopicName::Name(&topic.name);
                let found = may.and_then(|()| known_partition(&node.catalog, name, partition_index));
                let error_code = found.as_ref().err().map_or(0, |error| error.code());
                partitions.push(OffsetDeleteResponsePartition { partition_index, error_code });
                known.extend(found.ok().map(|topic| (topic, partition_index)));
            }
            response.topics.push(OffsetDeleteResponseTopic { name: topic.name.clone(), partitions });
        }
        let group = &request.group_id;
        let part = (group.clone(), Request::DeleteOffsets(text(group), known));
        self.call_groups(node, Kind::DeleteOffsets(DeletePlan(response)), vec![part], of, now)
    }
}

impl DeletePlan {
    /// The response, with the answer of the group's coordinator. An error of the whole group stands alone.
    pub(super) fn deleted(&self, answer: &Answer) -> OffsetDeleteResponse {
        let codes = match answer {
            Answer::Each(codes) => codes,
            Answer::Failed(error) => {
                return OffsetDeleteResponse { error_code: error.code(), ..OffsetDeleteResponse::default() };
            }
            _ => return OffsetDeleteResponse::default(),
        };
        let mut response = self.0.clone();
        let asked = response.topics.iter_mut().flat_map(|topic| &mut topic.partitions);
        for (partition, error) in asked.filter(|partition| partition.error_code == 0).zip(codes) {
            partition.error_code = error.code();
        }
        response
    }
}
