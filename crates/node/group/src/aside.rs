//! Data that is of no use to a member any more is put aside, never deleted: `put-aside/N/` in the data directory (and in
//! the log's, if that is another) holds it as it was, beside a file that says when and why. Only a person removes it.
//!
//! New data may take its place in the same breath: it is made ready in `prepared` first.
//!
//! A crash may come between any two steps. What is to be done is written into a file before the first, and removed behind
//! the last; each step can be taken again. So the next start finishes what was begun, or, where nothing was moved yet,
//! finds all as it was.

use base::WallTime;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use node_threads::calendar;

use storage_dir_disk::{DirDisk, private};

use crate::{DataConfig, DataFault};

/// Where data lies that was put aside.
const ASIDE: &str = "put-aside";
/// Where data is made ready that will take the place of what is put aside.
const PREPARED: &str = "prepared";
/// What is under way; it lies beside the data.
const PENDING: &str = "put-aside.pending";
const PENDING_TEMPORARY: &str = "put-aside.pending.tmp";
/// When and why, beside what was put aside.
const REASON: &str = "why.txt";
/// What a data directory consists of. `meta` comes last: with it a directory belongs to a member.
const PARTS: [&str; 3] = ["snapshot", "log", "meta"];
/// How often data is put aside until an operator has looked at it.
const GENERATIONS_MAX: usize = 8;
/// The place of data that was put aside before there were generations.
const FIRST_LAYOUT: u64 = 0;

/// Asked before each change of the disk: a failure stands for a crash.
type BeforeStep<'a> = &'a mut dyn FnMut() -> io::Result<()>;

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    /// The data goes to this generation.
    PutAside(u64),
    /// It is there; what was prepared takes its place.
    Install(u64),
}

/// The directories of a member's data.
struct DataDirectories {
    /// That of `meta` first.
    directories: Vec<PathBuf>,
}

/// Puts the data aside. Gives where it lies.
///
/// # Errors
/// The disk refuses, or data was put aside too often; nothing is lost then.
pub fn put_aside(storage: &DataConfig, why: &str, wall: WallTime) -> Result<PathBuf, DataFault> {
    let _lock = DirDisk::open(&storage.data_dir)?;
    let place = DataDirectories::of(storage);
    place.remove_prepared().map_err(fault)?;
    let generation = place.begin(why, wall, &mut go)?;
    place.finish(&mut go).map_err(fault)?;
    Ok(place.generation(generation))
}

/// Has what was prepared take the place of the data, which is put aside. Gives where it lies.
///
/// # Errors
/// As [`put_aside`].
pub fn replace(storage: &DataConfig, why: &str, wall: WallTime) -> Result<PathBuf, DataFault> {
    let _lock = DirDisk::open(&storage.data_dir)?;
    let place = DataDirectories::of(storage);
    let generation = place.begin(why, wall, &mut go)?;
    place.finish(&mut go).map_err(fault)?;
    Ok(place.generation(generation))
}

/// Ends a [`replace`] that was decided on elsewhere, however far it has come: not begun, interrupted or done. To be called
/// before [`settle`], which throws away what was prepared and not begun.
///
/// # Errors
/// As [`put_aside`].
pub fn ensure_replaced(storage: &DataConfig, why: &str, wall: WallTime) -> Result<(), DataFault> {
    let _lock = DirDisk::open(&storage.data_dir)?;
    let place = DataDirectories::of(storage);
    if place.finish(&mut go).map_err(fault)? || !place.root().join(PREPARED).join("meta").exists() {
        return Ok(());
    }
    place.begin(why, wall, &mut go)?;
    place.finish(&mut go).map_err(fault).map(drop)
}

/// The directories where data is to be prepared for [`replace`]; empty.
///
/// # Errors
/// The disk refuses.
pub fn prepare(storage: &DataConfig) -> Result<DataConfig, DataFault> {
    let place = DataDirectories::of(storage);
    place.remove_prepared().map_err(fault)?;
    let log_dir = storage.log_dir.as_ref().map(|directory| directory.join(PREPARED));
    Ok(DataConfig { data_dir: storage.data_dir.join(PREPARED), log_dir })
}

