//! Directories of another format, of another program, and unfinished ones.

use storage_disk::sim::SimDisk;
use storage_raft_log::{
    Batch, HardState, Identity, Journal, JournalConfig, LogIndex, MemberId, OpenError, Term,
};

fn config() -> JournalConfig {
    let identity = Identity { cluster: [1; 16], incarnation: [2; 16], member: MemberId(3) };
    JournalConfig {
        identity,
        segment_bytes: 64 << 10,
        first_segment_bytes: 8 << 10,
        ..JournalConfig::default()
    }
}

fn refusal(disk: &SimDisk) -> OpenError {
    let before: Vec<_> = disk.paths().iter().map(|path| disk.content(path)).collect();
    let Err(error) = Journal::open(disk.clone(), config()) else { panic!("it was opened") };
    let after: Vec<_> = disk.paths().iter().map(|path| disk.content(path)).collect();
    assert_eq!(before, after, "a refused directory was changed");
    error
}

fn put_word(bytes: &mut Vec<u8>, word: u32) {
    bytes.extend_from_slice(&word.to_le_bytes());
}

#[test]
fn directory_of_an_older_format_is_refused_with_one_clear_line() {
    let disk = SimDisk::new(1);
    drop(Journal::open(disk.clone(), config()).unwrap());
    let mut meta = b"DIWANDIR".to_vec();
    put_word(&mut meta, 1);
    // The ensemble, the incarnation, the member.
    meta.extend_from_slice(&[1; 16]);
    meta.extend_from_slice(&[2; 16]);
    meta.extend_from_slice(&3u64.to_le_bytes());
    let sum = crc32c::crc32c(&meta);
    put_word(&mut meta, sum);
    disk.put("meta", meta);
    let error = refusal(&disk);
    assert!(matches!(&error, OpenError::Version { file, found: 1, known: 2 } if file == "meta"), "{error}");
    assert_eq!(
        error.to_string(),
        "`meta` has format version 1, this program reads version 2\nhint: start the program that wrote it"
    );
}

#[test]
fn identity_comes_back_and_damage_to_it_is_told() {
    let disk = SimDisk::new(1);
    drop(Journal::open(disk.clone(), config()).unwrap());
    let (journal, recovered) = Journal::open(disk.clone(), JournalConfig::default()).unwrap();
    assert_eq!((*journal.identity(), recovered.identity), (config().identity, config().identity));
    drop(journal);
    let bits = disk.content("meta").unwrap().len() as u64 * 8;
    for bit in 0..bits {
        let disk = disk.fork(bit);
        disk.flip("meta", bit);
        let error = refusal(&disk);
        assert!(matches!(&error, OpenError::Corrupt(damage) if damage.file == "meta"), "bit {bit}: {error}");
    }
}

#[test]
fn unfinished_directory_is_made_anew_and_one_in_use_is_not() {
    let disk = SimDisk::new(1);
    // Before `meta` is written there is no more than a first record.
    let operations = {
        let disk = disk.fork(1);
        drop(Journal::open(disk.clone(), config()).unwrap());
        disk.operations()
    };
    for operation in 1..operations {
        let disk = disk.fork(2);
        disk.crash_at(operation);
        let _ = Journal::open(disk.clone(), config());
        disk.restart();
        let (journal, _) = Journal::open(disk.clone(), config()).unwrap();
        assert_eq!(journal.identity(), &config().identity, "stopped at operation {operation}");
    }
    let (mut journal, _) = Journal::open(disk.clone(), config()).unwrap();
    let hard_state = Some(HardState { term: Term(1), vote: Some(MemberId(1)), commit: LogIndex::ZERO });
    journal.append(&Batch { hard_state, ..Batch::default() }).unwrap();
    journal.flush().unwrap();
    drop(journal);
    disk.take_away("meta");
    let error = refusal(&disk);
    assert!(matches!(&error, OpenError::Corrupt(damage) if damage.file == "meta"), "{error}");
}
