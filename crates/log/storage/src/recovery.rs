//! Opening a directory: what each partition gets back.
//!
//! Everything is read and judged before the first byte is changed. Segments are not read: the state of a partition says what is
//! in them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::WallTime;
use bytes::Bytes;
use log_partition::{Begun, LeaderEpoch, Offset, PartitionId, Place, SegmentId};
use storage_disk::Disk;
use storage_wal::codec::Malformed;
use storage_wal::meta::{self, Meta, Names};
use storage_wal::{Fault, LogId, OpenError, Position, Replayed, Restore, Wal};

use crate::checkpoint::{Checkpoint, Flushed};
use crate::config::StoreConfig;
use crate::files::OpenFiles;
use crate::found::Found;
use crate::partition_log::{PartitionLog, Pending};
use crate::record::{LogStart, Record};
use crate::removals::Removals;
use crate::segment_name::{FileKind, SEGMENT_DIRECTORY};
use crate::store::{Logs, Store};

/// What the directory's owner begins with; behind it stands the cluster.
const OWNER: &str = "log ";
const HINT_CLUSTER: &str = "name the council of that cluster, or another directory for the data";

/// What a partition gets back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Its log.
    pub log: LogId,
    /// Which partition.
    pub id: PartitionId,
    /// Where the log was created, if it has no state.
    pub created: Offset,
    /// The end of the log.
    pub end: Offset,
    /// The last state that was given; nothing if there is none, which is the state of an empty log.
    pub state: Option<Vec<u8>>,
    /// What happened behind that state, and every batch that is not in the flushed part of the segments, in order.
    pub events: Vec<RestoredEvent>,
    /// The offset behind the flushed part.
    pub flushed_end: Offset,
    /// Where the flushed part ends.
    pub flushed_place: Place,
}

/// What happened to a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoredEvent {
    /// A batch was appended.
    Batch(RestoredBatch),
    /// The log begins at the first offset, or later; segments before the second are gone.
    Start(Offset, Offset),
    /// Segments took the place of others: what was given to [`Store::replace`].
    Replaced(Vec<u8>),
    /// An epoch was promised, and begins there: what was given to [`Store::put_epoch`].
    Epoch(LeaderEpoch, Option<Offset>),
}

/// A batch, as it was appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredBatch {
    /// Where it stands.
    pub at: Place,
    /// The offset behind it.
    pub end: Offset,
    /// When it was appended.
    pub now: WallTime,
    /// Whether the state was given before it was appended.
    pub is_behind_state: bool,
    /// Whether it is in the flushed part of the segments, or its segment is gone.
    pub is_written: bool,
    /// What was said of epochs besides.
    pub begun: Begun,
    /// The batch.
    pub batch: Bytes,
}

/// A log while the write-ahead log is read.
struct RestoringLog {
    /// From the newest checkpoint.
    flushed: Flushed,
    needed: u64,
    log: Option<PartitionLog>,
    created: Offset,
    state: Option<Vec<u8>>,
    events: Vec<RestoredEvent>,
    /// Segments whose indices tell of what was cut off.
    lost_indices: BTreeSet<SegmentId>,
}

#[derive(Default)]
struct Restoring(BTreeMap<LogId, RestoringLog>);

impl<D: Disk> Store<D> {
    /// Opens the directory of a cluster, or initialises an empty one, whose incarnation no other directory may have. Gives what
    /// it held, by partition. The directory of another cluster is refused: its topics mean nothing here.
    ///
    /// # Errors
    /// In every case nothing that may have been acknowledged was changed.
    pub fn open(
        disk: D,
        config: StoreConfig,
        incarnation: [u8; 16],
        cluster: &str,
    ) -> Result<(Self, Vec<Restored>), OpenError> {
        open(disk, config, incarnation, cluster)
    }
}

