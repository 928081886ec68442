//! Quotas, in some of the runs: names of a namespace, and limits that are set, changed and taken away.

use base::Random;
use objects_state::limits::QUOTA_MAX;
use objects_state::{AccessChange, Caller, Command, Identity, Principal, QuotaLimits, QuotaOf};

use crate::crowd::Crowd;

/// Draws apart from everything else: other runs take the steps that they took.
const QUOTAS: u64 = 0x7175_6f74_6173;
/// The namespace in which most objects are in such a run.
pub(crate) const NAMESPACE: &str = "t";

/// See the module.
pub(crate) struct Quotas {
    random: Random,
    has_bytes: bool,
}

impl Quotas {
    /// In a quarter of the runs.
    pub(crate) fn of(seed: u64) -> Option<Self> {
        let mut random = Random::new(seed ^ QUOTAS);
        let has_bytes = random.chance(50);
        random.chance(25).then_some(Self { random, has_bytes })
    }

    /// Seldom.
    pub(crate) fn next(&mut self, crowd: &mut Crowd) -> Option<Command> {
        let random = &mut self.random;
        if random.below(40) > 0 {
            return None;
        }
        let principal = match random.below(8) {
            0 => crowd.name(random).as_str().into(),
            _ => Principal::root(),
        };
        let of = match random.below(20) {
            0 => QuotaOf::Namespace(["", "a/b", "ü", "u"][random.below(4) as usize].into()),
            1 => QuotaOf::Principal(["", "a\nb", "nobody"][random.below(3) as usize].into()),
            2..12 => QuotaOf::Namespace(NAMESPACE.into()),
            _ => QuotaOf::Principal(crowd.name(random)),
        };
        let limits = limits(&mut self.random, &of, self.has_bytes);
        let caller = Caller { origin: crowd.fresh_origin(), principal, identity: Identity::Anonymous };
        Some(Command::Access { caller, change: AccessChange::Quota { of, limits } })
    }
}

/// Small limits, so that they are met; sometimes none at all, and sometimes what no quota may be.
pub(crate) fn limits(random: &mut Random, of: &QuotaOf, has_bytes: bool) -> QuotaLimits {
    if random.chance(20) {
        return QuotaLimits::default();
    }
    if random.below(30) == 0 {
        return QuotaLimits { sessions: Some(1), objects: Some(QUOTA_MAX + 1), ..QuotaLimits::default() };
    }
    let mut some = |most: u64, chance: u64| random.chance(chance).then(|| random.below(most));
    match of {
        QuotaOf::Namespace(_) => QuotaLimits {
            objects: some(8, 60),
            waiters: some(5, 60),
            bytes: some(3_000, if has_bytes { 50 } else { 0 }),
            ..QuotaLimits::default()
        },
        QuotaOf::Principal(_) => QuotaLimits {
            sessions: some(5, 60),
            waiters: some(4, 60),
            calls_per_second: some(3, 10),
            ..QuotaLimits::default()
        },
    }
}
