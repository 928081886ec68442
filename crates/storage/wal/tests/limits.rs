//! As many logs as there may be, and what is refused.

#![expect(clippy::unwrap_used, reason = "a test stops where something is missing")]

use storage_disk::sim::{Loss, SimDisk};
use storage_wal::codec::Malformed;
use storage_wal::{
    AppendError, CHECKPOINT_BYTES_MAX, Checkpoints, Class, CreateError, LOGS_MAX, LogId, Position, Replayed,
    Restore, Wal, WalConfig, record_bytes_max,
};

const INCARNATION: [u8; 16] = [3; 16];
const CHECKPOINT_BYTES: usize = 20;

fn config() -> WalConfig {
    WalConfig {
        segment_bytes: 16 << 20,
        first_segment_bytes: 16 << 20,
        reserved_bytes: 64 << 10,
        prepare_step_bytes: 1 << 20,
        write_buffer_bytes: 1 << 20,
        recycled_segments_max: 1,
    }
}

/// The owner of all logs, with checkpoints that name only the log.
#[derive(Default)]
struct Owner {
    logs: usize,
    records: Vec<(LogId, Vec<u8>)>,
    /// Of a log that was created just now.
    created: Vec<LogId>,
}

impl Checkpoints for Owner {
    fn bytes_max(&self) -> usize {
        self.logs * CHECKPOINT_BYTES
    }

    fn encode(&self, log: LogId, out: &mut Vec<u8>) {
        out.extend_from_slice(&checkpoint(log));
    }
}

fn checkpoint(log: LogId) -> [u8; CHECKPOINT_BYTES] {
    let mut bytes = [7; CHECKPOINT_BYTES];
    bytes[..8].copy_from_slice(&log.0.to_le_bytes());
    bytes
}

impl Restore for Owner {
    fn offer(&mut self, log: LogId, _: u64, bytes: &[u8]) -> Result<bool, Malformed> {
        if bytes == checkpoint(log) { Ok(true) } else { Err(Malformed) }
    }

    fn begin(&mut self, log: LogId, at: Position, bytes: &[u8]) -> Result<(), Malformed> {
        self.logs += 1;
        if at.offset > 0 {
            self.created.push(log);
        }
        if bytes == checkpoint(log) { Ok(()) } else { Err(Malformed) }
    }

    fn record(&mut self, log: LogId, _: Position, payload: &[u8]) -> Result<(), Malformed> {
        self.records.push((log, payload.to_vec()));
        Ok(())
    }

    fn dropped(&mut self, _: LogId) {
        self.logs -= 1;
    }
}

fn append(wal: &mut Wal<SimDisk>, owner: &Owner, log: LogId, payload: &[u8]) {
    let bytes = record_bytes_max(payload.len());
    let mut group = wal.group(bytes, Class::Ordinary, owner).unwrap();
    group.append(log, payload.len(), owner, |out| out.extend_from_slice(payload)).unwrap();
}

#[test]
fn as_many_logs_as_there_may_be_survive_a_roll_and_a_crash() {
    let disk = SimDisk::new(1);
    let mut owner = Owner::default();
    let mut wal = Wal::create(disk.clone(), config(), INCARNATION, 0, &owner).unwrap();
    for number in 1..=LOGS_MAX as u64 {
        let bytes = checkpoint(LogId(number));
        let log = wal.create_log(Class::Ordinary, &owner, bytes.len(), |out| out.extend_from_slice(&bytes));
        assert_eq!(log, Ok(LogId(number)));
        owner.logs += 1;
    }
    let refused = wal.create_log(Class::Ordinary, &owner, 1, |out| out.push(0));
    assert_eq!(refused, Err(CreateError::TooManyLogs));
    while wal.end().sequence < 3 {
        append(&mut wal, &owner, LogId(LOGS_MAX as u64), &[1; 100_000]);
    }
    append(&mut wal, &owner, LogId(77), b"the last");
    wal.flush().unwrap();
    drop(wal);
    disk.crash(Loss::All);
    let mut restored = Owner::default();
    let (mut wal, torn) =
        Replayed::read(disk, config(), INCARNATION, &mut restored).unwrap().resume().unwrap();
    assert_eq!((torn, restored.logs, wal.stats().logs), (None, LOGS_MAX, LOGS_MAX as u64));
    assert!(restored.created.is_empty());
    assert_eq!(restored.records.last(), Some(&(LogId(77), b"the last".to_vec())));
    // One that is dropped makes place for another.
    wal.drop_log(LogId(5), &restored).unwrap();
    let created = wal.create_log(Class::Ordinary, &restored, CHECKPOINT_BYTES, |out| out.push(0));
    assert_eq!(created, Ok(LogId(LOGS_MAX as u64 + 1)));
}

#[test]
fn checkpoint_larger_than_any_may_be_is_refused_before_anything_is_appended() {
    let mut owner = Owner::default();
    let mut wal = Wal::create(SimDisk::new(1), config(), INCARNATION, 0, &owner).unwrap();
    let end = wal.end();
    let refused = wal.create_log(Class::Ordinary, &owner, CHECKPOINT_BYTES_MAX + 1, |_| ());
    assert!(matches!(refused, Err(CreateError::Append(AppendError::TooLarge { .. }))));
    // Nor may all of them together be more than a segment holds.
    owner.logs = (u32::MAX / 20) as usize;
    let refused = wal.create_log(Class::Ordinary, &owner, 100, |_| ());
    assert!(matches!(refused, Err(CreateError::Append(AppendError::TooLarge { .. }))));
    assert_eq!((wal.end(), wal.stats().logs), (end, 0));
}

#[test]
#[should_panic(expected = "no room was asked for")]
fn record_for_which_no_room_was_asked_is_stopped() {
    let owner = Owner { logs: 1, ..Owner::default() };
    let mut wal = Wal::create(SimDisk::new(1), config(), INCARNATION, 1, &owner).unwrap();
    let mut group = wal.group(record_bytes_max(10), Class::Ordinary, &owner).unwrap();
    let _ = group.append(LogId::FIRST, 100, &owner, |_| ());
}

#[test]
#[should_panic(expected = "was not created, or is dropped")]
fn record_for_a_log_that_was_dropped_is_stopped() {
    let owner = Owner { logs: 1, ..Owner::default() };
    let mut wal = Wal::create(SimDisk::new(1), config(), INCARNATION, 1, &owner).unwrap();
    wal.drop_log(LogId::FIRST, &owner).unwrap();
    append(&mut wal, &owner, LogId::FIRST, b"too late");
}
