//! How a broker joins its cluster at a start: it reads the id of the cluster, or writes the one that it has drawn; it claims its
//! number for its data directory, for good, which numbers this start; and it announces itself.
//!
//! An ephemeral node of its last life may be there still: a server keeps it until that session's timeout is over. It is removed
//! if it names the same directory, for whoever has opened that one holds its lock.

use crate::keeper::{Change, Decision, Found, Keeper, Standing};
use crate::{BrokerNode, DirectoryNode, id_text, paths};

/// See the module.
#[derive(Debug)]
pub struct Join {
    broker: i32,
    drawn: [u8; 16],
    wall_ms: u64,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// The id of the cluster is asked for.
    Cluster,
    /// The directory is being opened.
    Open,
    /// The directory claims the number.
    Directory(BrokerNode),
    /// The broker is announced; whether the node of its last life is being removed.
    Announcement(BrokerNode, bool),
    Joined(u64),
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinStep {
    /// The council is waited for.
    Wait,
    /// The data directory is to be opened, for the cluster of this id; then [`Join::opened`] is to be called.
    Open(String),
    /// The broker has joined, and this is the incarnation of its process: greater than that of any earlier one.
    Joined(u64),
    /// It must not.
    Refused(JoinRefusal),
}

/// Why a broker must not join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinRefusal {
    /// Its number is that of another directory.
    OtherDirectory,
    /// Another process, on another directory, is announced under its number.
    NumberTaken,
}

impl Join {
    /// Of the broker of that number, at that time of the wall clock. What it has drawn no other start draws: it becomes the id of
    /// the cluster if that has none yet.
    #[must_use]
    pub const fn new(broker: i32, drawn: [u8; 16], wall_ms: u64) -> Self {
        Self { broker, drawn, wall_ms, stage: Stage::Cluster }
    }

    /// Begins: to be called once, before the first step.
    pub fn begin(&self, keeper: &mut Keeper) {
        claim(keeper, paths::CLUSTER.into(), id_text(&self.drawn));
    }

    /// The directory is open, and the broker will be announced like this, with the incarnation that it gets.
    pub fn opened(&mut self, node: BrokerNode, keeper: &mut Keeper) {
        keeper.change(DirectoryNode::claim(self.broker, node.directory.clone(), self.drawn, self.wall_ms));
        self.stage = Stage::Directory(node);
    }

    /// Goes on: to be called after each input of the keeper.
    pub fn step(&mut self, keeper: &mut Keeper) -> JoinStep {
        match &mut self.stage {
            Stage::Cluster => match text(keeper, paths::CLUSTER) {
                Some(id) => {
                    self.stage = Stage::Open;
                    JoinStep::Open(id)
                }
                None => JoinStep::Wait,
            },
            Stage::Open => JoinStep::Wait,
            Stage::Directory(node) => {
                match keeper.data(&paths::directory(self.broker)).and_then(DirectoryNode::read) {
                    Some(known) if known.directory != node.directory => {
                        JoinStep::Refused(JoinRefusal::OtherDirectory)
                    }
                    Some(known) if known.process == id_text(&self.drawn) => {
                        node.incarnation = known.incarnation;
                        keeper.announce(self.broker, &node.bytes());
                        self.stage = Stage::Announcement(node.clone(), false);
                        JoinStep::Wait
                    }
                    _ => JoinStep::Wait,
                }
            }
            Stage::Announcement(node, removing) => match keeper.standing() {
                // What the last life wrote before the directory was opened must be seen.
                Standing::Announced if keeper.shows_announcement(self.broker) => {
                    keeper.joined();
                    let incarnation = node.incarnation;
                    self.stage = Stage::Joined(incarnation);
                    JoinStep::Joined(incarnation)
                }
                Standing::Announced | Standing::Unknown => JoinStep::Wait,
                Standing::Taken => replace_last_life(keeper, self.broker, node, removing),
            },
            Stage::Joined(incarnation) => JoinStep::Joined(*incarnation),
        }
    }
}

