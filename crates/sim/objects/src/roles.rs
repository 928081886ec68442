//! Roles, in some of the runs with tokens and rights: rights that have a name, and principals that have them.

use base::Random;
use objects_state::{AccessChange, Caller, Command, Identity, Principal, RoleNames};

use crate::crowd::Crowd;

/// Draws apart from everything else: other runs take the steps that they took.
const ROLES: u64 = 0x0072_6f6c_6573;
/// Roles of a run, and what is none.
const NAMES: [&str; 6] = ["deployers", "readers", "readers", "a.b", "a b", ""];

/// See the module.
pub(crate) struct Roles {
    random: Random,
}

impl Roles {
    /// In half of the runs.
    pub(crate) fn of(seed: u64) -> Option<Self> {
        let mut random = Random::new(seed ^ ROLES);
        random.chance(50).then_some(Self { random })
    }

    /// Seldom.
    pub(crate) fn next(&mut self, crowd: &mut Crowd) -> Option<Command> {
        let random = &mut self.random;
        if !crowd.has_access() || random.below(30) > 0 {
            return None;
        }
        let principal = match random.below(5) {
            0 => crowd.name(random).as_str().into(),
            _ => Principal::root(),
        };
        let mut name = || {
            let known = if random.chance(90) { 4 } else { NAMES.len() as u64 };
            String::from(NAMES[random.below(known) as usize])
        };
        let names = [name(), name(), name()];
        let change = match random.below(100) {
            0..45 => {
                let count = random.below(4);
                AccessChange::Role { role: names[0].clone(), grants: Crowd::grants(random, count) }
            }
            _ => {
                let count = random.below(4) as usize;
                let roles = RoleNames(names.into_iter().take(count).collect());
                AccessChange::Roles { principal: crowd.name(random), roles }
            }
        };
        let caller = Caller { origin: crowd.fresh_origin(), principal, identity: Identity::Anonymous };
        Some(Command::Access { caller, change })
    }
}
