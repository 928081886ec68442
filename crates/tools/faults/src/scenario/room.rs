//! A member's disk is full, and is not full any more.

use std::time::{Duration, Instant};

use tools_testbed::fault::SmallDisk;
use tools_testbed::{Failure, Place};

use super::{Play, SESSION, Setting, members};

/// A small disk, and how much of the log is allocated at a time on it.
const DISK_MB: usize = 64;
const SEGMENT: (&str, &str) = ("preAllocSize", "1024");
/// What fills the log.
static VALUE: [u8; 32 << 10] = [7; 32 << 10];
/// So many values fill all that was allocated ahead.
const VALUES: usize = 600;

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
        disks.push(SmallDisk::mount(&ensemble.data(number), DISK_MB)?);
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
