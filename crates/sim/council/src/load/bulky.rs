//! Values of tens of kilobytes: snapshots and entries of many pieces, replies that do not fit into one write.

use super::{Scene, plain};
use crate::history::Ask;
use crate::random::Random;

/// What a client asks for: mostly small, or a run would move nothing but bytes.
pub(super) fn draw(random: &mut Random, scene: &Scene) -> Vec<Ask> {
    let path = if random.chance(50) { scene.own() } else { plain::shared(random) };
    match random.below(10) {
        0 => vec![Ask::Set { path, data: large(random, scene), version: -1 }],
        1 => vec![Ask::create(&plain::shared(random), large(random, scene), 0, false)],
        2 => vec![Ask::Set { path, data: scene.data(), version: -1 }],
        _ => vec![Ask::Get { path, watch: random.chance(40) }],
    }
}

/// Data that nobody else writes, up to a hundred kilobytes of it.
fn large(random: &mut Random, scene: &Scene) -> Vec<u8> {
    let bytes = (10 << 10) + random.below(90 << 10) as usize;
    scene.data().into_iter().chain([b' ']).cycle().take(bytes).collect()
}
