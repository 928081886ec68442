//! Any damage to a data directory that a journal has written.

use base::{MemberId, Term};
use bytes::Bytes;
use sim_council::disk::{Loss, SimDisk};
use storage_raft_log::{
    Batch, Entry, EntryKind, HardState, Identity, Journal, JournalConfig, KeepPolicy, SnapshotMeta,
};

use crate::input::Input;

/// Two scripts: what the journal did, and what was then done to its files.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let work = input.piece().unwrap_or_default();
    let disk = SimDisk::new(1);
    write(&disk, Input::new(work));
    while damage(&disk, &mut input).is_some() {}
    disk.restart();
    let Ok((mut journal, recovered)) = Journal::open(disk.clone(), config()) else { return };
    let (first, last) = (journal.first_index(), journal.last_index());
    let held = journal.entries(first, last.next(), u64::MAX).ok();
    if let Some(entries) = &held {
        assert_eq!(entries.len() as u64, last.next().since(first));
    }
    if let Ok(Some(mut reader)) = journal.open_snapshot() {
        while journal.read_snapshot(&mut reader).is_ok_and(|chunk| chunk.is_some()) {}
    }
    drop(journal);
    disk.crash(Loss::All);
    let (mut journal, again) = Journal::open(disk, config()).expect("what was opened once opens again");
    assert_eq!(journal.entries(first, last.next(), u64::MAX).ok(), held);
    assert_eq!((again.hard_state, &again.snapshot), (recovered.hard_state, &recovered.snapshot));
    journal.compact(KeepPolicy { snapshots: 1, entries: 0 }).expect("the disk is well");
}

/// Segments so small that a few batches fill them.
fn config() -> JournalConfig {
    JournalConfig {
        identity: Identity { cluster: [1; 16], incarnation: [9; 16], member: MemberId(1) },
        segment_bytes: 6 << 10,
        first_segment_bytes: 3 << 10,
        reserve_bytes: 512,
        prepare_step_bytes: 2 << 10,
        write_buffer_bytes: 1500,
        snapshot_writeback_bytes: 1000,
        record_bytes_max: 1 << 20,
        spare_segments_max: 2,
        harmless_names: &[],
    }
}

/// Does what the script says, as long as the journal takes it.
fn write(disk: &SimDisk, mut script: Input<'_>) {
    let Ok((mut journal, _)) = Journal::open(disk.clone(), config()) else { return };
    let mut term = Term(1);
    while let Some(step) = script.byte() {
        let done = match step % 8 {
            0..4 => {
                term = if step < 128 { term } else { term.next() };
                append(&mut journal, term, script.short().unwrap_or_default()).is_some()
            }
            4 => journal.flush().is_ok(),
            5 => journal.settle().is_ok(),
            6 => snapshot(&mut journal, term, step / 8).is_some(),
            _ => journal.prepare().is_ok(),
        };
        if !done {
            break;
        }
    }
}

/// A batch of entries whose number and length the shape says; the first may replace some that are there.
fn append(journal: &mut Journal<SimDisk>, term: Term, shape: u16) -> Option<()> {
    let back = u64::from(shape >> 14).min(journal.last_index().next().since(journal.first_index()));
    let first = journal.last_index().next().minus(back);
    let entries = first.onward().take(usize::from(shape >> 10 & 15) + 1).map(|index| Entry {
        index,
        term,
        kind: EntryKind::Normal,
        data: Bytes::from(vec![shape as u8; usize::from(shape & 1023)]),
    });
    let hard_state =
        (shape & 1 != 0).then_some(HardState { term, vote: Some(MemberId(1)), commit: first.previous() });
    let membership = (shape & 2 != 0)
        .then(|| consensus_replica::start::founding(vec![MemberId(1)], Vec::new()).membership)
        .flatten();
    journal.append(&Batch { hard_state, membership, entries: entries.collect() }).ok()
}

fn snapshot(journal: &mut Journal<SimDisk>, term: Term, chunks: u8) -> Option<()> {
    journal.flush().ok()?;
    journal.snapshot_begin().ok()?;
    for chunk in 0..chunks {
        journal.snapshot_chunk(&[chunk; 300]).ok()?;
    }
    let meta = SnapshotMeta { index: journal.last_index(), term, ..SnapshotMeta::default() };
    // One that is no newer than the last is refused, which is fine here.
    let _ = journal.snapshot_finish(meta);
    journal.compact(KeepPolicy { snapshots: 2, entries: 0 }).ok()
}

