//! What must hold of what clients own, were told and committed.

use std::collections::{BTreeMap, BTreeSet};

use log_coordinators::Text;

use crate::client::{Client, Partition, REBALANCE_MS, SESSION_MS};

/// A commit of an offset.
pub(crate) struct Commit {
    pub(crate) partition: Partition,
    pub(crate) client: u64,
    pub(crate) member: Text,
    pub(crate) epoch: i32,
    pub(crate) sent: u64,
    pub(crate) handled: Option<u64>,
    pub(crate) acked: bool,
}

#[derive(Default)]
pub(crate) struct Oracle {
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// What happened, in order.
    event: u64,
    /// Who was given each partition, and when.
    grants: BTreeMap<Partition, Vec<(u64, u64)>>,
    /// The newest epoch that each member was told.
    epochs: BTreeMap<Text, i32>,
    /// By the offset that is committed.
    pub(crate) commits: BTreeMap<i64, Commit>,
}

impl Oracle {
    pub(crate) fn count(&mut self, what: &'static str) {
        self.add(what, 1);
    }

    pub(crate) fn add(&mut self, what: &'static str, times: u64) {
        *self.counts.entry(what).or_default() += times;
    }

    pub(crate) fn tick(&mut self) -> u64 {
        self.event += 1;
        self.event
    }

    /// A member is told to own these. By the coordinator itself: what the leader of a classic group gives is its own affair.
    pub(crate) fn granted(
        &mut self,
        to: &Client,
        partitions: &BTreeSet<Partition>,
        clients: &[Client],
        counted: u64,
        by_coordinator: bool,
    ) {
        let event = self.tick();
        for partition in partitions.difference(&to.owned) {
            let others = clients.iter().filter(|other| other.incarnation != to.incarnation);
            for other in others.filter(|other| other.owned.contains(partition)) {
                assert!(
                    !by_coordinator || !is_protected(other, counted),
                    "{partition:?} goes to client {} while client {} owns it (L48)\n{to:?}\n{other:?}",
                    to.number,
                    other.number,
                );
            }
            self.grants.entry(*partition).or_default().push((event, to.incarnation));
        }
    }

    /// A member is told its epoch or generation.
    pub(crate) fn told_epoch(&mut self, member: &Text, epoch: i32) {
        let newest = self.epochs.entry(member.clone()).or_insert(epoch);
        assert!(epoch >= *newest, "member {member} was told epoch {epoch} after {newest} (L49)");
        *newest = epoch;
    }

    /// A member is told that it is none.
    pub(crate) fn expelled(&mut self, client: &Client, counted: u64) {
        self.count("expelled");
        assert!(
            !is_protected(client, counted),
            "client {} was expelled early (L52)\n{client:?}",
            client.number
        );
        self.epochs.remove(&client.member);
    }

    /// A member that does not give up what it has to is still one. Time does not run while an append is stuck, and another
    /// target may have given it more time.
    pub(crate) fn still_member(&self, client: &Client, slow_ms: u64) {
        assert!(
            slow_ms < 4 * REBALANCE_MS,
            "client {} holds up the group for {slow_ms} ms (L53)",
            client.number
        );
    }

    pub(crate) fn acked(&mut self, value: i64) {
        self.count("committed");
        let commit = self.commits.get_mut(&value).expect("it was sent");
        commit.acked = true;
        let handled = commit.handled.expect("it was handled");
        // A member may commit to any partition with its present epoch, as in Kafka: it has not been led on yet.
        if self.epochs.get(&commit.member) == Some(&commit.epoch) {
            return;
        }
        let grants = self.grants.get(&commit.partition).map(Vec::as_slice).unwrap_or_default();
        let between = grants.iter().filter(|(at, _)| commit.sent < *at && *at < handled);
        let another = between.into_iter().find(|(_, to)| *to != commit.client);
        assert_eq!(another, None, "a commit counted though the partition had gone to another client (L50)");
    }

    /// What is read at the end: the last commit that was acknowledged, or one behind it (L51).
    pub(crate) fn fetched(&self, partition: Partition, value: i64) {
        let of_partition = || self.commits.iter().filter(|(_, commit)| commit.partition == partition);
        let last =
            of_partition().filter(|(_, commit)| commit.acked).filter_map(|(_, commit)| commit.handled).max();
        let read = of_partition().find(|(known, _)| **known == value);
        let read = read.map(|(_, commit)| commit.handled.expect("it was handled"));
        assert!(value < 0 || read.is_some(), "offset {value} was never committed (L51)");
        assert!(
            read >= last,
            "offset {value} of {partition:?} was read, which is older than one acknowledged (L51)"
        );
    }
}

/// Whether nobody else may have what the client owns: it was heard of within its session, and has not been slow to do what it was
/// asked to.
fn is_protected(client: &Client, counted: u64) -> bool {
    let slow = client.asked_to_give_up.is_some_and(|at| client.stubborn || counted - at >= REBALANCE_MS / 2);
    counted - client.heard_at < SESSION_MS && !slow && !client.asked_to_act
}
