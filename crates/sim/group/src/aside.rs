//! Data that is put aside on a simulated disk, step by step, as servers do it with directories: what is to be
//! done is written down before the first file moves, and a start finishes what a crash interrupted. What is there once
//! something was put aside says that this disk had data.

use storage_raft_log::{Disk, DiskError};

use sim_kit::disk::SimDisk;

/// Where data lies that was put aside.
const ASIDE: &str = "put-aside";
/// Says which generation is being put aside.
const PENDING: &str = "put-aside.pending";
const PENDING_TEMPORARY: &str = "put-aside.pending.tmp";
/// What data consists of. With the last, a disk belongs to a member.
const PARTS: [&str; 3] = ["snapshot/", "log/", "meta"];

/// Whether a member's data is on this disk.
#[must_use]
pub fn holds_data(disk: &SimDisk) -> bool {
    disk.content("meta").is_some()
}

/// Whether data was put aside here.
///
/// # Errors
/// The disk fails.
pub fn had_data(disk: &mut SimDisk) -> Result<bool, DiskError> {
    Ok(disk.list("")?.iter().any(|name| name == ASIDE))
}

/// Finishes what a crash interrupted.
///
/// # Errors
/// The disk fails.
pub fn settle(disk: &mut SimDisk) -> Result<(), DiskError> {
    if disk.content(PENDING_TEMPORARY).is_some() {
        disk.remove(PENDING_TEMPORARY)?;
    }
    match disk.content(PENDING) {
        Some(text) => finish(disk, &String::from_utf8_lossy(&text)),
        None => Ok(()),
    }
}

/// Puts the data aside.
///
/// # Errors
/// The disk fails: what was begun is finished by [`settle`].
pub fn put_aside(disk: &mut SimDisk) -> Result<(), DiskError> {
    disk.create_directory(ASIDE)?;
    disk.sync_directory("")?;
    let generation = disk.list(ASIDE)?.len() + 1;
    let place = format!("{ASIDE}/{generation}");
    disk.create_directory(&place)?;
    disk.sync_directory(ASIDE)?;
    for part in PARTS.iter().filter_map(|part| part.strip_suffix('/')) {
        disk.create_directory(&format!("{place}/{part}"))?;
    }
    disk.sync_directory(&place)?;
    let file = disk.create(PENDING_TEMPORARY)?;
    disk.write_at(&file, 0, place.as_bytes())?;
    disk.sync_data(&file)?;
    disk.rename(PENDING_TEMPORARY, PENDING)?;
    disk.sync_directory("")?;
    finish(disk, &place)
}

/// A directory moves as a whole, with changes of names in it that are not durable yet. Here its files move one by one, so
/// those changes become durable first.
fn finish(disk: &mut SimDisk, place: &str) -> Result<(), DiskError> {
    for part in PARTS {
        if let Some(directory) = part.strip_suffix('/') {
            disk.sync_directory(directory)?;
        }
        for path in disk.paths().into_iter().filter(|path| path.starts_with(part)) {
            disk.rename(&path, &format!("{place}/{path}"))?;
        }
        let directory = part.strip_suffix('/').map_or(place.to_owned(), |part| format!("{place}/{part}"));
        disk.sync_directory(&directory)?;
    }
    disk.remove(PENDING)?;
    disk.sync_directory("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_kit::disk::Loss;

    fn lay(disk: &SimDisk) {
        for path in ["meta", "log/1.seg", "log/0.seg", "snapshot/1.snap"] {
            disk.put(path, path.as_bytes().to_vec());
        }
        // A change that is not durable, as of a segment that is used again.
        disk.clone().rename("log/0.seg", "log/2.seg").expect("it is there");
    }

    fn holds(disk: &SimDisk, below: &str) -> usize {
        let paths = disk.paths();
        let is_there = |path: &str| paths.contains(&format!("{below}{path}"));
        let single =
            ["meta", "log/1.seg", "snapshot/1.snap"].into_iter().filter(|path| is_there(path)).count();
        // Under its old name or its new one.
        single + usize::from(is_there("log/0.seg") != is_there("log/2.seg"))
    }

    #[test]
    fn crash_at_any_operation_leaves_all_data_in_its_place_or_all_of_it_aside_and_a_mark() {
        for operation in 1..60 {
            for loss in [Loss::All, Loss::Nothing, Loss::Some] {
                let mut disk = SimDisk::new(operation);
                lay(&disk);
                disk.crash_at(disk.operations() + operation);
                let done = put_aside(&mut disk).is_ok();
                disk.crash(loss);
                disk.crash_at(disk.operations() + operation % 7);
                let _ = settle(&mut disk);
                disk.crash(loss);
                settle(&mut disk).expect("it works again");
                let (here, aside) = (holds(&disk, ""), holds(&disk, "put-aside/1/"));
                assert!(
                    (here, aside) == (4, 0) || (here, aside) == (0, 4),
                    "{operation}: {:?}",
                    disk.paths()
                );
                assert!(!done || aside == 4);
                assert!(holds_data(&disk) || had_data(&mut disk).expect("it works"), "{operation}");
            }
        }
    }
}