/// Finishes what a crash interrupted. To be called before a data directory is looked at.
///
/// # Errors
/// The disk refuses, or another process uses the directory.
pub fn settle(storage: &DataConfig) -> Result<(), DataFault> {
    let place = DataDirectories::of(storage);
    if !place.is_unsettled() {
        return Ok(());
    }
    let _lock = DirDisk::open(&storage.data_dir)?;
    if place.settle(&mut go).map_err(fault)? {
        tracing::warn!(
            data_dir = %storage.data_dir.display(),
            "the last start was interrupted while it put data aside: that was finished now"
        );
    }
    Ok(())
}

/// Whether [`settle`] has something to finish.
pub fn is_interrupted(storage: &DataConfig) -> bool {
    DataDirectories::of(storage).is_unsettled()
}

/// Whether data was put aside here: then a blank directory is not one that nobody was promised anything by.
pub fn holds_any(storage: &DataConfig) -> bool {
    storage.data_dir.join(ASIDE).exists()
}

/// What to do to have put-aside data back, if there is any: a hint where none is in its place.
pub fn how_to_take_back(storage: &DataConfig) -> Option<String> {
    let place = DataDirectories::of(storage);
    let newest = *place.generations().ok()?.last()?;
    let from = place.generation(newest);
    let log = match place.directories.get(1) {
        Some(log) => format!(", and `log` of `{}` into `{}`", log.join(ASIDE).display(), log.display()),
        None => String::new(),
    };
    Some(format!(
        "earlier data lies in `{}`, and `{REASON}` there says why; to take it back, stop the server and move `meta`, `log` \
         and `snapshot` from there into `{}`{log}",
        from.display(),
        storage.data_dir.display()
    ))
}

fn go() -> io::Result<()> {
    Ok(())
}

fn fault(source: io::Error) -> DataFault {
    DataFault::System { action: "put data aside", source }
}

impl DataDirectories {
    fn of(storage: &DataConfig) -> Self {
        let log = storage.log_dir.clone().filter(|log| *log != storage.data_dir);
        Self { directories: [Some(storage.data_dir.clone()), log].into_iter().flatten().collect() }
    }

    fn root(&self) -> &Path {
        &self.directories[0]
    }

    fn generation(&self, number: u64) -> PathBuf {
        self.root().join(ASIDE).join(number.to_string())
    }

    /// Says what is to be done: from here on it will be.
    fn begin(&self, why: &str, wall: WallTime, step: BeforeStep<'_>) -> Result<u64, DataFault> {
        self.settle_first_layout(step).map_err(fault)?;
        let generations = self.generations().map_err(fault)?;
        if generations.len() >= GENERATIONS_MAX {
            let named: Vec<_> = generations
                .iter()
                .map(|number| format!("`{}`", self.generation(*number).display()))
                .collect();
            return Err(DataFault::Undecided(format!(
                "data must be put aside, and was so {GENERATIONS_MAX} times before, which was never cleared away; hint: \
                 look why (`{REASON}` in each), and remove those that are not needed any more: {}",
                named.join(", ")
            )));
        }
        let number = generations.last().map_or(1, |last| last + 1);
        self.write_reason(number, why, wall, step).map_err(fault)?;
        self.note(Pending::PutAside(number), step).map_err(fault)?;
        Ok(number)
    }

    fn write_reason(&self, number: u64, why: &str, wall: WallTime, step: BeforeStep<'_>) -> io::Result<()> {
        let time = calendar::long_date(wall);
        for directory in &self.directories {
            let place = directory.join(ASIDE).join(number.to_string());
            step()?;
            private::create_directories(&place)?;
            step()?;
            write_durably(&place.join(REASON), &format!("put aside at {time}, because {why}\n"))?;
            for parent in [&place, &directory.join(ASIDE), directory] {
                sync(parent)?;
            }
        }
        Ok(())
    }

    fn note(&self, pending: Pending, step: BeforeStep<'_>) -> io::Result<()> {
        let text = match pending {
            Pending::PutAside(number) => format!("put aside {number}\n"),
            Pending::Install(number) => format!("install {number}\n"),
        };
        step()?;
        write_durably(&self.root().join(PENDING_TEMPORARY), &text)?;
        step()?;
        fs::rename(self.root().join(PENDING_TEMPORARY), self.root().join(PENDING))?;
        sync(self.root())
    }

