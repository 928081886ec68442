//! Topics: which there are, and requests that make, change and delete them. Changes are judged here, done by the council, and
//! answered when all parts of a request are done.

mod create;
mod create_partitions;
mod delete;
mod describe;
mod metadata;
mod metadata_names;
mod refusal;
mod replicas;

use log_wire::{ApiKey, Malformed};

use crate::call::{Call, Handled};
use crate::council_calls::CouncilCalls;
use crate::node::Node;
pub(crate) use refusal::Refusal;
pub(crate) use replicas::check as check_replicas;

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[
    ApiKey::Metadata,
    ApiKey::DescribeTopicPartitions,
    ApiKey::CreateTopics,
    ApiKey::DeleteTopics,
    ApiKey::CreatePartitions,
];

/// Handles a request.
///
/// # Errors
/// It is malformed.
pub(crate) fn dispatch(
    node: &mut Node,
    calls: &mut CouncilCalls,
    key: ApiKey,
    mut call: Call<'_>,
) -> Result<Handled, Malformed> {
    let (waits, now) = ((call.form, call.waiter), call.now);
    Ok(match key {
        ApiKey::CreateTopics => Handled::of(create::create_topics(node, calls, &call.body()?, waits, now)),
        ApiKey::DeleteTopics => Handled::of(delete::delete_topics(node, calls, &call.body()?, waits, now)),
        ApiKey::CreatePartitions => {
            Handled::of(create_partitions::create_partitions(node, calls, &call.body()?, waits, now))
        }
        ApiKey::DescribeTopicPartitions => {
            let described = describe::describe_partitions(node, &call.body()?);
            Handled::Done(call.form.response(&described))
        }
        _ => Handled::Done(metadata::answer(node, call)?),
    })
}
