//! The keeper over the model of an ensemble: servers lag, connections break at any byte, sessions expire.

use std::collections::BTreeMap;

use council_client_core::Random;
use council_client_model::World;

use super::*;

const SEEDS: u64 = 150;
const BROKERS: usize = 2;
const NODES: u64 = 4;

/// What a broker was told, and what it asked for.
#[derive(Default)]
struct Told {
    nodes: BTreeMap<String, Vec<u8>>,
    /// Changes that have not ended.
    open: BTreeMap<u64, String>,
    /// Additions that were told to be done.
    added: u64,
}

fn keeper() -> Keeper {
    let mut keeper = Keeper::new(vec![Acl::open()], KeeperLimits::default());
    keeper.announce(1, b"me");
    keeper
}

/// Adds a line to a node, which no other change adds.
fn add_line(path: &str, ticket: u64, line: String) -> Change {
    Change::new(path.into(), ticket, move |found| {
        let mut data = found.data.unwrap_or_default().to_vec();
        if lines(&data).contains(&line.as_str()) {
            assert!(found.may_be_done, "line {line} is there, and nobody has written it");
            return Decision::Keep;
        }
        data.extend_from_slice(line.as_bytes());
        data.push(b'\n');
        Decision::Write(data)
    })
}

fn lines(data: &[u8]) -> Vec<&str> {
    std::str::from_utf8(data).unwrap_or_default().lines().collect()
}

fn listen(keeper: &mut Keeper, told: &mut Told, seed: u64) {
    while let Some(event) = keeper.event() {
        match event {
            KeeperEvent::Node { path, data } => match data {
                Some(data) => drop(told.nodes.insert(path, data)),
                None => drop(told.nodes.remove(&path)),
            },
            KeeperEvent::Ended { ticket, ended } => {
                let path = told.open.remove(&ticket).unwrap_or_else(|| panic!("seed {seed}: ended twice"));
                let Ended::Done(Some(_)) = ended else { panic!("seed {seed}: {ended:?}") };
                let line = format!("{ticket}");
                let shown = told.nodes.get(&path).is_some_and(|data| lines(data).contains(&line.as_str()));
                assert!(shown, "seed {seed}: change {ticket} is done, and its broker does not see it");
                told.added += 1;
            }
            KeeperEvent::Standing(_) | KeeperEvent::Joined => {}
            KeeperEvent::Over(error) => panic!("seed {seed}: {error}"),
        }
    }
}

#[test]
fn changes_take_effect_once_and_are_seen_before_they_are_told_whatever_breaks() {
    let mut total = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(seed, 3, (0..BROKERS).map(|_| keeper()));
        let mut random = Random::new(seed);
        let mut told: Vec<Told> = (0..BROKERS).map(|_| Told::default()).collect();
        let mut next = 0;
        for _ in 0..4_000 {
            world.step();
            for (peer, told) in world.peers.iter_mut().zip(&mut told) {
                listen(&mut peer.recipe, told, seed);
                if random.below(100) == 0 {
                    next += 1;
                    let path = format!("/log/topics/{}", random.below(NODES));
                    told.open.insert(next, path.clone());
                    peer.recipe.change(add_line(&path, next, next.to_string()));
                }
            }
        }
        world.heal_until(|world| world.peers.iter().all(|peer| peer.recipe.changes_under_way() == 0));
        for (peer, told) in world.peers.iter_mut().zip(&mut told) {
            listen(&mut peer.recipe, told, seed);
            assert!(told.open.is_empty(), "seed {seed}");
        }
        check_lines(&world, &told, seed);
        total += told.iter().map(|told| told.added).sum::<u64>();
    }
    assert!(total > SEEDS * 20, "{total} changes are too few to say anything");
}

/// Every change that was told is in the tree once.
fn check_lines(world: &World<Keeper>, told: &[Told], seed: u64) {
    let mut times = BTreeMap::<String, usize>::new();
    for (path, node) in world.ensemble.tree.range(String::from("/log/topics/")..) {
        if path.starts_with("/log/topics/") {
            lines(&node.data).into_iter().for_each(|line| *times.entry(line.into()).or_default() += 1);
        }
    }
    let added: u64 = told.iter().map(|told| told.added).sum();
    assert_eq!(times.len() as u64, added, "seed {seed}: as many changes as were told");
    assert!(times.values().all(|times| *times == 1), "seed {seed}: {times:?}");
}

/// Takes the next number of a node, as brokers take producer ids.
fn take_number(ticket: u64) -> Change {
    let next = |data: Option<&[u8]>| number_of(data.unwrap_or_default()) + 1;
    let change = Change::new("/log/number".into(), ticket, move |found| {
        Decision::Write(next(found.data).to_string().into_bytes())
    });
    change.that_counts()
}

fn number_of(data: &[u8]) -> u64 {
    std::str::from_utf8(data).unwrap_or_default().parse().unwrap_or(0)
}

#[test]
fn counting_change_gives_no_number_to_two_brokers_whatever_breaks() {
    let mut taken_by_all = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(seed, 3, (0..BROKERS).map(|_| keeper()));
        let (mut taken, mut ticket) = (Vec::new(), 0);
        for step in 0..3_000 {
            world.step();
            for peer in &mut world.peers {
                while let Some(event) = peer.recipe.event() {
                    if let KeeperEvent::Ended { ended: Ended::Done(data), .. } = event {
                        taken.push(number_of(&data.unwrap_or_default()));
                    }
                }
                if step % 10 == 0 && peer.recipe.changes_under_way() == 0 {
                    ticket += 1;
                    peer.recipe.change(take_number(ticket));
                }
            }
        }
        let all = taken.len();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), all, "seed {seed}: a number was taken twice");
        taken_by_all += all;
    }
    assert!(taken_by_all > 500, "{taken_by_all} numbers");
}

