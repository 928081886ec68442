//! What clients seldom ask for: quotas, counts of nodes, names without a Stat, their own nodes, who they are, writes without
//! data, conditions that do not hold, multis that fail behind what they did, parents of numbered nodes that come anew.

use super::{Scene, plain};
use crate::history::Ask;
use crate::random::Random;

/// Under quota; a child of it has its own.
const LIMITED: [&str; 2] = ["/s", "/s/0"];

/// What a client asks for.
pub(super) fn draw(random: &mut Random, scene: &Scene) -> Vec<Ask> {
    let shared = plain::shared(random);
    let any = plain::any(random, scene, &shared);
    let (data, version) = (scene.data(), random.below(4) as i32);
    match random.below(20) {
        0..3 => quota(random, scene),
        3 => vec![Ask::Count { path: any }],
        4 => vec![Ask::Names { path: any }],
        5 => vec![Ask::Owned { prefix: ["/", "/e", "/e/1", "/s"][random.below(4) as usize].into() }],
        6 => vec![Ask::WhoAmI],
        7 => vec![Ask::SetNull { path: shared.clone(), version: -1 }, Ask::Get { path: shared, watch: true }],
        8..11 => vec![Ask::Multi(vec![
            Ask::Check { path: shared, version },
            Ask::Set { path: scene.own(), data, version: -1 },
        ])],
        11..13 => vec![Ask::Multi(vec![
            Ask::Set { path: scene.own(), data: data.clone(), version: -1 },
            Ask::Delete { path: shared.clone(), version: -1 },
            Ask::create(&shared, data, 0, true),
            Ask::Delete { path: shared, version: -1 },
            Ask::Check { path: scene.own(), version: 1_000_000 },
        ])],
        13 => vec![Ask::Multi(vec![
            Ask::Ttl {
                path: format!("/s/ttl{}", random.below(2)),
                data: data.clone(),
                flags: 5,
                ttl_ms: 700,
            },
            Ask::Set { path: scene.own(), data, version: -1 },
        ])],
        14..17 => vec![Ask::create("/n/n-", data, 2, random.chance(50))],
        17 => vec![Ask::Delete { path: "/n".into(), version: -1 }, Ask::plain("/n")],
        18 => vec![
            Ask::Delete { path: format!("/n/n-{:010}", random.below(3)), version: -1 },
            Ask::Delete { path: "/n".into(), version: -1 },
            Ask::plain("/n"),
            Ask::create("/n/n-", data, 2, true),
        ],
        _ => vec![Ask::Get { path: format!("/zookeeper/quota{}/zookeeper_stats", LIMITED[0]), watch: true }],
    }
}

fn quota(random: &mut Random, scene: &Scene) -> Vec<Ask> {
    let path = LIMITED[random.below(2) as usize];
    let folder = format!("/zookeeper/quota{path}");
    let (limits, stats) = (format!("{folder}/zookeeper_limits"), format!("{folder}/zookeeper_stats"));
    let (count, bytes) = (2 + random.below(8), 5 + random.below(60));
    let mark = scene.number;
    let text =
        format!("count={count},bytes={bytes}=;byteHardLimit={bytes};countHardLimit={count};mark={mark}");
    let plain = |path: &str| Ask::create(path, Vec::new(), 0, false);
    match random.below(6) {
        0 => vec![Ask::Delete { path: limits, version: -1 }],
        1 => vec![Ask::Delete { path: stats, version: -1 }],
        2 => vec![Ask::Set { path: limits, data: text.into_bytes(), version: -1 }],
        _ => vec![
            plain("/zookeeper/quota/s"),
            plain(&folder),
            Ask::create(&limits, text.into_bytes(), 0, false),
            plain(&stats),
        ],
    }
}
