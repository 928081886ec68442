//! A data directory that is made of a backup. While that is done a mark lies in it, so that no server starts on half of it; after a
//! crash it is done again from scratch. The mark names the log that is made: no other log is removed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::{DataConfig, DataFault};

/// Lies in a data directory as long as a backup is being restored into it. The dot keeps the journal from taking it for
/// something foreign.
const UNFINISHED: &str = ".restore-unfinished";
/// The mark while it is written.
const UNFINISHED_NEW: &str = ".restore-unfinished.new";

/// Marks the directory, and clears away what an interrupted restoration has left. The directories are there, and locked by whoever
/// calls.
///
/// # Errors
/// There is data in them already, which is left as it is; or the system refuses.
pub fn begin(storage: &DataConfig) -> Result<(), DataFault> {
    let log = log_of(storage)?;
    let own = [storage.data_dir.join("meta"), storage.data_dir.join("snapshot")];
    let interrupted = interrupted_log(storage)?;
    let is_own_log = interrupted.as_ref() == Some(&log);
    let not_ours = own.iter().filter(|_| interrupted.is_none()).chain((!is_own_log).then_some(&log));
    if let Some(there) = not_ours.into_iter().find(|part| part.exists()) {
        return Err(DataFault::Undecided(format!(
            "there is data already: `{}`; hint: nothing was changed; stop the server and move `meta`, `log` and \
             `snapshot` away, or name an empty data directory",
            there.display()
        )));
    }
    for part in own.iter().chain(&interrupted).filter(|_| interrupted.is_some()) {
        let removed = if part.is_dir() { fs::remove_dir_all(part) } else { fs::remove_file(part) };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(system(error)),
            _ => {}
        }
    }
    set(&storage.data_dir, &log)
}

/// The backup is whole: a server may start.
///
/// # Errors
/// The system refuses.
pub fn end(storage: &DataConfig) -> Result<(), DataFault> {
    fs::remove_file(storage.data_dir.join(UNFINISHED)).map_err(system)?;
    sync(&storage.data_dir)
}

/// Whether a restoration was begun there, and not ended.
#[must_use]
pub fn is_interrupted(storage: &DataConfig) -> bool {
    storage.data_dir.join(UNFINISHED).exists()
}

/// Refuses a directory into which a backup was not wholly restored by that command.
///
/// # Errors
/// It is one.
pub fn refuse(storage: &DataConfig, command: &str) -> Result<(), DataFault> {
    if !is_interrupted(storage) {
        return Ok(());
    }
    Err(DataFault::Undecided(format!(
        "the restoration of a backup into `{}` was interrupted; hint: run `{command}` again",
        storage.data_dir.display()
    )))
}

/// The log of a data directory, wherever it lies.
fn log_of(storage: &DataConfig) -> Result<PathBuf, DataFault> {
    let directory = storage.log_dir.as_ref().unwrap_or(&storage.data_dir);
    Ok(fs::canonicalize(directory).map_err(system)?.join("log"))
}

/// The log that an interrupted restoration made, if there was one. A mark of an older build names none: then only a log
/// within the data directory can be told to be its own.
fn interrupted_log(storage: &DataConfig) -> Result<Option<PathBuf>, DataFault> {
    match fs::read(storage.data_dir.join(UNFINISHED)) {
        Ok(named) if named.is_empty() => {
            Ok(Some(fs::canonicalize(&storage.data_dir).map_err(system)?.join("log")))
        }
        Ok(named) => Ok(Some(PathBuf::from(OsString::from_vec(named)))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(system(error)),
    }
}

fn set(data_dir: &Path, log: &Path) -> Result<(), DataFault> {
    let new = data_dir.join(UNFINISHED_NEW);
    let written = File::create(&new).and_then(|mut file| {
        file.write_all(log.as_os_str().as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&new, data_dir.join(UNFINISHED))).map_err(system)?;
    sync(data_dir)
}

fn sync(directory: &Path) -> Result<(), DataFault> {
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(system)
}

fn system(source: io::Error) -> DataFault {
    DataFault::System { action: "prepare the data directory", source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::Directory;

    /// Every state that a crash can leave: the mark, and then no part, some part, or all of what is written.
    #[test]
    fn interrupted_restoration_is_told_and_done_again_and_other_data_is_left_alone() {
        let folder = Directory::new("restoration");
        let storage = DataConfig { data_dir: folder.0.clone(), log_dir: None };
        fs::create_dir_all(&folder.0).unwrap();
        for parts in [&["meta"][..], &["meta", "log"], &["meta", "log", "snapshot"], &[]] {
            begin(&storage).unwrap();
            parts.iter().for_each(|part| fs::write(folder.0.join(part), "half").unwrap());
            let told = refuse(&storage, "restore").unwrap_err().to_string();
            assert!(is_interrupted(&storage) && told.contains("run `restore` again"), "{told}");
        }
        begin(&storage).unwrap();
        assert!(!folder.0.join("meta").exists() && !folder.0.join("snapshot").exists());
        fs::write(folder.0.join("meta"), "whole").unwrap();
        end(&storage).unwrap();
        refuse(&storage, "restore").unwrap();
        let refused = begin(&storage).unwrap_err().to_string();
        assert!(refused.contains("there is data already"), "{refused}");
        assert_eq!(fs::read_to_string(folder.0.join("meta")).unwrap(), "whole");
    }
}
