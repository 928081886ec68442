//! Reading segments: what it costs, what a lost index or damage does to it, and what removal of a segment does.

mod counting_disk;
mod host;

use log_partition::{Isolation, Offset, SegmentRead, TimeLookup, WantedTime};
use log_storage::{ReadError, ReaderConfig, SegmentReader, index_path, segment_path};
use log_wire::{Batch, Compression};
use storage_disk::sim::SimDisk;
use storage_wal::Progress;

use counting_disk::CountingDisk;
use host::{Host, ID, batch, compressed};

const SEGMENT_BYTES: u64 = 8 << 20;

fn reader(host: &Host) -> (SegmentReader<CountingDisk>, CountingDisk) {
    let disk = CountingDisk::new(host.disk.clone());
    (SegmentReader::new(disk.clone(), ReaderConfig::default()), disk)
}

/// A log of one large segment and the beginning of another.
fn filled(batch_records: i64, value_bytes: usize) -> Host {
    let mut host = Host::new(SEGMENT_BYTES);
    let bytes = batch(1_000, batch_records, value_bytes);
    for at in 0..(SEGMENT_BYTES + (1 << 20)) / bytes.len() as u64 {
        host.append(&batch(1_000 + at as i64, batch_records, value_bytes));
    }
    host.write();
    host
}

/// The offsets of the first and behind the last record of batches that follow each other.
fn offsets(batches: &[u8]) -> (i64, i64) {
    let (mut rest, mut first, mut end) = (batches, None, None);
    while !rest.is_empty() {
        let (batch, behind) = Batch::read(rest).expect("whole batches");
        assert!(batch.verify().is_ok() && end.is_none_or(|end| end == batch.base_offset()));
        first = first.or(Some(batch.base_offset()));
        (rest, end) = (behind, Some(batch.last_offset() + 1));
    }
    (first.expect("there is one"), end.expect("there is one"))
}

fn read<D: storage_disk::Disk<File: Clone>>(reader: &mut SegmentReader<D>, read: &SegmentRead) -> Vec<u8> {
    let mut batches = Vec::new();
    reader.read(ID, read, &mut batches).expect("it is well");
    batches
}

#[test]
fn consumer_that_reads_on_costs_the_header_of_one_batch_a_read() {
    let host = filled(40, 200);
    let end = host.segment_read(0, 1).limit.offset.0;
    let (mut reader, disk) = reader(&host);
    let (mut from, mut cost, mut reads, mut given) = (0, 0, 0u64, 0);
    let path = segment_path(ID, host.segment_read(0, 1).segment);
    let content = host.disk.content(&path).expect("it is there");
    while from < end {
        let wanted = host.segment_read(from, 200_000);
        let range = reader.range(ID, &wanted).expect("it is well").expect("there is something");
        cost += disk.take_read_bytes();
        let batches = &content[range.position as usize..][..range.length as usize];
        let (first, next) = offsets(batches);
        assert!(first == from && batches.len() <= 200_000 && batches.len() > 100_000 || next == end);
        (from, reads, given) = (next, reads + 1, given + range.length);
    }
    assert!(given > 7 << 20, "{given}");
    // Once the index, then a look at one header.
    assert!(cost < 64 * 1024 + reads * 300, "{cost} bytes were read for {reads} reads");
    assert_eq!(reader.open_segments(), 1);
}

#[test]
fn read_from_anywhere_costs_little_more_than_a_step_of_the_index() {
    let host = filled(1, 200);
    let end = host.segment_read(0, 1).limit.offset.0;
    let (mut reader, disk) = reader(&host);
    read(&mut reader, &host.segment_read(5, 1));
    disk.take_read_bytes();
    for from in (1..end).step_by(2_003) {
        let batches = read(&mut reader, &host.segment_read(from, 30_000));
        assert_eq!(offsets(&batches).0, from);
        let cost = disk.take_read_bytes() - batches.len() as u64;
        assert!(cost < 100_000, "{cost} bytes were read to find offset {from}");
    }
}

