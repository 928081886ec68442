//! The file `meta`: the directory's owner and format. Written once, when everything else is in place, never changed.
//!
//! So a directory with `meta` has a log, and one without a log has lost it, with all that was acknowledged. Without
//! `meta` there can be no more in it than a first segment that no owner has appended anything to.

use crate::codec::Input;
use crate::error::{Corruption, Fault, OpenError};
use crate::limits::FIRST_RECORD_BYTES_MAX;
use crate::record::{HEADER_BYTES, record_end};
use crate::segment::{GROWING_PATH, LOG_DIRECTORY, segment_path};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use storage_disk::Disk;

const META_PATH: &str = "meta";
const META_TEMPORARY: &str = "meta.tmp";
const MAGIC: &[u8; 8] = b"DIWANDIR";
/// Version 1 belonged to a log without others beside it.
const META_VERSION: u32 = 2;

/// Bytes that an owner keeps in the file, at most.
pub const OWNER_BYTES_MAX: usize = 1024;

/// More than any version of the file holds, so that another one can be told from a damaged one.
const META_READ_BYTES: usize = 4096;

/// Which directory this is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// This very data directory: a directory that is made again is another incarnation, because it has forgotten what
    /// the old one acknowledged. Records of its log verify under no other.
    pub incarnation: [u8; 16],
    /// The owner of the directory, in the owner's own encoding.
    pub owner: Vec<u8>,
}

/// What may lie in a directory besides what the log makes.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// Directories that the owner makes beside the log's; empty as long as there is no `meta`.
    pub directories: &'a [&'a str],
    /// What may be there before the directory is initialised.
    pub harmless: &'a [&'a str],
}

/// What may lie in a directory that is not initialised yet, besides what the configuration names.
const HARMLESS: [&str; 4] = ["lost+found", "lock", "put-aside", META_TEMPORARY];

const HINT_FOREIGN: &str = "choose an empty directory, or the one that this server used before";
const HINT_META: &str = "the rest of the directory was not touched. Restore `meta` from a backup of this very directory, or, \
     in an ensemble, start the member anew with an empty directory";

/// Reads the owner of the directory; `None` if it has none. Leftovers of an interrupted initialisation are removed.
///
/// # Errors
/// It has another owner, another format, or is damaged; or the disk refused a call.
pub fn open<D: Disk>(disk: &mut D, permitted: Names<'_>) -> Result<Option<Meta>, OpenError> {
    let names = disk.list("").map_err(|error| Fault::new("", "list", error))?;
    if names.iter().any(|name| name == META_PATH) {
        return Ok(Some(read(disk)?));
    }
    let ours = |name: &str| name == LOG_DIRECTORY || permitted.directories.contains(&name);
    let harmless =
        |name: &str| name.starts_with('.') || HARMLESS.contains(&name) || permitted.harmless.contains(&name);
    if let Some(name) = names.iter().find(|name| !harmless(name) && !ours(name)) {
        return Err(OpenError::Foreign { name: name.clone(), hint: HINT_FOREIGN });
    }
    for directory in names.iter().filter(|name| ours(name)) {
        remove_unfinished(disk, directory)?;
    }
    Ok(None)
}

/// Removes what is left of a log that was begun and never in use.
fn remove_unfinished<D: Disk>(disk: &mut D, directory: &str) -> Result<(), OpenError> {
    let names = disk.list(directory).map_err(|error| Fault::new(directory, "list", error))?;
    let paths: Vec<String> = names.iter().map(|name| format!("{directory}/{name}")).collect();
    for path in &paths {
        if *path != GROWING_PATH && (*path != segment_path(1) || is_in_use(disk, path)?) {
            return Err(damaged(0, "it is missing, although there is a log").into());
        }
    }
    for path in &paths {
        disk.remove(path).map_err(|error| Fault::new(path, "remove", error))?;
    }
    Ok(())
}