#[test]
fn refused_change_tells_why_and_deletes_are_told_once_they_are_seen() {
    let mut world = World::new(3, 1, [keeper()]);
    world.faults = false;
    let path = "/log/topics/a";
    let keeper = &mut world.peers[0].recipe;
    keeper.change(add_line(path, 1, "1".into()));
    keeper.change(Change::new(path.into(), 2, |found| match found.data {
        Some(_) => Decision::Refuse(log_wire::ErrorCode::TopicAlreadyExists, "it is there".into()),
        None => Decision::Write(Vec::new()),
    }));
    keeper.change(Change::new(path.into(), 3, |_| Decision::Delete));
    keeper.change(Change::new(path.into(), 4, |_| Decision::Delete));
    keeper.change(Change::new(path.into(), 5, |_| Decision::Keep));
    world.heal_until(|world| world.peers[0].recipe.changes_under_way() == 0);
    let keeper = &mut world.peers[0].recipe;
    let mut ended = Vec::new();
    while let Some(event) = keeper.event() {
        match event {
            KeeperEvent::Ended { ticket, ended: Ended::Refused(error, _) } => {
                ended.push((ticket, error.code()))
            }
            KeeperEvent::Ended { ticket, .. } => ended.push((ticket, 0)),
            _ => {}
        }
    }
    ended.sort_unstable();
    assert_eq!(ended, [(1, 0), (2, 36), (3, 0), (4, 0), (5, 0)]);
    assert_eq!(keeper.data(path), None);
}

#[test]
fn broker_of_the_same_number_is_told_that_another_is_announced() {
    let mut world = World::new(5, 1, [keeper(), keeper()]);
    world.faults = false;
    let standing = |world: &World<Keeper>, at: usize| world.peers[at].recipe.standing;
    world.heal_until(|world| {
        let both = [standing(world, 0), standing(world, 1)];
        both.contains(&Standing::Announced) && both.contains(&Standing::Taken)
    });
}

/// The topic of a node, by the change that made it.
fn topic_of(data: &[u8]) -> &str {
    lines(data).first().copied().unwrap_or_default()
}

/// Makes the topic if it is not there; otherwise deletes it, or adds something to it.
fn make_delete_or_add(path: &str, ticket: u64, deletes: bool) -> Change {
    Change::new(path.into(), ticket, move |found| match found.data {
        None => Decision::Write(format!("{ticket}\n").into_bytes()),
        Some(_) if deletes => Decision::Delete,
        Some(data) => Decision::Write([data, b"more\n"].concat()),
    })
}

#[test]
fn topic_that_was_made_anew_is_never_overwritten_by_the_one_before() {
    let (mut writes, mut deletions) = (0, 0);
    for seed in 0..SEEDS {
        let mut world = World::new(seed, 3, (0..BROKERS).map(|_| keeper()));
        let (mut random, mut ticket) = (Random::new(seed), 0);
        for _ in 0..3_000 {
            world.step();
            for peer in &mut world.peers {
                while peer.recipe.event().is_some() {}
                if peer.recipe.changes_under_way() < 4 {
                    ticket += 1;
                    let path = format!("/log/topics/{}", random.below(NODES));
                    peer.recipe.change(make_delete_or_add(&path, ticket, random.below(3) == 0));
                }
            }
        }
        world.heal_until(|world| world.peers.iter().all(|peer| peer.recipe.changes_under_way() == 0));
        let mut topics = BTreeMap::<&str, &str>::new();
        for change in world.ensemble.log.iter().flat_map(|entry| &entry.changes) {
            match change {
                council_client_model::Change::Put(path, node, Some(_)) if paths::topic_of(path).is_some() => {
                    let topic = topic_of(&node.data);
                    let before = *topics.entry(path).or_insert(topic);
                    assert_eq!(before, topic, "seed {seed}: {path} was overwritten");
                    writes += 1;
                }
                council_client_model::Change::Delete(path) => {
                    deletions += usize::from(topics.remove(&**path).is_some())
                }
                council_client_model::Change::Put(..) => {}
            }
        }
    }
    assert!(writes > 2_000 && deletions > 500, "{writes} writes, {deletions} deletions");
}

/// A keeper, and how many requests it has sent.
struct Counted {
    keeper: Keeper,
    asked: usize,
}

impl Recipe for Counted {
    fn tell(&mut self, input: Input) {
        self.keeper.tell(input);
    }

    fn next(&mut self) -> Option<Ask> {
        let ask = self.keeper.next()?;
        self.asked += 1;
        Some(ask)
    }

    fn is_over(&self) -> bool {
        self.keeper.is_over()
    }
}

#[test]
fn topics_that_are_deleted_together_take_a_few_requests_each() {
    const TOPICS: usize = 150;
    let mut world = World::new(5, 1, [Counted { keeper: keeper(), asked: 0 }]);
    world.faults = false;
    let mut change_all = |deletes: bool| {
        let before = world.peers[0].recipe.asked;
        for ticket in 0..TOPICS as u64 {
            let path = format!("/log/topics/{ticket}");
            world.peers[0].recipe.keeper.change(make_delete_or_add(&path, ticket, deletes));
        }
        world.heal_until(|world| world.peers[0].recipe.keeper.changes_under_way() == 0);
        world.peers[0].recipe.asked - before
    };
    change_all(false);
    let asked = change_all(true);
    assert!(asked < 8 * TOPICS, "{asked} requests");
    let is_left = |path: &String| paths::topic_of(path).is_some();
    assert_eq!(world.ensemble.tree.keys().filter(|path| is_left(path)).count(), 0);
}
