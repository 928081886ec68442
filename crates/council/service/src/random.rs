//! Bytes that nobody can guess.

use crate::error::StartError;

/// From the system.
pub(crate) fn bytes() -> Result<[u8; 32], StartError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|source| StartError::System { action: "read randomness", source: source.into() })?;
    Ok(bytes)
}

/// A seed for the table of a tree.
pub(crate) fn table_seed() -> Result<u64, StartError> {
    Ok(u64::from_le_bytes(*bytes()?.first_chunk().expect("there are 32 bytes")))
}
