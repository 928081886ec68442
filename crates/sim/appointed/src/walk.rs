//! One long random order, drawn from a seed, after which all faults are healed and everything has to come to its end.

use base::Random;

use crate::action::Action;
use crate::explore::step;
use crate::violation::Violation;
use crate::world::{Bounds, World};

/// Steps of faults.
const STEPS: u32 = 400;
/// Steps that the end may take.
const END_STEPS: u32 = 20_000;

/// Walks.
///
/// # Errors
/// What must not be, and the way to it.
pub fn walk(bounds: Bounds, seed: u64) -> Result<World, (Violation, Vec<Action>)> {
    let mut random = Random::new(seed);
    let mut world = World::new(bounds);
    let mut way = Vec::new();
    for _ in 0..STEPS {
        let actions = world.actions();
        let Some(action) = drawn(&actions, &mut random) else { break };
        way.push(action);
        step(&mut world, action).map_err(|violation| (violation, way.clone()))?;
    }
    match end(&mut world, &mut random, &mut way) {
        Ok(()) => Ok(world),
        Err(violation) => Err((violation, way)),
    }
}

/// Crashes and controllers are drawn seldom: between them something has to be done.
fn drawn(actions: &[Action], random: &mut Random) -> Option<Action> {
    let is_rare = |action: &Action| {
        matches!(
            action,
            Action::Crash(_)
                | Action::Begin(_)
                | Action::Reconnect(..)
                | Action::CutStart(_)
                | Action::Delete(_)
                | Action::AskForVoters(..)
        )
    };
    let rare = random.below(20) == 0;
    let wanted: Vec<Action> = actions.iter().filter(|action| is_rare(action) == rare).copied().collect();
    let from = if wanted.is_empty() { actions } else { &wanted };
    let place = random.below(from.len().max(1) as u64) as usize;
    from.get(place).copied()
}

fn end(world: &mut World, random: &mut Random, way: &mut Vec<Action>) -> Result<(), Violation> {
    world.heal();
    world.appoint_above_all()?;
    for _ in 0..END_STEPS {
        if world.is_quiet() && world.is_settled() {
            return Ok(());
        }
        let wanted = |action: &Action| {
            matches!(action, Action::Send(..) | Action::Deliver(_) | Action::Disk(_) | Action::ReadConfig(_))
        };
        let actions: Vec<Action> = world.actions().into_iter().filter(wanted).collect();
        let place = random.below(actions.len().max(1) as u64) as usize;
        let Some(action) = actions.get(place) else { return Err(Violation::Stuck("nothing more happens")) };
        way.push(*action);
        step(world, *action)?;
    }
    Err(Violation::Stuck("it goes on for ever"))
}