#[test]
fn index_that_is_missing_or_damaged_is_made_by_reading() {
    let host = filled(10, 300);
    let path = index_path(ID, host.segment_read(0, 1).segment);
    let end = host.segment_read(0, 1).limit.offset.0;
    let whole = host.disk.content(&path).expect("it was written");
    for damage in 0..3 {
        let mut content = whole.clone();
        match damage {
            0 => content.clear(),
            1 => content[whole.len() / 2] ^= 1,
            _ => content.truncate(whole.len() / 3),
        }
        host.disk.take_away(&path);
        host.disk.put(&path, content);
        let (mut reader, disk) = reader(&host);
        for from in [end - 1, end - 50, end / 2, end / 3] {
            assert_eq!(offsets(&read(&mut reader, &host.segment_read(from, 5_000))).0 / 10, from / 10);
        }
        // What was met on the way to the first is known now.
        disk.take_read_bytes();
        let batches = read(&mut reader, &host.segment_read(end / 5, 5_000));
        assert!(disk.take_read_bytes() < batches.len() as u64 + 100_000);
    }
}

#[test]
fn damage_that_a_start_finds_is_never_given_and_what_is_before_it_is() {
    // Of the header, nothing guards the leader epoch alone: bytes 12 to 15.
    for bit in [3, 60, 70, 150, 70 * 8, 200 * 8] {
        let host = filled(10, 300);
        let (first, _) = host.batches[1_000].clone();
        let wanted = host.segment_read(first, 1);
        let (mut before, _) = reader(&host);
        let position = before.range(ID, &wanted).expect("it is well").expect("it is there").position;
        let path = segment_path(ID, wanted.segment);
        let host = host.restart();
        host.disk.flip(&path, position * 8 + bit);
        let (mut reader, _) = reader(&host);
        let refused = reader.read(ID, &host.segment_read(first, 10_000), &mut Vec::new());
        assert!(
            matches!(&refused, Err(ReadError::Damaged { file, .. }) if *file == path),
            "bit {bit}: {refused:?}"
        );
        assert!(
            reader.range(ID, &host.segment_read(first - 20, 1 << 20)).is_err(),
            "not among others either"
        );
        let batches = read(&mut reader, &host.segment_read(first - 20, 6_000));
        assert_eq!(offsets(&batches), (first - 20, first - 10 + if batches.len() > 4_000 { 10 } else { 0 }));
    }
}

#[test]
fn segment_that_was_removed_is_gone_unless_it_is_open() {
    let mut host = filled(10, 300);
    let (old, end) = (host.segment_read(0, 10_000), host.partition.end().0);
    let (mut early, _) = reader(&host);
    read(&mut early, &old);
    host.delete_before(end - 1);
    let (mut late, _) = reader(&host);
    assert_eq!(late.read(ID, &old, &mut Vec::new()), Err(ReadError::Gone));
    assert_eq!(offsets(&read(&mut early, &old)).0, 0, "an open file keeps what it held");
    early.close_unused();
    early.close_unused();
    assert_eq!(early.open_segments(), 0);
    assert_eq!(early.read(ID, &old, &mut Vec::new()), Err(ReadError::Gone));
    assert_eq!(offsets(&read(&mut late, &host.segment_read(end - 1, 1))).1, end);
}

#[test]
fn copy_that_was_given_away_and_came_back_is_not_read_from_its_former_files() {
    let mut host = Host::new(SEGMENT_BYTES);
    host.append(&batch(1_000, 2, 100));
    host.write();
    let (mut reader, _) = reader(&host);
    let before = read(&mut reader, &host.segment_read(0, 10_000));
    host.come_back();
    host.append(&batch(2_000, 3, 200));
    host.append(&batch(3_000, 4, 300));
    host.write();
    let after = read(&mut reader, &host.segment_read(0, 10_000));
    assert_eq!((offsets(&before), offsets(&after)), ((0, 2), (0, 7)));
}

#[test]
fn log_begins_where_it_was_said_last_whatever_was_asked_for_before() {
    let mut host = Host::new(20_000);
    for _ in 0..100 {
        host.append(&batch(1_000, 10, 300));
    }
    host.write();
    let (state, first) = (host.partition.state(), host.segment_read(0, 1).segment);
    let start = host.partition.end().0 - 1;
    host.delete_before(start);
    host.come_late(&state, first);
    let host = host.restart();
    assert_eq!(host.partition.start().0, start);
}

