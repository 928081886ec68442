//! A member's disk is full, and is not full any more.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tools_testbed::{Failure, Place};

use super::{Play, SESSION, Setting, members};

/// A small disk, and how much of the log is allocated at a time on it.
const DISK_MB: usize = 64;
const SEGMENT: (&str, &str) = ("preAllocSize", "1024");
/// What fills the log.
static VALUE: [u8; 32 << 10] = [7; 32 << 10];
/// So many values fill all that was allocated ahead.
const VALUES: usize = 600;

/// A file system in memory, unmounted when dropped.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(at).map_err(Failure::io("a folder"))?;
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={DISK_MB}m"), "diwan-faults"]).arg(at);
        let output = command.stdin(Stdio::null()).output();
        match output {
            Ok(output) if output.status.success() => Ok(Self(at.to_owned())),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
                Err(Failure::Missing(format!("a small disk cannot be mounted: {said}")))
            }
            Err(error) => Err(Failure::Missing(format!("a small disk cannot be mounted: {error}"))),
        }
    }

    /// Somebody else takes all that is left.
    fn fill(&self) -> Result<(), Failure> {
        let mut file = File::create(self.0.join("filler")).map_err(Failure::io("a file"))?;
        let block = vec![0; 1 << 16];
        while file.write(&block).is_ok_and(|written| written > 0) {}
        Ok(())
    }

    fn empty(&self) -> Result<(), Failure> {
        fs::remove_file(self.0.join("filler")).map_err(Failure::io("a file"))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: a server that is about to be killed may still hold it.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

pub(super) fn follower_full(setting: &Setting) -> Result<Vec<String>, Failure> {
    full(setting, false)
}

pub(super) fn leader_full(setting: &Setting) -> Result<Vec<String>, Failure> {
    full(setting, true)
}

fn full(setting: &Setting, leads: bool) -> Result<Vec<String>, Failure> {
    let mut ensemble = members(setting, 3, &Place::loopback())?;
    let mut disks = Vec::new();
    for number in ensemble.all() {
        ensemble.set_keys(number, [(String::from(SEGMENT.0), String::from(SEGMENT.1))]);
        disks.push(Disk::mount(&ensemble.data(number))?);
    }
    ensemble.start_all()?;
    let mut play = Play::over(ensemble)?;
    let leader = play.ensemble.leader()?;
    let number = if leads { leader } else { leader % 3 + 1 };
    disks[number - 1].fill()?;
    let began = Instant::now();
    let refused = values(&play)?;
    play.note(&format!("{VALUES} values beside a full disk, {refused} refused,"), began.elapsed());
    let now = Instant::now();
    let write = play.next_write(now)?;
    play.note("a write beside the full disk", write);
    let full = Instant::now();
    while !play.ensemble.has_said(number, "the disk is full") {
        if full.elapsed() > Duration::from_secs(20) {
            return Err(Failure::broken(format!("the disk of member {number} was not full")));
        }
        play.crowd.work_for(Duration::from_millis(20))?;
    }
    disks[number - 1].empty()?;
    play.crowd.all_write()?;
    play.ensemble.settle()?;
    let notes = play.close();
    drop(disks);
    notes
}

/// Writes much, by a client of its own; how many writes were refused.
fn values(play: &Play) -> Result<usize, Failure> {
    let servers = play.ensemble.connect_string(&play.ensemble.all());
    let client = council_client::Options::new().session_timeout(SESSION).connect(&servers);
    let client = client.map_err(|error| Failure::broken(error.to_string()))?;
    match client.create("/large", b"", council_client::CreateMode::Persistent).wait() {
        Err(error) if !error.is(council_client::ErrorCode::NodeExists) => {
            return Err(Failure::client("cannot create `/large`")(error));
        }
        _ => {}
    }
    let mut refused = 0;
    for _ in 0..VALUES {
        let Ok(written) = client.set_data("/large", VALUE, -1).wait_for(Duration::from_secs(60)) else {
            return Err(Failure::broken("a write beside a full disk is stuck"));
        };
        refused += usize::from(written.is_err());
    }
    client.close();
    Ok(refused)
}