fn replace_last_life(keeper: &mut Keeper, broker: i32, node: &BrokerNode, removing: &mut bool) -> JoinStep {
    let path = paths::broker(broker);
    let other = keeper.data(&path).and_then(BrokerNode::read);
    if other.is_some_and(|other| other.directory != node.directory) {
        return JoinStep::Refused(JoinRefusal::NumberTaken);
    }
    if !std::mem::replace(removing, true) {
        let directory = node.directory.clone();
        let remove = move |found: Found<'_>| match found.data.and_then(BrokerNode::read) {
            Some(other) if other.directory == directory => Decision::Delete,
            _ => Decision::Keep,
        };
        keeper.change(Change::new(path, Change::NOBODY, remove));
    }
    JoinStep::Wait
}

/// Writes a node if it is not there.
fn claim(keeper: &mut Keeper, path: String, text: String) {
    let data = text.into_bytes();
    let write = move |found: Found<'_>| match found.data {
        Some(data) if !data.is_empty() => Decision::Keep,
        _ => Decision::Write(data.clone()),
    };
    keeper.change(Change::new(path, Change::NOBODY, write));
}

fn text(keeper: &Keeper, path: &str) -> Option<String> {
    let data = keeper.data(path).filter(|data| !data.is_empty())?;
    Some(String::from_utf8_lossy(data).into_owned())
}

#[cfg(test)]
mod tests {
    use council_client_core::Acl;
    use council_client_core::recipes::{Input, Recipe as _};
    use council_client_model::World;

    use super::*;
    use crate::KeeperLimits;

    fn keeper() -> Keeper {
        Keeper::new(vec![Acl::open()], KeeperLimits::default())
    }

    fn node(directory: &str) -> BrokerNode {
        BrokerNode { directory: directory.into(), host: "h".into(), port: 1, ..BrokerNode::default() }
    }

    /// Joins with a keeper of the world. Gives the id of the cluster and the incarnation, or why not.
    fn join(
        world: &mut World<Keeper>,
        peer: usize,
        directory: &str,
        seed: u8,
    ) -> Result<(String, u64), JoinRefusal> {
        let mut join = Join::new(1, [seed; 16], 100);
        join.begin(&mut world.peers[peer].recipe);
        let mut cluster = String::new();
        for _ in 0..100_000 {
            match join.step(&mut world.peers[peer].recipe) {
                JoinStep::Wait => world.step(),
                JoinStep::Open(id) => {
                    cluster = id;
                    join.opened(node(directory), &mut world.peers[peer].recipe);
                }
                JoinStep::Joined(incarnation) => return Ok((cluster, incarnation)),
                JoinStep::Refused(refusal) => return Err(refusal),
            }
        }
        panic!("it does not come to an end");
    }

    #[test]
    fn broker_joins_whatever_breaks_and_keeps_the_id_of_its_cluster() {
        for seed in 0..100 {
            let mut world = World::new(seed, 3, [keeper()]);
            let first = join(&mut world, 0, "d", 7).expect("it may");
            assert_eq!(first, (id_text(&[7; 16]), 100), "seed {seed}");
            world.peers[0].recipe = keeper();
            world.restart_recipe(0);
            assert_eq!(join(&mut world, 0, "d", 8), Ok((first.0, 101)), "seed {seed}");
        }
    }

    #[test]
    fn last_life_of_the_same_directory_is_replaced_at_once() {
        let mut world = World::new(1, 1, [keeper(), keeper()]);
        world.faults = false;
        join(&mut world, 0, "d", 7).expect("it may");
        // The first one is gone, and its session is not over: it takes no part any more.
        world.peers[0].recipe.tell(Input::Disconnected);
        world.peers[0].recipe = keeper();
        assert_eq!(join(&mut world, 1, "d", 8).map(|(_, incarnation)| incarnation), Ok(101));
        let announced = world.ensemble.tree.get(&paths::broker(1)).map(|node| node.data.clone());
        assert_eq!(announced.as_deref().and_then(BrokerNode::read).map(|node| node.incarnation), Some(101));
    }

    #[test]
    fn number_of_another_directory_is_refused() {
        let mut world = World::new(2, 1, [keeper(), keeper()]);
        world.faults = false;
        join(&mut world, 0, "d", 7).expect("it may");
        assert_eq!(join(&mut world, 1, "e", 7), Err(JoinRefusal::OtherDirectory));
    }
}