/// One way to damage a file; nothing at the end of the script.
fn damage(disk: &SimDisk, script: &mut Input<'_>) -> Option<()> {
    let (how, which) = (script.byte()?, script.byte()?);
    let (at, value) = (usize::from(script.short()?), script.byte()?);
    let paths = disk.paths();
    let path = paths.get(usize::from(which) % paths.len().max(1))?;
    let mut content = disk.content(path).unwrap_or_default();
    let length = content.len();
    match how % 8 {
        0 | 1 => content.iter_mut().skip(at).take(1).for_each(|byte| *byte = value),
        2 => content.truncate(at),
        3 => content.resize(at.max(length), value),
        4 => content.iter_mut().skip(at).take(512).for_each(|byte| *byte = value),
        5 => {
            let to = usize::from(value) * 8;
            let count = 600.min(length.saturating_sub(at.max(to)));
            if count > 0 {
                content.copy_within(at..at + count, to);
            }
        }
        6 => {
            disk.take_away(path);
            return Some(());
        }
        _ => {
            if let Some(record) = seal::record_at(&content, path, at) {
                seal::rewrite(&mut content, path, record, value);
            }
        }
    }
    disk.put(path, content);
    Some(())
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let work: [&[u8]; 4] = [
        &[0, 0x04, 0x23, 4, 1, 0x18, 0x41, 4, 2, 0x0c, 0xff, 5],
        &[0, 0x3c, 0xff, 4, 0, 0x3c, 0xff, 4, 7, 7, 7, 0, 0x3c, 0xff, 4, 62, 0, 0x04, 0x10, 4],
        &[0, 0x3c, 0xc3, 4, 130, 0x7c, 0x80, 4, 130, 0xfc, 0x81, 5, 30, 0, 0x20, 0x40],
        &[],
    ];
    let damages: [&[u8]; 8] = [
        &[],
        &[0, 2, 0x00, 0x20, 0xff],
        &[2, 1, 0x01, 0x00, 0],
        &[4, 1, 0x02, 0x00, 0, 4, 2, 0x00, 0x00, 0],
        &[6, 1, 0, 0, 0],
        &[7, 0, 0, 0, 3, 7, 0, 0x00, 0x40, 200],
        &[5, 1, 0x00, 0x80, 9, 3, 0, 0xff, 0xff, 7],
        &[7, 1, 0x00, 0x00, 77, 0, 3, 0, 4, 4],
    ];
    let mut seeds = Vec::new();
    for work in work {
        for damage in damages {
            let mut seed = Vec::new();
            crate::input::put_piece(&mut seed, work);
            seed.extend_from_slice(damage);
            seeds.push(seed);
        }
    }
    seeds
}

/// The journal's checksum, so that what stands behind it is reached as well. A copy of the format on purpose: a test
/// shows that it is the journal's.
mod seal {
    use super::config;

    const HEADER: usize = 16;

    /// The first whole record of a segment at or behind this place.
    pub(super) fn record_at(content: &[u8], path: &str, at: usize) -> Option<usize> {
        let from = (at % content.len().max(1)).next_multiple_of(8);
        (from..content.len()).step_by(8).find(|start| verifies(content, path, *start))
    }

    /// Changes one byte of the record, or of its length, and makes its checksum right again.
    pub(super) fn rewrite(content: &mut [u8], path: &str, start: usize, value: u8) {
        let Some(sequence) = sequence(path) else { return };
        let end = start + HEADER + payload(content, start);
        let at = start + 4 + usize::from(value) * 7 % (end - start - 4);
        content[at] = content[at].wrapping_add(value | 1);
        let end = (start + HEADER + payload(content, start)).min(content.len());
        let sum = checksum(sequence, start, &content[start + 4..end]);
        content[start..start + 4].copy_from_slice(&sum.to_le_bytes());
    }

    fn verifies(content: &[u8], path: &str, start: usize) -> bool {
        let Some(sequence) = sequence(path) else { return false };
        if start + HEADER > content.len() {
            return false;
        }
        let covered = content.get(start + 4..start + HEADER + payload(content, start));
        covered.is_some_and(|covered| {
            checksum(sequence, start, covered).to_le_bytes() == content[start..start + 4]
        })
    }

    fn payload(content: &[u8], start: usize) -> usize {
        let length = content.get(start + 4..start + 8).and_then(|bytes| bytes.try_into().ok());
        length.map_or(0, |bytes| u32::from_le_bytes(bytes) as usize)
    }

    fn checksum(sequence: u64, start: usize, covered: &[u8]) -> u32 {
        let mut salt = 0;
        for half in config().identity.incarnation.chunks_exact(8) {
            salt = mix(salt ^ u64::from_le_bytes(half.try_into().unwrap_or_default()));
        }
        let seed = crc32c::crc32c(&mix(salt ^ sequence).to_le_bytes());
        crc32c::crc32c_append(crc32c::crc32c_append(seed, &(start as u64).to_le_bytes()), covered)
    }

    fn sequence(path: &str) -> Option<u64> {
        let digits = path.strip_prefix("log/")?.strip_suffix(".seg")?;
        u64::from_str_radix(digits, 16).ok()
    }

    fn mix(value: u64) -> u64 {
        let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_the_journal_verify_here_too() {
        let disk = SimDisk::new(1);
        write(&disk, Input::new(&seeds()[16][2..]));
        let segments = disk.paths().into_iter().filter(|path| path.starts_with("log/"));
        let whole = segments.filter(|path| seal::record_at(&disk.content(path).unwrap(), path, 0) == Some(0));
        assert!(whole.count() > 0);
    }

    #[test]
    fn some_damage_is_survived_and_some_refused() {
        let opens = |seed: &Vec<u8>| {
            let mut input = Input::new(seed);
            let disk = SimDisk::new(1);
            write(&disk, Input::new(input.piece().unwrap()));
            while damage(&disk, &mut input).is_some() {}
            Journal::open(disk, config()).is_ok()
        };
        let (opened, refused): (Vec<_>, Vec<_>) = seeds().into_iter().partition(opens);
        assert!(opened.len() > 3 && refused.len() > 3, "{} opened, {} refused", opened.len(), refused.len());
    }
}
