//! Bytes that nobody can guess.

use crate::error::StartError;

/// From the system.
pub(crate) fn bytes<const LENGTH: usize>() -> Result<[u8; LENGTH], StartError> {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes)
        .map_err(|source| StartError::System { action: "read randomness", source: source.into() })?;
    Ok(bytes)
}

/// A seed for the table of a tree.
pub(crate) fn table_seed() -> Result<u64, StartError> {
    bytes().map(u64::from_le_bytes)
}
