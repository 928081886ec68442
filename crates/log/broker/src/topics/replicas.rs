//! Replicas that a request assigns to a partition.

use log_wire::ErrorCode;

use super::refusal::Refusal;
use crate::brokers::Brokers;

/// Whether a partition may have these replicas, of which those that it has already may stay.
///
/// # Errors
/// `INVALID_REPLICA_ASSIGNMENT`.
pub(crate) fn check(replicas: &[i32], present: &[i32], brokers: &Brokers) -> Result<(), Refusal> {
    let refused = |message: String| Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
    if replicas.is_empty() {
        return refused("a partition is assigned to no broker".into());
    }
    for (at, replica) in replicas.iter().enumerate() {
        if !brokers.is_live(*replica) {
            return refused(format!("a partition is assigned to broker {replica}, which there is not"));
        }
        if brokers.drained().contains(replica) && !present.contains(replica) {
            let why = format!("a partition is assigned to broker {replica}, which drains");
            return refused(why);
        }
        if replicas.iter().take(at).any(|before| before == replica) {
            return refused(format!("a partition is assigned to broker {replica} more than once"));
        }
    }
    Ok(())
}
