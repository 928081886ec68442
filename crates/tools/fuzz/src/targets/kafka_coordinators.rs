//! Records of the internal topics, of any bytes: a coordinator reads them or says that they are damaged, goes on with what it has
//! read, and can read what it writes itself.

use base::Now;
use log_coordinators::{
    Blob, Effect, Generation, GroupCoordinator, GroupLimits, InitProducerId, Join, MemberRef, NewOffset,
    Offset, OffsetCommit, Record, Request, Ticket, Topic, TransactionCoordinator, TransactionEffect,
    TransactionLimits, TransactionRequest,
};
use log_partition::CoordinatorEpoch;

use crate::input::{Input, put_piece};

const HOUR_MS: u64 = 3_600_000;
/// A week: sessions, transactions and offsets have expired.
const LATER_MS: u64 = 7 * 24 * HOUR_MS;
/// How often a coordinator may go on by itself: expiries follow each other.
const ROUNDS: usize = 50;

/// The first byte chooses the coordinator; then come records: a byte that says whether it has a value, a key, a value.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let Some(kind) = input.byte() else { return };
    let mut records = Vec::new();
    while let (Some(has_value), Some(key)) = (input.byte(), input.piece()) {
        let value = (has_value % 2 == 1).then(|| input.piece().unwrap_or_default().to_vec());
        records.push(Record { key: key.to_vec(), value });
    }
    match kind % 2 {
        0 => groups(&records),
        _ => transactions(&records),
    }
}

fn start() -> Now {
    Now::of_ms(5_000, 1_000_000)
}

fn later(now: &mut Now) {
    now.advance_ms(LATER_MS);
    now.wall = now.wall.plus_ms(LATER_MS as i64);
}

fn groups(records: &[Record]) {
    let new = || GroupCoordinator::new(GroupLimits::default(), 1);
    let mut coordinator = new();
    for record in records {
        if coordinator.load(&record.key, record.value.as_deref()).is_err() {
            return;
        }
    }
    check(&coordinator.snapshot(), |record| new().load(&record.key, record.value.as_deref()).is_ok());
    let mut now = start();
    coordinator.loaded(now);
    for _ in 0..ROUNDS {
        for effect in coordinator.take_effects() {
            if let Effect::Append { seq, records } = effect {
                check(&records, |record| new().load(&record.key, record.value.as_deref()).is_ok());
                coordinator.persisted(seq, now);
            }
        }
        later(&mut now);
        coordinator.tick(now);
    }
    coordinator.handle(Request::List(Vec::new()), Ticket(1), &(), now);
    assert!(
        coordinator.take_effects().iter().any(|effect| matches!(effect, Effect::Reply { .. })),
        "groups are not listed"
    );
}

fn transactions(records: &[Record]) {
    let new = || TransactionCoordinator::new(TransactionLimits::default(), CoordinatorEpoch(3));
    let mut coordinator = new();
    for record in records {
        if coordinator.load(&record.key, record.value.as_deref()).is_err() {
            return;
        }
    }
    check(&coordinator.snapshot(), |record| new().load(&record.key, record.value.as_deref()).is_ok());
    let mut now = start();
    coordinator.loaded(now);
    for _ in 0..ROUNDS {
        for effect in coordinator.take_effects() {
            if let TransactionEffect::Append { seq, records } = effect {
                check(&records, |record| new().load(&record.key, record.value.as_deref()).is_ok());
                coordinator.persisted(seq, now);
            }
        }
        later(&mut now);
        coordinator.tick(now);
    }
}

fn check(records: &[Record], is_readable: impl Fn(&Record) -> bool) {
    assert!(records.iter().all(is_readable), "it cannot read what it writes");
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let records = [of_groups(), of_transactions()];
    let mut seeds = Vec::new();
    for (kind, records) in (0u8..).zip(records) {
        let (all, singles) = ((0..=records.len()).map(|end| 0..end), (1..records.len()).map(|at| at..at + 1));
        for of in all.chain(singles) {
            let mut seed = vec![kind];
            for Record { key, value } in &records[of] {
                seed.push(u8::from(value.is_some()));
                put_piece(&mut seed, key);
                if let Some(value) = value {
                    put_piece(&mut seed, value);
                }
            }
            seeds.push(seed);
        }
    }
    seeds
}

/// What a coordinator writes of a group with a member, and of offsets.
fn of_groups() -> Vec<Record> {
    let limits = GroupLimits { initial_rebalance_delay_ms: 0, ..GroupLimits::default() };
    let mut coordinator = GroupCoordinator::new(limits, 1);
    let now = start();
    coordinator.loaded(now);
    let nobody = |group: &str| MemberRef {
        group: group.into(),
        member: "".into(),
        instance: None,
        generation: Generation(-1),
    };
    let offset = |partition| NewOffset {
        topic: Topic { name: "orders".into(), id: [1; 16] },
        partition,
        offset: Offset(7),
        leader_epoch: 0,
        metadata: "text".into(),
    };
    let join = Join {
        who: nobody("members"),
        version: 3,
        client_id: "client".into(),
        client_host: "/10.0.0.1".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 20_000,
        protocol_type: "consumer".into(),
        protocols: vec![("range".into(), Blob::from(&b"metadata"[..]))],
    };
    let commit = OffsetCommit { who: nobody("offsets"), version: 9, offsets: (0..3).map(offset).collect() };
    let mut records = Vec::new();
    for (ticket, request) in (0..).zip([Request::Commit(commit), Request::Join(join)]) {
        coordinator.handle(request, Ticket(ticket), &(), now);
        settle(&mut coordinator, &mut records, now);
    }
    records
}

/// All that it wants to write is written.
fn settle(coordinator: &mut GroupCoordinator, records: &mut Vec<Record>, now: Now) {
    loop {
        let effects = coordinator.take_effects();
        if effects.is_empty() {
            break;
        }
        for effect in effects {
            if let Effect::Append { seq, records: more } = effect {
                records.extend(more);
                coordinator.persisted(seq, now);
            }
        }
    }
}

fn of_transactions() -> Vec<Record> {
    let mut coordinator = TransactionCoordinator::new(TransactionLimits::default(), CoordinatorEpoch(3));
    let now = start();
    coordinator.loaded(now);
    let mut records = Vec::new();
    for ticket in 0..3 {
        let init = InitProducerId { transactional_id: "payments".into(), timeout_ms: 60_000, producer: None };
        coordinator.handle(TransactionRequest::Init(init), Ticket(ticket), now);
        loop {
            let effects = coordinator.take_effects();
            if effects.is_empty() {
                break;
            }
            for effect in effects {
                match effect {
                    TransactionEffect::Append { seq, records: more } => {
                        records.extend(more);
                        coordinator.persisted(seq, now);
                    }
                    TransactionEffect::AllocateProducerIds => coordinator.producer_ids(Some(10..20)),
                    TransactionEffect::Reply { .. }
                    | TransactionEffect::Confirm
                    | TransactionEffect::WriteMarkers(_) => {}
                }
            }
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_the_seeds_are_readable() {
        let (groups, transactions) = (of_groups(), of_transactions());
        assert!(groups.len() >= 4 && transactions.len() >= 2, "{} {}", groups.len(), transactions.len());
        let mut coordinator = GroupCoordinator::new(GroupLimits::default(), 2);
        assert!(groups.iter().all(|own| coordinator.load(&own.key, own.value.as_deref()).is_ok()));
    }
}
