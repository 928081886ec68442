//! What a simulated system has to offer so that the kit can play it, and one run of it from its seed to its report.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::faults::Without;
use crate::judged::{Floor, Judged};
use crate::simulation::Simulation;

/// A simulated system: machines, what lies between them, who uses them, and who judges them.
///
/// An implementation keeps two promises. The plan alone decides what happens: a world reads no clock, no environment and
/// no other random numbers than those of its [`Simulation`]. And a step is small: whatever may happen between two actions
/// of a real system may happen between two steps.
pub trait World: Sized {
    /// The command that plays a seed of this world, as a user types it.
    const COMMAND: &'static str;
    /// What a light run is, in words for `--help`.
    const LIGHT: &'static str;
    /// An option of this program alone, in words for `--help`: a line, if there is one.
    const OWN_OPTION: &'static str = "";
    /// What some hundred seeds must have reached, or they tried nothing: words that are counted.
    const REACHED: &'static [&'static str];
    /// How much each rule must have judged.
    const FLOORS: &'static [Floor];

    /// The world of a plan before its first step. Draws what the run is like: how many machines, which faults, which load.
    /// Whatever it draws it draws in the same order for every `without`.
    fn begin(plan: &Plan) -> Self;

    /// What the run is set to, in words.
    fn setting(&self) -> String;

    /// The clock, the random numbers, the faults and the story.
    fn simulation(&self) -> &Simulation;

    /// As [`Self::simulation`].
    fn simulation_mut(&mut self) -> &mut Simulation;

    /// The next thing happens: the next event is delivered, the next fault strikes, time passes. First under faults, for as
    /// long as the plan says; then all faults end and the world comes to rest. Gives whether anything is left to happen.
    fn step(&mut self) -> bool;

    /// What is wrong, once nothing is left to happen: each in words, and up to the first `:` the rule that is broken.
    fn judge(&mut self) -> Vec<String>;

    /// How much each rule judged, by its number.
    fn judged(&self) -> BTreeMap<u32, Judged>;

    /// Counts what is counted once a run has ended, also if it broke.
    fn sum_up(&mut self) {}
}

/// What a run is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Decides everything.
    pub seed: u64,
    /// Simulated milliseconds under faults.
    pub faulty_ms: u64,
    /// Faults that are left out.
    pub without: Without,
    /// Nothing goes wrong, and little is asked for: how fast the simulator is.
    pub light: bool,
}

impl Plan {
    /// With all that goes wrong.
    #[must_use]
    pub fn of(seed: u64, faulty_ms: u64) -> Self {
        Self { seed, faulty_ms, without: Without::default(), light: false }
    }
}

/// What a run did and found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What is wrong; nothing if the run was clean.
    pub wrongs: Vec<String>,
    /// How much each rule judged.
    pub judged: BTreeMap<u32, Judged>,
    /// How often each thing happened.
    pub happened: BTreeMap<&'static str, u64>,
    /// Simulated milliseconds.
    pub simulated_ms: u64,
    /// The hash of every step.
    pub hash: u64,
    /// How many steps it is of.
    pub steps: u64,
    /// What happened last, in words.
    pub story: Vec<(u64, String)>,
    /// What the run was set to.
    pub setting: String,
    /// How many faults were to strike, those that were left out among them.
    pub struck: u64,
}

/// Plays a plan. `hashes` is told the hash of everything so far once a simulated second.
#[must_use]
pub fn play<W: World>(plan: &Plan, hashes: Option<fn(u64, u64)>) -> Report {
    let mut world = W::begin(plan);
    world.simulation_mut().tell_hashes(hashes);
    report(world)
}

/// Plays a world to its end, and tells what came of it.
#[must_use]
pub fn report<W: World>(mut world: W) -> Report {
    // Machines and rules panic over what must never be; that is a finding as well.
    let done = catch_unwind(AssertUnwindSafe(|| run_to_end(&mut world)));
    let wrongs = done.unwrap_or_else(|panic| vec![format!("it broke: {}", words_of(&*panic))]);
    world.sum_up();
    let (setting, judged) = (world.setting(), world.judged());
    let sim = world.simulation_mut();
    Report {
        wrongs,
        judged,
        happened: std::mem::take(&mut sim.happened),
        simulated_ms: sim.now_ms(),
        hash: sim.trace.hash(),
        steps: sim.trace.steps(),
        story: sim.story().to_vec(),
        setting,
        struck: sim.struck(),
    }
}

/// All that happens in a world, and what is wrong with it then.
pub fn run_to_end<W: World>(world: &mut W) -> Vec<String> {
    while world.step() {}
    world.judge()
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}
