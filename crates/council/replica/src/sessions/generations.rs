//! Which connection of a session is which. Generations rise, and no two members give the same one: each gives those that
//! are its own number in the low byte.

use council_wire::SessionId;

use super::connections::FIRST_GENERATION;

/// Members among which generations are told apart.
const GENERATION_STRIDE: u32 = 256;

/// The next generation that this member may give, or `None` if the numbers are used up. Two members may take up the same
/// session at the same time: each gives numbers of its own, so that neither takes the other's attach for its own.
pub(crate) fn next_generation(before: u32, member: u64) -> Option<u32> {
    let own = (member % u64::from(GENERATION_STRIDE)) as u32;
    let next = before.checked_add(1)?;
    let round = next / GENERATION_STRIDE * GENERATION_STRIDE;
    if round + own >= next { Some(round + own) } else { round.checked_add(GENERATION_STRIDE + own) }
}

/// The low byte of the id of the member that gave this generation, and held the session then.
pub(crate) fn holder(session: SessionId, generation: u32) -> u64 {
    if generation == FIRST_GENERATION {
        // The member that opens a session puts its id in front.
        (session.0 as u64) >> 56
    } else {
        u64::from(generation % GENERATION_STRIDE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_rise_and_belong_to_one_member() {
        for member in [1, 2, 255, 256, 1000] {
            let mut generation = 1;
            for _ in 0..1000 {
                let next = next_generation(generation, member).unwrap();
                assert!(next > generation && next - generation <= GENERATION_STRIDE);
                assert_eq!(u64::from(next) % 256, member % 256);
                generation = next;
            }
        }
    }

    #[test]
    fn generations_end_before_they_wrap() {
        for member in [0, 1, 2, 255] {
            let mut generation = u32::MAX - 1000;
            while let Some(next) = next_generation(generation, member) {
                assert!(next > generation, "{next} behind {generation}");
                generation = next;
            }
            assert!(generation >= u32::MAX - 255 && next_generation(u32::MAX, member).is_none());
        }
    }
}
