//! Damage to what a disk had kept: bits that rot, writes that went to a wrong place, names that are gone. It strikes a member
//! whose process has ended, and shows when it starts again: it puts its data aside and asks the others for theirs.

use std::cmp::Ordering;

use storage_raft_log::{Batch, Journal, JournalConfig};

use crate::disk::{SECTOR_BYTES, SimDisk};
use crate::ensemble::Ensemble;
use crate::random::Random;

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// Some bits of a file turn over.
    Rot,
    /// What was meant for another place overwrites some of a file.
    Misdirected,
    /// A file is gone from its directory.
    Name,
}

impl Ensemble {
    /// The disk of a member is damaged, within the budget.
    pub(super) fn damage(&mut self, number: u64, damage: Damage, chance: &mut Random) {
        if !self.may_lose_disk(number) {
            return;
        }
        self.stop(number);
        let journal = self.config.journal.clone();
        let machine = self.machine(number);
        let Some(end) = end_of_log(&machine.disk, journal) else { return };
        let Some(words) = strike(&machine.disk, &end, damage, chance) else { return };
        machine.damaged = true;
        self.wiped = true;
        let what = match damage {
            Damage::Rot => "rot",
            Damage::Misdirected => "misdirected write",
            Damage::Name => "lost name",
        };
        self.tell(what, format_args!("member {number} is killed, and its disk is damaged: {words}"));
    }
}

/// What stands at the end of a log and what vouches for it: both lost at once leave no trace.
const END_BYTES: usize = 2 * SECTOR_BYTES;

/// The segment in which the log ends, and how much of it may be damaged so that what is left tells of it. Something more is
/// written to find that out: behind the end a segment holds zeros, or what it held when it was used before.
fn end_of_log(disk: &SimDisk, config: JournalConfig) -> Option<(String, usize)> {
    let segments = |disk: &SimDisk| {
        let paths = disk.paths().into_iter().filter(|path| path.ends_with(".seg"));
        paths.filter_map(|path| Some((path.clone(), disk.content(&path)?))).collect::<Vec<_>>()
    };
    let before = segments(disk);
    let (mut journal, _) = Journal::open(disk.clone(), config).ok()?;
    let batch = Batch { hard_state: Some(journal.hard_state()), ..Batch::default() };
    journal.append_reserved(&batch).ok()?;
    journal.close().ok()?;
    let ends = segments(disk).into_iter().filter_map(|(path, content)| {
        let was = before.iter().find(|(known, _)| *known == path).map(|(_, content)| &content[..]);
        let was = was.unwrap_or_default();
        let last = (0..content.len()).rfind(|at| was.get(*at) != Some(&content[*at]) && content[*at] != 0)?;
        Some((path, (last + 1).saturating_sub(END_BYTES) / SECTOR_BYTES * SECTOR_BYTES))
    });
    ends.max()
}

/// Gives what was done, in words.
fn strike(disk: &SimDisk, end: &(String, usize), damage: Damage, chance: &mut Random) -> Option<String> {
    let files: Vec<_> = disk.paths().into_iter().filter(|path| path.contains('/')).collect();
    let pick = |chance: &mut Random| {
        let path = files.get(chance.below(files.len() as u64) as usize)?;
        let content = disk.content(path)?;
        let used = content.iter().rposition(|byte| *byte != 0)? + 1;
        let used = match path.cmp(&end.0) {
            Ordering::Equal => end.1,
            Ordering::Greater if path.ends_with(".seg") => 0,
            _ => used,
        };
        (used > 0).then(|| (path.clone(), content, used))
    };
    let (path, _, used) = pick(chance)?;
    match damage {
        Damage::Rot => {
            let bits: Vec<_> = (0..=chance.below(3)).map(|_| chance.below(used as u64 * 8)).collect();
            bits.iter().for_each(|bit| disk.flip(&path, *bit));
            Some(format!("bits {bits:?} of `{path}` turn over"))
        }
        Damage::Misdirected => {
            let (source, content, length) = pick(chance)?;
            let sector = |chance: &mut Random, used: usize| {
                chance.below(used.div_ceil(SECTOR_BYTES) as u64) as usize * SECTOR_BYTES
            };
            let (from, to) = (sector(chance, length), sector(chance, used));
            let bytes = content.get(from..content.len().min(from + SECTOR_BYTES))?;
            disk.overwrite(&path, to, bytes);
            Some(format!("what stands in `{source}` at {from} overwrites `{path}` at {to}"))
        }
        Damage::Name if path == end.0 => None,
        Damage::Name => {
            disk.take_away(&path);
            Some(format!("`{path}` is gone"))
        }
    }
}