fn open<D: Disk>(
    mut disk: D,
    config: StoreConfig,
    incarnation: [u8; 16],
    cluster: &str,
) -> Result<(Store<D>, Vec<Restored>), OpenError> {
    let names = Names { directories: &[SEGMENT_DIRECTORY], harmless: &[] };
    let owner = format!("{OWNER}{cluster}").into_bytes();
    match meta::open(&mut disk, names)? {
        None => make(disk, config, Meta { incarnation, owner }),
        Some(meta) if meta.owner == owner => resume(disk, config, meta.incarnation),
        Some(meta) => {
            let of = String::from_utf8_lossy(&meta.owner).into_owned();
            let of = of.strip_prefix(OWNER).map_or_else(
                || "data of another service".into(),
                |cluster| format!("data of the cluster {cluster}"),
            );
            Err(OpenError::Foreign { name: of, hint: HINT_CLUSTER })
        }
    }
}

fn make<D: Disk>(
    mut disk: D,
    config: StoreConfig,
    meta: Meta,
) -> Result<(Store<D>, Vec<Restored>), OpenError> {
    let made = disk.create_directory(SEGMENT_DIRECTORY);
    made.map_err(|error| Fault::new(SEGMENT_DIRECTORY, "create", error))?;
    sync_names(&mut disk)?;
    let logs = Logs::default();
    let mut wal = Wal::create(disk, config.wal, meta.incarnation, 0, &logs)?;
    meta::write(wal.disk(), &meta)?;
    Ok((store(wal, config, logs), Vec::new()))
}

fn resume<D: Disk>(
    disk: D,
    config: StoreConfig,
    incarnation: [u8; 16],
) -> Result<(Store<D>, Vec<Restored>), OpenError> {
    let mut restoring = Restoring::default();
    let replayed = Replayed::read(disk, config.wal, incarnation, &mut restoring)?;
    let (mut wal, _) = replayed.resume()?;
    let found = Found::list(wal.disk())?;
    let (mut logs, mut restored) = (Logs::default(), Vec::new());
    let mut lost_indices = Vec::new();
    for (id, restoring) in restoring.0 {
        lost_indices.extend(restoring.lost_indices());
        let (log, given) = restoring.end(id);
        restored.push(given);
        logs.0.insert(id, log);
    }
    let mut store = store(wal, config, logs);
    store.memory_bytes = store.logs.0.values().map(|log| log.pending_bytes).sum();
    store.found = Some(found);
    for (id, segment) in lost_indices {
        store.remove_file(id, segment, FileKind::Index)?;
    }
    store.find_due();
    Ok((store, restored))
}

fn store<D: Disk>(wal: Wal<D>, config: StoreConfig, logs: Logs) -> Store<D> {
    // What the last checkpoints on the disk do not say yet is judged when the next ones are written.
    let judged = wal.end().sequence;
    Store {
        wal,
        config,
        logs,
        files: OpenFiles::new(config.open_files_max),
        memory_bytes: 0,
        names_unflushed: false,
        judged,
        needs: None,
        removals: Removals::default(),
        due: BTreeSet::new(),
        sync_due: VecDeque::new(),
        sync_started: Vec::new(),
        state_due: VecDeque::new(),
        is_short: false,
        found: None,
        written: Vec::new(),
    }
}

fn sync_names<D: Disk>(disk: &mut D) -> Result<(), Fault> {
    for directory in ["", SEGMENT_DIRECTORY] {
        disk.sync_directory(directory).map_err(|error| Fault::new(directory, "flush", error))?;
    }
    Ok(())
}

impl Restore for Restoring {
    fn offer(&mut self, log: LogId, sequence: u64, checkpoint: &[u8]) -> Result<bool, Malformed> {
        let Checkpoint { flushed, needed, .. } = Checkpoint::decode(checkpoint)?;
        // The first that is offered is the newest, and knows how far the segments are flushed and what is needed besides.
        let known = self.0.entry(log).or_insert_with(|| RestoringLog::new(flushed, needed));
        Ok(sequence <= known.needed)
    }

    fn begin(&mut self, log: LogId, at: Position, checkpoint: &[u8]) -> Result<(), Malformed> {
        let Checkpoint { id, end, flushed, .. } = Checkpoint::decode(checkpoint)?;
        let known = self.0.entry(log).or_insert_with(|| RestoringLog::new(flushed, at.sequence));
        let mut begun = PartitionLog::new(id, end, at.sequence);
        (begun.flushed, begun.written) = (known.flushed, known.flushed);
        known.log = Some(begun);
        known.created = end;
        Ok(())
    }

