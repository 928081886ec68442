//! Any damage to the directory of a broker: its store opens or says why not, and what opened opens again as it was.

use base::WallTime;
use bytes::Bytes;
use log_partition::{Commit, IndexFrame, LeaderEpoch, Offset, PartitionId, Place, SegmentId, State};
use log_storage::{Append, Restored, Store, StoreConfig};
use storage_disk::sim::{Loss, SimDisk};
use storage_wal::{LogId, WalConfig};

use crate::input::{Input, put_piece};

const INCARNATION: [u8; 16] = [4; 16];
const CLUSTER: &str = "cluster";
const SEGMENT_BYTES: u64 = 600;

/// Two scripts: what the broker did, and what was then done to its files.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let work = input.piece().unwrap_or_default();
    let disk = SimDisk::new(1);
    write(&disk, Input::new(work));
    while damage(&disk, &mut input).is_some() {}
    disk.restart();
    let Ok((store, restored)) = open(&disk) else { return };
    check(&restored);
    drop(store);
    disk.crash(Loss::All);
    disk.restart();
    let (store, again) = open(&disk).expect("what was opened once opens again");
    let ends = |all: &[Restored]| all.iter().map(|own| (own.id, own.end)).collect::<Vec<_>>();
    assert_eq!(ends(&again), ends(&restored), "a second start finds other ends");
    store.close().expect("the disk is well");
}

/// What the owner of a partition relies on.
fn check(restored: &[Restored]) {
    for partition in restored {
        assert!(partition.end >= partition.flushed_end, "{:?} ends before what was flushed", partition.id);
    }
}

fn open(disk: &SimDisk) -> Result<(Store<SimDisk>, Vec<Restored>), String> {
    Store::open(disk.clone(), config(), INCARNATION, CLUSTER).map_err(|error| error.to_string())
}

/// Segments so small that a few batches fill them.
fn config() -> StoreConfig {
    StoreConfig {
        wal: WalConfig {
            segment_bytes: 8 << 10,
            first_segment_bytes: 4 << 10,
            reserved_bytes: 512,
            prepare_step_bytes: 1 << 10,
            write_buffer_bytes: 1 << 10,
            recycled_segments_max: 1,
        },
        write_behind_bytes: 300,
        memory_bytes_max: 3_000,
        write_behind_step_bytes: 500,
        open_files_max: 2,
        sync_step_partitions: 2,
        states_asked_max: 2,
    }
}

struct Log {
    log: LogId,
    end: i64,
    place: Place,
}

/// Does what the script says, as long as the store takes it.
fn write(disk: &SimDisk, mut script: Input<'_>) {
    let Ok((mut store, _)) = open(disk) else { return };
    let mut logs: Vec<Log> = Vec::new();
    while let Some(step) = script.byte() {
        let which = usize::from(step / 8) % logs.len().max(1);
        let done = match (step % 8, logs.get_mut(which)) {
            (0, _) | (_, None) => create(&mut store, &mut logs),
            (1..=3, Some(log)) => append(&mut store, log, script.short().unwrap_or_default()),
            (4, _) => store.flush().is_ok(),
            (5, Some(log)) => store
                .put_state(log.log, &State { end: Offset(log.end), bytes: log.end.to_be_bytes().into() })
                .is_ok(),
            (6, Some(log)) => {
                let (start, first) = (Offset(log.end), log.place.segment);
                store.set_start(log.log, start, first).is_ok()
            }
            _ => store.write().is_ok() && store.prepare().is_ok(),
        };
        if !done {
            break;
        }
    }
}

fn create(store: &mut Store<SimDisk>, logs: &mut Vec<Log>) -> bool {
    let index = i32::try_from(logs.len()).unwrap_or(0);
    let created = store.create(PartitionId { topic: [3; 16], index }, Offset(0));
    created.is_ok_and(|log| {
        logs.push(Log { log, end: 0, place: Place::default() });
        true
    })
}

