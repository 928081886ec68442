//! Every order within bounds, each state once.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::action::Action;
use crate::violation::Violation;
use crate::world::{Bounds, World};

/// What an exploration has come to.
#[derive(Clone, Debug)]
pub struct Explored {
    /// States that were looked at.
    pub states: usize,
    /// Whether these are all that there are within the bounds.
    pub is_whole: bool,
    /// The longest way to a state.
    pub depth: usize,
    /// The shortest way to something that must not be.
    pub found: Option<(Violation, Vec<Action>)>,
}

/// Where a state came from, and by which action.
type Ways = BTreeMap<u64, (u64, Action)>;

/// Looks at all states in the order of their distance from the beginning, at most so many.
#[must_use]
pub fn explore(bounds: Bounds, states_max: usize) -> Explored {
    let first = World::new(bounds);
    let beginning = digest(&first);
    let mut ways = Ways::new();
    let mut seen = std::collections::BTreeSet::from([beginning]);
    let mut waiting = VecDeque::from([(first, 0)]);
    let mut depth = 0;
    while let Some((world, distance)) = waiting.pop_front() {
        depth = distance;
        let from = digest(&world);
        for action in world.actions() {
            let mut next = world.clone();
            if let Err(violation) = step(&mut next, action) {
                let found = Some((violation, way(&ways, from, beginning, action)));
                return Explored { states: seen.len(), is_whole: false, depth, found };
            }
            let to = digest(&next);
            if seen.len() < states_max && seen.insert(to) {
                ways.insert(to, (from, action));
                waiting.push_back((next, distance + 1));
            }
        }
    }
    Explored { states: seen.len(), is_whole: seen.len() < states_max, depth, found: None }
}

/// A step, in which a replica may stop by an assertion.
pub(crate) fn step(world: &mut World, action: Action) -> Result<(), Violation> {
    let stepped = catch_unwind(AssertUnwindSafe(|| world.step(action)));
    stepped.unwrap_or_else(|why| {
        let said = why.downcast_ref::<String>().cloned();
        let said = said.or_else(|| why.downcast_ref::<&str>().map(|said| String::from(*said)));
        Err(Violation::Stopped(said.unwrap_or_default()))
    })
}

fn digest(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}

fn way(ways: &Ways, mut at: u64, beginning: u64, last: Action) -> Vec<Action> {
    let mut actions = vec![last];
    while at != beginning {
        let Some((from, action)) = ways.get(&at) else { break };
        actions.push(*action);
        at = *from;
    }
    actions.reverse();
    actions
}
