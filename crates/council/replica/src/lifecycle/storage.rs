//! How a new membership is written, and how one that was never used is removed: the journal of an empty directory says
//! whose it is, and behind that who bootstraps the ensemble. Both drivers do it by this.

use storage_raft_log::{AppendError, Disk, DiskError, Journal, Recovered};

use super::NewMembership;
use crate::start;

/// Writes who bootstraps the ensemble into a journal that was just made under that identity. It is durable when this
/// returns.
///
/// # Errors
/// The journal has no room, or its disk fails. The next start finds an identity without a word.
pub fn write<D: Disk>(
    journal: &mut Journal<D>,
    recovered: &Recovered,
    new: &NewMembership,
) -> Result<(), AppendError> {
    if let Some(founders) = &new.founders
        && start::is_unfounded(recovered)
    {
        journal.append(&start::founding(founders.clone(), Vec::new()))?;
        journal.flush()?;
    }
    Ok(())
}

/// Removes an identity behind which nothing was written. No journal has it open.
///
/// # Errors
/// The disk fails. The next start finds the identity, or no data.
pub fn forget<D: Disk>(disk: &mut D) -> Result<(), DiskError> {
    // Without this file there is no data, whatever else is left of a first log.
    disk.remove("meta")?;
    disk.sync_directory("")?;
    for directory in ["log", "snapshot"] {
        for name in disk.list(directory)? {
            disk.remove(&format!("{directory}/{name}"))?;
        }
        disk.sync_directory(directory)?;
    }
    Ok(())
}
