//! Several reads at once, which must all be of one tree.

use super::{Scene, plain};
use crate::history::Ask;
use crate::random::Random;

/// What a client asks for.
pub(super) fn draw(random: &mut Random, scene: &Scene) -> Vec<Ask> {
    let mut reads = Vec::new();
    for _ in 0..1 + random.below(4) {
        let shared = plain::shared(random);
        let path = plain::any(random, scene, &shared);
        reads.push(match random.below(3) {
            0 => Ask::Children { path, watch: false },
            _ => Ask::Get { path, watch: false },
        });
    }
    match random.below(4) {
        // Behind a write of its own.
        0 => vec![Ask::Set { path: scene.own(), data: scene.data(), version: -1 }, Ask::MultiRead(reads)],
        _ => vec![Ask::MultiRead(reads)],
    }
}
