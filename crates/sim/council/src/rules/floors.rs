//! How much each rule has to judge in a hundred seeds, at the least: one that judges nothing finds nothing, whatever breaks.
//! An eighth of what it was when the floor was set, or less, so that chance does not fall below it.

use sim_kit::Floor;

/// See the module.
pub const FLOORS: &[Floor] = &[
    (1, "places of members", 10_000),
    (2, "digests of two members", 4_900),
    (2, "nodes at rest", 2_400),
    (3, "acknowledged writes", 4_100),
    (4, "refused writes", 3_000),
    (5, "marked writes", 3_800),
    (6, "results of writes", 6_500),
    (6, "syncs", 550),
    (7, "replies", 16_000),
    (8, "reads after writes", 3_400),
    (9, "answers", 16_000),
    (10, "reads", 6_000),
    (11, "reads", 6_000),
    (11, "reads delivered more than a lease late", 1),
    (11, "reads older than half a lease", 1),
    (12, "commands", 6_500),
    (13, "wrong passwords", 260),
    (14, "answers", 16_000),
    (15, "events", 2_600),
    (16, "events", 1_900),
    (16, "events while others were due", 600),
    (17, "events", 550),
    (18, "events", 2_600),
    (19, "events", 2_600),
    (20, "renewals", 340),
    (20, "renewals that may catch up", 11),
    (20, "renewals that must catch up", 49),
    (21, "events", 2_000),
    (22, "events for others", 15),
    (23, "events of nodes that were missing", 60),
    (24, "reads", 4_100),
    (24, "reads of a node whose session ends", 85),
    (25, "expiries", 160),
    (26, "sessions left after the faults", 170),
    (27, "grants", 750),
    (27, "refusals", 33),
    (28, "ephemeral nodes shown", 110),
    (30, "sequential nodes", 1_100),
    (31, "Stats", 8_000),
    (32, "Stats", 7_500),
    (33, "Stats", 8_000),
    (34, "Stats", 8_000),
    (35, "steps", 2_500),
    (36, "TTL nodes removed", 41),
    (36, "containers removed", 16),
    (37, "members at rest", 39),
    (37, "reads of the members", 300),
    (37, "reconfigs", 22),
    (38, "multis that failed", 340),
    (38, "multis that were done", 160),
    (39, "permitted requests", 9_500),
    (39, "forbidden requests", 80),
    (40, "members known", 8_000),
    (40, "membership changes", 50),
    (40, "terms with a leader", 140),
    (41, "writes after the faults", 110),
    (42, "calls on open connections", 1_500),
    (42, "silent connections", 8),
    (43, "runs with clients that read nothing", 4),
    (45, "writes", 7_500),
    (46, "clients that had seen something", 500),
    (46, "grants", 750),
    (47, "counts", 6),
    (47, "identities", 7),
    (47, "lists of names", 7),
    (47, "lists of own nodes", 7),
    (48, "reads without room", 50),
    (48, "sessions closed without room", 24),
    (48, "sessions opened without room", 24),
    (48, "writes when there was room again", 24),
    (48, "writes without room", 30),
    (49, "sessions that continued", 15),
    (49, "transactions of a new ensemble", 250),
    (50, "checks of two machines of one number", 2_000),
    (51, "messages of members without an identity", 6_000),
    (51, "identities announced", 350),
    (52, "pairs reported", 1_600),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sim_kit::{SEEDS_MIN, below_floor};

    use super::*;
    use crate::rules::RULES;

    #[test]
    fn floor_is_set_for_every_rule() {
        for rule in RULES {
            assert!(FLOORS.iter().any(|floor| floor.0 == rule.number), "rule {} has none", rule.number);
        }
        assert!(FLOORS.iter().all(|floor| RULES.iter().any(|rule| rule.number == floor.0)));
    }

    #[test]
    fn rule_that_judges_nothing_is_told() {
        let nothing = BTreeMap::new();
        assert_eq!(below_floor(FLOORS, &nothing, SEEDS_MIN, 60).len(), FLOORS.len());
        assert!(below_floor(FLOORS, &nothing, SEEDS_MIN - 1, 60).is_empty());
    }
}
