//! The journal on a real directory: locked, foreign, reopened, damaged.

#![expect(clippy::unwrap_used, reason = "a test stops where something is missing")]

use base::{LogIndex, MemberId, Term};
use council_service::disk::{DirDisk, DirectoryError};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use storage_raft_log::{
    Batch, Disk, Entry, EntryKind, Identity, Journal, JournalConfig, KeepPolicy, OpenError, SnapshotMeta,
};

/// A directory of its own for one test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("diwan-disk-{}-{test}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Scratch(path)
    }

    fn disk(&self) -> DirDisk {
        DirDisk::open(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn config() -> JournalConfig {
    JournalConfig {
        identity: Identity { cluster: [1; 16], incarnation: [2; 16], member: MemberId(3) },
        segment_bytes: 256 << 10,
        first_segment_bytes: 128 << 10,
        reserve_bytes: 16 << 10,
        ..JournalConfig::default()
    }
}

fn batch(index: u64) -> Batch {
    let data = vec![index as u8; 1024].into();
    Batch {
        entries: vec![Entry { index: LogIndex(index), term: Term(1), kind: EntryKind::Normal, data }],
        ..Batch::default()
    }
}

#[test]
fn a_second_opener_is_refused_until_the_first_is_gone() {
    let scratch = Scratch::new("locked");
    let first = scratch.disk();
    assert!(matches!(DirDisk::open(&scratch.0), Err(DirectoryError::Locked(path)) if path == scratch.0));
    drop(first);
    assert!(DirDisk::open(&scratch.0).is_ok());
}

#[test]
fn a_path_that_is_no_directory_is_unusable() {
    let scratch = Scratch::new("unusable");
    std::fs::write(&scratch.0, b"a file").unwrap();
    assert!(matches!(DirDisk::open(&scratch.0), Err(DirectoryError::Unusable { .. })));
    std::fs::remove_file(&scratch.0).unwrap();
}

#[test]
fn what_was_flushed_is_there_after_the_process_is_gone() {
    let scratch = Scratch::new("reopened");
    let (mut journal, recovered) = Journal::open(scratch.disk(), config()).unwrap();
    assert!(recovered.fresh);
    for index in 1..=600 {
        journal.append(&batch(index)).unwrap();
        journal.flush().unwrap();
        journal.prepare().unwrap();
    }
    journal.snapshot_begin().unwrap();
    journal.snapshot_chunk(&[7; 100_000]).unwrap();
    let meta = SnapshotMeta { index: LogIndex(400), term: Term(1), digest: 5, ..SnapshotMeta::default() };
    journal.snapshot_finish(meta.clone()).unwrap();
    journal.compact(KeepPolicy::default()).unwrap();
    drop(journal);

    let (mut journal, recovered) = Journal::open(scratch.disk(), config()).unwrap();
    assert!(!recovered.fresh);
    assert_eq!(recovered.identity, config().identity);
    assert_eq!(recovered.snapshot.as_ref(), Some(&meta));
    assert_eq!(recovered.last_index, LogIndex(600));
    let entries: Vec<Entry> = (401..=600).flat_map(|index| batch(index).entries).collect();
    assert_eq!(journal.entries(LogIndex(401), LogIndex(601), u64::MAX).unwrap(), entries);
    let mut reader = journal.open_snapshot().unwrap().unwrap();
    assert_eq!(journal.read_snapshot(&mut reader).unwrap(), Some(vec![7; 100_000]));
    assert_eq!(journal.read_snapshot(&mut reader).unwrap(), None);
}

#[test]
fn the_data_of_a_zookeeper_server_is_refused_and_left_alone() {
    let scratch = Scratch::new("foreign");
    std::fs::create_dir_all(scratch.0.join("version-2")).unwrap();
    std::fs::write(scratch.0.join("version-2/log.1"), b"ZKLG").unwrap();
    let Err(error) = Journal::open(scratch.disk(), config()) else { panic!("it was opened") };
    assert!(matches!(&error, OpenError::Foreign { name, .. } if name == "version-2"));
    assert!(error.to_string().contains("hint:"));
    let mut names: Vec<_> = std::fs::read_dir(&scratch.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["lock", "version-2"]);
}

#[test]
fn a_flipped_bit_in_the_log_is_reported_with_its_place() {
    let scratch = Scratch::new("damaged");
    let (mut journal, _) = Journal::open(scratch.disk(), config()).unwrap();
    for index in 1..=20 {
        journal.append(&batch(index)).unwrap();
        journal.flush().unwrap();
    }
    journal.close().unwrap();
    let file = "log/0000000000000001.seg";
    flip(&scratch.0.join(file), 5000);
    let Err(error) = Journal::open(scratch.disk(), config()) else { panic!("it was opened") };
    let OpenError::Corrupt(corruption) = error else { panic!("{error}") };
    assert_eq!(corruption.file, file);
    assert!((4000..=5000).contains(&corruption.offset), "{corruption}");
}

fn flip(path: &Path, offset: u64) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 4], offset).unwrap();
}

