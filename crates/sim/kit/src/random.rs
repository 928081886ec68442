//! Numbers drawn from a seed, and which seeds a test plays.

pub use base::Random;

/// The seeds that a test plays: from 0 on so many as it asks for, or as many as `SIM_SEEDS` says.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "asked by a test, never by a world")]
pub fn seeds(few: u64) -> std::ops::Range<u64> {
    let asked = std::env::var("SIM_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    0..asked.unwrap_or(few)
}

/// The seeds of a file of those that once found something: each line is a seed and a sentence, or begins with `#`.
///
/// # Panics
/// A line is neither.
pub fn regressions(text: &str) -> impl Iterator<Item = u64> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (seed, _) = line.split_once(' ').expect("a seed and a sentence");
        seed.parse().expect("a seed")
    })
}
