//! The records of the internal partition `__transaction_state`. A decoder refuses what it does not know.

use base::WallTime;
use log_partition::{ProducerEpoch, ProducerId, TransactionVersion};
use log_wire::{Malformed, Reader, Writer};

use super::transaction::{FollowedBy, State, Transaction};
use super::{Participant, Producer};
use crate::codec::{text, version};
use crate::{Damaged, Text, Topic, journal};

/// The version of keys and values: their first byte.
const VERSION: i8 = 1;
const TRANSACTION: i8 = 1;
/// The least bytes of a participant in a record.
const PARTICIPANT_BYTES_MIN: usize = 5;

/// A transactional id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(pub(crate) Text);

impl journal::Key for Key {
    type Value = Transaction;

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        Writer::new(&mut out, true).i8(VERSION).i8(TRANSACTION).text(&self.0);
        out
    }

    fn encode_value(value: &Transaction) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, true);
        writer.i8(VERSION);
        write_producer(&mut writer, value.producer);
        match value.previous {
            None => writer.i8(0),
            Some((previous, how)) => write_producer(writer.i8(followed_code(how)), previous),
        };
        write_state(&mut writer, &value.state);
        writer.i32(value.timeout_ms as i32).i64(value.started_at.ms()).i64(value.updated_at.ms());
        writer.count(value.participants.len());
        for participant in &value.participants {
            match participant {
                Participant::Partition(topic, partition) => {
                    writer.i8(1).text(&topic.name).uuid(&topic.id).i32(*partition)
                }
                Participant::Offsets(partition) => writer.i8(2).i32(*partition),
            };
        }
        out
    }
}

/// Reads a record.
pub(crate) fn read(key: &[u8], value: Option<&[u8]>) -> Result<(Key, Option<Transaction>), Damaged> {
    let mut reader = Reader::new(key, true);
    version(&mut reader)?;
    if reader.i8()? != TRANSACTION {
        return Err(Malformed("a key of an unknown kind"));
    }
    let key = Key(text(&mut reader)?);
    reader.end()?;
    let Some(value) = value else { return Ok((key, None)) };
    let mut reader = Reader::new(value, true);
    version(&mut reader)?;
    let value = read_transaction(&mut reader)?;
    reader.end()?;
    Ok((key, Some(value)))
}

fn read_transaction(reader: &mut Reader<'_>) -> Result<Transaction, Damaged> {
    let producer = read_producer(reader)?;
    let previous = match followed_by(reader.i8()?)? {
        None => None,
        Some(how) => Some((read_producer(reader)?, how)),
    };
    let state = read_state(reader)?;
    let timeout_ms = u32::try_from(reader.i32()?).map_err(|_| Malformed("a timeout below zero"))?;
    let mut transaction = Transaction::new(producer, timeout_ms, WallTime::of_ms(reader.i64()?));
    (transaction.previous, transaction.state) = (previous, state);
    transaction.updated_at = WallTime::of_ms(reader.i64()?);
    for _ in 0..reader.count(PARTICIPANT_BYTES_MIN)? {
        let participant = match reader.i8()? {
            1 => {
                let topic = Topic { name: text(reader)?, id: reader.uuid()? };
                Participant::Partition(topic, reader.i32()?)
            }
            2 => Participant::Offsets(reader.i32()?),
            _ => return Err(Malformed("a participant of an unknown kind")),
        };
        transaction.participants.insert(participant);
    }
    Ok(transaction)
}

fn write_producer<'w, 'a>(writer: &'w mut Writer<'a>, producer: Producer) -> &'w mut Writer<'a> {
    writer.i64(producer.id.0).i16(producer.epoch.0)
}

fn read_producer(reader: &mut Reader<'_>) -> Result<Producer, Damaged> {
    Ok(Producer { id: ProducerId(reader.i64()?), epoch: ProducerEpoch(reader.i16()?) })
}

const fn followed_code(how: FollowedBy) -> i8 {
    match how {
        FollowedBy::Init => 1,
        FollowedBy::Commit => 2,
        FollowedBy::Abort => 3,
        FollowedBy::Timeout => 4,
    }
}

const fn followed_by(code: i8) -> Result<Option<FollowedBy>, Damaged> {
    Ok(Some(match code {
        0 => return Ok(None),
        1 => FollowedBy::Init,
        2 => FollowedBy::Commit,
        3 => FollowedBy::Abort,
        4 => FollowedBy::Timeout,
        _ => return Err(Malformed("a producer was followed in an unknown way")),
    }))
}

fn write_state(writer: &mut Writer<'_>, state: &State) {
    match state {
        State::Empty => writer.i8(0),
        State::Ongoing => writer.i8(1),
        State::Ending { commit, marker, version } => {
            let raised = *version == TransactionVersion::EpochPerTransaction;
            write_producer(writer.i8(2).bool(*commit).bool(raised), *marker)
        }
        State::Complete { commit } => writer.i8(3).bool(*commit),
    };
}

fn read_state(reader: &mut Reader<'_>) -> Result<State, Damaged> {
    Ok(match reader.i8()? {
        0 => State::Empty,
        1 => State::Ongoing,
        2 => {
            let (commit, raised) = (reader.bool()?, reader.bool()?);
            let version =
                if raised { TransactionVersion::EpochPerTransaction } else { TransactionVersion::Classic };
            State::Ending { commit, marker: read_producer(reader)?, version }
        }
        3 => State::Complete { commit: reader.bool()? },
        _ => return Err(Malformed("a transaction in an unknown state")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Key as _;

    fn transaction(state: State, previous: Option<FollowedBy>) -> Transaction {
        let producer = Producer { id: ProducerId(7), epoch: ProducerEpoch(3) };
        let mut transaction = Transaction::new(producer, 60_000, WallTime::of_ms(5));
        transaction.updated_at = WallTime::of_ms(6);
        transaction.state = state;
        transaction.previous = previous.map(|how| (Producer::first(ProducerId(6)), how));
        let topic = Topic { name: "t".into(), id: [1; 16] };
        transaction.participants = [Participant::Partition(topic, 4), Participant::Offsets(9)].into();
        transaction
    }

    #[test]
    fn transaction_record_is_read_as_it_was_written_and_refused_at_every_cut() {
        let marker = Producer { id: ProducerId(6), epoch: ProducerEpoch(i16::MAX) };
        let ending = |commit, version| State::Ending { commit, marker, version };
        let cases = [
            transaction(State::Empty, None),
            transaction(State::Ongoing, Some(FollowedBy::Init)),
            transaction(ending(true, TransactionVersion::EpochPerTransaction), Some(FollowedBy::Commit)),
            transaction(ending(false, TransactionVersion::Classic), Some(FollowedBy::Timeout)),
            transaction(State::Complete { commit: false }, Some(FollowedBy::Abort)),
        ];
        for value in cases {
            let (key, bytes) = (Key("id".into()).encode(), Key::encode_value(&value));
            assert_eq!(read(&key, Some(&bytes)), Ok((Key("id".into()), Some(value))));
            for cut in 0..bytes.len() {
                assert!(read(&key, Some(&bytes[..cut])).is_err(), "cut at {cut}");
            }
        }
        assert!(read(&[1, 2, 2, b'i'], None).is_err(), "a key of another kind");
    }
}
