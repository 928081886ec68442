//! Random numbers from the system: for SASL, for unique names, for the seed of pauses.

use std::io;

/// Random bytes.
pub(crate) fn entropy() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}
