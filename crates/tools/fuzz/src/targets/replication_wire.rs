//! Messages between the nodes of a replicated service, of any bytes: what is decoded encodes to the same bytes, takes memory by
//! its length, and an append is one that a replica takes.

use replication_appointed::{
    Append, Appended, Config, Diverged, Epoch, EpochStart, Position, Refused, Replica, ReplicaId, Reset,
    Round, Seq, Voters,
};
use replication_controller::{
    Act, ActKind, FenceAnswer, FenceRequest, Goal, Incarnation, Known, Loss, Members, PartitionId, Promise,
    Record, Report, Task, Version, Work,
};
use replication_wire::{
    BATCH_BYTES_MAX, ControllerMessage, Lagging, Message, NodeMessage, ReplicaMessage, ReplicasWriter,
};

use crate::heap;

/// Memory that an input may take: so much at once, and so much for each of its bytes.
const MEMORY_BYTES: (usize, usize) = (4 << 10, 64);

pub(crate) fn run(bytes: &[u8]) {
    let decoded = Message::decode(bytes);
    let (at_once, for_each) = MEMORY_BYTES;
    assert!(heap::peak_bytes() <= at_once + for_each * bytes.len(), "it took {} bytes", heap::peak_bytes());
    let mut again = Vec::new();
    match decoded {
        Ok(Message::Replicas(items)) => {
            let mut writer = ReplicasWriter::new(&mut again, usize::MAX);
            for item in items {
                let Ok((partition, message)) = item else { return };
                writer.put(partition, &message).expect("there is no limit");
                take(&message);
            }
        }
        Ok(Message::Call(call)) => call.encode(&mut again),
        Ok(Message::Controller(message)) => message.encode(&mut again),
        Ok(Message::Node(message)) => message.encode(&mut again),
        Ok(Message::Lagging(items)) => Lagging::encode(&items, &mut again),
        Err(_) => return,
    }
    assert!(again == bytes, "it has another form: {again:02x?}");
}