    fn record(&mut self, log: LogId, at: Position, payload: &[u8]) -> Result<(), Malformed> {
        let known = self.0.get_mut(&log).ok_or(Malformed)?;
        let begun = known.log.as_mut().ok_or(Malformed)?;
        match Record::decode(payload)? {
            Record::Append { at: place, end, now, begun, batch } => {
                return known.append(at.sequence, (place, end), now, (begun.into_owned(), batch));
            }
            Record::State(start, end, state) => {
                begun.state_given(at.sequence, end);
                begun.begins_at(start);
                known.take_state(start, end, state);
            }
            Record::Cut(cut, keeps_index) => {
                begun.cut(cut);
                known.cut(cut, keeps_index);
            }
            Record::Epoch(promised, begins) => {
                known.events.push(RestoredEvent::Epoch(promised, begins));
            }
            Record::Reset(start, promised) => {
                begun.reset(at.sequence, start);
                (known.created, known.state) = (start, None);
                known.events = vec![RestoredEvent::Epoch(promised, None)];
            }
            Record::Start(start) => {
                begun.begins_at(start);
                known.events.push(RestoredEvent::Start(start.offset, start.first_segment));
            }
            Record::Replaced(flushed, change) => {
                begun.is_flushed_to(flushed);
                known.events.push(RestoredEvent::Replaced(change.to_vec()));
            }
        }
        Ok(())
    }

    fn dropped(&mut self, log: LogId) {
        self.0.remove(&log);
    }
}

impl RestoringLog {
    fn new(flushed: Flushed, needed: u64) -> Self {
        let (created, events, lost_indices) = (Offset::ZERO, Vec::new(), BTreeSet::new());
        Self { flushed, needed, log: None, created, state: None, events, lost_indices }
    }

    fn append(
        &mut self,
        sequence: u64,
        (at, end): (Place, Offset),
        now: WallTime,
        (begun_before, batch): (Begun, &[u8]),
    ) -> Result<(), Malformed> {
        let begun = self.log.as_mut().filter(|begun| end > begun.end).ok_or(Malformed)?;
        begun.appended(sequence, end);
        let batch = Bytes::copy_from_slice(batch);
        let is_written = end <= begun.flushed.end;
        if !is_written {
            begun.keep(Pending { at, end, batch: batch.clone(), index: Vec::new() });
        }
        let batch =
            RestoredBatch { at, end, now, is_behind_state: true, is_written, begun: begun_before, batch };
        self.events.push(RestoredEvent::Batch(batch));
        Ok(())
    }

    /// A state of the batches before `end`, and of everything else until now.
    fn take_state(&mut self, start: LogStart, end: Offset, state: &[u8]) {
        let flushed = self.log.as_ref().map_or(Offset::ZERO, |log| log.flushed.end);
        self.state = Some(state.to_vec());
        self.events.retain_mut(|event| match event {
            RestoredEvent::Batch(batch) => {
                batch.is_behind_state = batch.end > end;
                batch.is_behind_state || batch.end > flushed
            }
            // It began behind what the state is of.
            RestoredEvent::Epoch(_, Some(begins)) => *begins > end,
            RestoredEvent::Start(..) | RestoredEvent::Replaced(_) | RestoredEvent::Epoch(..) => false,
        });
        self.events.push(RestoredEvent::Start(start.offset, start.first_segment));
    }

    fn cut(&mut self, cut: Flushed, keeps_index: bool) {
        self.events.retain(|event| match event {
            RestoredEvent::Batch(batch) => batch.end <= cut.end,
            _ => true,
        });
        if !keeps_index {
            self.lost_indices.insert(SegmentId::appended(cut.place.segment));
        }
    }

    fn lost_indices(&self) -> Vec<(PartitionId, SegmentId)> {
        let Some(log) = &self.log else { return Vec::new() };
        self.lost_indices.iter().map(|segment| (log.id, *segment)).collect()
    }

