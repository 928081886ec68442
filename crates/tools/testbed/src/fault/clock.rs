//! Wall clocks of single members, moved while they run. The kernel has one such clock for all processes, so each member
//! is started with a small library before the C library's (`clock.c`), which reads how far its clock is off from a file.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Ensemble, Failure};

const SOURCE: &str = include_str!("clock.c");

/// The clocks of all members of one ensemble, or of brokers.
#[derive(Debug)]
pub struct Clocks {
    library: PathBuf,
    files: Vec<PathBuf>,
}

impl Clocks {
    /// Gives each member, none of which was started yet, a clock of its own that agrees with the machine's.
    ///
    /// # Errors
    /// `Missing` where there is no C compiler, or where it makes no libraries for this machine.
    pub fn give(ensemble: &mut Ensemble, folder: &Path) -> Result<Self, Failure> {
        let all = ensemble.all();
        let clocks = Self::make(folder, all.len())?;
        for number in all {
            for (name, value) in clocks.environment(number) {
                ensemble.set_environment(number, name, value);
            }
        }
        Ok(clocks)
    }

    /// Clocks for so many processes, which agree with the machine's. Each is to be started with its [`Self::environment`].
    ///
    /// # Errors
    /// As [`Self::give`].
    pub fn make(folder: &Path, count: usize) -> Result<Self, Failure> {
        fs::create_dir_all(folder).map_err(Failure::io("a folder"))?;
        let library = build(folder)?;
        let mut files = Vec::new();
        for number in 1..=count {
            let file = folder.join(format!("clock-{number}"));
            fs::write(&file, 0_i64.to_ne_bytes()).map_err(Failure::io("a clock"))?;
            files.push(file);
        }
        Ok(Self { library, files })
    }

    /// What gives a process that clock, of which the first has the number 1.
    #[must_use]
    pub fn environment(&self, number: usize) -> [(&'static str, PathBuf); 2] {
        [("LD_PRELOAD", self.library.clone()), ("DIWAN_CLOCK", self.files[number - 1].clone())]
    }

    /// From now on a member's clock is so many seconds ahead of the machine's, or behind it.
    ///
    /// # Errors
    /// The file that says so cannot be written.
    pub fn set(&self, number: usize, ahead_s: i64) -> Result<(), Failure> {
        let file = fs::OpenOptions::new().write(true).open(&self.files[number - 1]);
        // In place: the members have mapped the file.
        file.and_then(|file| file.write_all_at(&ahead_s.to_ne_bytes(), 0)).map_err(Failure::io("a clock"))
    }
}

fn build(folder: &Path) -> Result<PathBuf, Failure> {
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    fs::write(&source, SOURCE).map_err(Failure::io("the clock's source"))?;
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).stdin(Stdio::null());
    match command.output() {
        Ok(output) if output.status.success() => Ok(library),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
            Err(Failure::Missing(format!("a clock of one process cannot be built: {said}")))
        }
        Err(error) => Err(Failure::Missing(format!("no C compiler (`cc`): {error}"))),
    }
}
