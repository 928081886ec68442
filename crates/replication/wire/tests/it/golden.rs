//! The bytes of one message of each kind. A difference is a change of the form: it needs another version.

use replication_appointed::{
    Append, Appended, Config, Diverged, Epoch, EpochStart, Position, Refused, ReplicaId, Reset, Round, Seq,
    Voters,
};
use replication_controller::{
    Act, ActKind, FenceAnswer, FenceRequest, Goal, Incarnation, Known, Loss, Members, PartitionId, Promise,
    Record, Report, Task, Version, Work,
};
use replication_wire::{ControllerMessage, Lagging, NodeMessage, ReplicaMessage};

use crate::Whole;

fn check(message: &Whole<'_>, expected: &str) {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let expected: String = expected.split_whitespace().collect();
    assert_eq!(hex(&message.encode()), expected, "{message:?}");
    let bytes: Vec<u8> = message.encode();
    assert_eq!(Whole::decode(&bytes).as_ref(), Ok(message));
}

fn position(epoch: u32, end: u64) -> Position {
    Position { epoch: Epoch(epoch), end: Seq(end) }
}

fn members(voters: &[u32], durable_on: usize, learners: &[u32]) -> Members {
    let replicas = |ids: &[u32]| ids.iter().copied().map(ReplicaId).collect::<Vec<_>>();
    let voters = Voters::new(replicas(voters), durable_on).expect("a constant that is fine");
    Members { voters, learners: replicas(learners).into_iter().collect() }
}

fn of(group: u8, index: u32) -> PartitionId {
    PartitionId { group: [group; 16], index }
}

fn record(epoch: u32) -> Record {
    let Members { voters, learners } = members(&[1, 2, 300], 2, &[]);
    Record::new(Config { epoch: Epoch(epoch), leader: ReplicaId(2), voters, learners, chosen: true })
}

#[test]
fn messages_between_replicas_have_these_bytes() {
    let starts = [(6, 1015), (7, 1020)].map(|(epoch, start)| (Epoch(epoch), Seq(start)));
    let append = Append {
        epoch: Epoch(7),
        epoch_start: Seq(1020),
        after: position(4, 1010),
        to: Seq(1030),
        starts: starts.map(|(epoch, start)| EpochStart { epoch, start }).to_vec(),
        committed: Seq(1000),
        start: Seq(900),
        resets: Some(Reset { always: true, thinned_to: Seq(500) }),
        probes: true,
        round: Round(300),
    };
    check(
        &Whole::Replicas(vec![
            (of(0xaa, 3), ReplicaMessage::Append { append, entries: b"entries" }),
            (
                of(0xaa, 100),
                ReplicaMessage::Appended(Appended { epoch: Epoch(7), durable: Seq(300), start: Seq(200), round: Round(129) }),
            ),
            (of(0xbb, 0), ReplicaMessage::Diverged(Diverged { epoch: Epoch(7), common: position(5, 9) })),
            (of(0xbb, 1), ReplicaMessage::Refused(Refused { promised: Epoch(200) })),
        ]),
        "03 01 04000000
         07 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 71 07 fc07 03 f207 14 3b 8407 ac02 01 f403 02 02 05 01 05 07 656e7472696573
         c801 02 07 ac02 c801 8101
         01 bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 03 07 02 09
         02 04 c801",
    );
}

#[test]
fn messages_of_a_controller_have_these_bytes() {
    let fence = |partition, epoch| FenceRequest { partition, epoch: Epoch(epoch) };
    let fences = vec![fence(of(0xaa, 1000), 5), fence(of(0xaa, 1001), 6), fence(of(0xbb, 1), 7)];
    check(
        &Whole::Controller(ControllerMessage::Fence(fences)),
        "03 11 03000000
         d10f aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 05
         d20f 06
         03 bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 07",
    );
    let (partition, version) = (of(0xaa, 70), Version(300));
    let whole = Record {
        preferred: [2, 1].map(ReplicaId).to_vec(),
        voters_min: Some(1),
        goal: Some(Goal { to: members(&[4], 1, &[5]), from: members(&[1, 2], 1, &[]) }),
        loss: Some(Loss { epoch: Epoch(8), missing: [3, 4].map(ReplicaId).into(), kept: position(7, 99) }),
        ..record(9)
    };
    let known = [record(5), whole].map(|record| Known { partition, version, record });
    check(
        &Whole::Controller(ControllerMessage::Tell(known.to_vec())),
        "03 12 02000000
         8d01 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ac02 01 05 02 03 01 01 aa02 02 00 00
         8c01 ac02 0f 09 02 03 01 01 aa02 02 00 02 02 01 01
         01 04 01 01 05 02 01 01 01 00 08 02 03 01 07 63",
    );
    let change = Work::Change { version, record: Box::new(record(6)) };
    let works = [change, Work::HandOver { to: ReplicaId(3) }];
    let tasks = works.map(|work| Task { partition, epoch: Epoch(5), work });
    check(
        &Whole::Controller(ControllerMessage::Ask(tasks.to_vec())),
        "03 13 02000000
         8d01 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 05 01 ac02 01 06 02 03 01 01 aa02 02 00 00
         8c01 05 02 03",
    );
}

#[test]
fn messages_of_a_node_have_these_bytes() {
    let (incarnation, partition, epoch) = (Incarnation(1_000), of(0xaa, 9), Epoch(5));
    check(&Whole::Node(NodeMessage::Announced { incarnation }), "03 21 e807");
    let promises = [Promise::Given(position(4, 77)), Promise::Refused(Epoch(6))];
    let answers = promises.map(|promise| FenceAnswer { partition, epoch, promise });
    check(
        &Whole::Node(NodeMessage::Promised(answers.to_vec())),
        "03 22 02000000 13 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 05 01 04 4d 12 05 02 06",
    );
    let reports = [(5, true), (6, false)].map(|(promised, leads)| Report {
        partition,
        version: Version(2),
        epoch,
        promised: Epoch(promised),
        leads,
    });
    check(
        &Whole::Node(NodeMessage::Reported { incarnation, reports: reports.to_vec() }),
        "03 23 02000000 e807 13 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 02 05 01 05 12 02 05 00 06",
    );
    check(
        &Whole::Node(NodeMessage::Prepared { partition, epoch, to: ReplicaId(3) }),
        "03 24 13 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 05 03",
    );
    check(&Whole::Node(NodeMessage::Draining { drains: true }), "03 25 01");
    let acts =
        [ActKind::HandOver(ReplicaId(3)), ActKind::RecoverWithLoss].map(|kind| Act { partition, kind });
    check(
        &Whole::Node(NodeMessage::Acts(acts.to_vec())),
        "03 26 02000000 13 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 01 03 12 02",
    );
}

#[test]
fn messages_of_a_leader_to_all_have_these_bytes() {
    let lagging = |voters: &[(u32, bool)]| Lagging {
        partition: of(0xaa, 9),
        epoch: Epoch(5),
        voters: voters.iter().map(|(id, holds_all)| (ReplicaId(*id), *holds_all)).collect(),
    };
    check(
        &Whole::Lagging(vec![lagging(&[(2, true), (300, false)]), lagging(&[])]),
        "03 31 02000000 13 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 05 02 02 01 aa02 00 12 05 00",
    );
}
