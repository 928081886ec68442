//! What all clients ask for: nodes of their own and shared ones, queues, ephemeral nodes, one-shot watches, `sync`.

use super::Scene;
use crate::history::Ask;
use crate::random::Random;

/// Nodes that everybody writes to.
const SHARED: u64 = 6;

/// A node that somebody may care for.
pub(super) fn any(random: &mut Random, scene: &Scene, shared: &str) -> String {
    match random.below(8) {
        0 => String::from("/q"),
        1 => String::from("/e"),
        2 => format!("/w{}", random.below(scene.clients)),
        3 => scene.own(),
        4 => String::from("/zookeeper/config"),
        5 => String::from("/"),
        _ => shared.into(),
    }
}

/// A node that everybody writes to.
pub(super) fn shared(random: &mut Random) -> String {
    format!("/s/{}", random.below(SHARED))
}

/// What a client asks for. It knows some nodes that it may delete.
pub(super) fn draw(random: &mut Random, scene: &Scene, seen: &mut Vec<String>) -> Vec<Ask> {
    let (name, number, data, own) = (scene.name, scene.number, scene.data(), scene.own());
    let shared = shared(random);
    let any = any(random, scene, &shared);
    let (watch, stat) = (random.chance(40), random.chance(50));
    let version = if random.chance(70) { -1 } else { random.below(4) as i32 };
    match random.below(100) {
        0..2 if scene.reads_only => vec![Ask::Sync { path: any.clone() }, Ask::Get { path: any, watch }],
        2..40 if scene.reads_only => vec![Ask::Exists { path: any, watch }],
        40..60 if scene.reads_only => vec![Ask::Children { path: any, watch }],
        _ if scene.reads_only => vec![Ask::Get { path: any, watch }],
        _ if number % 40 == 1 => ["/q", "/e", "/s", &own].map(Ask::plain).into(),
        0..18 => vec![Ask::Set { path: own, data, version: -1 }],
        18..26 => vec![Ask::create("/q/n-", data, 2, stat)],
        26..34 => {
            let flags = if random.chance(50) { 1 } else { 3 };
            vec![Ask::create(&format!("/e/{name}-{}", random.below(4)), data, flags, stat)]
        }
        34..42 => vec![Ask::create(&shared, data, i32::from(random.chance(20)), stat)],
        42..47 => vec![Ask::Delete { path: shared, version }],
        47..55 => vec![Ask::Set { path: shared, data, version }],
        55..61 => vec![Ask::Multi(vec![
            Ask::Check { path: own.clone(), version: -1 },
            Ask::Set { path: own, data: data.clone(), version: -1 },
            Ask::create(&format!("/e/{name}-"), data, 3, stat),
            Ask::Delete { path: shared, version },
        ])],
        61..73 => vec![Ask::Get { path: any, watch }],
        73..81 => vec![Ask::Exists { path: any, watch }],
        81..88 => vec![Ask::Children { path: any, watch }],
        88..94 => vec![Ask::Sync { path: any.clone() }, Ask::Get { path: any, watch: false }],
        94..99 => match seen.pop() {
            Some(path) => vec![Ask::Delete { path, version: -1 }],
            None => vec![Ask::Children { path: "/q".into(), watch }],
        },
        _ if random.chance(30) => vec![Ask::Close],
        _ => vec![Ask::Ping],
    }
}
