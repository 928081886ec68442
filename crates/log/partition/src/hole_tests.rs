//! What a start knows of epochs of which a leader that has compacted its log sent no batch, or not the first.

use base::WallTime;
use bytes::Bytes;
use log_wire::Batch;
use replication_appointed::{Append, EpochStart, Position, Round};

use crate::test_support::plain;
use crate::{
    Change, LeaderEpoch, NewBatch, Offset, Partition, PartitionConfig, ReplicaId, StoredBatch, StoredEvent,
    Taken,
};

const LEADER: ReplicaId = ReplicaId(1);

/// Of two records.
fn batch(base: i64, epoch: i32) -> Bytes {
    let mut bytes = plain(base, 500, 2, 40);
    Batch::assign(&mut bytes, base, epoch);
    bytes.into()
}

fn position(epoch: i32, end: i64) -> Position {
    Position { epoch: LeaderEpoch(epoch).epoch(), end: Offset(end).seq() }
}

/// Of a leader whose epoch is the last that began.
fn append(after: Position, to: i64, begun: &[(i32, i64)]) -> Append {
    let starts: Vec<_> = begun
        .iter()
        .map(|(epoch, start)| EpochStart { epoch: LeaderEpoch(*epoch).epoch(), start: Offset(*start).seq() })
        .collect();
    let last = starts.last().expect("its own");
    Append {
        epoch: last.epoch,
        epoch_start: last.start,
        after,
        to: Offset(to).seq(),
        starts,
        committed: Offset(0).seq(),
        start: Offset(0).seq(),
        resets: None,
        probes: true,
        round: Round(0),
    }
}

struct Follower {
    partition: Partition,
    kept: Vec<Change>,
}

impl Follower {
    fn new() -> Self {
        Self { partition: Partition::new(PartitionConfig::default(), Offset(0)), kept: Vec::new() }
    }

    fn receive(&mut self, append: &Append, batches: &[Bytes]) {
        let taken = self.partition.receive(LEADER, append, &batches.concat().into(), WallTime::of_ms(600));
        let Taken { changes, persist, .. } = taken.expect("a leader sends that");
        self.kept.extend(changes);
        persist.into_iter().for_each(|persist| self.partition.persisted(persist));
    }

    fn restored(&self) -> Partition {
        let mut events: Vec<StoredEvent<'_>> = Vec::new();
        for change in &self.kept {
            match change {
                Change::Batch(NewBatch { at, begun, bytes, .. }) => {
                    let (at, now, is_behind_state) = (*at, WallTime::of_ms(600), true);
                    let stored = StoredBatch { at, now, is_behind_state, is_written: false, begun, bytes };
                    events.push(StoredEvent::Batch(stored));
                }
                Change::Epoch(new) => events.push(StoredEvent::Epoch(new.promised, new.begins)),
                Change::Cut(cut) => events.retain(|event| match event {
                    StoredEvent::Batch(stored) => {
                        Offset(Batch::read(stored.bytes).expect("a batch").0.last_offset()) < cut.end
                    }
                    _ => true,
                }),
                other => panic!("not asked for: {other:?}"),
            }
        }
        let config = PartitionConfig::default();
        Partition::restore(config, Offset(0), None, events.into_iter()).expect("it fits together")
    }

    fn assert_comes_back(&self) {
        assert_eq!(self.restored().replica().log(), self.partition.replica().log());
    }
}

#[test]
fn epochs_without_batches_are_known_after_a_start() {
    let mut follower = Follower::new();
    let sent = append(position(-1, 0), 34, &[(2, 0), (3, 10), (4, 20), (5, 25)]);
    follower.receive(&sent, &[batch(4, 2), batch(30, 5), batch(32, 5)]);
    follower.assert_comes_back();
    // Another leader sends more of the same log.
    follower.receive(&append(position(5, 34), 62, &[(6, 34), (8, 50)]), &[batch(34, 6), batch(60, 8)]);
    follower.assert_comes_back();
}

#[test]
fn batches_that_meet_tell_of_their_epochs_themselves() {
    let mut follower = Follower::new();
    follower
        .receive(&append(position(-1, 0), 6, &[(2, 0), (3, 4)]), &[batch(0, 2), batch(2, 2), batch(4, 3)]);
    follower.assert_comes_back();
    let told = |change: &Change| matches!(change, Change::Batch(new) if !new.begun.is_empty());
    assert!(!follower.kept.iter().any(told), "it costs bytes");
}

#[test]
fn hole_that_was_cut_off_leaves_no_epochs_behind() {
    let mut follower = Follower::new();
    let sent = append(position(-1, 0), 32, &[(2, 0), (3, 10), (5, 25)]);
    follower.receive(&sent, &[batch(0, 2), batch(30, 5)]);
    // The next leader has less of the first epoch, and a hole of its own behind it.
    let next = append(position(2, 2), 42, &[(6, 15), (7, 35)]);
    follower.receive(&next, &[batch(40, 7)]);
    follower.assert_comes_back();
}
