//! Balance without a person, window after window, with a cluster that does what it is told.

use std::collections::BTreeSet;

use replication_planner::{
    Action, Automatic, Cluster, Load, NodeId, Outcome, PartitionId, Scope, Settings, Step,
};

use crate::world::{nodes, partition};

const WINDOW_MS: u64 = 10_000;
const MB: u64 = 1_000_000;

/// A cluster whose partitions use what the test says, and that carries out what is begun.
struct World {
    cluster: Cluster,
    automatic: Automatic,
    scope: Scope,
    /// How many partitions were changed.
    begun: usize,
}

impl World {
    /// Three nodes with links of 125 MB/s, and partitions that have a replica on each and are led by the first.
    fn new(loads_mb: &[u64]) -> Self {
        let load = |mb: u64| Load { write_bytes_per_s: mb * MB, stored_bytes: MB, ..Load::default() };
        let partitions = (0..).zip(loads_mb).map(|(id, mb)| partition(id, &[1, 2, 3], load(*mb))).collect();
        let cluster = Cluster { nodes: nodes(&[1, 1, 1]), partitions, ..Cluster::default() };
        Self { cluster, automatic: Automatic::new(), scope: Scope::Leaders, begun: 0 }
    }

    /// Another window, at whose end what is begun is carried out.
    fn window(&mut self) -> Outcome {
        let (outcome, begin) = self.look();
        for step in begin {
            self.carry_out(&step);
        }
        outcome
    }

    fn look(&mut self) -> (Outcome, Vec<Step>) {
        self.cluster.now_ms += WINDOW_MS;
        let settings = Settings { balance_counts: false, ..Settings::default() };
        let looked = self.automatic.look(self.cluster.clone(), (WINDOW_MS, self.scope), &settings);
        let decision = looked.expect("it makes sense");
        if let Outcome::Begun(partitions) = decision.outcome {
            self.begun += partitions;
        }
        (decision.outcome, decision.begin)
    }

    fn carry_out(&mut self, step: &Step) {
        let of = self.cluster.partitions.iter_mut().find(|of| of.id == step.partition).expect("it is there");
        match &step.action {
            Action::TransferLeadership { to, .. } => of.leader = Some(*to),
            Action::MoveReplica { from, to, leads } => {
                assert!(of.voters.remove(from) && of.voters.insert(*to), "{step}");
                of.leader = if *leads { Some(*to) } else { of.leader };
            }
            other => panic!("{other} is no balance"),
        }
    }

    fn set(&mut self, partition: usize, mb: u64) {
        let load = self.cluster.partitions[partition].load.as_mut().expect("it has a load");
        load.write_bytes_per_s = mb * MB;
    }

    /// How many partitions each node leads.
    fn leads(&self) -> [usize; 3] {
        [1, 2, 3]
            .map(|node| self.cluster.partitions.iter().filter(|of| of.leader == Some(NodeId(node))).count())
    }
}

#[test]
fn leaders_of_unequal_loads_spread_and_then_rest() {
    let mut world = World::new(&[10; 9]);
    let outcomes: Vec<Outcome> = (0..3).map(|_| world.window()).collect();
    assert_eq!(outcomes, [Outcome::Waits, Outcome::Waits, Outcome::Begun(6)]);
    assert_eq!(world.leads(), [3, 3, 3]);
    // What has ended is measured first.
    let outcomes: Vec<Outcome> = (0..3).map(|_| world.window()).collect();
    assert_eq!(outcomes, [Outcome::Measures, Outcome::Measures, Outcome::Balanced]);
    assert!((0..1_000).all(|_| world.window() == Outcome::Balanced));
    assert_eq!(world.begun, 6);
}

#[test]
fn cluster_that_works_little_is_left_alone_however_uneven_it_is() {
    let mut world = World::new(&[1; 3]);
    assert!((0..100).all(|_| world.window() == Outcome::Balanced));
}

#[test]
fn one_partition_that_is_too_much_for_a_node_goes_nowhere() {
    let mut world = World::new(&[50]);
    let outcomes: BTreeSet<_> = (0..100).map(|_| format!("{:?}", world.window())).collect();
    assert_eq!(outcomes, ["NothingHelps".into(), "Waits".into()].into());
    assert_eq!(world.leads(), [1, 0, 0]);
}

#[test]
fn load_that_flaps_within_windows_moves_nothing() {
    let mut world = World::new(&[10; 9]);
    for window in 0..1_000 {
        (0..9).for_each(|of| world.set(of, if window % 2 == 0 { 10 } else { 0 }));
        world.window();
    }
    assert_eq!(world.begun, 0);
}

