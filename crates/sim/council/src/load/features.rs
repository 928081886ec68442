//! What clients make use of besides the plain requests that all of them send: drawn for each run, as faults are, so that
//! none of it hides what runs without it would show.

use super::{Scene, access, batches, bulky, mortals, rarities, watches};
use crate::history::Ask;
use crate::random::Random;

/// Which of it a run has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Persistent and recursive watches, and watches that are taken away.
    pub watches: bool,
    /// Containers and TTL nodes.
    pub mortals: bool,
    /// Nodes that not everybody may use, and clients that say who they are.
    pub access: bool,
    /// Several reads at once.
    pub batches: bool,
    /// Clients that read nothing for a while.
    pub sleepers: bool,
    /// Requests that are numbered beyond the last number, and clients that forget what they have seen.
    pub numbers: bool,
    /// Large values.
    pub bulky: bool,
    /// What clients seldom ask for: quotas, counts, names alone, who they are, no data at all, multis that fail late.
    pub rarities: bool,
    /// Clients that try two servers at once.
    pub twins: bool,
}

impl Features {
    /// None of it.
    pub const NONE: Self = Self::of(false);
    /// All of it.
    pub const ALL: Self = Self::of(true);

    const fn of(has: bool) -> Self {
        Self {
            watches: has,
            mortals: has,
            access: has,
            batches: has,
            sleepers: has,
            numbers: has,
            bulky: has,
            rarities: has,
            twins: has,
        }
    }

    /// A draw: often nothing.
    pub fn draw(random: &mut Random) -> Self {
        let plain = random.chance(40);
        let mut has = || random.chance(50) && !plain;
        let drawn = Self {
            watches: has(),
            mortals: has(),
            access: has(),
            batches: has(),
            sleepers: has(),
            numbers: has(),
            bulky: has(),
            twins: has(),
            rarities: has(),
        };
        // What is kept for sleepers is less than one large value.
        Self { bulky: drawn.bulky && !drawn.sleepers, ..drawn }
    }

    /// What a client asks for because of one of them; nothing if it is to ask for something plain.
    pub(super) fn ask(self, random: &mut Random, scene: &Scene) -> Option<Vec<Ask>> {
        type Draw = fn(&mut Random, &Scene) -> Vec<Ask>;
        let rooms: [(bool, Draw); 6] = [
            (self.watches, watches::draw),
            (self.mortals, mortals::draw),
            (self.access, access::draw),
            (self.batches, batches::draw),
            (self.bulky, bulky::draw),
            (self.rarities, rarities::draw),
        ];
        let rooms: Vec<_> = rooms.into_iter().filter(|(has, _)| *has).collect();
        if rooms.is_empty() || random.chance(50) {
            return None;
        }
        let (_, draw) = rooms[random.below(rooms.len() as u64) as usize];
        Some(draw(random, scene))
    }
}