    fn pending(&self) -> io::Result<Option<Pending>> {
        let text = match fs::read_to_string(self.root().join(PENDING)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let (what, number) = text.trim_end().rsplit_once(' ').unwrap_or_default();
        let unreadable =
            || io::Error::new(ErrorKind::InvalidData, format!("`{PENDING}` cannot be understood"));
        let number = number.parse().map_err(|_| unreadable())?;
        match what {
            "put aside" => Ok(Some(Pending::PutAside(number))),
            "install" => Ok(Some(Pending::Install(number))),
            _ => Err(unreadable()),
        }
    }

    /// Takes the steps that are left. Whether there were any.
    fn finish(&self, step: BeforeStep<'_>) -> io::Result<bool> {
        let Some(pending) = self.pending()? else { return Ok(false) };
        if let Pending::PutAside(number) = pending {
            for directory in &self.directories {
                self.move_parts(directory, &directory.join(ASIDE).join(number.to_string()), step)?;
            }
            self.note(Pending::Install(number), step)?;
        }
        for directory in self.directories.iter().rev() {
            self.move_parts(&directory.join(PREPARED), directory, step)?;
        }
        step()?;
        fs::remove_file(self.root().join(PENDING))?;
        sync(self.root())?;
        step()?;
        self.remove_prepared()?;
        Ok(true)
    }

    fn move_parts(&self, from: &Path, to: &Path, step: BeforeStep<'_>) -> io::Result<()> {
        if !from.is_dir() {
            return Ok(());
        }
        for part in PARTS {
            step()?;
            rename_if_there(&from.join(part), &to.join(part))?;
        }
        sync(to)?;
        sync(from)
    }

    fn remove_prepared(&self) -> io::Result<()> {
        for directory in &self.directories {
            match fs::remove_dir_all(directory.join(PREPARED)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn is_unsettled(&self) -> bool {
        [PENDING, PENDING_TEMPORARY].iter().any(|name| self.root().join(name).exists())
            || self.directories.iter().any(|directory| directory.join(PREPARED).exists())
            || self.is_first_layout_half_done()
    }

    /// Whether something was put aside, or installed.
    fn settle(&self, step: BeforeStep<'_>) -> io::Result<bool> {
        match fs::remove_file(self.root().join(PENDING_TEMPORARY)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        if self.finish(step)? {
            return Ok(true);
        }
        // Without a word of it nothing was moved: what was prepared may be half of it.
        self.remove_prepared()?;
        if !self.is_first_layout_half_done() {
            return Ok(false);
        }
        for directory in &self.directories {
            let aside = directory.join(ASIDE);
            step()?;
            private::create_directories(&aside)?;
            self.move_parts(directory, &aside, step)?;
        }
        Ok(true)
    }

    /// Builds before there were generations moved `meta` first, and might be interrupted behind it.
    fn is_first_layout_half_done(&self) -> bool {
        let holds = |part: &str| self.directories.iter().any(|directory| directory.join(part).exists());
        let aside =
            |part: &str| self.directories.iter().any(|directory| directory.join(ASIDE).join(part).exists());
        aside("meta") && !holds("meta") && holds("log") && !aside("log")
    }

    /// What builds before there were generations had put aside becomes the first of them.
    fn settle_first_layout(&self, step: BeforeStep<'_>) -> io::Result<()> {
        for directory in &self.directories {
            let aside = directory.join(ASIDE);
            if !PARTS.iter().any(|part| aside.join(part).exists()) {
                continue;
            }
            let place = aside.join(FIRST_LAYOUT.to_string());
            step()?;
            private::create_directories(&place)?;
            self.move_parts(&aside, &place, step)?;
        }
        Ok(())
    }

    /// The numbers of what was put aside, in order.
    fn generations(&self) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for directory in &self.directories {
            let entries = match fs::read_dir(directory.join(ASIDE)) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                other => other?,
            };
            for entry in entries {
                let entry = entry?;
                // One in which nothing was put is used again.
                let holds_some = PARTS.iter().any(|part| entry.path().join(part).exists());
                let number = entry.file_name().to_str().and_then(|name| name.parse::<u64>().ok());
                numbers.extend(number.filter(|_| holds_some));
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }
}

fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn write_durably(path: &Path, text: &str) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(private::FILE_MODE).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::Directory;

    fn place(folder: &Directory, split: bool) -> DataDirectories {
        let log = split.then(|| folder.0.join("log-disk"));
        let place = DataDirectories {
            directories: [Some(folder.0.join("data")), log].into_iter().flatten().collect(),
        };
        place.directories.iter().for_each(|directory| fs::create_dir_all(directory).unwrap());
        place
    }

    /// Where each part lies: `log` may have a directory of its own.
    fn home<'a>(place: &'a DataDirectories, part: &str) -> &'a Path {
        if part == "log" { place.directories.last().unwrap() } else { place.root() }
    }

    fn lay(place: &DataDirectories, below: &str, content: &str) {
        for part in PARTS {
            let directory = home(place, part).join(below);
            fs::create_dir_all(&directory).unwrap();
            match part {
                "meta" => fs::write(directory.join(part), content).unwrap(),
                _ => {
                    fs::create_dir_all(directory.join(part)).unwrap();
                    fs::write(directory.join(part).join("file"), content).unwrap();
                }
            }
        }
    }

    /// What lies there: nothing, the same content in every part, or a mixture.
    fn found(place: &DataDirectories, below: &str) -> String {
        let read = |part: &str| {
            let path = home(place, part).join(below).join(part);
            let path = if part == "meta" { path } else { path.join("file") };
            fs::read_to_string(path).unwrap_or_default()
        };
        let mut all = PARTS.map(read).to_vec();
        all.dedup();
        all.join(" and ")
    }

    fn crash_after(steps: usize) -> impl FnMut() -> io::Result<()> {
        let mut left = steps;
        move || {
            left = left.checked_sub(1).ok_or_else(|| io::Error::other("a crash"))?;
            Ok(())
        }
    }

    #[test]
    fn a_crash_between_any_two_steps_leaves_the_old_data_or_the_new() {
        for split in [false, true] {
            for prepared in [false, true] {
                let mut ends = Vec::new();
                for steps in 0..60 {
                    let folder = Directory::new("aside");
                    let place = place(&folder, split);
                    lay(&place, "", "old");
                    if prepared {
                        lay(&place, PREPARED, "new");
                    }
                    let mut crash = crash_after(steps);
                    let begun = place.begin("of a test", WallTime::default(), &mut crash).is_ok();
                    let done = begun && place.finish(&mut crash).is_ok();
                    // The next start may be interrupted as well.
                    for again in 0..4 {
                        let _ = place.settle(&mut crash_after(again));
                    }
                    place.settle(&mut go).unwrap();
                    assert!(!place.is_unsettled());
                    let new = if prepared { "new" } else { "" };
                    let (here, aside) = (found(&place, ""), found(&place, "put-aside/1"));
                    assert!(
                        (here == "old" && aside.is_empty()) || (here == new && aside == "old"),
                        "{steps} steps: `{here}` is here, and `{aside}` was put aside"
                    );
                    assert!(begun || here == "old");
                    assert!(!done || here == new);
                    ends.push(here);
                }
                assert!(ends.contains(&String::from("old")) && ends[59] != "old");
            }
        }
    }

    #[test]
    fn data_is_put_aside_beside_what_was_put_aside_before_until_there_is_too_much() {
        let folder = Directory::new("aside");
        let place = place(&folder, false);
        // As builds before there were generations left it.
        lay(&place, ASIDE, "first layout");
        for number in 1..GENERATIONS_MAX as u64 {
            lay(&place, "", &number.to_string());
            assert_eq!(place.begin("of a test", WallTime::default(), &mut go).unwrap(), number);
            place.finish(&mut go).unwrap();
        }
        lay(&place, "", "the last");
        let error = place.begin("of a test", WallTime::default(), &mut go).unwrap_err().to_string();
        assert!(error.contains("put-aside/3`") && error.contains("hint"), "{error}");
        assert_eq!(
            (found(&place, ""), found(&place, "put-aside/0")),
            ("the last".into(), "first layout".into())
        );
        for number in 1..GENERATIONS_MAX as u64 {
            assert_eq!(found(&place, &format!("put-aside/{number}")), number.to_string());
        }
        let reason = fs::read_to_string(place.generation(1).join(REASON)).unwrap();
        assert_eq!(reason, "put aside at Thu Jan 01 00:00:00 UTC 1970, because of a test\n");
    }

    #[test]
    fn what_an_earlier_build_left_half_done_is_finished() {
        for split in [false, true] {
            let folder = Directory::new("aside");
            let place = place(&folder, split);
            lay(&place, "", "old");
            fs::create_dir(place.root().join(ASIDE)).unwrap();
            fs::rename(place.root().join("meta"), place.root().join(ASIDE).join("meta")).unwrap();
            assert!(place.is_unsettled());
            assert!(place.settle(&mut go).unwrap());
            assert_eq!((found(&place, ""), found(&place, ASIDE)), (String::new(), String::from("old")));
            assert!(!place.is_unsettled());
        }
    }
}