/// Whether there is more in a first segment than its first record. The records cannot be verified: what binds them
/// to this directory stands in `meta`.
fn is_in_use<D: Disk>(disk: &mut D, path: &str) -> Result<bool, Fault> {
    let file = disk.open(path).map_err(|error| Fault::new(path, "open", error))?;
    let mut buffer = alloc::vec![0; 64 << 10];
    let mut read = |offset, buffer: &mut [u8]| {
        disk.read_at(&file, offset, buffer).map_err(|error| Fault::new(path, "read", error))
    };
    let mut header = [0; HEADER_BYTES as usize];
    read(0, &mut header)?;
    let mut input = Input::new(&header);
    let _checksum = input.array::<4>();
    let payload_bytes = input.array().map_or(0, u32::from_le_bytes);
    let mut offset = record_end(0, u64::from(payload_bytes)).min(FIRST_RECORD_BYTES_MAX);
    loop {
        let count = read(offset, &mut buffer)?;
        match buffer.get(..count) {
            None | Some([]) => return Ok(false),
            Some(bytes) if bytes.iter().any(|byte| *byte != 0) => return Ok(true),
            Some(_) => offset += count as u64,
        }
    }
}

/// Writes the owner: the last step of the initialisation.
///
/// # Errors
/// The disk refused a call.
pub fn write<D: Disk>(disk: &mut D, meta: &Meta) -> Result<(), Fault> {
    let owner_bytes = meta.owner.len();
    assert!(owner_bytes <= OWNER_BYTES_MAX, "{owner_bytes} bytes are too many for `{META_PATH}`");
    let mut bytes = Vec::new();
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&META_VERSION.to_le_bytes());
    bytes.extend_from_slice(&meta.incarnation);
    bytes.extend_from_slice(&(owner_bytes as u32).to_le_bytes());
    bytes.extend_from_slice(&meta.owner);
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    let file = disk.create(META_TEMPORARY).map_err(|error| Fault::new(META_TEMPORARY, "create", error))?;
    disk.write_at(&file, 0, &bytes).map_err(|error| Fault::new(META_TEMPORARY, "write", error))?;
    disk.sync_data(&file).map_err(|error| Fault::new(META_TEMPORARY, "flush", error))?;
    disk.rename(META_TEMPORARY, META_PATH).map_err(|error| Fault::new(META_PATH, "rename", error))?;
    disk.sync_directory("").map_err(|error| Fault::new("", "flush", error))
}

fn read<D: Disk>(disk: &mut D) -> Result<Meta, OpenError> {
    let file = disk.open(META_PATH).map_err(|error| Fault::new(META_PATH, "open", error))?;
    let mut buffer = [0; META_READ_BYTES];
    let length = disk.read_at(&file, 0, &mut buffer).map_err(|error| Fault::new(META_PATH, "read", error))?;
    let bytes = buffer.get(..length).unwrap_or_default();
    let mut input = Input::new(bytes);
    let short = |_| damaged(length as u64, "it is too short");
    if input.array::<8>().map_err(short)? != *MAGIC {
        return Err(damaged(0, "it does not begin as ours do").into());
    }
    let version = u32::from_le_bytes(input.array().map_err(short)?);
    if !checksum_holds(bytes) {
        return Err(damaged(0, "its checksum is wrong").into());
    }
    if version != META_VERSION {
        return Err(OpenError::Version { file: META_PATH.into(), found: version, known: META_VERSION });
    }
    let incarnation = input.array().map_err(short)?;
    let owner_bytes = u32::from_le_bytes(input.array().map_err(short)?) as usize;
    let owner = input.take(owner_bytes).map_err(short)?.to_vec();
    let _checksum: [u8; 4] = input.array().map_err(short)?;
    input.finish().map_err(|_| damaged(0, "it is too long"))?;
    Ok(Meta { incarnation, owner })
}

/// Whether the last four bytes are the checksum of the others: true of every version of this file.
fn checksum_holds(bytes: &[u8]) -> bool {
    bytes.split_last_chunk::<4>().is_some_and(|(covered, crc)| crc32c::crc32c(covered).to_le_bytes() == *crc)
}

/// Damage to the file, or something in it that its owner does not understand.
#[must_use]
pub fn damaged(offset: u64, what: &str) -> Corruption {
    Corruption { file: META_PATH.into(), offset, what: what.into(), hint: HINT_META }
}
