//! [`LogWorld`] where every run has one broker. Half the runs of that world do, too; here it is all of them, and what a
//! hundred runs must reach and judge is not counted, for much of it needs several.

use std::collections::BTreeMap;

use sim_kit::{Floor, Judged, Plan, Simulation, World};

use crate::world::LogWorld;

/// See the module.
pub struct LoneWorld(LogWorld);

impl World for LoneWorld {
    const COMMAND: &'static str = "cargo xtask sim-log --lone";
    const LIGHT: &'static str = "without faults";
    const OWN_OPTION: &'static str = "  --lone         plays one broker in each run";
    const REACHED: &'static [&'static str] = &[];
    const FLOORS: &'static [Floor] = &[];

    fn begin(plan: &Plan) -> Self {
        Self(LogWorld::of(plan, true))
    }

    fn setting(&self) -> String {
        self.0.setting()
    }

    fn simulation(&self) -> &Simulation {
        self.0.simulation()
    }

    fn simulation_mut(&mut self) -> &mut Simulation {
        self.0.simulation_mut()
    }

    fn step(&mut self) -> bool {
        self.0.step()
    }

    fn judge(&mut self) -> Vec<String> {
        self.0.judge()
    }

    fn judged(&self) -> BTreeMap<u32, Judged> {
        self.0.judged()
    }
}