#[test]
fn writeback_in_the_background_is_joined_by_the_flush() {
    let scratch = Scratch::new("writeback");
    let mut disk = scratch.disk();
    let file = disk.create("data").unwrap();
    for at in 0..16 {
        disk.write_at(&file, at * 4096, &[at as u8; 4096]).unwrap();
        disk.start_writeback(&file);
    }
    disk.sync_data(&file).unwrap();
    assert_eq!(disk.len(&file).unwrap(), 16 * 4096);
    let mut buffer = [0; 2];
    assert_eq!(disk.read_at(&file, 4095, &mut buffer).unwrap(), 2);
    assert_eq!(buffer, [0, 1]);
    assert_eq!(disk.read_at(&file, 16 * 4096 - 1, &mut buffer).unwrap(), 1);
}

#[test]
fn a_removed_files_name_is_free_at_once_and_what_is_made_under_it_stays() {
    let scratch = Scratch::new("removed");
    let mut disk = scratch.disk();
    for round in 0..20u8 {
        let file = disk.create("data").unwrap();
        disk.write_at(&file, 0, &[round; 100_000]).unwrap();
        drop(file);
        disk.remove("data").unwrap();
        assert!(!disk.list("").unwrap().contains(&"data".to_owned()));
    }
    let file = disk.create("data").unwrap();
    disk.write_at(&file, 0, b"stays").unwrap();
    disk.sync_data(&file).unwrap();
    drop((file, disk));
    assert_eq!(std::fs::read(scratch.0.join("data")).unwrap(), b"stays");
}

/// The permission bits of everything in a directory, itself included.
fn modes(directory: &Path) -> Vec<(PathBuf, u32)> {
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut all = vec![(directory.to_path_buf(), mode(directory))];
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(modes(&path)) } else { all.push((path.clone(), mode(&path))) }
    }
    all
}

#[test]
fn data_can_be_read_by_its_owner_alone() {
    let scratch = Scratch::new("modes");
    let (mut journal, _) = Journal::open(scratch.disk(), config()).unwrap();
    journal.append(&batch(1)).unwrap();
    journal.flush().unwrap();
    journal.snapshot_begin().unwrap();
    journal.snapshot_chunk(b"tree").unwrap();
    journal
        .snapshot_finish(SnapshotMeta { index: LogIndex(1), term: Term(1), ..SnapshotMeta::default() })
        .unwrap();
    let all = modes(&scratch.0);
    assert!(all.len() >= 7, "{all:?}");
    for (path, mode) in all {
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}

#[test]
fn a_log_of_many_segments_holds_few_descriptors() {
    let scratch = Scratch::new("descriptors");
    let (mut journal, _) = Journal::open(scratch.disk(), config()).unwrap();
    for index in 1..=4000 {
        journal.append(&batch(index)).unwrap();
        journal.flush().unwrap();
    }
    assert!(journal.stats().segments > 10);
    let own = |entry: std::io::Result<std::fs::DirEntry>| {
        let target = std::fs::read_link(entry.unwrap().path());
        target
            .is_ok_and(|target| target.starts_with(&scratch.0) && target.extension() == Some("seg".as_ref()))
    };
    let held =
        std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| own(entry).then_some(())).count();
    assert!(held <= 2, "{held} segments are held open");
    assert_eq!(
        journal.entries(LogIndex(1), LogIndex(3), u64::MAX).unwrap().len(),
        2,
        "the first segment is opened to be read"
    );
}