#[test]
fn reader_keeps_few_segments_open() {
    let mut host = Host::new(20_000);
    for _ in 0..100 {
        host.append(&batch(1_000, 10, 300));
    }
    host.write();
    let config = ReaderConfig { open_segments_max: 3, ..ReaderConfig::default() };
    let mut reader = SegmentReader::new(host.disk.clone(), config);
    for from in 0..1_000 {
        assert_eq!(offsets(&read(&mut reader, &host.segment_read(from, 1))).0, from / 10 * 10);
        assert!(reader.open_segments() <= 3);
    }
}

#[test]
fn record_is_found_by_its_time_wherever_it_is() {
    for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
        let mut host = Host::new(200_000);
        for at in 0..3_000 {
            host.append(&compressed(&batch(1_000 + at, 10, 30), compression));
            if at == 2_990 {
                host.write();
            }
        }
        check_times(&host);
    }
}

/// Batch n begins at offset 10n, with the time 1000 + n; its last record is nine milliseconds younger.
fn check_times(host: &Host) {
    let mut reader = SegmentReader::<SimDisk>::new(host.disk.clone(), ReaderConfig::default());
    let mut found = |time| {
        let lookup = host.partition.look_for_time(time, Isolation::ReadUncommitted);
        assert_eq!(lookup.wanted, WantedTime::AtOrAfter(time));
        reader.find_time(ID, &lookup).expect("it is well").map(|found| (found.offset.0, found.timestamp_ms))
    };
    assert_eq!(found(0), Some((0, 1_000)));
    assert_eq!(found(1_009), Some((9, 1_009)));
    assert_eq!(found(1_010), Some((19, 1_010)));
    assert_eq!(found(3_000), Some((19_919, 3_000)));
    assert_eq!(found(4_000), Some((29_919, 4_000)), "in memory");
    assert_eq!(found(4_008), Some((29_999, 4_008)));
    assert_eq!(found(4_009), None);
    let newest = host.partition.look_for_newest(Isolation::ReadUncommitted).expect("there are records");
    let newest = reader.find_time(ID, &newest).expect("it is well").expect("it is there");
    assert_eq!((newest.offset, newest.timestamp_ms), (Offset(29_999), 4_008));
}

#[test]
fn record_below_the_start_of_the_log_is_not_found_by_its_time() {
    let mut host = Host::new(200_000);
    for time in [5_000, 9_000, 7_000] {
        host.append(&batch(time, 10, 30));
    }
    host.write();
    host.delete_before(15);
    let mut reader = SegmentReader::<SimDisk>::new(host.disk.clone(), ReaderConfig::default());
    let mut found = |lookup: &TimeLookup| {
        let found = reader.find_time(ID, lookup).expect("it is well");
        found.map(|found| (found.offset.0, found.timestamp_ms))
    };
    let at = |time| host.partition.look_for_time(time, Isolation::ReadUncommitted);
    assert_eq!(found(&at(0)), Some((15, 9_005)));
    assert_eq!(found(&at(9_007)), Some((17, 9_007)));
    assert_eq!(
        found(&host.partition.look_for_newest(Isolation::ReadUncommitted).expect("there is one")),
        Some((19, 9_009))
    );
    host.delete_before(25);
    let at = |time| host.partition.look_for_time(time, Isolation::ReadUncommitted);
    assert_eq!(found(&at(7_003)), Some((25, 7_005)));
    assert_eq!(found(&at(7_010)), None, "the header of a batch that is gone is none");
}

#[test]
fn partitions_that_begin_together_are_written_a_few_at_a_time() {
    let mut host = Host::new(SEGMENT_BYTES);
    host.begin_others(100, &batch(1_000, 1, 10));
    let mut steps = vec![host.begin_to_write()];
    while steps.last().is_some_and(|(progress, _)| *progress == Progress::More) {
        steps.push(host.write_step());
    }
    let counts: Vec<usize> = steps.into_iter().map(|(_, count)| count).collect();
    assert_eq!(counts, [4; 25]);
}
