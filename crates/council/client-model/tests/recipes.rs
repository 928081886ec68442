//! Recipes over the model of an ensemble, under faults that seeds draw.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::collections::BTreeMap;

use council_client_core::recipes::{
    Cache, CacheLimits, CacheState, CachedNode, Contender, ContenderSettings, Kind, Layout, Member,
    Membership, NodeUpdate, Outcome, PresenceState, Recipe, Standing,
};
use council_client_core::{Acl, SessionId, Zxid};

use council_client_model::{Change, Ensemble, Node, World, Write};

/// Seeds of a test; `CLIENT_SEEDS` asks for more.
fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("CLIENT_SEEDS").ok().and_then(|count| count.parse().ok());
    0..count.unwrap_or(60)
}

fn contender(guid: u64, kind: Kind, layout: Layout, again: bool) -> Contender {
    Contender::new(ContenderSettings {
        path: String::from("/app/lock"),
        layout,
        kind,
        guid: format!("{guid:032x}"),
        data: b"me".to_vec(),
        acl: vec![Acl::open()],
        again,
    })
}

/// Holders whose nodes are still there must be compatible, and an epoch is one contender's alone.
fn check_holders(world: &World<Contender>, kinds: &[Kind], epochs: &mut BTreeMap<i64, usize>, seed: u64) {
    let mut live: Vec<(i64, usize)> = Vec::new();
    for (index, peer) in world.peers.iter().enumerate() {
        let Some(epoch) = peer.recipe.held() else { continue };
        let first = *epochs.entry(epoch).or_insert(index);
        assert_eq!(first, index, "seed {seed}: epoch {epoch} has two holders");
        if world.ensemble.tree.values().any(|node| node.stat.czxid == epoch && node.data == b"me") {
            live.push((epoch, index));
        }
    }
    let exclusive = live.iter().any(|(_, index)| kinds[*index] == Kind::Exclusive);
    assert!(!exclusive || live.len() == 1, "seed {seed}: {live:?} hold at once");
}

#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn run_lock(seed: u64, kinds: &[Kind], layouts: &[Layout], again: bool) {
    let kinds = kinds.to_vec();
    let mut guid = 0;
    let mut fresh = |index: usize| {
        guid += 1;
        contender(guid, kinds[index], layouts[index % layouts.len()], again)
    };
    let recipes: Vec<_> = (0..kinds.len()).map(&mut fresh).collect();
    let mut world = World::new(seed, 3, recipes);
    let (mut epochs, mut holds) = (BTreeMap::new(), 0);
    for _ in 0..6000 {
        world.step();
        check_holders(&world, &kinds, &mut epochs, seed);
        for index in 0..kinds.len() {
            if world.peers[index].recipe.held().is_some() && world.random.below(60) == 0 {
                world.release(index);
                holds += 1;
            }
            if world.peers[index].recipe.is_over() {
                world.peers[index].recipe = fresh(index);
                world.restart_recipe(index);
            }
        }
    }
    assert!(holds > 0, "seed {seed}: no contender ever held the lock");
    // Without faults each contender gets the lock in turn, and none leaves a node behind.
    for _ in 0..kinds.len() {
        world.heal_until(|world| {
            world.peers.iter().any(|peer| peer.recipe.held().is_some())
                || world.peers.iter().all(|peer| peer.recipe.is_over())
        });
        check_holders(&world, &kinds, &mut epochs, seed);
        for index in 0..kinds.len() {
            if world.peers[index].recipe.held().is_some() {
                world.release(index);
            }
        }
    }
    (0..kinds.len()).for_each(|index| world.release(index));
    world.heal_until(|world| world.peers.iter().all(|peer| peer.recipe.is_over()));
    let left: Vec<&String> = world
        .ensemble
        .tree
        .iter()
        .filter(|(_, node)| node.stat.ephemeral_owner != 0)
        .map(|(path, _)| path)
        .collect();
    assert!(left.is_empty(), "seed {seed}: {left:?}");
}

#[test]
fn lock_is_never_held_twice_under_one_epoch() {
    for seed in seeds() {
        let layouts = [Layout::Curator, Layout::Kazoo, Layout::Curator];
        run_lock(seed, &[Kind::Exclusive; 3], &layouts, false);
    }
}

