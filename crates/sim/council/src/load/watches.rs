//! Persistent and recursive watches, and watches that are asked for and taken away.

use council_wire::{WatchMode, WatcherType};

use super::{Scene, plain};
use crate::history::Ask;
use crate::random::Random;

/// What a client asks for.
pub(super) fn draw(random: &mut Random, scene: &Scene) -> Vec<Ask> {
    let shared = plain::shared(random);
    let path = match random.below(4) {
        // Its name begins as that of a node whose descendants are watched, and it is none of them.
        0 => String::from("/ss"),
        1 => String::from("/s"),
        _ => plain::any(random, scene, &shared),
    };
    let watcher = match random.below(5) {
        0 => WatcherType::Children,
        1 => WatcherType::Data,
        2 => WatcherType::Any,
        3 => WatcherType::Persistent,
        _ => WatcherType::PersistentRecursive,
    };
    match random.below(20) {
        0..6 => vec![Ask::AddWatch { path, mode: WatchMode::Persistent }],
        6..11 => vec![Ask::AddWatch { path, mode: WatchMode::PersistentRecursive }],
        11..14 => vec![Ask::RemoveWatches { path, watcher }],
        14..16 => vec![Ask::CheckWatches { path, watcher }],
        16 => vec![Ask::plain("/ss"), Ask::plain("/ss/x")],
        17 => vec![Ask::Delete { path: "/ss/x".into(), version: -1 }],
        18 => vec![Ask::Set { path: "/ss".into(), data: scene.data(), version: -1 }],
        // What was gone is there again within one transaction.
        _ => vec![Ask::Multi(vec![
            Ask::Delete { path: shared.clone(), version: -1 },
            Ask::create(&shared, scene.data(), 0, false),
        ])],
    }
}
