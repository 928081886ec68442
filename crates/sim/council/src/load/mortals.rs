//! Containers and TTL nodes, which the ensemble removes by itself.

use super::Scene;
use crate::history::Ask;
use crate::random::Random;

/// Containers, and as many TTL nodes.
const NODES: u64 = 3;

/// What a client asks for.
pub(super) fn draw(random: &mut Random, scene: &Scene) -> Vec<Ask> {
    let container = format!("/c/{}", random.below(NODES));
    let mortal = format!("/t/{}", random.below(NODES));
    let data = scene.data();
    let child = |path: &str, name: u64| format!("{path}/{name}");
    match random.below(20) {
        0 => vec![Ask::plain("/c"), Ask::plain("/t")],
        1..3 => vec![Ask::Container { path: container }],
        3 => {
            let used = Ask::create(&child(&container, 0), data, 0, false);
            vec![Ask::Multi(vec![Ask::Container { path: container }, used])]
        }
        4..7 => vec![Ask::create(&child(&container, random.below(2)), data, 0, true)],
        7..11 => vec![Ask::Delete { path: child(&container, random.below(2)), version: -1 }],
        11..14 => {
            let ttl_ms = 200 + random.below(4_000) as i64;
            let (path, flags) = if random.chance(30) { ("/t/s-".into(), 6) } else { (mortal, 5) };
            vec![Ask::Ttl { path, data, flags, ttl_ms }]
        }
        14..16 => vec![Ask::Set { path: mortal, data, version: -1 }],
        16 => vec![Ask::create(&child(&mortal, 0), data, 0, false)],
        17 => vec![Ask::Delete { path: child(&mortal, 0), version: -1 }],
        18 => vec![Ask::Get { path: mortal, watch: true }],
        _ => vec![Ask::Children { path: container, watch: true }],
    }
}
