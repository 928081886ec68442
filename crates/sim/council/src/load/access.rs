//! Nodes that not everybody may use, ACLs that change, and clients that say who they are.

use council_wire::{Acl, WatchMode, permission};

use super::Scene;
use crate::history::Ask;
use crate::oracle::digest;
use crate::random::Random;

/// Who there is, by what they show.
pub const PEOPLE: [&str; 2] = ["alice:a", "bob:b"];
/// Nodes with ACLs.
const NODES: u64 = 3;

/// What a client asks for.
pub(super) fn draw(random: &mut Random, scene: &Scene) -> Vec<Ask> {
    let path = format!("/g/{}", random.below(NODES));
    let child = format!("{path}/{}", random.below(2));
    let some = if random.chance(50) { path.clone() } else { child.clone() };
    let (data, watch) = (scene.data(), random.chance(50));
    match random.below(24) {
        0 => vec![Ask::plain("/g")],
        1 | 2 => vec![Ask::Auth { credentials: PEOPLE[random.below(2) as usize].into() }],
        3..6 => vec![Ask::Create { path, data, flags: 0, stat: true, acl: acl(random) }],
        6..9 => {
            let flags = i32::from(random.chance(30));
            vec![Ask::Create { path: child, data, flags, stat: false, acl: acl(random) }]
        }
        9 => vec![Ask::Delete { path: child, version: -1 }],
        10..12 => vec![Ask::Set { path: some, data, version: -1 }],
        12 => {
            let version = if random.chance(70) { -1 } else { random.below(3) as i32 };
            vec![Ask::SetAcl { path: some, acl: acl(random), version }]
        }
        // What is behind it is judged by the new one.
        13 => vec![
            Ask::SetAcl { path: path.clone(), acl: acl(random), version: -1 },
            Ask::Set { path: path.clone(), data, version: -1 },
            Ask::Get { path, watch },
        ],
        14 => vec![Ask::GetAcl { path: some }],
        15..18 => vec![Ask::Get { path: some, watch }],
        18 => vec![Ask::Exists { path: some, watch }],
        19 => vec![Ask::Children { path, watch }],
        20 => vec![Ask::AddWatch { path: "/g".into(), mode: WatchMode::PersistentRecursive }],
        21 => vec![Ask::AddWatch { path, mode: WatchMode::Persistent }],
        22 => vec![Ask::Multi(vec![
            Ask::Check { path: path.clone(), version: -1 },
            Ask::Set { path: scene.own(), data: data.clone(), version: -1 },
            Ask::Set { path: child, data, version: -1 },
        ])],
        // Nobody may do any of that, whoever it is.
        _ => match random.below(3) {
            0 => vec![Ask::Delete { path: "/zookeeper/config".into(), version: -1 }],
            1 => vec![Ask::Delete { path: "/zookeeper".into(), version: -1 }],
            _ => vec![Ask::Set { path: "/zookeeper/config".into(), data, version: -1 }],
        },
    }
}

/// An ACL under which somebody may do everything.
fn acl(random: &mut Random) -> Vec<Acl> {
    let person = PEOPLE[random.below(2) as usize];
    let own = Acl { permissions: permission::ALL, scheme: "digest".into(), id: digest::id_of(person) };
    match random.below(5) {
        0 => vec![Acl::open()],
        1 => vec![own],
        2 => vec![Acl::world(permission::READ), own],
        3 => vec![Acl::world(permission::CREATE | permission::DELETE), own],
        _ => vec![Acl { permissions: permission::ALL, scheme: "auth".into(), id: String::new() }],
    }
}
