//! Chance, decided by a seed, and which seeds a test plays.

pub use base::Random;

/// The seeds that a test plays: from 0 on so many as it asks for, or as many as `SIM_SEEDS` says.
pub fn seeds(few: u64) -> std::ops::Range<u64> {
    let asked = std::env::var("SIM_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    0..asked.unwrap_or(few)
}
