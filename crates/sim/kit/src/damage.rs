//! Damage to what a disk had kept: bits that rot, writes that went to a wrong place, names that are gone. It strikes the disk
//! of a process that has ended, and shows when it starts again. Spares the end of a log: what stands there has too little
//! behind it to vouch for it, so its loss leaves no trace and no software can find it.

use std::cmp::Ordering;

use crate::disk::{SECTOR_BYTES, SimDisk};
use crate::random::Random;

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Some bits of a file turn over.
    Rot,
    /// What was meant for another place overwrites some of a file.
    Misdirected,
    /// A file is gone from its directory.
    Name,
}

/// Where a log of segments ends. Files of a write-ahead log end with `.seg`, and their names are in order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogEnd {
    /// The path of the segment.
    pub segment: String,
    /// How much of it may be damaged so that what is left tells of it.
    pub used: usize,
}

impl LogEnd {
    /// What a segment holds up to its last byte that counts, without what vouches for that.
    #[must_use]
    pub const fn behind(segment: String, last: usize) -> Self {
        Self { segment, used: (last + 1).saturating_sub(END_BYTES) / SECTOR_BYTES * SECTOR_BYTES }
    }
}

/// What stands at the end of a log and what vouches for it: both lost at once leave no trace.
const END_BYTES: usize = 2 * SECTOR_BYTES;

/// Damages a file of a disk. Gives what was done, in words; nothing if what was drawn is spared.
pub fn strike(disk: &SimDisk, end: &LogEnd, damage: Damage, chance: &mut Random) -> Option<String> {
    let files: Vec<_> = disk.paths().into_iter().filter(|path| path.contains('/')).collect();
    let pick = |chance: &mut Random| {
        let path = files.get(chance.below(files.len() as u64) as usize)?;
        let content = disk.content(path)?;
        let used = content.iter().rposition(|byte| *byte != 0)? + 1;
        let used = match path.cmp(&end.segment) {
            Ordering::Equal => end.used,
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
        Damage::Name if path == end.segment => None,
        Damage::Name => {
            disk.take_away(&path);
            Some(format!("`{path}` is gone"))
        }
    }
}
