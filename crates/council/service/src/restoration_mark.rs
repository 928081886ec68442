//! The mark of a data directory into which a backup is being restored: no server starts there until that was done.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::config::StorageConfig;
use crate::error::StartError;

/// Lies in a data directory as long as a backup is being restored into it. The dot keeps the journal from taking it for
/// something foreign.
const UNFINISHED: &str = ".restore-unfinished";
/// The mark while it is written.
const UNFINISHED_NEW: &str = ".restore-unfinished.new";

/// The log that an interrupted restoration made, if there was one. A mark of an older build names none: then only a log
/// within the data directory can be told to be its own.
pub(crate) fn interrupted_log(storage: &StorageConfig) -> Result<Option<PathBuf>, StartError> {
    match fs::read(storage.data_dir.join(UNFINISHED)) {
        Ok(named) if named.is_empty() => {
            Ok(Some(fs::canonicalize(&storage.data_dir).map_err(system)?.join("log")))
        }
        Ok(named) => Ok(Some(PathBuf::from(OsString::from_vec(named)))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(system(error)),
    }
}

/// Marks the directory as one into which a backup is being restored, with its log at this place.
pub(crate) fn set(data_dir: &Path, log: &Path) -> Result<(), StartError> {
    let new = data_dir.join(UNFINISHED_NEW);
    let written = File::create(&new).and_then(|mut file| {
        file.write_all(log.as_os_str().as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&new, data_dir.join(UNFINISHED))).map_err(system)?;
    sync(data_dir)
}

/// The backup is whole.
pub(crate) fn remove(storage: &StorageConfig) -> Result<(), StartError> {
    fs::remove_file(storage.data_dir.join(UNFINISHED)).map_err(system)?;
    sync(&storage.data_dir)
}

pub(crate) fn sync(directory: &Path) -> Result<(), StartError> {
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(system)
}

/// Refuses a directory into which a backup was not wholly restored.
pub(crate) fn refuse(storage: &StorageConfig) -> Result<(), StartError> {
    let mark = storage.data_dir.join(UNFINISHED);
    if !mark.exists() {
        return Ok(());
    }
    Err(StartError::Unsupported(format!(
        "the restoration of a backup into `{}` was interrupted; hint: run `diwan council restore` again",
        storage.data_dir.display()
    )))
}

pub(crate) fn system(source: io::Error) -> StartError {
    StartError::System { action: "prepare the data directory", source }
}
