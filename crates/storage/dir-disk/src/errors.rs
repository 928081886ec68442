//! Errors of the system as storage knows them.

use std::io::{self, ErrorKind};

use storage_disk::DiskError;

use crate::descriptors;

pub(crate) fn disk_error(error: &io::Error) -> DiskError {
    match error.kind() {
        _ if descriptors::has_run_out(error) => DiskError::NoDescriptor,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => DiskError::Full,
        ErrorKind::NotFound => DiskError::NotFound,
        _ => DiskError::Other(error.to_string()),
    }
}
