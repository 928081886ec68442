//! Balance of leaders and replicas without a person: brokers measure what their partitions are used for, and the controller has leaders
//! change, and replicas move if that is wanted, while brokers carry unequal loads. What is to change [`log_balance`] decides.
//!
//! # A window
//! 1. Every `diwan.balance.interval.ms` each broker makes rates of what it has counted of the partitions that it leads
//!    ([`log_balance::Meter`]), and tells the controller what is new of them, in as many calls as that takes. There is no answer: a call
//!    is lost only with its link, and then everything is told again.
//! 2. The controller looks at all of them at the end of its own window ([`log_balance::Balancer::look`]), unless something speaks
//!    against that (`look::hindrance`). What begins is asked of the council as by AlterPartitionReassignments, a few partitions at a
//!    time.
//! 3. A leader that is to change is asked for as by ElectLeaders, every second until the record says so.
//! 4. What the look came to is in `Node::balance_report`, and what was measured in `Node::loads`: DescribeConfigs of the controller
//!    shows both to who asks for them by name, and only then.
//!
//! # Invariants
//! - With `diwan.balance=off` nothing is measured, told or woken for.
//! - Nothing begins while a broker is lost or drains, while somebody else changes the replicas of any partition, or while leaders go
//!   back to brokers that returned. What has begun goes on: the records in the council are everybody's.
//! - Topics of the brokers' own stay as they are: coordinators move with them. What they use counts.
//! - Copies are throttled where they are sent from, at `diwan.balance.move.bytes.per.second`, for as long as the controller says that
//!   they are its own.
//! - *Bounded.* The controller keeps what the catalog names, and a call has at most `LOADS_PER_CALL` partitions.
//!
//! # Not done, and what that costs
//! - A controller that replaces another one takes what that has begun for a person's: it waits for the end, and copies are not throttled
//!   any more. It has forgotten which partitions rest.
//! - A copy to a broker that is lost for good waits for it until a person cancels it.
//! - What consumers read of followers in their rack does not count.
//! - The controller looks while it holds the broker: with 10,000 partitions of three replicas that takes some 15 ms of CPU time in each
//!   window.

mod calls;
mod look;

use base::Now;
use log_balance::{BrokerRoom, Counters};
use log_config::BalanceMode;
use log_partition::PartitionId;

use crate::balance::Balance;
use crate::broker::Broker;
use crate::node::Node;

/// How often it is asked for a leader that is to change, milliseconds.
const AGAIN_MS: u64 = 1_000;
/// A broker that has told nothing for so many windows has no known load, and a throttle that was not confirmed ends.
const WINDOWS_SILENT_MAX: u64 = 3;

impl Broker {
    /// Time passes. To be called once all topics are known.
    pub(crate) fn tick_balance(&mut self, now: Now) {
        let settings = self.node.config.balance;
        if settings.mode == BalanceMode::Off {
            if self.balance.due.is_some() {
                self.balance.resign(&mut self.node);
                self.balance = Balance::default();
            }
            return;
        }
        match self.balance.due {
            None => self.balance.due = Some(now.mono().plus_ms(settings.interval_ms)),
            Some(due) if due <= now.mono() => {
                self.balance.due = Some(now.mono().plus_ms(settings.interval_ms));
                self.window_ends(now);
            }
            Some(_) => {}
        }
        if self.balance.again.is_some_and(|again| again <= now.mono()) {
            self.ask_for_leaders(now);
        }
    }

    fn window_ends(&mut self, now: Now) {
        let Self { node, balance, .. } = self;
        balance.meter.window_ends(now.mono().ms(), counted(node));
        let (own, controller) = (node.config.node_id, node.brokers.controller());
        if controller != own {
            balance.resign(node);
            self.tell_loads(controller);
            return;
        }
        if balance.told_to != Some(own) {
            balance.meter.tell_anew();
            balance.told_to = Some(own);
        }
        let (room, news) = (room(node), balance.meter.take_news());
        node.loads.told(own, room, news, now.mono());
        self.look_at_loads(now);
    }
}

/// What was counted of the partitions that are led here.
fn counted(node: &Node) -> impl Iterator<Item = (PartitionId, Counters)> {
    node.partitions.all().filter(|hosted| hosted.is_ready).map(|hosted| {
        let counters = Counters {
            bytes_in: hosted.traffic.bytes_in,
            bytes_out: hosted.traffic.bytes_out,
            requests: hosted.traffic.requests,
            stored_bytes: hosted.partition.bytes(),
        };
        (hosted.id, counters)
    })
}

/// What this broker has.
fn room(node: &Node) -> BrokerRoom {
    let kept: u64 = node.partitions.all().map(|hosted| hosted.partition.bytes()).sum();
    BrokerRoom {
        disk_bytes: node.volume.map(|volume| volume.usable_bytes.saturating_add(kept)),
        network_bytes_per_s: node.config.balance.network_bytes_per_s,
    }
}