#[test]
fn leadership_goes_on_after_expired_sessions_and_never_doubles() {
    for seed in seeds() {
        run_lock(seed, &[Kind::Exclusive; 3], &[Layout::CuratorLatch], true);
    }
}

#[test]
fn writers_exclude_readers_and_readers_share() {
    for seed in seeds() {
        let kinds = [Kind::Shared, Kind::Exclusive, Kind::Shared, Kind::Shared];
        run_lock(seed, &kinds, &[Layout::CuratorReadWrite, Layout::Kazoo], false);
    }
}

#[test]
fn readers_hold_together_and_waiters_are_woken_one_by_one() {
    let kinds = [Kind::Shared, Kind::Shared, Kind::Shared];
    let recipes = kinds.iter().zip(1..).map(|(kind, guid)| contender(guid, *kind, Layout::Kazoo, false));
    let mut world = World::new(1, 1, recipes);
    world.heal_until(|world| world.peers.iter().all(|peer| peer.recipe.held().is_some()));
    let recipes = (1..5).map(|guid| contender(guid, Kind::Exclusive, Layout::Curator, false));
    let mut world = World::new(2, 1, recipes);
    let waiting = |world: &World<Contender>| {
        world.peers.iter().filter(|peer| *peer.recipe.standing() == Standing::Waiting).count()
    };
    world.heal_until(|world| waiting(world) == 3);
    // No herd: each node is watched by one contender at most, beside its own.
    for path in world.ensemble.tree.keys() {
        let watchers =
            world.ensemble.connections.iter().filter(|connection| connection.watches_data(path)).count();
        assert!(watchers <= 2, "{path}: {watchers}");
    }
}

fn cached(tree: &BTreeMap<String, Node>) -> BTreeMap<String, CachedNode> {
    let node = |node: &Node| CachedNode {
        data: Some(node.data.clone()),
        czxid: Zxid(node.stat.czxid),
        mzxid: Zxid(node.stat.mzxid),
        version: node.stat.version,
        ephemeral_owner: SessionId(node.stat.ephemeral_owner),
    };
    tree.iter().map(|(path, own)| (path.clone(), node(own))).collect()
}

/// Another client writes below `/app`: single nodes, and whole subtrees in one transaction.
fn disturb(ensemble: &mut Ensemble, draw: u64) {
    let paths = ["/app", "/app/a", "/app/a/x", "/app/a/y", "/app/b", "/app/b/z", "/app-other", "/app/c"];
    let path = String::from(paths[(draw % 8) as usize]);
    match draw / 8 % 4 {
        0 | 1 => {
            drop(ensemble.execute(0, &Write::Create { path, data: draw.to_be_bytes().to_vec(), flags: 0 }))
        }
        2 => drop(ensemble.execute(0, &Write::Set { path, data: draw.to_be_bytes().to_vec(), version: -1 })),
        _ => {
            let zxid = ensemble.log.len() as i64 + 1;
            let prefix = format!("{path}/");
            let mut below: Vec<String> =
                ensemble.tree.keys().filter(|other| other.starts_with(&prefix)).cloned().collect();
            below.extend(ensemble.tree.contains_key(&path).then_some(path));
            below.sort_by_key(|path| std::cmp::Reverse(path.len()));
            let mut changes: Vec<Change> = Vec::new();
            for path in &below {
                changes.extend(ensemble.deletion(zxid, [path.as_str()]));
            }
            // A parent that is deleted, too, is not changed before.
            let deleted = |path: &String| below.contains(path);
            changes.retain(|change| !matches!(change, Change::Put(path, ..) if deleted(path)));
            ensemble.append(changes);
        }
    }
}

