//! Which connection of a session is which. Generations rise, and no two members give the same one: each gives those that
//! are its own number in the low byte.

use consensus_raft::MemberNumber;
use council_wire::SessionId;

use super::connections::FIRST_GENERATION;

/// Members among which generations are told apart.
const GENERATION_STRIDE: u32 = 256;

/// The next generation that this member may give, or `None` if the numbers are used up. Two members may take up the same
/// session at the same time: each gives numbers of its own, so that neither takes the other's attach for its own.
pub(crate) fn next_generation(before: u32, member: MemberNumber) -> Option<u32> {
    let own = u32::from(member.0);
    let next = before.checked_add(1)?;
    let round = next / GENERATION_STRIDE * GENERATION_STRIDE;
    if round + own >= next { Some(round + own) } else { round.checked_add(GENERATION_STRIDE + own) }
}

/// The number of the member that gave this generation, and held the session then.
pub(crate) fn holder(session: SessionId, generation: u32) -> MemberNumber {
    if generation == FIRST_GENERATION {
        // The member that opens a session puts its id in front.
        MemberNumber((session.0 as u64 >> 56) as u8)
    } else {
        MemberNumber((generation % GENERATION_STRIDE) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_rise_and_belong_to_one_member() {
        for member in [0, 1, 2, 232, 255] {
            let mut generation = 1;
            for _ in 0..1000 {
                let next = next_generation(generation, MemberNumber(member)).unwrap();
                assert!(next > generation && next - generation <= GENERATION_STRIDE);
                assert_eq!(next % 256, u32::from(member));
                generation = next;
            }
        }
    }

    #[test]
    fn generations_end_before_they_wrap() {
        for member in [0, 1, 2, 255] {
            let mut generation = u32::MAX - 1000;
            while let Some(next) = next_generation(generation, MemberNumber(member)) {
                assert!(next > generation, "{next} behind {generation}");
                generation = next;
            }
            assert!(
                generation >= u32::MAX - 255 && next_generation(u32::MAX, MemberNumber(member)).is_none()
            );
        }
    }
}