#[test]
fn load_that_flaps_slowly_moves_each_partition_once_a_day_in_the_end() {
    let mut world = World::new(&[10; 6]);
    let mut of_days = Vec::new();
    for _ in 0..4 {
        world.begun = 0;
        // A day, in which the load goes to what another node leads every ten minutes.
        for window in 0..8_640_u32 {
            if window % 60 == 0 {
                let busy = Some(NodeId(1 + window / 60 % 3));
                for of in 0..6 {
                    let is_busy = world.cluster.partitions[of].leader == busy;
                    world.set(of, if is_busy { 20 } else { 0 });
                }
            }
            world.window();
        }
        of_days.push(world.begun);
    }
    assert!(of_days[0] > 6, "{of_days:?}: it moves at first");
    assert!(of_days[3] <= 6, "{of_days:?}");
}

#[test]
fn what_may_not_change_is_only_proposed() {
    let mut world = World::new(&[10; 9]);
    world.scope = Scope::Nothing;
    let outcomes: Vec<Outcome> = (0..10).map(|_| world.window()).collect();
    assert_eq!(outcomes[2..], [Outcome::Proposed(6); 8]);
    assert_eq!((world.begun, world.leads()), (0, [9, 0, 0]));
}

#[test]
fn hold_gives_up_what_was_not_carried_out_and_counts_windows_anew() {
    let mut world = World::new(&[10; 9]);
    (0..2).for_each(|_| {
        world.window();
    });
    let (outcome, _) = world.look();
    assert_eq!((outcome, world.automatic.leaders_awaited().count()), (Outcome::Begun(6), 6));
    assert_eq!(world.window(), Outcome::UnderWay(6));
    world.automatic.hold(world.cluster.now_ms);
    assert_eq!(world.automatic.leaders_awaited().count(), 0);
    let outcomes: Vec<Outcome> = (0..2).map(|_| world.window()).collect();
    assert_eq!(outcomes, [Outcome::Measures, Outcome::Waits]);
}

#[test]
fn leader_that_does_not_change_is_given_up_and_rests() {
    let mut world = World::new(&[10; 9]);
    (0..2).for_each(|_| {
        world.window();
    });
    assert_eq!(world.look().0, Outcome::Begun(6));
    let outcomes: Vec<Outcome> = (0..3).map(|_| world.look().0).collect();
    assert_eq!(outcomes, [Outcome::UnderWay(6), Outcome::UnderWay(6), Outcome::Measures]);
    assert_eq!(world.look().0, Outcome::Measures);
    // The other three are moved: those six rest.
    let (outcome, begin) = world.look();
    assert!(matches!(outcome, Outcome::Begun(1..=3)), "{outcome:?}");
    assert_eq!(world.automatic.leaders_awaited().count(), begin.len());
}

#[test]
fn replicas_are_moved_one_to_and_from_a_node_at_a_time_until_all_have_their_part() {
    let mut world = World::new(&[]);
    world.scope = Scope::All;
    let load = Load { write_bytes_per_s: 5 * MB, stored_bytes: 100 * MB, ..Load::default() };
    world.cluster.partitions = (0..9).map(|id| partition(id, &[1], load)).collect();
    let mut begun = Vec::new();
    for _ in 0..60 {
        if let Outcome::Begun(partitions) = world.window() {
            begun.push(partitions);
        }
    }
    assert_eq!(world.leads(), [3, 3, 3]);
    assert_eq!(begun, [1; 6], "node 1 sends one at a time");
    // Without moves a partition with one replica stays.
    world.cluster.partitions = (10..19).map(|id| partition(id, &[1], load)).collect();
    world.scope = Scope::Leaders;
    (0..60).for_each(|_| {
        world.window();
    });
    assert_eq!(world.leads(), [9, 0, 0]);
}

#[test]
fn copy_is_under_way_as_long_as_it_takes_and_ends_when_it_is_cancelled() {
    let mut world = World::new(&[]);
    world.scope = Scope::All;
    let load = Load { write_bytes_per_s: 5 * MB, stored_bytes: 100 * MB, ..Load::default() };
    world.cluster.partitions = (0..9).map(|id| partition(id, &[1], load)).collect();
    (0..2).for_each(|_| {
        world.window();
    });
    let (outcome, begin) = world.look();
    assert_eq!(outcome, Outcome::Begun(1));
    let at = begin[0].partition.0 as usize;
    assert!(world.automatic.is_open(PartitionId(begin[0].partition.0)));
    world.cluster.partitions[at].pinned = true;
    assert!((0..100).all(|_| world.look().0 == Outcome::UnderWay(1)));
    world.automatic.hold(world.cluster.now_ms);
    assert!(world.automatic.is_open(begin[0].partition), "it goes on by itself");
    world.cluster.partitions[at].pinned = false;
    let ended = (0..5).find(|_| world.look().0 != Outcome::UnderWay(1));
    assert_eq!(ended, Some(2), "a cancelled one is waited for as long as a leader");
}
