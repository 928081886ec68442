//! Replicas that a request assigns to partitions, as one broker can give them.

use log_wire::ErrorCode;

use super::refusal::Refusal;

/// Whether a partition may have these replicas.
///
/// # Errors
/// `INVALID_REPLICA_ASSIGNMENT`.
pub(crate) fn check(replicas: &[i32], broker: i32) -> Result<(), Refusal> {
    let refused = |message: String| Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
    if replicas.is_empty() {
        return refused("a partition is assigned to no broker".into());
    }
    for (at, replica) in replicas.iter().enumerate() {
        if *replica != broker {
            return refused(format!("a partition is assigned to broker {replica}, which there is not"));
        }
        if replicas.iter().take(at).any(|before| before == replica) {
            return refused(format!("a partition is assigned to broker {replica} more than once"));
        }
    }
    Ok(())
}