#[test]
fn cache_equals_the_tree_at_its_zxid_and_never_goes_back() {
    for seed in seeds() {
        let caches = (0..2).map(|_| Cache::new("/app", CacheLimits::default()));
        let mut world = World::new(seed, 3, caches);
        let mut zxids = [Zxid(-1), Zxid(-1)];
        let mut versions = 0;
        for _ in 0..6000 {
            world.step();
            let draw = world.random.number();
            // At times faster than the caches can follow.
            let pace = if draw / 1000 % 3 == 0 { 5 } else { 100 };
            if world.random.below(pace) == 0 {
                disturb(&mut world.ensemble, draw);
            }
            for (peer, last) in world.peers.iter().zip(&mut zxids) {
                let cache = &peer.recipe;
                assert!(cache.zxid() >= *last, "seed {seed}: back from {last} to {}", cache.zxid());
                if cache.zxid() > *last {
                    versions += 1;
                    let expected = cached(&world.ensemble.subtree("/app", cache.zxid().0));
                    assert_eq!(*cache.nodes(), expected, "seed {seed}, zxid {}", cache.zxid());
                }
                *last = cache.zxid();
                assert!(!cache.is_over(), "seed {seed}: {:?}", cache.state());
            }
        }
        assert!(versions > 10, "seed {seed}: {versions}");
        let last = world.ensemble.log.len() as i64;
        let expected = cached(&world.ensemble.subtree("/app", last));
        world.heal_until(|world| {
            let current = |cache: &Cache| *cache.state() == CacheState::Current && *cache.nodes() == expected;
            world.peers.iter().all(|peer| current(&peer.recipe))
        });
    }
}

#[test]
fn cache_that_grows_too_large_fails_and_says_so() {
    let limits = CacheLimits { nodes_max: 2, bytes_max: 1000 };
    let mut world = World::new(1, 1, [Cache::new("/app", limits)]);
    for path in ["/app", "/app/a", "/app/b", "/app/c"] {
        let create = Write::Create { path: path.into(), data: Vec::new(), flags: 0 };
        world.ensemble.execute(0, &create);
    }
    world.heal_until(|world| world.peers[0].recipe.is_over());
    let failed = CacheState::Failed(council_client_core::Error::TooLarge);
    assert_eq!(*world.peers[0].recipe.state(), failed);
}

#[test]
fn members_see_each_other_after_faults_and_go_when_they_leave() {
    for seed in seeds() {
        let member = |index: usize| {
            Membership::new("/app/group", CacheLimits::default()).joined(
                &format!("m{index}"),
                &[index as u8],
                &[Acl::open()],
            )
        };
        let mut world = World::new(seed, 3, (0..3).map(member));
        for _ in 0..4000 {
            world.step();
        }
        let shown = |world: &World<Membership>, index: usize| -> Vec<(String, Member)> {
            world.peers[index].recipe.members().into_iter().collect()
        };
        world.heal_until(|world| {
            let present =
                |state: Option<&PresenceState>| matches!(state, Some(PresenceState::Present { .. }));
            world.peers.iter().all(|peer| present(peer.recipe.presence()))
                && (0..3).all(|index| {
                    let members = shown(world, index);
                    members.len() == 3
                        && members.iter().all(|(_, member)| {
                            world.ensemble.tree.values().any(|node| node.stat.czxid == member.epoch)
                        })
                })
        });
        world.release(0);
        world.heal_until(|world| world.peers[0].recipe.is_over());
        world.heal_until(|world| (1..3).all(|index| shown(world, index).len() == 2));
    }
}

#[test]
fn counter_counts_each_written_increment_once() {
    for seed in seeds() {
        let increment = || {
            let add = |old: Option<&[u8]>| {
                let old = old.map_or(0, |old| std::str::from_utf8(old).unwrap().parse::<u64>().unwrap());
                Some((old + 1).to_string().into_bytes())
            };
            NodeUpdate::new("/counter", &[Acl::open()], Box::new(add))
        };
        let mut world = World::new(seed, 3, (0..3).map(|_| increment()));
        let (mut written, mut unknown) = (0_u64, 0_u64);
        let mut collect = |world: &World<NodeUpdate>, index: usize| match world.peers[index].recipe.outcome()
        {
            None => false,
            Some(Outcome::Written(..)) => {
                written += 1;
                true
            }
            Some(Outcome::Unknown) => {
                unknown += 1;
                true
            }
            other => panic!("seed {seed}: {other:?}"),
        };
        for _ in 0..6000 {
            world.step();
            for index in 0..3 {
                if collect(&world, index) {
                    world.peers[index].recipe = increment();
                    world.restart_recipe(index);
                }
            }
        }
        world.heal_until(|world| world.peers.iter().all(|peer| peer.recipe.is_over()));
        (0..3).for_each(|index| assert!(collect(&world, index)));
        let data = &world.ensemble.tree["/counter"].data;
        let value: u64 = std::str::from_utf8(data).unwrap().parse().unwrap();
        let range = written..=written + unknown;
        assert!(written > 10 && range.contains(&value), "seed {seed}: {value} is not in {range:?}");
    }
}
