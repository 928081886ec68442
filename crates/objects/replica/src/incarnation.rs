//! The numbers of a member's processes: those of later ones are higher.
//!
//! The high bits are a process's start by the wall clock, in milliseconds; the low ones are drawn, and stay. A process whose
//! clock was set back sees commands of higher numbers in the log, and goes beyond them.

use base::Now;

/// Bits that are drawn.
const DRAWN_BITS: u32 = 20;
const DRAWN: u64 = (1 << DRAWN_BITS) - 1;

/// The number of a process that starts now.
pub(crate) fn begun(now: Now, drawn: u64) -> u64 {
    let started = u64::try_from(now.wall.ms()).unwrap_or(0);
    (started << DRAWN_BITS) | (drawn & DRAWN)
}

/// A higher number than that one, for a process that had the number `own`.
pub(crate) const fn beyond(other: u64, own: u64) -> u64 {
    (((other >> DRAWN_BITS) + 1) << DRAWN_BITS) | (own & DRAWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_rises_with_the_clock_and_beyond_any_other() {
        let (early, late) = (begun(Now::of_ms(0, 1_000), u64::MAX), begun(Now::of_ms(0, 1_001), 5));
        assert!(early < late);
        let next = beyond(late, early);
        assert!(next > late && next & DRAWN == early & DRAWN);
    }
}
