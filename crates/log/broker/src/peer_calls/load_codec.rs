//! The bytes of calls that tell what partitions are used for, and which of them are moved for that. They have no answers.

use log_balance::{BrokerRoom, Rates};
use log_partition::PartitionId;
use log_wire::Malformed;
use log_wire::messages::peers::{LoadsCall, MovesCall, PeerLoad, PeerPartition};

use super::form::{LOADS, MOVES, read, written_behind};

/// How many partitions a call names at most.
pub(crate) const LOADS_PER_CALL: usize = 5_000;

/// What a broker tells of itself and of partitions that it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) room: BrokerRoom,
    pub(crate) rates: Vec<(PartitionId, Rates)>,
}

/// The bytes of what this broker has, and of what is new of partitions.
pub(crate) fn loads(room: BrokerRoom, rates: &[(PartitionId, Rates)]) -> Vec<u8> {
    let partition = |(id, rates): &(PartitionId, Rates)| PeerLoad {
        topic_id: id.topic,
        index: id.index,
        write_bytes_per_s: signed(rates.write_bytes_per_s),
        read_bytes_per_s: signed(rates.read_bytes_per_s),
        requests_per_s: signed(rates.requests_per_s),
        stored_bytes: signed(rates.stored_bytes),
    };
    let call = LoadsCall {
        disk_bytes: room.disk_bytes.map_or(-1, signed),
        network_bytes_per_s: signed(room.network_bytes_per_s),
        partitions: rates.iter().map(partition).collect(),
    };
    written_behind(&[LOADS], &call)
}

pub(super) fn read_loads(body: &[u8]) -> Result<Told, Malformed> {
    let LoadsCall { disk_bytes, network_bytes_per_s, partitions } = read(body)?;
    let rates = |of: PeerLoad| {
        let rates = Rates {
            write_bytes_per_s: unsigned(of.write_bytes_per_s)?,
            read_bytes_per_s: unsigned(of.read_bytes_per_s)?,
            requests_per_s: unsigned(of.requests_per_s)?,
            stored_bytes: unsigned(of.stored_bytes)?,
        };
        Ok((PartitionId { topic: of.topic_id, index: of.index }, rates))
    };
    let room = BrokerRoom {
        disk_bytes: u64::try_from(disk_bytes).ok(),
        network_bytes_per_s: unsigned(network_bytes_per_s)?,
    };
    Ok(Told { room, rates: partitions.into_iter().map(rates).collect::<Result<_, _>>()? })
}

/// The bytes of which partitions are moved.
pub(crate) fn moves(moves: &[PartitionId]) -> Vec<u8> {
    let partition = |id: &PartitionId| PeerPartition { topic_id: id.topic, index: id.index };
    written_behind(&[MOVES], &MovesCall { partitions: moves.iter().map(partition).collect() })
}

pub(super) fn read_moves(body: &[u8]) -> Result<Vec<PartitionId>, Malformed> {
    let MovesCall { partitions } = read(body)?;
    let id = |of: PeerPartition| PartitionId { topic: of.topic_id, index: of.index };
    Ok(partitions.into_iter().map(id).collect())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> Result<u64, Malformed> {
    u64::try_from(number).map_err(|_| Malformed("a load below zero"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(index: i32) -> PartitionId {
        PartitionId { topic: [7; 16], index }
    }

    #[test]
    fn loads_come_back_and_no_part_of_them_is_one() {
        let rates =
            Rates { write_bytes_per_s: 1, read_bytes_per_s: 1 << 40, requests_per_s: 0, stored_bytes: 9 };
        for disk_bytes in [None, Some(5)] {
            let told = Told {
                room: BrokerRoom { disk_bytes, network_bytes_per_s: 8 },
                rates: vec![(id(1), rates), (id(2), Rates::default())],
            };
            let bytes = loads(told.room, &told.rates);
            assert_eq!(read_loads(&bytes[1..]), Ok(told));
            assert!((1..bytes.len()).all(|cut| read_loads(&bytes[1..cut]).is_err()));
        }
        let below = LoadsCall { network_bytes_per_s: -1, ..LoadsCall::default() };
        assert!(read_loads(&written_behind(&[], &below)).is_err());
    }

    #[test]
    fn moves_come_back_and_no_part_of_them_is_one() {
        let bytes = moves(&[id(3), id(4)]);
        assert_eq!(read_moves(&bytes[1..]), Ok(vec![id(3), id(4)]));
        assert!((1..bytes.len()).all(|cut| read_moves(&bytes[1..cut]).is_err()));
    }

    #[test]
    fn call_with_all_partitions_that_it_may_have_fits_into_a_message() {
        let most = Rates {
            write_bytes_per_s: u64::MAX,
            read_bytes_per_s: u64::MAX,
            requests_per_s: u64::MAX,
            stored_bytes: u64::MAX,
        };
        let bytes = loads(BrokerRoom::default(), &vec![(id(0), most); LOADS_PER_CALL]);
        assert!(bytes.len() < crate::peer_calls::CALL_BYTES_MAX, "{}", bytes.len());
    }
}