    fn end(self, log: LogId) -> (PartitionLog, Restored) {
        let none = PartitionId { topic: [0; 16], index: 0 };
        let own = self.log.unwrap_or_else(|| PartitionLog::new(none, Offset::ZERO, 0));
        let Flushed { end: flushed_end, place: flushed_place } = own.flushed;
        let mut events = self.events;
        events.retain_mut(|event| match event {
            RestoredEvent::Batch(batch) => {
                batch.is_written = batch.end <= flushed_end;
                batch.is_behind_state || !batch.is_written
            }
            RestoredEvent::Start(..) | RestoredEvent::Replaced(_) | RestoredEvent::Epoch(..) => true,
        });
        let (created, state) = (self.created, self.state);
        let restored =
            Restored { log, id: own.id, created, end: own.end, state, events, flushed_end, flushed_place };
        (own, restored)
    }
}

#[cfg(test)]
mod tests {
    use log_partition::{Commit, State};
    use storage_disk::sim::SimDisk;

    use super::*;
    use crate::store::Append;

    fn open(disk: &SimDisk, number: u8) -> (Store<SimDisk>, Vec<Restored>) {
        Store::open(disk.clone(), StoreConfig::default(), [number; 16], "ours").expect("the disk is well")
    }

    /// A store with an empty log.
    fn with_log(disk: &SimDisk) -> (Store<SimDisk>, LogId) {
        let (mut store, _) = open(disk, 1);
        let id = PartitionId { topic: [7; 16], index: 0 };
        let log = store.create(id, Offset::ZERO).expect("there is room");
        (store, log)
    }

    #[test]
    fn epoch_that_begins_behind_what_a_state_is_of_is_known_after_a_start() {
        let disk = SimDisk::new(1);
        let (mut store, log) = with_log(&disk);
        let begun = vec![(LeaderEpoch(3), Offset(1)), (LeaderEpoch(4), Offset(3))];
        let append = Append {
            log,
            at: Place::default(),
            end: Offset(5),
            now: WallTime::of_ms(7),
            begun: begun.clone(),
            batch: Bytes::from_static(b"a batch"),
            commit: Commit::Flushed,
            index: Vec::new(),
        };
        store.append(&[append]).expect("there is room");
        store.put_epoch(log, LeaderEpoch(9), Some(Offset(5))).expect("there is room");
        let state = |end| State { end, bytes: b"a state".to_vec() };
        // Nothing of it is committed: a state is of what is.
        store.put_state(log, &state(Offset::ZERO)).expect("there is room");
        store.flush().expect("the disk is well");
        drop(store);
        let (mut store, restored) = open(&disk, 2);
        let events = &restored[0].events;
        let RestoredEvent::Batch(batch) = &events[0] else { panic!("{events:?}") };
        assert_eq!(batch.begun, begun);
        let epoch = RestoredEvent::Epoch(LeaderEpoch(9), Some(Offset(5)));
        assert_eq!(events[1..], [epoch, RestoredEvent::Start(Offset::ZERO, Offset::ZERO)]);
        store.put_state(log, &state(Offset(5))).expect("there is room");
        store.flush().expect("the disk is well");
        drop(store);
        let (_, restored) = open(&disk, 3);
        let is_epoch = |event: &RestoredEvent| matches!(event, RestoredEvent::Epoch(..));
        assert!(!restored[0].events.iter().any(is_epoch), "the state tells of it");
    }

    #[test]
    fn log_does_not_begin_earlier_for_what_comes_late() {
        let disk = SimDisk::new(1);
        let (mut store, log) = with_log(&disk);
        store.set_start(log, Offset(5), Offset(3)).expect("there is room");
        let state = State { end: Offset::ZERO, bytes: b"made before".to_vec() };
        store.put_state(log, &state).expect("there is room");
        store.replace(log, b"made before", &[SegmentId::appended(Offset(1))], None).expect("there is room");
        store.flush().expect("the disk is well");
        drop(store);
        let (_, restored) = open(&disk, 2);
        assert_eq!(restored[0].state.as_deref(), Some(&b"made before"[..]));
        assert_eq!(restored[0].events, [RestoredEvent::Start(Offset(5), Offset(3))]);
    }
}