/// A replica that has nothing yet takes any append, or asks for an earlier one.
fn take(message: &ReplicaMessage<'_>) {
    if let ReplicaMessage::Append { append, .. } = message {
        let taken = Replica::new(Seq(0)).receive_append(ReplicaId(1), append);
        assert!(taken.is_ok(), "{taken:?}");
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![replicas(&items())];
    seeds.extend(items().into_iter().map(|item| replicas(&[item])));
    for message in of_controller().into_iter().chain([small_records()]) {
        message.encode_parts(|part| seeds.push(part.to_vec()));
    }
    for message in of_node() {
        message.encode_parts(|part| seeds.push(part.to_vec()));
    }
    Lagging::encode_parts(&lagging(), |part| seeds.push(part.to_vec()));
    seeds
}

fn replicas(items: &[(PartitionId, ReplicaMessage<'_>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = ReplicasWriter::new(&mut out, BATCH_BYTES_MAX);
    for (partition, message) in items {
        writer.put(*partition, message).expect("a seed is short");
    }
    out
}

fn position(epoch: u32, end: u64) -> Position {
    Position { epoch: Epoch(epoch), end: Seq(end) }
}

/// Entries of two epochs, the sender's own among them.
fn append() -> Append {
    let start = |epoch, start| EpochStart { epoch: Epoch(epoch), start: Seq(start) };
    Append {
        epoch: Epoch(7),
        epoch_start: Seq(1020),
        after: position(4, 1010),
        to: Seq(1030),
        starts: vec![start(6, 1015), start(7, 1020)],
        committed: Seq(1000),
        start: Seq(900),
        resets: Some(Reset { always: false, thinned_to: Seq(700) }),
        probes: true,
        round: Round(300),
    }
}

fn messages() -> [ReplicaMessage<'static>; 5] {
    let later =
        Append { after: position(7, 1030), to: Seq(1090), starts: Vec::new(), resets: None, ..append() };
    [
        ReplicaMessage::Append { append: append(), entries: b"entries" },
        ReplicaMessage::Append { append: later, entries: &[7; 300] },
        ReplicaMessage::Appended(Appended {
            epoch: Epoch(7),
            durable: Seq(1030),
            start: Seq(900),
            round: Round(1),
        }),
        ReplicaMessage::Diverged(Diverged { epoch: Epoch(7), common: position(5, 900) }),
        ReplicaMessage::Refused(Refused { promised: Epoch(u32::MAX) }),
    ]
}

/// Three partitions of one group, two of another.
fn items() -> Vec<(PartitionId, ReplicaMessage<'static>)> {
    let partition = |index: u32| PartitionId { group: [index as u8 / 3; 16], index: 60 * index };
    (0..).map(partition).zip(messages()).collect()
}

fn members(voters: &[u32], learners: &[u32]) -> Members {
    let replicas = |ids: &[u32]| ids.iter().copied().map(ReplicaId).collect::<Vec<_>>();
    let voters = Voters::new(replicas(voters), voters.len() / 2 + 1).expect("a majority");
    Members { voters, learners: replicas(learners).into_iter().collect() }
}

fn record(epoch: u32) -> Record {
    let Members { voters, learners } = members(&[1, 2, 300], &[70_000]);
    Record::new(Config { epoch: Epoch(epoch), leader: ReplicaId(2), voters, learners, chosen: true })
}

fn of_controller() -> Vec<ControllerMessage> {
    let (partition, version, epoch) = (PartitionId::numbered(70), Version(300), Epoch(5));
    let whole = Record {
        preferred: [2, 1].map(ReplicaId).to_vec(),
        voters_min: Some(1),
        goal: Some(Goal { to: members(&[4], &[5]), from: members(&[1, 2], &[]) }),
        loss: Some(Loss { epoch: Epoch(8), missing: [3, 4].map(ReplicaId).into(), kept: position(7, 99) }),
        ..record(9)
    };
    let known = [record(5), whole].map(|record| Known { partition, version, record });
    let change = Work::Change { version, record: Box::new(record(6)) };
    let tasks = [change, Work::HandOver { to: ReplicaId(3) }].map(|work| Task { partition, epoch, work });
    let fences =
        (0..30).map(|id| FenceRequest { partition: PartitionId::numbered(id * id), epoch: Epoch(1 + id) });
    vec![
        ControllerMessage::Fence(fences.collect()),
        ControllerMessage::Tell(known.to_vec()),
        ControllerMessage::Ask(tasks.to_vec()),
    ]
}

/// The records that take the most memory for their bytes.
fn small_records() -> ControllerMessage {
    let record = Record::new(Config::alone(ReplicaId(1), Epoch(1)));
    let known =
        |id| Known { partition: PartitionId::numbered(id), version: Version(1), record: record.clone() };
    ControllerMessage::Tell((0..300).map(known).collect())
}

fn of_node() -> Vec<NodeMessage> {
    let (incarnation, partition, epoch) = (Incarnation(1_000), PartitionId::numbered(9), Epoch(5));
    let promises = [Promise::Given(position(4, 77)), Promise::Refused(Epoch(6))];
    let report = |leads| {
        let promised = if leads { epoch } else { Epoch(0) };
        Report { partition, version: Version(2), epoch, promised, leads }
    };
    vec![
        NodeMessage::Announced { incarnation },
        NodeMessage::Promised(promises.map(|promise| FenceAnswer { partition, epoch, promise }).to_vec()),
        NodeMessage::Reported { incarnation, reports: [true, false].map(report).to_vec() },
        NodeMessage::Reported { incarnation, reports: Vec::new() },
        NodeMessage::Prepared { partition, epoch, to: ReplicaId(3) },
        NodeMessage::Draining { drains: true },
        NodeMessage::Acts([ActKind::HandOver(ReplicaId(3)), ActKind::RecoverWithLoss].map(act).to_vec()),
    ]
}

fn act(kind: ActKind) -> Act {
    Act { partition: PartitionId::numbered(9), kind }
}

fn lagging() -> Vec<Lagging> {
    let voters = [(ReplicaId(2), true), (ReplicaId(300), false)].into();
    let some = Lagging { partition: PartitionId::numbered(9), epoch: Epoch(5), voters };
    vec![some.clone(), Lagging { voters: [].into(), ..some }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_of_every_kind_and_are_decoded() {
        let seeds = seeds();
        let kinds: std::collections::BTreeSet<u8> =
            seeds.iter().filter_map(|seed| seed.get(1)).copied().collect();
        assert_eq!(kinds.len(), 11, "{kinds:?}");
        let is_message = |seed: &[u8]| match Message::decode(seed) {
            Ok(Message::Replicas(mut items)) => items.all(|item| item.is_ok()),
            other => other.is_ok(),
        };
        assert!(seeds.iter().all(|seed| is_message(seed)));
    }
}
