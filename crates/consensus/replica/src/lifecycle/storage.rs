//! How a new membership is written, and how one that was never used is removed: the journal of an empty directory says
//! whose it is, and behind that who bootstraps the ensemble. Both drivers do it by this.

use storage_raft_log::{AppendError, Disk, DiskError, Journal, Recovered};

use super::NewMembership;
use crate::start;

/// With this file a directory belongs to an identity.
const META: &str = "meta";
/// What that file is called while its identity is being removed. A crash may leave a log without it that looks as if it
/// had been in use: a founding record that was written in part, and what a start made of that.
pub const FORGOTTEN: &str = "meta.forgotten";

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
/// The disk fails. The next start finds the identity, or [`settle`] finishes what was begun.
pub fn forget<D: Disk>(disk: &mut D) -> Result<(), DiskError> {
    disk.rename(META, FORGOTTEN)?;
    disk.sync_directory("")?;
    finish(disk)
}

/// Finishes a [`forget`] that a crash interrupted. Each start does it before it opens the journal.
///
/// # Errors
/// The disk fails. The next start finishes it.
pub fn settle<D: Disk>(disk: &mut D) -> Result<(), DiskError> {
    if disk.list("")?.iter().any(|name| name == FORGOTTEN) {
        return finish(disk);
    }
    Ok(())
}

fn finish<D: Disk>(disk: &mut D) -> Result<(), DiskError> {
    for directory in ["log", "snapshot"] {
        for name in disk.list(directory)? {
            disk.remove(&format!("{directory}/{name}"))?;
        }
        disk.sync_directory(directory)?;
    }
    disk.remove(FORGOTTEN)?;
    disk.sync_directory("")
}
