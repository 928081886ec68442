//! The cluster as a whole: its brokers, who leads what, and where replicas lie and shall lie.

mod describe;
mod election_waits;
mod elections;
mod log_dirs;
mod quorum;
mod reassignments;

pub(crate) use election_waits::Elections;
use log_wire::messages::cluster::ListPartitionReassignmentsRequest;
use log_wire::{ApiKey, Malformed};

use crate::call::{Call, Handled};
use crate::council_calls::CouncilCalls;
use crate::node::Node;

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[
    ApiKey::DescribeCluster,
    ApiKey::DescribeQuorum,
    ApiKey::DescribeLogDirs,
    ApiKey::AlterReplicaLogDirs,
    ApiKey::ElectLeaders,
    ApiKey::AlterPartitionReassignments,
    ApiKey::ListPartitionReassignments,
];

/// Handles a request.
///
/// # Errors
/// It is malformed.
pub(crate) fn dispatch(
    node: &mut Node,
    (calls, elections): (&mut CouncilCalls, &mut Elections),
    key: ApiKey,
    mut call: Call<'_>,
) -> Result<Handled, Malformed> {
    let (form, now) = (call.form, call.now);
    let by = call.by();
    if key == ApiKey::AlterPartitionReassignments {
        let (body, waits) = (call.body()?, ((form, call.waiter), now));
        return Ok(Handled::of(reassignments::alter(node, calls, by, &body, waits)));
    }
    if key == ApiKey::ElectLeaders {
        let (body, waits) = (call.body()?, ((form, call.waiter), now));
        return Ok(Handled::of(elections::elect_leaders(node, elections, by, &body, waits)));
    }
    Ok(Handled::Done(match key {
        ApiKey::DescribeCluster => form.response(&describe::describe_cluster(node, by, &call.body()?)),
        ApiKey::DescribeQuorum => form.response(&quorum::describe_quorum(node, by, &call.body()?, now)),
        ApiKey::DescribeLogDirs => form.response(&log_dirs::describe_log_dirs(node, by, &call.body()?)),
        ApiKey::AlterReplicaLogDirs => {
            form.response(&log_dirs::alter_replica_log_dirs(node, by, &call.body()?))
        }
        _ => {
            let request: ListPartitionReassignmentsRequest = call.body()?;
            form.response(&reassignments::list(node, by, &request))
        }
    }))
}