/// A batch whose length the shape says.
fn append(store: &mut Store<SimDisk>, of: &mut Log, shape: u16) -> bool {
    let bytes = vec![shape as u8; 20 + usize::from(shape >> 4 & 127)];
    let mut index = Vec::new();
    if of.place.position + bytes.len() as u64 > SEGMENT_BYTES {
        let segment = SegmentId::appended(of.place.segment);
        index.push(IndexFrame { segment, position: 0, is_last: true, bytes: Bytes::from_static(b"index") });
        of.place = Place { segment: Offset(of.end), position: 0 };
    }
    of.end += 1 + i64::from(shape & 3);
    let (at, end, now) = (of.place, Offset(of.end), WallTime::of_ms(of.end));
    let commit = if shape & 4 == 0 { Commit::Flushed } else { Commit::Written { flush_ms: 1_000 } };
    let length = bytes.len() as u64;
    let begun = vec![(LeaderEpoch(i32::from(shape)), end); usize::from(shape >> 3 & 1)];
    let append = Append { log: of.log, at, end, now, begun, batch: Bytes::from(bytes), commit, index };
    of.place = of.place.plus(length);
    store.append(&[append]).is_ok()
}

/// One way to damage a file; nothing at the end of the script.
fn damage(disk: &SimDisk, script: &mut Input<'_>) -> Option<()> {
    let (how, which) = (script.byte()?, script.byte()?);
    let (at, value) = (usize::from(script.short()?), script.byte()?);
    let paths = disk.paths();
    let path = paths.get(usize::from(which) % paths.len().max(1))?;
    let mut content = disk.content(path).unwrap_or_default();
    let length = content.len();
    match how % 6 {
        0 | 1 => content.iter_mut().skip(at).take(1).for_each(|byte| *byte = value),
        2 => content.truncate(at),
        3 => content.resize(at.max(length), value),
        4 => content.iter_mut().skip(at).take(512).for_each(|byte| *byte = value),
        _ => {
            disk.take_away(path);
            return Some(());
        }
    }
    disk.put(path, content);
    Some(())
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let work: [&[u8]; 4] = [
        &[0, 1, 0x07, 0x13, 4, 1, 0x01, 0x20, 5, 4],
        &[
            0, 0, 1, 0x07, 0xf3, 9, 0x07, 0xf0, 1, 0x07, 0xf1, 4, 1, 0x07, 0xf2, 1, 0x07, 0xf8, 1, 0x07,
            0xff, 7, 4,
        ],
        &[
            0, 1, 0x07, 0xf0, 1, 0x07, 0xf0, 1, 0x07, 0xf0, 1, 0x07, 0xf0, 1, 0x07, 0xf0, 5, 6, 4, 1, 0x07,
            0xf0,
        ],
        &[],
    ];
    let damages: [&[u8]; 7] = [
        &[],
        &[0, 2, 0x00, 0x20, 0xff],
        &[2, 1, 0x01, 0x00, 0],
        &[4, 1, 0x02, 0x00, 0, 4, 2, 0x00, 0x00, 0],
        &[5, 1, 0, 0, 0],
        &[3, 0, 0xff, 0xff, 7],
        &[0, 1, 0x00, 0x40, 77, 0, 3, 0, 4, 4],
    ];
    let mut seeds = Vec::new();
    for work in work {
        for damage in damages {
            let mut seed = Vec::new();
            put_piece(&mut seed, work);
            seed.extend_from_slice(damage);
            seeds.push(seed);
        }
    }
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_without_damage_opens_with_what_was_flushed() {
        let disk = SimDisk::new(1);
        write(&disk, Input::new(&seeds()[7][2..]));
        disk.restart();
        let (_, restored) = open(&disk).expect("nothing was damaged");
        assert!(restored.len() == 2 && restored.iter().any(|own| own.end > Offset(0)), "{restored:?}");
    }
}
