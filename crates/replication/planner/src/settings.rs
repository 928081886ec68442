//! What an operator may say about plans, and the values if nothing is said.

use core::time::Duration;
use std::collections::BTreeSet;

use crate::ids::NodeId;
use crate::resource::Utilisation;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Nodes that get no replica and no leader. They keep what they have.
    pub excluded: BTreeSet<NodeId>,
    /// Whether anything is moved for balance. Without it a plan still places, repairs, drains and spreads over
    /// zones.
    pub balance: bool,
    /// Whether balance moves replicas. Without it only leaders change.
    pub balance_moves: bool,
    /// Whether the numbers of leaders and replicas are balanced. Without it only what they use counts.
    pub balance_counts: bool,
    /// A resource is out of balance if a node uses more than this percentage of the even level.
    pub begin_percent: u32,
    /// The cluster is also out of balance if a node has less than this percentage of its part of leaders or
    /// replicas, as one that has just joined.
    pub begin_low_percent: u32,
    /// A node is relieved until it uses no more than this percentage of the even level. The gap to
    /// `begin_percent` is the hysteresis: loads that change by less move nothing.
    pub aim_percent: u32,
    /// Below this level nobody waits for anything: a lower even level counts as this one.
    pub even_min: Utilisation,
    /// The even level of the number of leaders and of replicas. It lies below the usual levels of the other
    /// resources, so that counts decide only in an idle cluster.
    pub counts_level: Utilisation,
    /// By how much of the even level, in percent, the utilisation of one node that is out of balance must fall.
    /// Otherwise nothing is moved for balance.
    pub gain_min_percent: u32,
    /// For how long a balance is taken to last. The benefit of a move is the fall of utilisation over the
    /// shorter of this time and three times the time for which the imbalance has lasted.
    pub horizon_max: Duration,
    /// How many times its cost the benefit of a move must be.
    pub benefit_over_cost: u32,
    /// For how long a partition stays where it is after it was moved for balance.
    pub rest: Duration,
    /// How many times the usual benefit moves a partition all the same.
    pub rest_benefit: u32,
    /// What a change of leader costs the clients that have to find the new one: full utilisation for so long.
    pub transfer_cost: Duration,
    /// How much disk and memory a move for balance leaves free on its target, in percent of the capacity.
    pub headroom_percent: u32,
    /// How much a new, repaired or drained replica leaves free.
    pub repair_headroom_percent: u32,
    /// How many replicas a node receives at a time.
    pub copies_in_per_node: usize,
    /// How many replicas a node sends at a time. Leaders send.
    pub copies_out_per_node: usize,
    /// Bytes per second that a node copies, over all its copies.
    pub copy_bytes_per_s: u64,
    /// How many of all leaders may change in a second, in percent.
    pub transfers_percent_per_s: u32,
    /// How many changes for balance a plan may have. The next plan goes on.
    pub balance_changes_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            excluded: BTreeSet::new(),
            balance: true,
            balance_moves: true,
            balance_counts: true,
            begin_percent: 115,
            begin_low_percent: 50,
            aim_percent: 103,
            even_min: Utilisation::percent(5),
            counts_level: Utilisation::percent(10),
            gain_min_percent: 5,
            horizon_max: Duration::from_secs(86_400),
            benefit_over_cost: 2,
            rest: Duration::from_secs(600),
            rest_benefit: 3,
            transfer_cost: Duration::from_millis(5),
            headroom_percent: 20,
            repair_headroom_percent: 5,
            copies_in_per_node: 1,
            copies_out_per_node: 1,
            copy_bytes_per_s: 100_000_000,
            transfers_percent_per_s: 5,
            balance_changes_max: 20_000,
        }
    }
}
