//! The file `meta`: whose directory this is and in which format. Written once, never changed.

use crate::batch::Membership;
use crate::codec::Input;
use crate::config::Identity;
use crate::disk::{Disk, DiskError};
use crate::error::{Corruption, Fault, OpenError};
use crate::segment::{GROWING_PATH, LOG_DIRECTORY, Start, segment_path};
use crate::snapshot::SNAPSHOT_DIRECTORY;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const META_PATH: &str = "meta";
const META_TEMPORARY: &str = "meta.tmp";
const MAGIC: &[u8; 8] = b"DIWANDIR";
const META_VERSION: u32 = 1;
const META_BYTES: usize = 8 + 4 + 16 + 16 + 8 + 4;

/// More than any version of the file holds, so that a newer one can be told from a damaged one.
const META_READ_BYTES: usize = 4096;

/// What may lie in a directory that is not ours yet, besides what the configuration names.
const HARMLESS: [&str; 4] = ["lost+found", "lock", "put-aside", META_TEMPORARY];

const HINT_FOREIGN: &str = "choose an empty directory, or the one that this server used before";
const HINT_META: &str = "the rest of the directory was not touched. Restore `meta` from a backup of this very directory, or, \
     in an ensemble, start the member anew with an empty directory";

/// Reads whose directory this is; nothing if it is nobody's. What a making that was interrupted left is removed.
pub(crate) fn open<D: Disk>(disk: &mut D, harmless_names: &[&str]) -> Result<Option<Identity>, OpenError> {
    let names = disk.list("").map_err(|error| fault("", "list", error))?;
    if names.iter().any(|name| name == META_PATH) {
        return Ok(Some(read(disk)?));
    }
    let harmless = |name: &String| {
        let name = name.as_str();
        name.starts_with('.') || HARMLESS.contains(&name) || harmless_names.contains(&name)
    };
    let ours = [LOG_DIRECTORY, SNAPSHOT_DIRECTORY];
    if let Some(name) = names.iter().find(|name| !harmless(name) && !ours.contains(&name.as_str())) {
        return Err(OpenError::Foreign { name: name.clone(), hint: HINT_FOREIGN });
    }
    for directory in ours.into_iter().filter(|directory| names.iter().any(|name| name == directory)) {
        remove_unfinished(disk, directory)?;
    }
    Ok(None)
}

/// Without `meta` there can be no more in a directory of ours than a first segment without a batch.
fn remove_unfinished<D: Disk>(disk: &mut D, directory: &str) -> Result<(), OpenError> {
    let names = disk.list(directory).map_err(|error| fault(directory, "list", error))?;
    let paths: Vec<String> = names.iter().map(|name| format!("{directory}/{name}")).collect();
    for path in &paths {
        if *path != GROWING_PATH && (*path != segment_path(1) || holds_batches(disk, path)?) {
            return Err(damaged(0, "it is missing, although there is a log").into());
        }
    }
    for path in &paths {
        disk.remove(path).map_err(|error| fault(path, "remove", error))?;
    }
    Ok(())
}

/// Whether there is more in a first segment than its first record. The records cannot be verified: what binds them
/// to this directory stands in `meta`.
fn holds_batches<D: Disk>(disk: &mut D, path: &str) -> Result<bool, Fault> {
    let file = disk.open(path).map_err(|error| fault(path, "open", error))?;
    let mut offset = Start::record_bytes_max(&Membership::default());
    let mut buffer = alloc::vec![0; 64 << 10];
    loop {
        let read = disk.read_at(&file, offset, &mut buffer).map_err(|error| fault(path, "read", error))?;
        match buffer.get(..read) {
            None | Some([]) => return Ok(false),
            Some(bytes) if bytes.iter().any(|byte| *byte != 0) => return Ok(true),
            Some(_) => offset += read as u64,
        }
    }
}

pub(crate) fn write<D: Disk>(disk: &mut D, identity: &Identity) -> Result<(), Fault> {
    let mut bytes = Vec::with_capacity(META_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&META_VERSION.to_le_bytes());
    bytes.extend_from_slice(&identity.cluster);
    bytes.extend_from_slice(&identity.incarnation);
    bytes.extend_from_slice(&identity.member.to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    let file = disk.create(META_TEMPORARY).map_err(|error| fault(META_TEMPORARY, "create", error))?;
    disk.write_at(&file, 0, &bytes).map_err(|error| fault(META_TEMPORARY, "write", error))?;
    disk.sync_data(&file).map_err(|error| fault(META_TEMPORARY, "flush", error))?;
    disk.rename(META_TEMPORARY, META_PATH).map_err(|error| fault(META_PATH, "rename", error))?;
    disk.sync_directory("").map_err(|error| fault("", "flush", error))
}

fn read<D: Disk>(disk: &mut D) -> Result<Identity, OpenError> {
    let file = disk.open(META_PATH).map_err(|error| fault(META_PATH, "open", error))?;
    let mut buffer = [0; META_READ_BYTES];
    let length = disk.read_at(&file, 0, &mut buffer).map_err(|error| fault(META_PATH, "read", error))?;
    let bytes = buffer.get(..length).unwrap_or_default();
    let mut input = Input::new(bytes);
    let short = |_| damaged(length as u64, "it is too short");
    if input.array::<8>().map_err(short)? != *MAGIC {
        return Err(damaged(0, "it does not begin as ours do").into());
    }
    let version = u32::from_le_bytes(input.array().map_err(short)?);
    if version > META_VERSION && checksum_holds(bytes) {
        return Err(OpenError::Version { file: META_PATH.into(), found: version, known: META_VERSION });
    }
    let identity = Identity {
        cluster: input.array().map_err(short)?,
        incarnation: input.array().map_err(short)?,
        member: u64::from_le_bytes(input.array().map_err(short)?),
    };
    if length != META_BYTES || !checksum_holds(bytes) || version != META_VERSION {
        return Err(damaged(0, "its checksum is wrong").into());
    }
    Ok(identity)
}

/// Whether the last four bytes are the checksum of the others: true of every version of this file.
fn checksum_holds(bytes: &[u8]) -> bool {
    bytes.split_last_chunk::<4>().is_some_and(|(covered, crc)| crc32c::crc32c(covered).to_le_bytes() == *crc)
}

fn damaged(offset: u64, what: &str) -> Corruption {
    Corruption { file: META_PATH.into(), offset, what: what.into(), hint: HINT_META }
}

fn fault(file: &str, operation: &'static str, error: DiskError) -> Fault {
    Fault { file: file.into(), operation, error }
}
