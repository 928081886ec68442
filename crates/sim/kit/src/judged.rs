//! How much each rule judged, and whether that is enough: a rule that judges nothing finds nothing, whatever breaks.

use std::collections::BTreeMap;

/// How often a rule judged each thing.
pub type Judged = BTreeMap<&'static str, u64>;

/// A rule's number, what it judges, and how often at the least in a hundred seeds of a simulated minute under faults.
pub type Floor = (u32, &'static str, u64);

/// Seeds below which chance alone may miss something.
pub const SEEDS_MIN: u64 = 50;

/// What was judged too seldom in so many seeds of so many simulated seconds under faults: what it was, how often it was
/// judged, and how often it should have been.
#[must_use]
pub fn below_floor(
    floors: &[Floor],
    judged: &BTreeMap<u32, Judged>,
    seeds: u64,
    seconds: u64,
) -> Vec<(Floor, u64)> {
    if seeds < SEEDS_MIN {
        return Vec::new();
    }
    let count = |rule, what| judged.get(&rule).and_then(|judged| judged.get(what)).copied().unwrap_or(0);
    let all = floors.iter().map(|floor| (*floor, count(floor.0, floor.1)));
    all.filter(|((.., least), count)| count * 100 * 60 < least * seeds * seconds.min(60)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_that_judges_too_little_is_told() {
        const FLOORS: &[Floor] = &[(1, "reads", 100), (1, "writes", 100)];
        let judged = BTreeMap::from([(1, Judged::from([("reads", 50), ("writes", 49)]))]);
        assert_eq!(below_floor(FLOORS, &judged, SEEDS_MIN, 60), [(FLOORS[1], 49)]);
        assert_eq!(below_floor(FLOORS, &judged, SEEDS_MIN, 30), []);
        assert_eq!(below_floor(FLOORS, &judged, SEEDS_MIN - 1, 60), []);
    }
}
