//! Bytes that nobody can guess.

use std::io::Read as _;

use crate::error::StartError;

/// From the system.
pub(crate) fn bytes() -> Result<[u8; 32], StartError> {
    let mut bytes = [0; 32];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|source| StartError::System { action: "read randomness", source })?;
    Ok(bytes)
}

/// A seed for the table of a tree.
pub(crate) fn table_seed() -> Result<u64, StartError> {
    Ok(u64::from_le_bytes(*bytes()?.first_chunk().expect("there are 32 bytes")))
}
