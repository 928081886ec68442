//! Topics: which there are, and requests that make, change and delete them. Changes are judged here, done by the council, and
//! answered when all parts of a request are done.

mod create;
mod create_partitions;
mod delete;
mod describe;
mod held_metadata;
mod metadata;
mod metadata_names;
mod placement;
mod probes;
mod refusal;
mod replicas;

use base::Now;
use log_wire::{ApiKey, Malformed};

use crate::call::{Call, Handled};
use crate::council_calls::CouncilCalls;
use crate::node::Node;
use crate::rights::By;
pub(crate) use held_metadata::HeldMetadata;
pub(crate) use placement::places;
pub(crate) use placement::{Placed, Wanted};
pub(crate) use refusal::Refusal;
pub(crate) use replicas::check as check_replicas;

/// The first versions whose clients are refused, and not only held up, beyond their quota of changes.
const CREATE_IS_STRICT: i16 = 6;
const DELETE_IS_STRICT: i16 = 5;
const MORE_IS_STRICT: i16 = 3;

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
    (calls, held): (&mut CouncilCalls, &mut HeldMetadata),
    key: ApiKey,
    mut call: Call<'_>,
) -> Result<Handled, Malformed> {
    let (waits, by, client_id, now) = ((call.form, call.waiter), call.by(), call.client_id, call.now);
    let version = call.form.version;
    let changer = |strict_from: i16| Changer { by, client_id, is_strict: version >= strict_from, now };
    Ok(match key {
        ApiKey::CreateTopics => {
            let body = call.body()?;
            Handled::of(create::create_topics(node, calls, changer(CREATE_IS_STRICT), &body, waits))
        }
        ApiKey::DeleteTopics => {
            let body = call.body()?;
            Handled::of(delete::delete_topics(node, calls, changer(DELETE_IS_STRICT), &body, waits))
        }
        ApiKey::CreatePartitions => {
            let (body, changer) = (call.body()?, changer(MORE_IS_STRICT));
            Handled::of(create_partitions::create_partitions(node, calls, changer, &body, waits))
        }
        ApiKey::DescribeTopicPartitions => {
            let described = describe::describe_partitions(node, by, &call.body()?);
            Handled::Done(call.form.response(&described))
        }
        _ => held.handle(node, call)?,
    })
}

/// Who changes topics.
#[derive(Clone, Copy)]
struct Changer<'c> {
    by: By<'c>,
    client_id: &'c str,
    /// It is refused, and not only held up, beyond its quota.
    is_strict: bool,
    now: Now,
}

impl Changer<'_> {
    /// It changes so many partitions.
    ///
    /// # Errors
    /// It has changed too many of late.
    fn charge(self, node: &mut Node, partitions: i64) -> Result<(), Refusal> {
        let partitions = usize::try_from(partitions).unwrap_or(0);
        let who = (&**self.by.client, self.client_id);
        let late = |error| Refusal::new(error, "the client has changed too many partitions of late");
        node.access.mutate(who, partitions, self.is_strict, self.now).map_err(late)
    }
}
