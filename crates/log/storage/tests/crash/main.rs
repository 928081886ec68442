//! Everything that a store may be asked, with a crash at any operation of its disk, against a model of what was
//! acknowledged.

mod model;
mod world;

use log_partition::{Offset, PartitionId, SegmentId};
use log_storage::{Store, StoreConfig, index_path, segment_path};
use storage_disk::sim::SimDisk;
use storage_wal::WalConfig;

use world::play;

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

#[test]
fn nothing_flushed_is_lost_wherever_a_crash_comes() {
    let (mut recycled, mut refused) = (0, 0);
    for seed in 0..1_000 {
        let played = play(seed);
        recycled += played.recycled;
        refused += played.refused;
    }
    assert!(recycled > 3_000, "segments of the write-ahead log were used again only {recycled} times");
    assert!(refused > 1_000, "the disk was full only {refused} times");
}

#[test]
fn directory_of_another_owner_is_refused() {
    let disk = SimDisk::new(1);
    disk.put("something", vec![1]);
    assert!(Store::open(disk, config(), [0; 16], "ours").is_err());
}

#[test]
fn directory_of_another_cluster_is_refused_and_stays_as_it_is() {
    let disk = SimDisk::new(1);
    let (mut store, _) = Store::open(disk.clone(), config(), [1; 16], "ours").expect("it is empty");
    let id = PartitionId { topic: [3; 16], index: 0 };
    let log = store.create(id, Offset(0)).expect("there is room");
    store.close().expect("the disk is well");
    let refused = Store::open(disk.clone(), config(), [2; 16], "theirs").map(|_| ()).expect_err("it is ours");
    assert!(refused.to_string().contains("data of the cluster ours"), "{refused}");
    let (_, restored) = Store::open(disk, config(), [2; 16], "ours").expect("it is ours");
    assert_eq!(restored.iter().map(|given| given.log).collect::<Vec<_>>(), [log]);
}

#[test]
fn segment_of_a_partition_has_its_offset_and_its_generation_in_its_name() {
    let id = PartitionId { topic: [0; 16], index: 7 };
    let appended = SegmentId::appended(Offset(12));
    assert_eq!(segment_path(id, appended), format!("data/{:032x}-7-{:020}.log", 0, 12));
    let compacted = SegmentId { generation: 3, ..appended };
    assert_eq!(index_path(id, compacted), format!("data/{:032x}-7-{:020}-3.index", 0, 12));
}
